"""The reflector: from observations to fewer and shorter ones, as far as floor and verifier agree."""

import asyncio
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate

from construct.llm.capable import is_capable
from construct.llm.types import Model, WorkRequest
from construct.memory.learning.asking import Account, ask, repeats_itself, sound_part
from construct.memory.learning.condensing import condense
from construct.memory.learning.floor import Change, Reflection, Refusal, Said, checked
from construct.memory.learning.proposals import ProposedObservation, ReflectionProposal
from construct.memory.learning.verifier import Group, verify
from construct.memory.shown.lines import anchored_lines, anchors_in, pairs_in, plain_line, read_notes, section
from construct.prompts import prompt
from construct.store.records import Observation

INPUT_TOKENS = 16_000
TARGET = 0.6
"""Share of the tokens it is given to which a reflector is asked to come."""
_KNOWN_TOKENS = 4_000
"""Of notes that a reflector has read before."""
_REPLY_TOKENS = 8_192
_WORD = re.compile(r"\w+")


async def reflect(model: Model | None, given: Sequence[Observation], said: Said, account: Account) -> Reflection:
    """Return what may be committed; nothing may where its `shrinks` is false.

    Without a model that can check its own work only near-duplicates are retired. Else what floor or verifier refused
    goes back once, with the reasons, and so does an answer that does not shrink.
    """
    if model is None or not is_capable(model):
        return await asyncio.to_thread(lambda: checked(condense(given), given, said))
    first = await _answered(model, given, said, account)
    if first is None or first == Reflection() or (first.shrinks and not first.refused):
        return first or Reflection()
    settled = first.changes if first.shrinks else ()
    second = await _answered(model, given, said, account, _remark(first), settled)
    if second is None:
        return first
    given_up = tuple(r for r in first.refused if r not in second.refused and not second.gone.issuperset(r.kept))
    return Reflection((*settled, *second.changes), (*given_up, *second.refused))


def choose(active: Sequence[Observation], read_until: str = "", most: int = INPUT_TOKENS) -> list[Observation]:
    """Return the observations a reflector is given, at most `most` tokens, in order of age.

    What was committed after `read_until`, the stored time of the last reading, comes first, those condensed least and
    of them the oldest before the others. Of the rest some thousand tokens, what speaks of the same before the others:
    usually all of it, since a new line may make any old one outdated ("moved to Porto"); but lines that nothing can
    shorten must not be paid for each time, nor in the end leave no room for new ones. When nothing is new, the rest is
    all there is. Pinned lines and the user's own stay out of its hands.
    """
    free = sorted((o for o in active if not o.is_protected), key=lambda o: (o.generation, o.id))
    unread = [o for o in free if (o.committed_at or "") > read_until]
    chosen = _fitting(unread or free, most) or free[:1]
    if unread:
        rest = [o for o in free if (o.committed_at or "") <= read_until]
        size = sum(o.token_count for o in chosen)
        chosen += _fitting(_related(rest, chosen), min(_KNOWN_TOKENS, most - size))
    return sorted(chosen, key=lambda o: (o.observation_date, o.id))


def input_tokens(model: Model | None) -> int:
    """Return the most observation tokens one call is given."""
    return INPUT_TOKENS if model is None else max(200, min(INPUT_TOKENS, model.context_window // 3))


def _fitting(observations: Sequence[Observation], most: int) -> list[Observation]:
    """Return the first observations, as many as `most` tokens hold."""
    sizes = accumulate(o.token_count for o in observations)
    return [o for o, size in zip(observations, sizes, strict=True) if size <= most]


def _related(rest: Sequence[Observation], unread: Sequence[Observation]) -> list[Observation]:
    """Return the observations, those first that share the rarest words with the unread ones."""
    spread = Counter(word for o in unread for word in _words(o))
    for o in rest:  # read twice, and not kept: there are ever more of them
        spread.update(_words(o) & spread.keys())
    return sorted(rest, key=lambda o: sum(1 / spread[word] for word in _words(o) & spread.keys()), reverse=True)


def _words(o: Observation) -> set[str]:
    return set(_WORD.findall(o.content.casefold()))


async def _answered(
    model: Model,
    given: Sequence[Observation],
    said: Said,
    account: Account,
    remark: str = "",
    settled: Sequence[Change] = (),
) -> Reflection | None:
    """Return one answer as floor and verifier leave it; None when it could not be had, or not be verified."""
    request = _request(model, given, remark)
    proposal, is_whole = await _proposed(model, request, given, account)
    if not is_whole:
        proposal, _ = await _proposed(model, request, given, account)
    if proposal is None:
        return None
    found = await asyncio.to_thread(checked, proposal, given, said, settled)
    by_id = {o.id: o for o in given}
    asked = [change for change in found.changes if change.kind != "drop"]
    answers = await verify(model, [_group(change, by_id) for change in asked], account)
    if answers is None:
        return None
    wrong = {change: reason for change, reason in zip(asked, answers, strict=True) if reason}
    refused = [Refusal(_what(change, by_id), reason, change.retired) for change, reason in wrong.items()]
    return Reflection(tuple(c for c in found.changes if c not in wrong), (*found.refused, *refused))


async def _proposed(
    model: Model, request: WorkRequest, given: Sequence[Observation], account: Account
) -> tuple[ReflectionProposal | None, bool]:
    """Ask once, and return what can be read of the answer, and whether it is all of it."""
    reply = await ask(model, request, account)
    if reply is None:
        return None, False
    answer = sound_part(reply.text)
    main = section(answer, "reflections")
    if main is None:
        account.problems.append("the answer has no <reflections>")
        return None, False
    if not main.is_closed:
        account.problems.append("the answer broke off")
    anchors = {f"O{number}": o.id for number, o in enumerate(given, 1)}
    notes = read_notes(main.lines, "O", anchors)
    if unread := len(main.lines) - len(notes):
        account.problems.append(f"lines of the answer that could not be read: {unread}")
    if main.lines and not notes:
        return None, False
    lines = [
        ProposedObservation(
            n.content, n.priority, n.stance, n.observation_date, n.referenced_date, tuple(anchors[a] for a in n.anchors)
        )
        for n in notes
    ]

    def pairs(name: str, sign: str) -> tuple[tuple[int, int], ...]:
        return tuple((anchors[a], anchors[b]) for a, b in pairs_in(_section_lines(answer, name), sign, anchors))

    dropped = tuple(anchors[a] for a in anchors_in(_section_lines(answer, "drop"), anchors))
    found = ReflectionProposal(tuple(lines), pairs("same", "="), pairs("outdated", "by"), dropped)
    return found, main.is_closed


def _section_lines(answer: str, name: str) -> Sequence[str]:
    found = section(answer, name)
    return found.lines if found else ()


def _request(model: Model, given: Sequence[Observation], remark: str) -> WorkRequest:
    size = sum(o.token_count for o in given)
    target = f"These are about {size} tokens. Bring them to at most {int(TARGET * size)} tokens in all."
    return WorkRequest(
        system=prompt("reflector"),
        user="\n".join(["<notes>", *anchored_lines("O", given), "</notes>", "", target, *filter(None, [remark])]),
        max_tokens=min(_REPLY_TOKENS, model.context_window // 3),
        hopeless=repeats_itself,
    )


def _remark(first: Reflection) -> str:
    """Return what the reflector is told of its first answer."""
    if not first.shrinks and not first.refused:
        return "Your last answer was not shorter than the notes it replaced. Write shorter lines, or leave notes alone."
    refused = [f"- refused: {refusal.what} ({refusal.reason})" for refusal in first.refused]
    rest = "The rest of your answer is taken: do not repeat it. " if first.shrinks else ""
    return "\n".join([
        "", "Of your last answer this was refused:", *refused,
        f"{rest}Give what was refused again where you can correct it; leave those notes alone where you cannot.",
    ])  # fmt: skip


def _group(change: Change, by_id: Mapping[int, Observation]) -> Group:
    assert change.kind != "drop"
    result = change.line or by_id[change.stays or 0]
    return Group(change.kind, tuple(by_id[i] for i in change.retired), result)


def _what(change: Change, by_id: Mapping[int, Observation]) -> str:
    if change.line:
        return plain_line(change.line)
    stays = by_id[change.stays or 0].content[:80]
    return f"the same as “{stays}”" if change.kind == "same" else f"outdated by “{stays}”"

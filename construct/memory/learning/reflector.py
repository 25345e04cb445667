"""The reflector: condense observations, as far as code and the verifier agree."""

import asyncio
import re
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence

from construct import tokens
from construct.language.fact_match import fact_key
from construct.llm.capable import is_capable
from construct.llm.types import Model, WorkRequest
from construct.memory.learning.asking import Account, ask, repeats_itself, sound_part
from construct.memory.learning.proposals import ProposedObservation, ReflectionProposal
from construct.memory.learning.reflection_checks import (
    Change,
    ChangeKind,
    Reflection,
    Refusal,
    Said,
    check_reflection,
    precedence,
)
from construct.memory.learning.verifier import Group, verify
from construct.memory.shown.lines import (
    anchored_lines,
    anchors_in,
    note_columns,
    pairs_in,
    plain_line,
    read_notes,
    section,
    section_lines,
)
from construct.prompts import prompt
from construct.store.records import Observation

INPUT_TOKENS = 16_000
TARGET = 0.6
"""Share of its input tokens that a reflector is asked to reduce them to."""
_KNOWN_TOKENS = 4_000
"""Tokens of notes that a reflector has read before."""
_REPLY_TOKENS = 8_192
_WORD = re.compile(r"\w+")


async def reflect(
    model: Model | None, given: Sequence[Observation], said: Said, account: Account
) -> Reflection:
    """Return what may be committed; nothing may where its `shrinks` is false.

    Without a model that can check its own work only near-duplicates are retired. Else
    what code or the verifier refused goes back once, with the reasons, and so does an
    answer that does not shrink.
    """
    if model is None or not is_capable(model):
        return await asyncio.to_thread(lambda: check_reflection(condense(given, said), given, said))
    first = await _answered(model, given, said, account)
    if first is None or first == Reflection() or (first.shrinks and not first.refused):
        return first or Reflection()
    settled = first.changes if first.shrinks else ()
    second = await _answered(model, given, said, account, _remark(first), settled)
    if second is None:
        return first
    given_up = tuple(
        r
        for r in first.refused
        if r not in second.refused and not second.superseded.issuperset(r.kept)
    )
    return Reflection((*settled, *second.changes), (*given_up, *second.refused))


def choose(
    active: Sequence[Observation], read_until: str = "", most: int = INPUT_TOKENS
) -> list[Observation]:
    """Return the observations for a reflector, oldest first, at most `most` tokens.

    First what was committed after `read_until`, the stored time of the last reading:
    those condensed least, and of them the oldest. Then some thousand tokens of the
    rest, what speaks of the same first: a new line may make any old one outdated
    ("moved to Porto"). Not all of it in a long life: lines that nothing can shorten
    must not be paid for each time, nor leave no room for new ones. When nothing is new,
    the rest is read. Pinned lines and the user's own are never given.
    """
    free = sorted((o for o in active if not o.is_protected), key=lambda o: (o.generation, o.id))
    unread = [o for o in free if (o.committed_at or "") > read_until]
    chosen = list(_fitting(unread or free, most)) or free[:1]
    if unread:
        rest = [o for o in free if (o.committed_at or "") <= read_until]
        size = sum(o.token_count for o in chosen)
        chosen += _fitting(_related(rest, chosen), min(_KNOWN_TOKENS, most - size))
    return sorted(chosen, key=lambda o: (o.observation_date, o.id))


def input_tokens(model: Model | None) -> int:
    """Return the limit of observation tokens for one call."""
    return INPUT_TOKENS if model is None else max(200, min(INPUT_TOKENS, model.context_window // 3))


def _fitting(observations: Sequence[Observation], most: int) -> Sequence[Observation]:
    return observations[: tokens.how_many_fit([o.token_count for o in observations], most)]


def _related(rest: Sequence[Observation], unread: Sequence[Observation]) -> list[Observation]:
    """Return the observations, those that share rare words with unread ones first."""
    spread = Counter(word for o in unread for word in _words(o))
    for o in rest:  # read twice, and not kept: there are ever more of them
        spread.update(_words(o) & spread.keys())
    return sorted(
        rest,
        key=lambda o: sum(1 / spread[word] for word in _words(o) & spread.keys()),
        reverse=True,
    )


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
    """Return one answer as code and verifier leave it.

    None when it could not be had, or not be verified.
    """
    size = sum(o.token_count for o in given)
    target = f"Bring them to at most {int(TARGET * size)} tokens in all."
    lines = ["<notes>", *anchored_lines("O", given), "</notes>", ""]
    lines.append(f"These are about {size} tokens. {target}")
    request = WorkRequest(
        system=prompt("reflector"),
        user="\n".join([*lines, remark] if remark else lines),
        max_tokens=min(_REPLY_TOKENS, model.context_window // 3),
        hopeless=repeats_itself,
    )
    proposal = await _proposed(model, request, given, account)
    if proposal is None or not proposal.is_whole:
        proposal = await _proposed(model, request, given, account)
    if proposal is None:
        return None
    found = await asyncio.to_thread(check_reflection, proposal, given, said, settled)
    by_id = {o.id: o for o in given}
    asked = [change for change in found.changes if change.kind != ChangeKind.DROP]
    answers = await verify(model, [_group(change, by_id) for change in asked], account)
    if answers is None:
        return None
    wrong = {change: reason for change, reason in zip(asked, answers, strict=True) if reason}
    refused = [
        Refusal(_what(change, by_id), reason, change.retired) for change, reason in wrong.items()
    ]
    return Reflection(tuple(c for c in found.changes if c not in wrong), (*found.refused, *refused))


async def _proposed(
    model: Model, request: WorkRequest, given: Sequence[Observation], account: Account
) -> ReflectionProposal | None:
    reply = await ask(model, request, account)
    if reply is None:
        return None
    answer = sound_part(reply.text)
    main = section(answer, "reflections")
    if main is None:
        account.problems.append("the answer has no <reflections>")
        return None
    if not main.is_closed:
        account.problems.append("the answer broke off")
    anchors = {f"O{number}": o.id for number, o in enumerate(given, 1)}
    notes = read_notes(main.lines, "O", anchors)
    if unread := len(main.lines) - len(notes):
        account.problems.append(f"lines of the answer that could not be read: {unread}")
    if main.lines and not notes:
        return None
    same = pairs_in(section_lines(answer, "same"), "=", anchors)
    outdated = pairs_in(section_lines(answer, "outdated"), "by", anchors)
    dropped = anchors_in(section_lines(answer, "drop"), anchors)
    return ReflectionProposal(
        observations=tuple(
            ProposedObservation(
                **note_columns(note),
                sources=tuple(anchors[a] for a in note.anchors),
            )
            for note in notes
        ),
        same=tuple((anchors[one], anchors[other]) for one, other in same),
        outdated=tuple((anchors[stale], anchors[newer]) for stale, newer in outdated),
        drop=tuple(anchors[a] for a in dropped),
        is_whole=main.is_closed,
    )


def _remark(first: Reflection) -> str:
    if not first.shrinks and not first.refused:
        return (
            "Your last answer was not shorter than the notes it replaced. "
            "Write shorter lines, or leave notes alone."
        )
    refused = [f"- refused: {refusal.proposal} ({refusal.reason})" for refusal in first.refused]
    rest = "The rest of your answer is taken: do not repeat it. " if first.shrinks else ""
    again = (
        "Give what was refused again where you can correct it; "
        "leave those notes alone where you cannot."
    )
    return "\n".join(["", "Of your last answer this was refused:", *refused, f"{rest}{again}"])


def _group(change: Change, by_id: Mapping[int, Observation]) -> Group:
    assert change.kind != ChangeKind.DROP
    result = change.line or by_id[change.stays or 0]
    return Group(change.kind, tuple(by_id[i] for i in change.retired), result)


def _what(change: Change, by_id: Mapping[int, Observation]) -> str:
    if change.line:
        return plain_line(change.line)
    stays = by_id[change.stays or 0].content[:80]
    return f"the same as “{stays}”" if change.kind == ChangeKind.SAME else f"outdated by “{stays}”"


def condense(observations: Sequence[Observation], said: Said) -> ReflectionProposal:
    """Return a proposal that retires near-duplicates, without a worker model.

    Its pairs are (the one to retire, the one that stays).
    """
    staying: dict[Hashable, int] = {}
    same: list[tuple[int, int]] = []
    for o in sorted(observations, key=lambda o: precedence(o, said), reverse=True):
        fact = o.stance, fact_key(o.content, o.observation_date, o.referenced_date)
        stays = staying.setdefault(fact, o.id)
        if stays != o.id and not o.is_protected:
            same.append((o.id, stays))
    return ReflectionProposal(same=tuple(same))

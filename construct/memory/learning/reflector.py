"""The reflector: condense observations.

Code checks every change. The verifier also checks a model's changes, except what is only
shelved or dropped.
"""

import asyncio
import re
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from datetime import date

from construct import tokens
from construct.language.fact_match import fact_key
from construct.language.names import heard_words, unfound_names
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
"""Maximum tokens of observations in one call."""
TARGET = 0.45
"""A reflector is asked to reduce its input to this share of its tokens."""
_KNOWN_TOKENS = 4_000
"""Maximum tokens of already read observations that join the new ones in one call."""
_REPLY_TOKENS = 8_192
_NOT_VERIFIED = {ChangeKind.SHELVE, ChangeKind.DROP}
"""Changes in which nothing is said anew."""
_WORD = re.compile(r"\w+")


async def reflect(
    model: Model | None,
    observations: Sequence[Observation],
    said: Said,
    today: date,
    account: Account,
) -> Reflection:
    """Return the changes that passed all checks; commit them only if `shrinks` is true.

    Without a model that can check its own work, only near-duplicates are retired.
    Otherwise the model gets one chance to correct what code or the verifier refused, or
    an answer that is not shorter than the notes it replaces.
    """
    if model is None or not is_capable(model):
        return await asyncio.to_thread(
            lambda: check_reflection(condense(observations, said), observations, said, today)
        )
    first = await _checked_answer(model, observations, said, today, account)
    if first is None or first == Reflection() or (first.shrinks and not first.refused):
        return first or Reflection()
    settled = first.changes if first.shrinks else ()
    remark = _remark(first)
    second = await _checked_answer(model, observations, said, today, account, remark, settled)
    if second is None:
        return first
    given_up = tuple(
        r
        for r in first.refused
        if r not in second.refused and not second.superseded.issuperset(r.kept)
    )
    return Reflection((*settled, *second.changes), (*given_up, *second.refused))


def choose(
    active: Sequence[Observation], read_until: str = "", limit: int = INPUT_TOKENS
) -> list[Observation]:
    """Return the observations to condense, oldest first, at most `limit` tokens of them.

    Observations committed after `read_until`, when a reflector last read any, are chosen
    first: the least condensed, then the oldest. Up to `_KNOWN_TOKENS` of the others are
    added, related ones first, since a new observation ("moved to Porto") may make an old
    one outdated. That cap keeps observations that cannot be shortened from being paid
    for every time. If there are no new observations, the others are read again.
    Observations that the user pinned or wrote are never chosen.
    """
    free = sorted((o for o in active if not o.is_protected), key=lambda o: (o.generation, o.id))
    unread = [o for o in free if (o.committed_at or "") > read_until]
    chosen = list(_fitting(unread or free, limit)) or (unread or free)[:1]
    if unread:
        rest = [o for o in free if (o.committed_at or "") <= read_until]
        size = sum(o.token_count for o in chosen)
        chosen += _fitting(_related(rest, chosen), min(_KNOWN_TOKENS, limit - size))
    return sorted(chosen, key=lambda o: (o.observation_date, o.id))


def input_tokens(model: Model | None) -> int:
    """Return how many tokens of observations one call may read."""
    return INPUT_TOKENS if model is None else max(200, min(INPUT_TOKENS, model.context_window // 3))


def _fitting(observations: Sequence[Observation], limit: int) -> Sequence[Observation]:
    return observations[: tokens.how_many_fit([o.token_count for o in observations], limit)]


def _related(rest: Sequence[Observation], unread: Sequence[Observation]) -> list[Observation]:
    """Sort observations: those that share rare words with unread ones come first."""
    spread = Counter(word for o in unread for word in _words(o))
    for o in rest:  # splits each text again below: keeping all words would take too much memory
        spread.update(_words(o) & spread.keys())
    return sorted(
        rest,
        key=lambda o: sum(1 / spread[word] for word in _words(o) & spread.keys()),
        reverse=True,
    )


def _words(o: Observation) -> set[str]:
    return set(_WORD.findall(o.content.casefold()))


async def _checked_answer(
    model: Model,
    observations: Sequence[Observation],
    said: Said,
    today: date,
    account: Account,
    remark: str = "",
    settled: Sequence[Change] = (),
) -> Reflection | None:
    """Ask for one reflection and return it checked by code and by the verifier.

    None if there was no usable answer, or if it could not be verified.
    """
    size = sum(o.token_count for o in observations)
    target = f"Bring them to at most {int(TARGET * size)} tokens in all."
    lines = ["<notes>", *anchored_lines("O", observations), "</notes>", ""]
    lines.append(f"These are about {size} tokens. {target}")
    request = WorkRequest(
        system=prompt("reflector"),
        user="\n".join([*lines, remark] if remark else lines),
        max_tokens=min(_REPLY_TOKENS, model.context_window // 3),
        hopeless=repeats_itself,
    )
    proposal = await _ask_for_proposal(model, request, observations, account)
    if proposal is None or not proposal.is_whole:
        proposal = await _ask_for_proposal(model, request, observations, account)
    if proposal is None:
        return None
    checked = await asyncio.to_thread(
        check_reflection, proposal, observations, said, today, settled
    )
    by_id = {o.id: o for o in observations}
    to_verify = [change for change in checked.changes if change.kind not in _NOT_VERIFIED]
    answers = await verify(model, [_group(change, by_id) for change in to_verify], account)
    if answers is None:
        return None
    objections = {
        change: reason for change, reason in zip(to_verify, answers, strict=True) if reason
    }
    refused = [
        Refusal(proposal=_described(change, by_id), reason=reason, kept=change.retired)
        for change, reason in objections.items()
    ]
    return Reflection(
        tuple(c for c in checked.changes if c not in objections), (*checked.refused, *refused)
    )


async def _ask_for_proposal(
    model: Model, request: WorkRequest, observations: Sequence[Observation], account: Account
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
    anchors = {f"O{number}": o.id for number, o in enumerate(observations, 1)}
    notes, unread = read_notes(main.lines, "O", anchors)
    if unread:
        account.problems.append(f"lines of the answer that could not be read: {len(unread)}")
    if unread and not notes:
        return None
    same = pairs_in(section_lines(answer, "same"), "=", anchors)
    outdated = pairs_in(section_lines(answer, "outdated"), "by", anchors)
    shelved = anchors_in(section_lines(answer, "shelve"), anchors)
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
        shelve=tuple(anchors[a] for a in shelved),
        is_whole=main.is_closed,
    )


def _remark(first: Reflection) -> str:
    """Return the remark that tells the model what was wrong with its first answer."""
    if not first.shrinks and not first.refused:
        return (
            "Your last answer was not shorter than the notes it replaced. "
            "Write shorter lines, or leave notes alone."
        )
    refused = [f"- refused: {refusal.proposal} ({refusal.reason})" for refusal in first.refused]
    rest = "The rest of your answer is accepted: do not repeat it. " if first.shrinks else ""
    request_again = (
        "Where you can correct a refused part, give it again, corrected; "
        "otherwise leave its notes alone."
    )
    return "\n".join(
        ["", "These parts of your last answer were refused:", *refused, f"{rest}{request_again}"]
    )


def _group(change: Change, by_id: Mapping[int, Observation]) -> Group:
    assert change.kind not in _NOT_VERIFIED
    notes = [by_id[i] for i in change.retired]
    if change.line:
        return line_group(notes, change.line)
    return Group(change.kind, tuple(map(plain_line, notes)), plain_line(by_id[change.stays or 0]))


def line_group(notes: Sequence[Observation], line: ProposedObservation) -> Group:
    """Return the group that asks whether a new line may replace notes."""
    look = unfound_names(line.content, heard_words(o.content for o in notes))
    return Group(ChangeKind.LINE, tuple(map(plain_line, notes)), plain_line(line), tuple(look))


def _described(change: Change, by_id: Mapping[int, Observation]) -> str:
    """Describe a change for a refusal: its new line, or the note that stays."""
    if change.line:
        return plain_line(change.line)
    stays = by_id[change.stays or 0].content[:80]
    return f"the same as “{stays}”" if change.kind == ChangeKind.SAME else f"outdated by “{stays}”"


def condense(observations: Sequence[Observation], said: Said) -> ReflectionProposal:
    """Propose by rule, without a worker model, to retire near-duplicates.

    The pairs in `same` are (id to retire, id that stays).
    """
    staying: dict[Hashable, int] = {}
    same: list[tuple[int, int]] = []
    for o in sorted(observations, key=lambda o: precedence(o, said), reverse=True):
        fact = o.stance, fact_key(o.content, o.observation_date, o.referenced_date)
        stays = staying.setdefault(fact, o.id)
        if stays != o.id and not o.is_protected:
            same.append((o.id, stays))
    return ReflectionProposal(same=tuple(same))

"""The observer: from a batch of messages to observations, whatever the worker model answers.

An attempt that fails is made once more, then on both halves in turn; what still fails is taken by the extractive
worker, so that no batch is ever passed over (memory.md, "One way through").
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from construct.clock import Clock, from_text
from construct.llm.types import Model, WorkRequest
from construct.memory.language.terms import terms
from construct.memory.learning.asking import Account, ask, repeats_itself, sound_part
from construct.memory.learning.extractive import extract
from construct.memory.learning.grounding import at_least, least_stance, ungrounded_terms
from construct.memory.learning.proposals import Extraction, ProposedObservation
from construct.memory.shown.lines import ReadNote, anchored_lines, anchors_in, fitting, phrase, read_notes, section
from construct.memory.shown.transcript import halves, slices, transcript
from construct.prompts import prompt
from construct.store.records import Message, Observation

BATCH_TOKENS = 16_000
KNOWN_TOKENS = 1_500
_PROMPT_TOKENS = 1_800
"""At most what the prompt itself takes."""
_REPLY_TOKENS = 8_192
_LONGEST_PHRASE, _LONGEST_TITLE = 400, 80
_AGAIN = "A first reading of this noted nothing. Read it once more; if there is nothing to note, answer so again."


@dataclass(frozen=True, slots=True)
class Reading:
    """What an observer reads, and what it is told beside."""

    messages: Sequence[Message]
    before: Sequence[Message]
    """The two messages before these: a line may take its names from them."""
    known: Sequence[Observation]
    """Notes that are there already, the most relevant first."""
    clock: Clock
    earlier: tuple[ProposedObservation, ...] = ()
    """What was written about earlier parts of the same batch: named like known notes, but not stored yet."""
    most_notes: int = KNOWN_TOKENS
    """Tokens of notes that it is told of."""

    @property
    def notes(self) -> dict[str, Observation | ProposedObservation]:
        """The notes it is told of by anchor: those written a moment ago first, the newest of them first."""
        notes: list[Observation | ProposedObservation] = [*reversed(self.earlier), *self.known]
        return {f"K{number}": note for number, note in enumerate(fitting(notes, self.most_notes), 1)}


@dataclass(frozen=True, slots=True)
class _Attempt:
    """What came of one call; `found` is None when nothing of the answer could be read."""

    found: Extraction | None = None
    is_whole: bool = False


async def observe(model: Model | None, reading: Reading, account: Account) -> Extraction:
    """Return what the messages say; without a model, what the extractive worker finds in them."""
    if model is None:
        return await asyncio.to_thread(extract, reading.messages, reading.clock)
    reading = replace(reading, most_notes=known_tokens(model))
    found: list[Extraction] = []
    for part in _sized(reading.messages, batch_tokens(model)):
        found.append(await _observe_part(model, _next_part(reading, part, found), account))
    return joined(found)


def batch_tokens(model: Model | None) -> int:
    """Return the most tokens of messages that one call reads: a small window leaves room for prompt and answer."""
    return BATCH_TOKENS if model is None else min(BATCH_TOKENS, _room(model))


def known_tokens(model: Model) -> int:
    """Return the most tokens of known notes that one call is told of."""
    return min(KNOWN_TOKENS, model.context_window // 8)


def _room(model: Model) -> int:
    """Return what messages and answer may each take of the model's window."""
    return max(200, (model.context_window - _PROMPT_TOKENS - known_tokens(model)) // 2)


def joined(parts: Sequence[Extraction]) -> Extraction:
    """Return several extractions as one: the task of the last that has one, the title of the first.

    A model's title comes before a rule's.
    """

    def last(values: list[str | None]) -> str | None:
        return next((value for value in reversed(values) if value is not None), None)

    titled = [p for p in parts if p.title and not p.by_rule] or [p for p in parts if p.title]
    withdrawn = {o for part in parts for o in part.withdrawn}
    return Extraction(
        observations=tuple(o for part in parts for o in part.observations if o not in withdrawn),
        current_task=last([p.current_task for p in parts]),
        suggested_response=last([p.suggested_response for p in parts]),
        title=titled[0].title if titled else None,
        forget_observations=tuple(i for part in parts for i in part.forget_observations),
        forget_messages=tuple(i for part in parts for i in part.forget_messages),
        withdrawn=tuple(withdrawn),
        by_rule=all(p.by_rule for p in titled),
    )


def _next_part(reading: Reading, messages: Sequence[Message], found: Sequence[Extraction]) -> Reading:
    """Return the reading of a later part, which knows what the parts before it gave."""
    ids = [m.id for m in reading.messages]
    at = ids.index(messages[0].id)
    return replace(
        reading,
        messages=messages,
        before=[*reading.before, *reading.messages[:at]][-2:],
        earlier=(*reading.earlier, *(o for part in found for o in part.observations)),
    )


async def _observe_part(model: Model, reading: Reading, account: Account) -> Extraction:
    attempt = await _tried_twice(model, reading, account)
    if attempt.is_whole and attempt.found:
        return attempt.found
    parts = halves(reading.messages)
    if len(parts) == 1:
        return await _completed_by_rule(attempt, reading)
    found: list[Extraction] = []
    for part in parts:
        half = _next_part(reading, part, found)
        attempt = await _attempt(model, half, account)
        found.append(attempt.found if attempt.is_whole and attempt.found else await _completed_by_rule(attempt, half))
    return joined(found)


async def _tried_twice(model: Model, reading: Reading, account: Account) -> _Attempt:
    """Return the first whole answer of two; where the user's words hold terms, an empty one is asked for again."""
    failures, asked_again, attempt = 0, False, _Attempt()
    while failures < 2:
        attempt = await _attempt(model, reading, account, _AGAIN if asked_again else "")
        if not attempt.is_whole or attempt.found is None:
            failures += 1
        elif attempt.found.says_something or asked_again or not _holds_terms(reading):
            break
        else:
            asked_again = True
    return attempt


def _holds_terms(reading: Reading) -> bool:
    return any(terms(m.content) for m in reading.messages if m.role == "user")


async def _completed_by_rule(attempt: _Attempt, reading: Reading) -> Extraction:
    """Return the whole lines of a broken answer, and what the extractive worker finds from the last they name on."""
    if attempt.found is None:
        return await asyncio.to_thread(extract, reading.messages, reading.clock)
    named = max((i for o in attempt.found.observations for i in o.sources), default=0)
    rest = [m for m in reading.messages if m.id >= named]
    return joined([attempt.found, await asyncio.to_thread(extract, rest, reading.clock)])


async def _attempt(model: Model, reading: Reading, account: Account, remark: str = "") -> _Attempt:
    text, anchors = transcript(reading.messages, reading.clock)
    notes = reading.notes.values()
    known = "\n".join(["<known>", *anchored_lines("K", notes), "</known>"]) if notes else ""
    size = sum(m.token_count for m in reading.messages)
    request = WorkRequest(
        system=prompt("observer"),
        user="\n\n".join(part for part in (known, text, remark) if part),
        max_tokens=min(_REPLY_TOKENS, _room(model), 1_000 + size),
        hopeless=repeats_itself,
    )
    reply = await ask(model, request, account)
    if reply is None:
        return _Attempt()
    return await asyncio.to_thread(_read, sound_part(reply.text), reading, anchors, account)  # a large paste takes time


def _read(answer: str, reading: Reading, anchors: dict[str, int], account: Account) -> _Attempt:
    main = section(answer, "observations")
    if main is None:
        account.problems.append("the answer has no <observations>")
        return _Attempt()
    known = reading.notes
    notes = read_notes(main.lines, "M", anchors, known)
    if unread := len(main.lines) - len(notes):
        account.problems.append(f"lines of the answer that could not be read: {unread}")
    if main.lines and not notes:
        return _Attempt()
    if not main.is_closed:
        account.problems.append("the answer broke off")
    wanted = section(answer, "forget")
    named = anchors_in(wanted.lines, {*anchors, *known}) if wanted else []
    stored, fresh = _by_kind(known[a] for a in named if a in known)
    messages = [anchors[a] for a in named if a in anchors]
    found = Extraction(
        observations=_without_repetition(
            [o for note in notes if (o := _grounded(note, reading, anchors, known, account))]
        ),
        current_task=phrase(answer, "task", _LONGEST_PHRASE),
        suggested_response=phrase(answer, "next", _LONGEST_PHRASE),
        title=phrase(answer, "title", _LONGEST_TITLE) or None,
        forget_observations=tuple(o.id for o in stored),
        forget_messages=tuple(dict.fromkeys((*messages, *(i for o in fresh for i in o.sources)))),
        withdrawn=tuple(fresh),
    )
    return _Attempt(found, main.is_closed)


def _grounded(
    note: ReadNote,
    reading: Reading,
    anchors: dict[str, int],
    known: Mapping[str, Observation | ProposedObservation],
    account: Account,
) -> ProposedObservation | None:
    """Return a line with ids for anchors, its stance and date within what its sources prove; None when it invents."""
    ids = tuple(anchors[a] for a in note.anchors)
    replaced, fresh = _by_kind(known[k] for k in note.replaces)
    heard = _heard(ids, reading)
    days = {reading.clock.local(from_text(m.created_at)).date().isoformat() for m in heard}
    sources = [m for m in heard if m.id in ids]
    last_day = max(reading.clock.local(from_text(m.created_at)).date().isoformat() for m in sources)
    own_days = [*days, note.observation_date, note.referenced_date or ""]
    named: list[Observation | ProposedObservation] = [*replaced, *fresh]
    texts = [*(m.content for m in heard), *(o.content for o in named)]
    named_days = [day for o in named for day in (o.observation_date, o.referenced_date or "")]
    if strange := ungrounded_terms(note.content, texts, own_days + named_days):
        account.problems.append(f"left out “{note.content[:120]}”: {_listed(strange)} is not in what it names")
        return None
    return ProposedObservation(
        content=note.content,
        priority=note.priority,
        stance=at_least(note.stance, least_stance(note.content, sources, heard)),
        observation_date=min(note.observation_date, last_day),
        referenced_date=note.referenced_date,
        sources=tuple(dict.fromkeys((*ids, *(i for o in fresh for i in o.sources)))),
        replaces=tuple(o.id for o in replaced),
    )


def _by_kind(
    notes: Iterable[Observation | ProposedObservation],
) -> tuple[list[Observation], list[ProposedObservation]]:
    """Return those notes that are stored, and those that were written a moment ago: they cannot be replaced yet."""
    found = list(notes)
    return [o for o in found if isinstance(o, Observation)], [o for o in found if isinstance(o, ProposedObservation)]


def _heard(ids: Sequence[int], reading: Reading) -> list[Message]:
    """Return the messages of these ids with the two before each, pieces of a large one all together."""
    everything = [*reading.before, *reading.messages]
    wanted = {place for at, m in enumerate(everything) if m.id in ids for place in range(at - 2, at + 1)}
    return [m for at, m in enumerate(everything) if at in wanted]


def _listed(names: frozenset[str]) -> str:
    return ", ".join(f"“{name}”" for name in sorted(names))


def _without_repetition(observations: Sequence[ProposedObservation]) -> tuple[ProposedObservation, ...]:
    """Return each fact once; a line that says it again adds its sources to the first."""
    found: dict[tuple[str, str, str | None], ProposedObservation] = {}
    for o in observations:
        key = o.content.casefold(), o.stance, o.referenced_date
        first = found.setdefault(key, o)
        found[key] = replace(
            first,
            sources=tuple(dict.fromkeys(first.sources + o.sources)),
            replaces=tuple(dict.fromkeys(first.replaces + o.replaces)),
        )
    return tuple(found.values())


def _sized(messages: Sequence[Message], most: int) -> list[list[Message]]:
    """Return the messages in parts that fit one call; a message larger than that is cut inside."""
    parts: list[list[Message]] = [[]]
    size = 0
    for message in messages:
        for piece in slices(message.content, most):
            cost = message.token_count if piece == message.content else most
            if parts[-1] and size + cost > most:
                parts.append([])
                size = 0
            parts[-1].append(message if piece == message.content else message._replace(content=piece))
            size += cost
    return [part for part in parts if part]

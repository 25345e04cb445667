"""The observer: turn a batch of messages into observations.

A failed attempt is repeated once, then on each half of the batch. The extractive worker
reads a half that fails too, so no batch is ever skipped (docs/memory.md,
"What happens in a turn").
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from construct import tokens
from construct.clock import Clock
from construct.language.dates import mentioned_days
from construct.language.terms import terms
from construct.llm.types import File, Model, WorkRequest
from construct.memory.learning.asking import Account, ask, repeats_itself, sound_part
from construct.memory.learning.extractive import extract
from construct.memory.learning.grounding import (
    own_words,
    quoted_list,
    rests_on_files,
    strongest_stance,
    ungrounded_terms,
    weaker,
)
from construct.memory.learning.proposals import Extraction, ProposedObservation
from construct.memory.shown.escaping import escape
from construct.memory.shown.lines import (
    ReadNote,
    anchored_lines,
    anchors_in,
    fitting,
    note_columns,
    phrase,
    read_notes,
    section,
    section_lines,
)
from construct.memory.shown.transcript import halves, slices, transcript
from construct.prompts import prompt
from construct.store.records import Message, Observation
from construct.vocabulary import Role, Stance

BATCH_TOKENS = 16_000
"""Maximum tokens of messages in one call."""
KNOWN_TOKENS = 1_500
"""Maximum tokens of known notes in one call."""
_WISHES_TOKENS = 1_500
"""Maximum tokens of the user's rules in one call."""
_PROMPT_TOKENS = 1_900
"""Tokens reserved for the system prompt (1,710) and what stands between the messages."""
_MIN_ROOM = 200
"""Minimum tokens for the messages, and for the answer, in a small context window."""
_REPLY_TOKENS = 8_192
_MAX_PHRASE = 400
"""Characters of a task or a suggested response."""
_MAX_TITLE = 80
"""Characters of a title."""
_QUOTE_LENGTH = 120
"""Characters of a rejected line that are quoted in a cycle's problems."""
_ASK_AGAIN = (
    "A first reading of this noted nothing. Read it once more; "
    "if there really is nothing to note, leave the section empty again."
)

Pictures = Mapping[int, Sequence[File]]
Known = Observation | ProposedObservation
"""A note shown to the observer: stored, or from an earlier part of its batch."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The messages an observer reads, and the context given with them."""

    messages: Sequence[Message]
    before: Sequence[Message]
    """The two messages before these: a line may take its names from them."""
    known: Sequence[Observation]
    """Existing notes, the most relevant first."""
    clock: Clock
    wishes: str = ""
    """The user's rules for what is worth a note."""
    earlier: tuple[ProposedObservation, ...] = ()
    """Notes not stored: from earlier parts of this batch, or earlier in a dry run."""
    known_limit: int = KNOWN_TOKENS
    """Maximum tokens of notes in the prompt."""
    pictures: Pictures = field(default_factory=dict)
    """Attachments that the model sees, by message id."""

    @property
    def notes(self) -> dict[str, Known]:
        """The notes in the prompt by anchor; those from earlier in the batch come first."""
        notes: list[Known] = [*reversed(self.earlier), *self.known]
        fits = fitting(notes, self.known_limit)
        return {f"K{number}": note for number, note in enumerate(fits, 1)}

    def part(self, messages: Sequence[Message], earlier: Sequence[Extraction]) -> "Reading":
        """Return the reading of a part of the messages, given what was found before it."""
        index = [m.id for m in self.messages].index(messages[0].id)
        return replace(
            self,
            messages=messages,
            before=[*self.before, *self.messages[:index]][-2:],
            earlier=(*self.earlier, *(o for part in earlier for o in part.observations)),
        )


async def observe(model: Model | None, reading: Reading, account: Account) -> Extraction:
    """Return the observations that a model finds in the messages.

    Without a model, the extractive worker reads them.
    """
    if model is None:
        return await asyncio.to_thread(extract, reading.messages, reading.clock)
    wishes = fitting_wishes(reading.wishes, model)
    added = tokens.count(system_prompt(wishes)) - tokens.count(system_prompt(""))
    reading = replace(reading, wishes=wishes, known_limit=max(0, known_tokens(model) - added))
    extractions: list[Extraction] = []
    for messages in _in_parts(reading.messages, batch_tokens(model)):
        extractions.append(await _observe_part(model, reading.part(messages, extractions), account))
    return joined(extractions)


def batch_tokens(model: Model | None) -> int:
    """Return how many tokens of messages one call may read.

    With a small context window it is less, to leave room for the prompt and the answer.
    """
    return BATCH_TOKENS if model is None else min(BATCH_TOKENS, _room(model))


def known_tokens(model: Model) -> int:
    """Return how many tokens of known notes one call may be given."""
    return min(KNOWN_TOKENS, model.context_window // 8)


def _room(model: Model) -> int:
    """Return how many tokens of the window the messages and the answer may each take."""
    return max(_MIN_ROOM, (model.context_window - _PROMPT_TOKENS - known_tokens(model)) // 2)


def joined(parts: Sequence[Extraction]) -> Extraction:
    """Merge several extractions into one.

    The last task and the first title are kept. A model's title is preferred to one made
    by rule.
    """
    tasks = [p.current_task for p in parts if p.current_task is not None]
    responses = [p.suggested_response for p in parts if p.suggested_response is not None]
    titled = [p for p in parts if p.title]
    titled.sort(key=lambda part: part.is_title_by_rule)
    withdrawn = {o for part in parts for o in part.withdrawn}
    return Extraction(
        observations=tuple(o for part in parts for o in part.observations if o not in withdrawn),
        current_task=tasks[-1] if tasks else None,
        suggested_response=responses[-1] if responses else None,
        title=titled[0].title if titled else None,
        forget_observations=tuple(i for part in parts for i in part.forget_observations),
        forget_messages=tuple(i for part in parts for i in part.forget_messages),
        withdrawn=tuple(withdrawn),
        by_rule=all(p.by_rule for p in parts),
        is_title_by_rule=bool(titled) and titled[0].is_title_by_rule,
    )


def system_prompt(wishes: str) -> str:
    """Return the observer's prompt, followed by the user's own rules."""
    if not wishes:
        return prompt("observer")
    framed = f"<wishes>\n{escape(wishes)}\n</wishes>"
    return "\n\n".join([prompt("observer"), prompt("wishes"), framed])


def fitting_wishes(wishes: str, model: Model) -> str:
    """Return the first lines of the user's rules, as many as fit into a call."""
    lines = wishes.splitlines()
    limit = min(_WISHES_TOKENS, model.context_window // 16)
    fit = tokens.how_many_fit([tokens.count(line) + 1 for line in lines], limit)
    return "\n".join(lines[:fit])


async def _observe_part(model: Model, reading: Reading, account: Account) -> Extraction:
    """Observe the messages of one call; by rule if every attempt fails."""
    answer = await _attempt_twice(model, reading, account)
    if answer is not None and answer.is_whole:
        return answer
    parts = halves(reading.messages)
    if len(parts) == 1:
        return await _completed_by_rule(answer, reading)
    extractions: list[Extraction] = []
    for messages in parts:
        half = reading.part(messages, extractions)
        answer = await _attempt(model, half, account)
        if answer is None or not answer.is_whole:
            answer = await _completed_by_rule(answer, half)
        extractions.append(answer)
    return joined(extractions)


async def _attempt_twice(model: Model, reading: Reading, account: Account) -> Extraction | None:
    """Return the first complete answer of two attempts, or else the last answer.

    If a complete answer is empty although the user names something, the model is asked
    once more. The empty answer does not count as an attempt.
    """
    answer, failures, remark = None, 0, ""
    while failures < 2:
        answer = await _attempt(model, reading, account, remark)
        if answer is None or not answer.is_whole:
            failures += 1
        elif answer.says_something or remark:
            break
        elif any(terms(m.content) for m in reading.messages if m.role == Role.USER):
            remark = _ASK_AGAIN
        else:
            break
    return answer


async def _completed_by_rule(broken: Extraction | None, reading: Reading) -> Extraction:
    """Complete a broken-off answer with observations made by rule.

    The extractive worker continues at the last message that the answer cites.
    """
    if broken is None or _is_empty(broken):
        return await asyncio.to_thread(extract, reading.messages, reading.clock)
    last_named = max((i for o in broken.observations for i in o.sources), default=0)
    rest = [m for m in reading.messages if m.id >= last_named]
    return joined([broken, await asyncio.to_thread(extract, rest, reading.clock)])


def _is_empty(answer: Extraction) -> bool:
    texts = (answer.title, answer.current_task, answer.suggested_response)
    return not (answer.says_something or answer.withdrawn or any(t is not None for t in texts))


async def _attempt(
    model: Model, reading: Reading, account: Account, remark: str = ""
) -> Extraction | None:
    """Return the model's answer to one call, read and checked; None if it cannot be used."""
    text, anchors = transcript(reading.messages, reading.clock)
    notes = reading.notes
    known = "\n".join(["<known>", *anchored_lines("K", notes.values()), "</known>"])
    size = sum(m.token_count for m in reading.messages)
    pictures: list[File] = []
    for message in reading.messages:
        if message.attached:
            pictures += reading.pictures.get(message.id, ())
    request = WorkRequest(
        system=system_prompt(reading.wishes),
        user="\n\n".join(part for part in (known if notes else "", text, remark) if part),
        max_tokens=min(_REPLY_TOKENS, _room(model), 1_000 + size),
        hopeless=repeats_itself,
        pictures=tuple(pictures),
    )
    reply = await ask(model, request, account)
    if reply is None:
        return None
    # In a thread: a large paste takes time.
    return await asyncio.to_thread(_read, reply.text, reading, anchors, notes, account)


def _read(
    answer: str,
    reading: Reading,
    anchors: Mapping[str, int],
    known: Mapping[str, Known],
    account: Account,
) -> Extraction | None:
    """Parse an answer. None if it has no <observations>, or none of its lines can be read."""
    answer = sound_part(answer)
    main = section(answer, "observations")
    if main is None:
        account.problems.append("the answer has no <observations>")
        return None
    notes = read_notes(main.lines, "M", anchors, known)
    if unread := len(main.lines) - len(notes):
        account.problems.append(f"lines of the answer that could not be read: {unread}")
    if main.lines and not notes:
        return None
    if not main.is_closed:
        account.problems.append("the answer broke off")
    to_forget = anchors_in(section_lines(answer, "forget"), {*anchors, *known})
    messages = [anchors[a] for a in to_forget if a in anchors]
    stored, unstored = _stored_and_unstored([known[a] for a in to_forget if a in known])
    messages += [i for o in unstored for i in o.sources]
    observations = [_checked_observation(note, reading, anchors, known, account) for note in notes]
    return Extraction(
        observations=tuple(o for o in observations if o is not None),
        current_task=phrase(answer, "task", _MAX_PHRASE),
        suggested_response=phrase(answer, "next", _MAX_PHRASE),
        title=phrase(answer, "title", _MAX_TITLE) or None,
        forget_observations=tuple(o.id for o in stored),
        forget_messages=tuple(dict.fromkeys(messages)),
        withdrawn=tuple(unstored),
        is_whole=main.is_closed,
    )


def _checked_observation(
    note: ReadNote,
    reading: Reading,
    anchors: Mapping[str, int],
    known: Mapping[str, Known],
    account: Account,
) -> ProposedObservation | None:
    """Return a proposed observation with the stance and date that its sources support.

    None if the line has a name or number that is neither in its sources, nor in the two
    messages before each of them, nor in the notes it replaces. If the model saw a picture
    or PDF among the sources, the line is kept all the same.
    """
    ids = [anchors[a] for a in note.anchors]
    replaced = [known[k] for k in note.replaces]
    stored, unstored = _stored_and_unstored(replaced)
    context = _with_preceding(ids, reading)
    sources = [m for m in context if m.id in ids]
    texts = [m.content for m in context] + [o.content for o in replaced]
    days = [_day(m, reading) for m in context]
    for dated in (note, *replaced):
        days += [dated.observation_date, dated.referenced_date or ""]
    # We cannot check what the model read in a picture.
    has_picture = any(m.attached and m.id in reading.pictures for m in sources)
    unsaid = ungrounded_terms(note.content, texts, days)
    if unsaid and not has_picture:
        quote = note.content[:_QUOTE_LENGTH]
        account.problems.append(
            f"left out “{quote}”: its messages do not say {quoted_list(unsaid)}"
        )
        return None
    for earlier in unstored:
        quote = earlier.content[:_QUOTE_LENGTH]
        account.problems.append(f"kept “{quote}”: it was noted in the same cycle")
    supported = strongest_stance(note.content, sources, context)
    if rests_on_files(note.content, sources, context, _named_days(context, reading)):
        supported = Stance.QUOTED
    allowed = {
        "stance": weaker(note.stance, supported),
        "observation_date": min(note.observation_date, max(_day(m, reading) for m in sources)),
    }
    return ProposedObservation(
        **note_columns(note) | allowed,
        sources=tuple(dict.fromkeys((*ids, *(i for o in unstored for i in o.sources)))),
        replaces=tuple(o.id for o in stored),
    )


def _named_days(messages: Iterable[Message], reading: Reading) -> list[str]:
    """Return the days that the user's own words in these messages name."""
    return [
        day.isoformat()
        for m in messages
        if m.role == Role.USER
        for day in mentioned_days(own_words(m), m.written(reading.clock).date())
    ]


def _day(message: Message, reading: Reading) -> str:
    return message.written(reading.clock).date().isoformat()


def _stored_and_unstored(
    notes: Sequence[Known],
) -> tuple[list[Observation], list[ProposedObservation]]:
    """Separate stored notes from notes made earlier in the batch."""
    stored = [o for o in notes if isinstance(o, Observation)]
    return stored, [o for o in notes if isinstance(o, ProposedObservation)]


def _with_preceding(ids: Sequence[int], reading: Reading) -> list[Message]:
    """Return the messages with these ids, each with the two before it.

    A large message has several entries, its pieces, all with its id.
    """
    everything = [*reading.before, *reading.messages]
    wanted: set[int] = set()
    for index, message in enumerate(everything):
        if message.id in ids:
            wanted.update(range(index - 2, index + 1))
    return [m for index, m in enumerate(everything) if index in wanted]


def _in_parts(messages: Sequence[Message], limit: int) -> list[list[Message]]:
    """Split messages into parts of at most `limit` tokens.

    A larger message is itself split into pieces, which keep its id.
    """
    parts: list[list[Message]] = []
    size = 0
    for message in messages:
        pieces = slices(message.content, limit)
        cost = message.token_count if len(pieces) == 1 else limit
        for number, piece in enumerate(pieces):
            if not parts or size + cost > limit:
                parts.append([])
                size = 0
            attached = None if number else message.attached  # its pictures are seen once
            parts[-1].append(message._replace(content=piece, attached=attached))
            size += cost
    return parts

"""Run an observer cycle: turn a batch of messages into pending observations."""

import asyncio
import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from construct.language.terms import content_words, terms
from construct.llm.capable import is_capable
from construct.llm.types import File, Model
from construct.memory.config import MemoryConfig
from construct.memory.cycles.commit import store_extraction
from construct.memory.cycles.runner import (
    CycleJob,
    CycleRunner,
    Outcome,
    RunningCycle,
)
from construct.memory.cycles.situation import is_over_limit
from construct.memory.learning.asking import Account
from construct.memory.learning.observer import (
    Pictures,
    Reading,
    batch_tokens,
    known_tokens,
    observe,
)
from construct.memory.learning.proposals import Extraction, ProposedObservation
from construct.memory.learning.reflection_checks import ChangeKind, Said, why_not_outdated
from construct.memory.learning.verifier import Group, verify
from construct.memory.shown.files import stored_file, with_material
from construct.memory.shown.forks import reach, replaceable
from construct.memory.shown.lines import fitting
from construct.memory.shown.transcript import batches
from construct.store import cycles
from construct.store import observations as stored_observations
from construct.store.attachments import attachments_with_data
from construct.store.conversations import get_watermarks
from construct.store.forbidden import left_out_note
from construct.store.messages import is_readable, newest_messages
from construct.store.note_links import last_said
from construct.store.records import Descent, Message, Observation
from construct.user_rules import Rules, read_rules
from construct.vocabulary import (
    EXTRACTIVE,
    AttachmentKind,
    CycleKind,
    CycleStatus,
    Priority,
    Role,
    Stance,
    Step,
)

_MAX_QUERY_WORDS = 40
"""How many words of the messages are looked up in the known notes."""
_MAX_CANDIDATES, _MAX_PLANS = 80, 20
"""How many known notes each query returns at most; the second number is for plans."""
_MAX_PDF_TOKENS = 20_000
"""Six pages, at 3,000 tokens a page. The observer is not sent longer PDFs."""
_QUOTE_LENGTH = 120
"""Characters of a note that are quoted in a cycle's problems."""

Find = Callable[[sqlite3.Connection, int], list[Message]]
"""Returns the messages of a conversation that should be observed."""


async def run_observer(runner: CycleRunner, conversation_id: int, find: Find) -> int | None:
    """Observe the oldest batch of the messages that `find` returns.

    Returns how many observations were made. None if there is nothing to observe,
    another process is observing the conversation, or the messages changed in the meantime.
    """
    model = await runner.affordable_model()
    return await runner.run(_ObserverJob(model, conversation_id, runner.config, find))


@dataclass(frozen=True, slots=True)
class Material:
    """Messages and their attachments, as a model reads them."""

    messages: list[Message]
    pictures: Pictures
    """Pictures and short PDFs."""


def material(db: sqlite3.Connection, messages: Sequence[Message], model: Model | None) -> Material:
    """Return messages with their attached texts, and the files that the model can see.

    Without a model, the messages are returned as they are, and no files.
    """
    if model is None or not any(m.attached for m in messages):
        return Material(list(messages), {})
    files = {
        message_id: [stored_file(attachment, data) for attachment, data in attached]
        for message_id, attached in attachments_with_data(db, messages).items()
    }
    shown: dict[int, list[File]] = {}
    for message_id, attached in files.items():
        if visible := [file for file in attached if _is_shown(file, model)]:
            shown[message_id] = visible
    return Material(
        [with_material(m, files[m.id]) if m.id in files else m for m in messages], shown
    )


def _is_shown(file: File, model: Model) -> bool:
    """Return whether the observer is sent the file itself."""
    kind = AttachmentKind.of(file.media_type)
    is_short = kind is AttachmentKind.IMAGE or file.tokens <= _MAX_PDF_TOKENS
    return kind is not AttachmentKind.TEXT and kind in model.reads and is_short


@dataclass(frozen=True, slots=True)
class _Batch:
    """The messages an observer reads, and the state they were chosen in."""

    messages: list[Message]
    read: Material
    before: list[Message]
    based_on: int
    """The `observed` watermark."""
    known: list[Observation]
    replaceable: frozenset[int]
    """The known notes that this conversation's lines may replace."""
    said: Said


@dataclass(frozen=True)
class _ObserverJob(CycleJob[_Batch, Extraction, int]):
    kind = CycleKind.OBSERVER
    progress = Step.OBSERVING
    done = Step.OBSERVED
    home: int
    config: MemoryConfig
    find: Find

    def choose(self, db: sqlite3.Connection) -> _Batch | None:
        messages = self.find(db, self.home)
        if not messages:
            return None
        batch = batches(messages, batch_tokens(self.model))[0]
        known = []
        if self.model is not None:
            scope = reach(db, self.config.scope, self.home)
            known = known_notes(db, scope, batch, known_tokens(self.model))
        before = newest_messages(db, self.home, 2, batch[0].id - 1)
        return _Batch(
            messages=batch,
            read=material(db, [m for m in batch if is_readable(m)], self.model),
            before=material(db, before, self.model).messages,
            based_on=get_watermarks(db, self.home).observed,
            known=known,
            replaceable=replaceable(db, self.config.scope, self.home, known),
            said=last_said(db, [o.id for o in known]),
        )

    def span(self, batch: _Batch) -> tuple[int, int]:
        return batch.messages[0].id, batch.messages[-1].id

    async def work(self, batch: _Batch, account: Account) -> Extraction:
        rules = await asyncio.to_thread(read_rules, self.config.rules_file)
        reading = Reading(
            messages=batch.read.messages,
            before=batch.before,
            known=batch.known,
            clock=self.config.clock,
            wishes=rules.prose,
            pictures=batch.read.pictures,
        )
        extraction = await observe(self.model, reading, account)
        if self.model is None or not any(line.replaces for line in extraction.observations):
            return extraction
        return await _with_agreed_replacements(self.model, extraction, batch, rules, account)

    def commit(
        self, db: sqlite3.Connection, cycle: RunningCycle[_Batch], found: Extraction, now: str
    ) -> Outcome[int]:
        batch = cycle.batch
        stored = store_extraction(db, cycle.id, found, batch.messages, batch.based_on, now)
        notes = [left_out_note(stored.left_out)] if stored.left_out else []
        return Outcome(
            stored.observations, notes=notes, count=stored.observations, by_rule=found.by_rule
        )


async def _with_agreed_replacements(
    model: Model, found: Extraction, batch: _Batch, rules: Rules, account: Account
) -> Extraction:
    """Return the extraction with only the replacements that code and verifier accept."""
    by_id = {o.id: o for o in batch.known}
    newer: dict[int, ProposedObservation] = {}
    for line in found.observations:
        for stale_id in line.replaces:
            if reason := _why_not_replaced(by_id[stale_id], line, batch, rules):
                account.problems.append(
                    f"kept “{by_id[stale_id].content[:_QUOTE_LENGTH]}”: {reason}"
                )
            else:
                newer.setdefault(stale_id, line)
    answers: list[str | None] | None = None
    if is_capable(model):
        groups = [Group(ChangeKind.OUTDATED, (by_id[i],), line) for i, line in newer.items()]
        answers = await verify(model, groups, account)
    agreed: set[int] = set()
    for number, stale_id in enumerate(newer):
        wrong = "the verifier did not check it" if answers is None else answers[number]
        if wrong is None:
            agreed.add(stale_id)
        else:
            content = by_id[stale_id].content[:_QUOTE_LENGTH]
            account.problems.append(f"kept “{content}”, not outdated: {wrong}")
    checked = []
    for line in found.observations:
        replaces = tuple(i for i in line.replaces if i in agreed and newer[i] == line)
        checked.append(replace(line, replaces=replaces, borrowed=line.replaces))
    return replace(found, observations=tuple(checked))


def _why_not_replaced(
    stale: Observation, newer: ProposedObservation, batch: _Batch, rules: Rules
) -> str | None:
    if rules.forbidden_in(newer.content) is not None:
        return "your rules keep out what would replace it"
    if stale.id not in batch.replaceable:
        return "it belongs to another conversation, or another conversation shares it"
    said = max((m.created_at, m.id) for m in batch.messages if m.id in newer.sources)
    return why_not_outdated(stale, newer, batch.said[stale.id], said)


def known_notes(
    db: sqlite3.Connection, scope: Descent | None, messages: Sequence[Message], limit: int
) -> list[Observation]:
    """Return the stored notes to show an observer, at most `limit` tokens of them.

    It may propose to replace these and need not write them again. Active and pending
    notes come in this order: those that share names or words with the messages; those
    of high priority; plans, which the messages may settle in different words or another
    language; the newest.
    """
    names = Counter(term for m in messages for term in sorted(terms(m.content)))
    user_words: set[str] = set()
    for message in messages:
        if message.role == Role.USER:
            user_words |= content_words(message.content)
    # The longest words say the most about the subject.
    longest_first = sorted(user_words, key=lambda word: (-len(word), word))
    query = list(dict.fromkeys([*(name for name, _ in names.most_common()), *longest_first]))
    quoted = ['"' + word.replace('"', '""') + '"' for word in query[:_MAX_QUERY_WORDS]]
    candidates = [
        *stored_observations.matching(db, " OR ".join(quoted), scope, _MAX_CANDIDATES),
        *stored_observations.newest(db, scope, _MAX_CANDIDATES, priority=Priority.HIGH),
        *stored_observations.newest(db, scope, _MAX_PLANS, stance=Stance.PLANNED),
        *stored_observations.newest(db, scope, _MAX_CANDIDATES),
    ]
    return fitting(list({o.id: o for o in candidates}.values()), limit)


def newest_observer(db: sqlite3.Connection, conversation_id: int) -> int:
    """Return the id of the newest observer cycle that succeeded, or 0."""
    cycle = cycles.last_cycle(db, CycleKind.OBSERVER, conversation_id, (CycleStatus.SUCCEEDED,))
    return 0 if cycle is None else cycle.id


def fallback_reason(
    db: sqlite3.Connection, conversation_id: int, config: MemoryConfig, since: int = 0
) -> str | None:
    """Return why the newest batch was read by rule, although there is a worker model.

    None if the model read it or had nothing to read in it, or if no batch was read after
    the cycle `since`.
    """
    cycle = cycles.last_cycle(db, CycleKind.OBSERVER, conversation_id, (CycleStatus.SUCCEEDED,))
    if cycle is None or cycle.id <= since or cycle.model != EXTRACTIVE:
        return None
    if not cycle.attempts and is_over_limit(db, config):
        return "the spending limit was reached, so the last messages were read without a model"
    if not cycle.notes:  # nothing in the batch was for a model to read
        return None
    why = json.loads(cycle.notes)[-1].rstrip(".")
    return f"the worker model failed, so the last messages were read without a model: {why}"

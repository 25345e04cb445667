"""Run an observer cycle: turn a batch of messages into pending observations."""

import asyncio
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta

from construct.clock import to_text
from construct.llm.types import File, Model
from construct.memory.config import MemoryConfig
from construct.memory.cycles.commit import store_extraction
from construct.memory.cycles.known_notes import KnownSearch, known_notes
from construct.memory.cycles.related_notes import related_notes
from construct.memory.cycles.runner import (
    CycleJob,
    CycleRunner,
    Outcome,
    RunningCycle,
)
from construct.memory.cycles.situation import is_over_limit
from construct.memory.learning.asking import Account
from construct.memory.learning.observer import observe
from construct.memory.learning.observer_call import batch_tokens, known_tokens
from construct.memory.learning.proposals import Extraction, fact_of
from construct.memory.learning.reading import Current, KeptNote, Pictures, Reading
from construct.memory.learning.reflection_checks import Said
from construct.memory.learning.unsettling import LifeChange, changes_in, doubtful_after
from construct.memory.shown.files import as_read, stored_file, with_material
from construct.memory.shown.forks import hidden_from, reach, replaceable
from construct.memory.shown.transcript import batches
from construct.store import cycles
from construct.store import observations as stored_observations
from construct.store.acceptance import ask_about_new
from construct.store.attachments import attachments_with_data
from construct.store.conversations import get_conversation, get_watermarks
from construct.store.driver import Connection
from construct.store.flags import flagged
from construct.store.forbidden import left_out_note
from construct.store.in_thread import Store
from construct.store.messages import is_readable, newest_messages
from construct.store.note_links import last_said
from construct.store.questions import messages_to_forget
from construct.store.records import Message, Observation
from construct.store.tracked import TrackedValue, tracked_names, tracked_values
from construct.user_rules import read_rules
from construct.vocabulary import (
    EXTRACTIVE,
    AttachmentKind,
    CycleKind,
    CycleStatus,
    Flag,
    LearnSetting,
)

_MAX_PDF_TOKENS = 20_000
"""Six pages, at 3,000 tokens a page. The observer is not sent longer PDFs."""

_VALUES_WITHIN = timedelta(days=14)
"""How far back an observer is shown values that are stored."""
_MAX_VALUES = 60

Find = Callable[[Connection, int], list[Message]]
"""Returns the messages of a conversation that should be observed."""


async def run_observer(runner: CycleRunner, conversation_id: int, find: Find) -> int | None:
    """Observe the oldest batch of the messages that `find` returns.

    Returns how many observations were made. None if there is nothing to observe,
    another process is observing the conversation, or the messages changed in the meantime.
    """
    model = await runner.affordable_model()
    return await runner.run(_ObserverJob(model, conversation_id, runner.config, find, runner.store))


@dataclass(frozen=True, slots=True)
class Material:
    """Messages and their attachments, as a model reads them."""

    messages: list[Message]
    pictures: Pictures
    """Pictures and short PDFs."""


def material(db: Connection, messages: Sequence[Message], model: Model | None) -> Material:
    """Return messages as a worker reads them, and the files that the model can see.

    Pasted parts are marked. Without a model, attached texts and files are left out.
    """
    if model is None or not any(m.attached for m in messages):
        return Material(list(map(as_read, messages)), {})
    files = {
        message_id: [stored_file(attachment, data) for attachment, data in attached]
        for message_id, attached in attachments_with_data(db, messages).items()
    }
    shown: dict[int, list[File]] = {}
    for message_id, attached in files.items():
        if visible := [file for file in attached if _is_shown(file, model)]:
            shown[message_id] = visible
    return Material(
        [with_material(m, files[m.id]) if m.id in files else as_read(m) for m in messages], shown
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
    current: Current
    known_values: list[TrackedValue]
    """The values of the last days."""
    value_names: list[str]
    kept: list[KeptNote]
    doubtful: frozenset[int]


@dataclass(frozen=True)
class _ObserverJob(CycleJob[_Batch, Extraction, int]):
    kind = CycleKind.OBSERVER
    home: int
    config: MemoryConfig
    find: Find
    store: Store

    def choose(self, db: Connection) -> _Batch | None:
        messages = self.find(db, self.home)
        if not messages:
            return None
        batch = batches(messages, batch_tokens(self.model))[0]
        known = []
        if self.model is not None:
            hidden = hidden_from(db, self.home)
            found = known_notes(db, batch, self._wanted(db, self.model))
            known = [o for o in found if o.id not in hidden]
        to_forget = messages_to_forget(db)
        newest = newest_messages(db, self.home, 2, batch[0].id - 1)
        before = [m for m in newest if m.id not in to_forget]
        return _Batch(
            messages=batch,
            read=material(db, [m for m in batch if is_readable(m)], self.model),
            before=material(db, before, self.model).messages,
            based_on=get_watermarks(db, self.home).observed,
            known=known,
            replaceable=replaceable(db, self.config.scope, self.home, known),
            said=last_said(db, [o.id for o in known], to_text(self.config.clock.now())),
            current=current_thread(db, self.home),
            known_values=self._known_values(db, batch),
            value_names=tracked_names(db),
            kept=_kept_by_model(db, batch),
            doubtful=flagged(db, Flag.DOUBTFUL),
        )

    def _known_values(self, db: Connection, batch: Sequence[Message]) -> list[TrackedValue]:
        """Return the newest stored values of the days before a batch, oldest first."""
        first, last = (m.written(self.config.clock).date() for m in (batch[0], batch[-1]))
        since = first - min(_VALUES_WITHIN, first - date.min)
        scope = reach(db, self.config.scope, self.home)
        found = tracked_values(db, since.isoformat(), last.isoformat(), scope)
        return found[-_MAX_VALUES:]

    def _wanted(self, db: Connection, model: Model) -> KnownSearch:
        scope = reach(db, self.config.scope, self.home)
        return KnownSearch(scope, self.config.clock, self.config.meaning, known_tokens(model))

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
            forbidden=rules.forbidden_in,
            tracked=rules.track,
            known_values=batch.known_values if rules.track else (),
            value_names=batch.value_names,
            pictures=batch.read.pictures,
            current=batch.current,
            said=batch.said,
            replaceable=batch.replaceable,
            kept=batch.kept,
            doubtful=batch.doubtful,
        )
        found = await observe(self.model, reading, account)
        return replace(found, unsettled=await self._unsettled(batch, found, account))

    async def _unsettled(
        self, batch: _Batch, found: Extraction, account: Account
    ) -> tuple[int, ...]:
        """Return the notes that may no longer hold after what these lines replace."""
        changes = changes_in(found, batch.known)
        if self.model is None or not changes or account.is_cancelled:
            return ()
        related = await self.store.call(self._related, changes, self.model)
        return await doubtful_after(self.model, changes, related, account) if related else ()

    def _related(
        self, db: Connection, changes: Sequence[LifeChange], model: Model
    ) -> list[Observation]:
        return related_notes(db, changes, self.home, self.config.scope, self._wanted(db, model))

    def commit(
        self, db: Connection, cycle: RunningCycle[_Batch], found: Extraction, now: str
    ) -> Outcome[int]:
        batch = cycle.batch
        if found.observations and not found.by_rule:
            known = stored_observations.unsuperseded(db, reach(db, self.config.scope, self.home))
            hidden = hidden_from(db, self.home)
            found = without_known(found, (o for o in known if o.id not in hidden))
        stored = store_extraction(db, cycle.id, found, batch.messages, batch.based_on, now)
        if self.config.learn == LearnSetting.ASK:
            ask_about_new(db, cycle.id, now)
        notes = [left_out_note(stored.left_out)] if stored.left_out else []
        return Outcome(
            stored.observations, notes=notes, count=stored.observations, by_rule=found.by_rule
        )


def _kept_by_model(db: Connection, batch: Sequence[Message]) -> list[KeptNote]:
    """Return what the main model kept of these messages and the user has not settled since."""
    links = stored_observations.kept_by_model(db, [m.id for m in batch])
    notes = {o.id: o for o in stored_observations.observations(db, [i for i, _ in links])}
    return [KeptNote(notes[note_id], message_id) for note_id, message_id in links]


def without_known(found: Extraction, known: Iterable[Observation]) -> Extraction:
    """Return an extraction without the lines that are equal to a known note."""
    facts = {fact_of(o) for o in known if not o.withheld}
    new = tuple(line for line in found.observations if fact_of(line) not in facts)
    return replace(found, observations=new)


def current_thread(db: Connection, conversation_id: int) -> Current:
    """Return a conversation's title, task and next step as they are now."""
    here = get_conversation(db, conversation_id)
    return Current(here.title or "", here.current_task or "", here.suggested_response or "")


def newest_observer(db: Connection, conversation_id: int) -> int:
    """Return the id of the newest observer cycle that succeeded, or 0."""
    cycle = cycles.last_cycle(db, CycleKind.OBSERVER, conversation_id, (CycleStatus.SUCCEEDED,))
    return 0 if cycle is None else cycle.id


def fallback_reason(
    db: Connection, conversation_id: int, config: MemoryConfig, since: int = 0
) -> str | None:
    """Return why the newest batch was read by rule, although there is a worker model.

    None if the model read it or had nothing to read in it, or if no batch was read after
    the cycle `since`.
    """
    cycle = cycles.last_cycle(db, CycleKind.OBSERVER, conversation_id, (CycleStatus.SUCCEEDED,))
    if cycle is None or cycle.id <= since or cycle.model != EXTRACTIVE:
        return None
    if not cycle.attempts and is_over_limit(db, config, ""):
        return "the spending limit was reached, so the last messages were read without a model"
    if not cycle.notes:  # nothing in the batch was for a model to read
        return None
    why = json.loads(cycle.notes)[-1].rstrip(".")
    return f"the worker model failed, so the last messages were read without a model: {why}"

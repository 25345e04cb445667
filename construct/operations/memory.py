"""List, show, add and correct what is remembered."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import TypeVar

from construct.clock import Clock, to_text
from construct.language.moments import parse_moment
from construct.memory import corrections, promotion
from construct.memory.graph import reading
from construct.memory.graph.names import USER
from construct.memory.shown.forks import descent
from construct.operations.context import Context
from construct.operations.memory_filter import MemoryFilter, parse_filter
from construct.references import Reference
from construct.store import graph as graph_rows
from construct.store import memories, messages, observations, provenance
from construct.store.backlog import count_unobserved
from construct.store.database import transaction
from construct.store.records import Memory, Message, Observation
from construct.talk.notebook_replies import with_text
from construct.vocabulary import ItemKind, MemorySetting, Role, Scope

Record = TypeVar("Record", Observation, Memory)


@dataclass(frozen=True, slots=True)
class MemoryList:
    """Observations sorted by day, and memories in the order they were stored, oldest first."""

    observations: Sequence[Observation]
    memories: Sequence[Memory]
    filter: MemoryFilter
    today: date
    """Today, or the day of an earlier state."""
    is_past: bool = False
    """Whether this is an earlier state of the memory."""
    homes: Mapping[int | None, int | None] = field(default_factory=dict)
    """Conversations of the observations that memories were promoted from, by observation."""
    unobserved: int = 0
    """Imported messages that have not been observed. Counted only for an empty list that
    nothing else explains."""
    setting: str = MemorySetting.ON
    """The value of CONSTRUCT_MEMORY."""

    def __len__(self) -> int:
        """Return the number of observations and memories."""
        return len(self.observations) + len(self.memories)

    def without_promoted(self) -> "MemoryList":
        """Return a copy without the memories that repeat an observation."""
        return replace(self, memories=[m for m in self.memories if m.observation_id is None])

    def newest(self, limit: int, clock: Clock) -> "MemoryList":
        """Return a copy with the newest `limit` observations and memories taken together."""
        dated: list[tuple[str, str, Observation | Memory]] = [
            (o.observation_date, o.created_at, o) for o in self.observations
        ]
        dated += [(str(clock.day(m.created_at)), m.created_at, m) for m in self.memories]
        dated.sort(key=lambda entry: entry[:2])
        newest = {id(record) for _, _, record in dated[-limit:]}
        return replace(
            self,
            observations=[o for o in self.observations if id(o) in newest],
            memories=[m for m in self.memories if id(m) in newest],
        )


def list_memory(
    ctx: Context, wanted: str = "", as_of: str | None = None, *, include_all: bool = False
) -> MemoryList:
    """Return what is remembered in all conversations.

    `wanted` is a filter (see `memory_filter`), `as_of` a moment as people write it;
    `include_all` adds what is superseded. Raises UsageError.
    """
    if as_of is None:
        read = observations.all_observations if include_all else observations.unsuperseded
        kept = memories.list_memories(ctx.db, include_superseded=include_all)
        return _filtered(ctx, wanted, read(ctx.db), kept, ctx.clock.today())
    as_of_time = parse_moment(as_of, ctx.clock, end_of_day=True)
    moment = to_text(as_of_time)
    then_known = [_as_of(o, moment) for o in _known_at(ctx, moment, include_all)]
    then_kept = [
        _as_of(m, moment) for m in provenance.memories_not_undone(ctx.db) if m.created_at <= moment
    ]
    if not include_all:
        then_kept = [m for m in then_kept if m.superseded_at is None]
    day = ctx.clock.local(as_of_time).date()
    return _filtered(ctx, wanted, then_known, then_kept, day, is_past=True)


def list_in_scope(ctx: Context, wanted: str = "") -> MemoryList:
    """Return what is remembered in scope, without promoted memories. Raises UsageError."""
    kept = memories.list_memories(ctx.db)
    listed = _filtered(ctx, wanted, observations_in_scope(ctx), kept, ctx.clock.today())
    return listed.without_promoted()


def observations_in_scope(ctx: Context) -> list[Observation]:
    """Return the active, pending and withheld observations in the conversation's scope."""
    if ctx.memory.scope == Scope.USER:
        return observations.unsuperseded(ctx.db)
    if ctx.conversation_id is None:
        return []
    return observations.unsuperseded(ctx.db, tuple(descent(ctx.db, ctx.conversation_id)))


def _as_of(record: Record, moment: str) -> Record:
    """Return a record as it was at a stored time: if superseded later, not superseded."""
    if record.superseded_at is None or record.superseded_at <= moment:
        return record
    return record._replace(superseded_at=None, superseded_by=None)


def _known_at(ctx: Context, moment: str, include_all: bool) -> list[Observation]:
    if not include_all:
        return provenance.active_at(ctx.db, moment)
    return [
        o
        for o in observations.all_observations(ctx.db)
        if o.committed_at and o.committed_at <= moment and o.superseded_by != o.cycle_id
    ]


def _filtered(
    ctx: Context,
    wanted: str,
    known: Sequence[Observation],
    kept: Sequence[Memory],
    today: date,
    *,
    is_past: bool = False,
) -> MemoryList:
    filter_ = parse_filter(wanted, ctx.clock)
    known = [o for o in known if filter_.matches(o, today)]
    kept = [m for m in kept if filter_.matches_memory(m, ctx.clock)]
    promoted = {m.observation_id for m in kept if m.observation_id is not None}
    origins = observations.observations(ctx.db, sorted(promoted))
    is_explained = bool(known or kept or filter_.narrows or is_past)
    return MemoryList(
        observations=sorted(known, key=lambda o: (o.observation_date, o.id)),
        memories=kept,
        filter=filter_,
        today=today,
        is_past=is_past,
        homes={o.id: o.conversation_id for o in origins},
        unobserved=0 if is_explained else count_unobserved(ctx.db),
        setting=ctx.settings.memory,
    )


@dataclass(frozen=True, slots=True)
class StoredMemory:
    """A memory, and the conversation of the observation it was promoted from, if any."""

    memory: Memory
    conversation: int | None = None


def show(ctx: Context, reference: Reference) -> Observation | Message | StoredMemory:
    """Return the observation, message or memory with this id. Raises NotFoundError."""
    kind, number = reference
    if kind == ItemKind.MESSAGE:
        return with_text(ctx.db, [messages.get_message(ctx.db, number)], ctx.clock)[0]
    if kind == ItemKind.OBSERVATION:
        return observations.observation(ctx.db, number)
    memory = memories.get_memory(ctx.db, number)
    if memory.observation_id is None:
        return StoredMemory(memory)
    source = observations.observation(ctx.db, memory.observation_id)
    return StoredMemory(memory, source.conversation_id)


def graph(ctx: Context, name: str = "") -> reading.Tree:
    """Return the graph around a name, by default the user. Raises NotFoundError."""
    return reading.neighbours(ctx.db, name or USER, ctx.clock)


def entities(ctx: Context) -> list[graph_rows.Entity]:
    """Return all entities of the graph."""
    return graph_rows.entities(ctx.db)


def remember(ctx: Context, text: str, category: str | None = None) -> StoredMemory:
    """Store a memory in the user's words. Raises UsageError."""
    ctx.settings.require_learning()
    with transaction(ctx.db):
        return StoredMemory(promotion.remember(ctx.db, text, category, Role.USER, ctx.clock))


def correctable(ctx: Context, reference: Reference) -> Observation:
    """Return the observation that `edit` or `pin` changes. Raises NotFoundError."""
    return observations.observation(ctx.db, memories.observation_behind(ctx.db, reference))


@dataclass(frozen=True, slots=True)
class Edited:
    """An observation after the user's edit."""

    observation: Observation
    lost: Sequence[str]
    """Names and numbers of the old text that the new text does not have."""


def edit(ctx: Context, reference: Reference, text: str) -> Edited:
    """Replace an observation's text. Raises ConstructError."""
    old = correctable(ctx, reference)
    new = corrections.edit(ctx.db, old.id, text, ctx.clock)
    lost = corrections.lost_terms(old.content, text)
    return Edited(observations.observation(ctx.db, new), lost)


def pin(ctx: Context, reference: Reference, *, off: bool = False) -> Observation:
    """Pin an observation so that it is kept as it is, or unpin it. Raises ConstructError."""
    return corrections.pin(ctx.db, correctable(ctx, reference).id, off=off)

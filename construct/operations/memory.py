"""What is remembered: list and show it, add to it and correct it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import TypeVar

from construct.clock import Clock, from_text, to_text
from construct.memory import corrections, promotion
from construct.memory.graph import reading
from construct.memory.graph.answers import USER
from construct.memory.shown.forks import reach
from construct.notebook import with_words
from construct.operations.context import Context
from construct.operations.memory_filter import MemoryFilter, parse_filter
from construct.operations.moments import parse_moment
from construct.references import Reference
from construct.store import graph as graph_rows
from construct.store import memories, messages, observations, provenance
from construct.store.backlog import unread
from construct.store.database import transaction
from construct.store.records import Memory, Message, Observation
from construct.vocabulary import ItemKind, Role, Scope

Record = TypeVar("Record", Observation, Memory)


@dataclass(frozen=True, slots=True)
class MemoryList:
    """Observations and memories, by day and oldest first."""

    observations: Sequence[Observation]
    memories: Sequence[Memory]
    filter: MemoryFilter
    today: date
    """The day looked back to, or today."""
    is_past: bool = False
    homes: Mapping[int | None, int | None] = field(default_factory=dict)
    """The conversations of the observations that memories were promoted from, by id."""
    unread: int = 0
    """Imported messages that no observer has read. Counted only where nothing else
    would explain that the list is empty."""

    def without_promoted(self) -> "MemoryList":
        """Return the same without the memories that repeat an observation."""
        return replace(self, memories=[m for m in self.memories if m.observation_id is None])

    def newest(self, limit: int, clock: Clock) -> "MemoryList":
        """Return the newest of both together, `limit` at most."""
        days = [(o.observation_date, o.created_at) for o in self.observations]
        days += [(str(_day(m, clock)), m.created_at) for m in self.memories]
        kept = set(sorted(range(len(days)), key=lambda i: days[i])[-limit:])
        return replace(
            self,
            observations=[o for i, o in enumerate(self.observations) if i in kept],
            memories=[m for i, m in enumerate(self.memories, len(self.observations)) if i in kept],
        )


def list_memory(
    ctx: Context, wanted: str = "", as_of: str | None = None, *, include_all: bool = False
) -> MemoryList:
    """Return what is remembered, of all conversations.

    `wanted` is a filter as `memory_filter` reads it, `as_of` a moment as people write
    it; `include_all` adds what is superseded. Raises UsageError.
    """
    then = None if as_of is None else parse_moment(as_of, ctx.clock, end_of_day=True)
    if then is None:
        found = (
            observations.all_observations(ctx.db)
            if include_all
            else observations.unsuperseded(ctx.db)
        )
        kept = memories.list_memories(ctx.db, include_superseded=include_all)
        return _filtered(ctx, wanted, found, kept, ctx.clock.today())
    moment = to_text(then)
    found = [as_it_stood(o, moment) for o in _believed_at(ctx, moment, include_all)]
    kept = [
        as_it_stood(m, moment)
        for m in memories.list_memories(ctx.db, include_superseded=True)
        if m.created_at <= moment
    ]
    if not include_all:
        kept = [m for m in kept if m.superseded_at is None]
    return _filtered(ctx, wanted, found, kept, ctx.clock.local(then).date(), is_past=True)


def list_in_scope(ctx: Context, wanted: str = "") -> MemoryList:
    """Return what is remembered in scope, without promoted memories.

    Raises UsageError.
    """
    kept = memories.list_memories(ctx.db)
    found = _filtered(ctx, wanted, observations_in_scope(ctx), kept, ctx.clock.today())
    return found.without_promoted()


def observations_in_scope(ctx: Context) -> list[Observation]:
    """Return the active and pending observations in scope."""
    here, scope = ctx.conversation_id, ctx.memory.scope
    if here is None:
        return observations.unsuperseded(ctx.db) if scope == Scope.USER else []
    within = reach(ctx.db, scope, here)
    if within is None:
        return observations.unsuperseded(ctx.db)
    pending = [o for talk, _ in within for o in observations.pending(ctx.db, talk)]
    return observations.active_in_scope(ctx.db, within) + pending


def as_it_stood(record: Record, moment: str) -> Record:
    """Return a record without what became of it after a stored time."""
    if record.superseded_at is None or record.superseded_at <= moment:
        return record
    return record._replace(superseded_at=None, superseded_by=None)


def _believed_at(ctx: Context, moment: str, include_all: bool) -> list[Observation]:
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
    found: Sequence[Observation],
    kept: Sequence[Memory],
    today: date,
    *,
    is_past: bool = False,
) -> MemoryList:
    keep = parse_filter(wanted, ctx.clock)
    found = [o for o in found if keep.matches(o, today)]
    kept = [m for m in kept if keep.matches_memory(m, ctx.clock)]
    promoted = {m.observation_id for m in kept if m.observation_id is not None}
    return MemoryList(
        observations=sorted(found, key=lambda o: (o.observation_date, o.id)),
        memories=kept,
        filter=keep,
        today=today,
        is_past=is_past,
        homes={
            o.id: o.conversation_id for o in observations.observations(ctx.db, sorted(promoted))
        },
        unread=0 if found or kept or keep.narrows or is_past else unread(ctx.db),
    )


@dataclass(frozen=True, slots=True)
class StoredMemory:
    """A memory, and the conversation of the observation that it was promoted from."""

    memory: Memory
    conversation: int | None = None


def show(ctx: Context, reference: Reference) -> Observation | Message | StoredMemory:
    """Return what an id names. Raises NotFoundError."""
    kind, number = reference
    if kind == ItemKind.MESSAGE:
        return with_words(ctx.db, [messages.get_message(ctx.db, number)], ctx.clock)[0]
    if kind == ItemKind.OBSERVATION:
        return observations.observation(ctx.db, number)
    memory = memories.get_memory(ctx.db, number)
    if memory.observation_id is None:
        return StoredMemory(memory)
    source = observations.observation(ctx.db, memory.observation_id)
    return StoredMemory(memory, source.conversation_id)


def graph(ctx: Context, name: str = "") -> reading.Tree:
    """Return what is related to a name, or to the user. Raises NotFoundError."""
    return reading.neighbours(ctx.db, name or USER)


def entities(ctx: Context) -> list[graph_rows.Entity]:
    """Return all that the graph has a name for."""
    return graph_rows.entities(ctx.db)


def remember(ctx: Context, text: str, category: str | None = None) -> StoredMemory:
    """Store a memory in the user's words. Raises UsageError."""
    ctx.settings.must_learn()
    with transaction(ctx.db):
        now = to_text(ctx.clock.now())
        return StoredMemory(promotion.remember(ctx.db, text, category, Role.USER, now))


def correctable(ctx: Context, reference: Reference) -> Observation:
    """Return the observation that `edit` or `pin` changes. Raises NotFoundError."""
    return observations.observation(ctx.db, memories.observation_behind(ctx.db, reference))


@dataclass(frozen=True, slots=True)
class Edited:
    """An observation in the user's words."""

    observation: Observation
    lost: Sequence[str]
    """The names and numbers of the old words that the new ones do not have."""


def edit(ctx: Context, reference: Reference, text: str) -> Edited:
    """Replace an observation's words. Raises ConstructError."""
    old = correctable(ctx, reference)
    new = corrections.edit(ctx.db, old.id, text, ctx.clock)
    lost = corrections.lost_terms(old.content, text)
    return Edited(observations.observation(ctx.db, new), lost)


def pin(ctx: Context, reference: Reference, *, off: bool = False) -> Observation:
    """Keep an observation as it is, or let it go. Raises ConstructError."""
    return corrections.pin(ctx.db, correctable(ctx, reference).id, off=off)


def _day(memory: Memory, clock: Clock) -> date:
    return clock.local(from_text(memory.created_at)).date()

"""List, show, add and correct what is remembered."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date

from construct.clock import to_text
from construct.errors import NotFoundError
from construct.language.moments import parse_moment
from construct.memory import corrections, keeping
from construct.memory.graph import reading
from construct.memory.graph.names import USER
from construct.memory.shown.forks import descent
from construct.operations.context import Context
from construct.operations.memory_filter import MemoryFilter, parse_filter
from construct.program import as_typed
from construct.references import Reference
from construct.store import graph as graph_rows
from construct.store import messages, note_history, observations
from construct.store.backlog import count_unobserved
from construct.store.database import transaction
from construct.store.flags import shelved_at
from construct.store.records import Message, Observation
from construct.talk.notebook_replies import with_text
from construct.vocabulary import ItemKind, MemorySetting, Scope


@dataclass(frozen=True, slots=True)
class MemoryList:
    """Observations sorted by day, oldest first."""

    observations: Sequence[Observation]
    filter: MemoryFilter
    today: date
    """Today, or the day of an earlier state."""
    is_past: bool = False
    """Whether this is an earlier state of the memory."""
    unobserved: int = 0
    """Imported messages that have not been observed. Counted only for an empty list that
    nothing else explains."""
    setting: str = MemorySetting.ON
    """The value of CONSTRUCT_MEMORY."""

    def __len__(self) -> int:
        """Return the number of observations."""
        return len(self.observations)

    def newest(self, limit: int) -> "MemoryList":
        """Return a copy with the newest `limit` observations."""
        return replace(self, observations=self.observations[-limit:])


def list_memory(
    ctx: Context, wanted: str = "", as_of: str | None = None, *, include_all: bool = False
) -> MemoryList:
    """Return what is remembered in all conversations.

    `wanted` is a filter (see `memory_filter`), `as_of` a moment as people write it;
    `include_all` adds what is superseded. Raises UsageError.
    """
    if as_of is None:
        read = observations.all_observations if include_all else observations.unsuperseded
        return _filtered(ctx, wanted, read(ctx.db), ctx.clock.today())
    as_of_time = parse_moment(as_of, ctx.clock, end_of_day=True)
    moment = to_text(as_of_time)
    shelved = shelved_at(ctx.db, moment)
    known = _known_at(ctx, moment, include_all)
    then_known = [_as_of(o, moment)._replace(shelved=int(o.id in shelved)) for o in known]
    day = ctx.clock.local(as_of_time).date()
    return _filtered(ctx, wanted, then_known, day, is_past=True)


def list_in_scope(ctx: Context, wanted: str = "") -> MemoryList:
    """Return what is remembered in scope. Raises UsageError."""
    return _filtered(ctx, wanted, observations_in_scope(ctx), ctx.clock.today())


def observations_in_scope(ctx: Context) -> list[Observation]:
    """Return the active, pending and withheld observations in the conversation's scope."""
    if ctx.memory.scope == Scope.USER:
        return observations.unsuperseded(ctx.db)
    if ctx.conversation_id is None:
        return observations.kept_on_request(ctx.db)
    return observations.unsuperseded(ctx.db, tuple(descent(ctx.db, ctx.conversation_id)))


def _as_of(o: Observation, moment: str) -> Observation:
    """Return an observation as it was at a stored time: if superseded later, not superseded."""
    if o.superseded_at is None or o.superseded_at <= moment:
        return o
    return o._replace(superseded_at=None, superseded_by=None)


def _known_at(ctx: Context, moment: str, include_all: bool) -> list[Observation]:
    if not include_all:
        return note_history.active_at(ctx.db, moment)
    return [
        o
        for o in observations.all_observations(ctx.db)
        if o.committed_at and o.committed_at <= moment and o.superseded_by != o.cycle_id
    ]


def _filtered(
    ctx: Context,
    wanted: str,
    known: Sequence[Observation],
    today: date,
    *,
    is_past: bool = False,
) -> MemoryList:
    filter_ = parse_filter(wanted, ctx.clock)
    known = [o for o in known if filter_.matches(o, today)]
    is_explained = bool(known or filter_.narrows or is_past)
    return MemoryList(
        observations=sorted(known, key=lambda o: (o.observation_date, o.id)),
        filter=filter_,
        today=today,
        is_past=is_past,
        unobserved=0 if is_explained else count_unobserved(ctx.db),
        setting=ctx.settings.memory,
    )


def show(ctx: Context, reference: Reference) -> Observation | Message:
    """Return the observation or message with this id. Raises NotFoundError."""
    kind, number = reference
    if kind == ItemKind.MESSAGE:
        return with_text(ctx.db, [messages.get_message(ctx.db, number)], ctx.clock)[0]
    return observations.observation(ctx.db, number)


def graph(ctx: Context, name: str = "") -> reading.Tree:
    """Return the graph around a name, by default the user. Raises NotFoundError."""
    return reading.neighbours(ctx.db, name or USER, ctx.clock)


def entities(ctx: Context) -> list[graph_rows.Entity]:
    """Return all entities of the graph."""
    return graph_rows.entities(ctx.db)


def remember(ctx: Context, text: str, category: str | None = None) -> Observation:
    """Store a note in the user's words. Raises UsageError."""
    ctx.settings.require_learning()
    with transaction(ctx.db):
        return keeping.keep_for_user(ctx.db, text, category, ctx.clock)


def correctable(ctx: Context, reference: Reference) -> Observation:
    """Return the observation that `edit` or `pin` changes. Raises NotFoundError."""
    kind, number = reference
    if kind == ItemKind.MESSAGE:
        raise NotFoundError(
            f"message:{number} is a message: only observations can be changed.\n"
            f"{as_typed('memory why')} with its id shows what was learned from it."
        )
    return observations.observation(ctx.db, number)


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

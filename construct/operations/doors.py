"""What programs outside are handed through a door, and which of them asked how often.

They may read what recall could find: nothing withheld, forgotten, undone, left out of
requests or said in private.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

from construct.clock import from_text, to_text
from construct.errors import NotFoundError, UsageError
from construct.memory.recall.search import searched
from construct.memory.shown.forks import descent
from construct.memory.shown.view import packed
from construct.operations.agenda import Agenda
from construct.operations.agenda import agenda as whole_agenda
from construct.operations.context import Context
from construct.operations.memory import observations_in_scope
from construct.operations.moments import parse_moment
from construct.operations.search import Found
from construct.references import Reference, written
from construct.store import doors, memories, observations, provenance
from construct.store.doors import DoorCalls
from construct.store.records import Observation
from construct.store.search import Entry, Filters, results
from construct.text import shorten
from construct.vocabulary import ItemKind

_PAGE_PARTS = 6
_PART_CHARACTERS = 2_000
_CLIENT_CHARACTERS = 60


@dataclass(frozen=True, slots=True)
class Access:
    """What a client may see: everything, unless it is narrowed."""

    conversation: int | None = None
    since: date | None = None


def access(ctx: Context, conversation: int | None, since: str | None) -> Access:
    """Return what a client may see. Raises NotFoundError, UsageError."""
    if conversation is not None:
        tuple(descent(ctx.db, conversation))  # it is there
    return Access(conversation, _day(ctx, since))


def recall(
    ctx: Context,
    allowed: Access,
    query: str,
    *,
    since: str | None = None,
    until: str | None = None,
    limit: int,
) -> Found:
    """Search what a client may see, best first. Raises UsageError."""
    if not query.strip():
        raise UsageError("Nothing to search for. Give some words.")
    filters = _filters(ctx, allowed, _day(ctx, since), _day(ctx, until))
    found = searched(
        ctx.db, query, filters, limit, today=ctx.clock.today(), meaning=ctx.memory.meaning
    )
    hits = [hit for hit in found.hits if _rests_within(ctx, allowed, (hit.kind, hit.id))]
    return Found(query, hits, found.respelt)


@dataclass(frozen=True, slots=True)
class Part:
    """A message, or a stretch of a long one."""

    entry: Entry
    said_at: str
    """The user's day and time: `2026-03-01 14:30`."""
    text: str
    number: int
    of: int


@dataclass(frozen=True, slots=True)
class SourcePage:
    """A page of the exact words behind something."""

    reference: Reference
    entry: Entry
    """What the id names."""
    parts: Sequence[Part]
    page: int
    pages: int


def source(ctx: Context, allowed: Access, reference: Reference, page: int) -> SourcePage:
    """Return the exact words behind what an id names, oldest first, a page at a time.

    Raises NotFoundError where a client may see none of them, or the page does not exist.
    """
    kind, number = reference
    filters = replace(_filters(ctx, allowed), all=True)
    itself = results(ctx.db, kind, [number], filters)
    entries = _words_behind(ctx, itself[0], filters) if itself else []
    if not (entries and _rests_within(ctx, allowed, reference)):
        raise NotFoundError(f"{written(reference)} names nothing that can be read here.")
    parts = [part for entry in entries for part in _parts(ctx, entry)]
    pages = -(-len(parts) // _PAGE_PARTS)
    if not 1 <= page <= pages:
        raise NotFoundError(f"There is no page {page}: {written(reference)} has {pages}.")
    shown = parts[(page - 1) * _PAGE_PARTS : page * _PAGE_PARTS]
    return SourcePage(reference, itself[0], shown, page, pages)


def agenda(ctx: Context, allowed: Access) -> Agenda:
    """Return what a client may see of the agenda."""
    found = whole_agenda(ctx)
    seen = [i for i in found.items if _rests_within(ctx, allowed, (ItemKind.OBSERVATION, i.id))]
    return replace(found, items=seen)


def current(ctx: Context, allowed: Access) -> list[Observation]:
    """Return the active observations that a client may see, oldest first.

    The most urgent, as many as fit into three quarters of the observation budget.
    """
    talk = _filters(ctx, allowed).talk
    urgent = packed(observations.by_urgency(ctx.db, talk), ctx.memory.thresholds.budget)
    found = observations.observations(ctx.db, urgent)
    seen = [o for o in found if _rests_within(ctx, allowed, (ItemKind.OBSERVATION, o.id))]
    return sorted(seen, key=lambda o: (o.observation_date, o.id))


@dataclass(frozen=True, slots=True)
class Details:
    """What a conversation's model may be shown, with the sources of what was made of others."""

    observations: Sequence[Observation]
    sources: Mapping[int, Sequence[int]]


def details(ctx: Context) -> Details:
    """Return the active and pending observations in scope of the user's conversation."""
    found = [o for o in observations_in_scope(ctx) if not o.withheld]
    sources: dict[int, list[int]] = {}
    for observation_id, source_id in provenance.source_links(ctx.db, [o.id for o in found]):
        sources.setdefault(observation_id, []).append(source_id)
    return Details(found, sources)


def record_call(ctx: Context, client: str, tool: str, found: int) -> None:
    """Store that a client used a tool, and how much it was given."""
    name = shorten(client, _CLIENT_CHARACTERS) or "unknown"
    doors.record_call(ctx.db, name, tool, found, to_text(ctx.clock.now()))


def door_calls(ctx: Context) -> list[DoorCalls]:
    """Return which client asked how often and when, the one that came last first."""
    return doors.calls_by_client(ctx.db)


def _day(ctx: Context, text: str | None) -> date | None:
    return None if text is None else ctx.clock.local(parse_moment(text, ctx.clock)).date()


def _filters(
    ctx: Context, allowed: Access, since: date | None = None, until: date | None = None
) -> Filters:
    days = [day for day in (since, allowed.since) if day is not None]
    return Filters(
        since=max(days, default=None),
        until=until,
        talk=None if allowed.conversation is None else tuple(descent(ctx.db, allowed.conversation)),
        zone=ctx.clock.zone,
        for_model=True,
    )


def _rests_within(ctx: Context, allowed: Access, reference: Reference) -> bool:
    """Return whether everything that something rests on is what a client may see.

    What was kept by itself belongs to no conversation.
    """
    kind, number = reference
    if allowed == Access() or kind == ItemKind.MESSAGE:  # the search has narrowed these
        return True
    if kind == ItemKind.MEMORY:
        behind = memories.get_memory(ctx.db, number).observation_id
        if behind is None:
            return allowed.conversation is None
        number = behind
    talk = _filters(ctx, allowed).talk
    return all(
        (allowed.since is None or ctx.clock.local(from_text(m.created_at)).date() >= allowed.since)
        and (talk is None or any(m.conversation_id == one and m.id <= end for one, end in talk))
        for m in provenance.messages_behind(ctx.db, [number])
    )


def _words_behind(ctx: Context, entry: Entry, filters: Filters) -> Sequence[Entry]:
    behind: int | None = entry.id
    if entry.kind == ItemKind.MEMORY:
        behind = memories.get_memory(ctx.db, entry.id).observation_id
    if behind is None or entry.kind == ItemKind.MESSAGE:
        return [entry]
    ids = [m.id for m in provenance.messages_behind(ctx.db, [behind])]
    return results(ctx.db, ItemKind.MESSAGE, ids, filters)


def _parts(ctx: Context, entry: Entry) -> Iterator[Part]:
    text = entry.text
    starts = range(0, len(text), _PART_CHARACTERS)
    said_at = f"{ctx.clock.local(from_text(entry.moment)):%Y-%m-%d %H:%M}"
    for number, start in enumerate(starts, 1):
        yield Part(entry, said_at, text[start : start + _PART_CHARACTERS], number, len(starts))

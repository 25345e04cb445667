"""What other programs can read over MCP and HTTP, and a record of their calls.

They can read nothing that was withheld, forgotten, undone, left out of requests or said
in private, nor what the user asked to forget and the next compaction will withhold.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import islice

from construct.clock import from_text, to_text
from construct.errors import NotFoundError, UsageError
from construct.language.index_words import fold
from construct.memory.recall.search import search_memory
from construct.memory.shown.forks import descent
from construct.memory.shown.view import packed
from construct.operations.agenda import Agenda
from construct.operations.agenda import agenda as whole_agenda
from construct.operations.context import Context
from construct.operations.memory import observations_in_scope
from construct.operations.moments import parse_moment
from construct.operations.search import SearchResult
from construct.references import Reference, written
from construct.store import doors, forget_requests, memories, observations, provenance
from construct.store.conversations import get_conversation
from construct.store.doors import DoorCalls
from construct.store.records import Descent, Message, Observation
from construct.store.search import Entry, Filters, results
from construct.text import shorten
from construct.vocabulary import ItemKind

_SEARCHED_IF_LIMITED = 200
"""Results among which a limited client's are looked for: others may rank higher."""
_PARTS_PER_PAGE = 6
_MAX_PART_CHARACTERS = 2_000
_MAX_CLIENT_CHARACTERS = 60
"""A longer client name is shortened before it is stored."""


@dataclass(frozen=True, slots=True)
class Access:
    """What clients may read: everything, unless limited by conversation, by day, or by both."""

    conversation: int | None = None
    since: date | None = None
    """The first day they may read."""


def access(ctx: Context, conversation: int | None, since: str | None) -> Access:
    """Return what clients may read, with `since` as typed. Raises NotFoundError, UsageError."""
    if conversation is not None:
        get_conversation(ctx.db, conversation)  # raises if there is none
    return Access(conversation, _day(ctx, since))


def recall(
    ctx: Context,
    allowed: Access,
    query: str,
    *,
    since: str | None = None,
    until: str | None = None,
    limit: int,
) -> SearchResult:
    """Search what a client may read, best first. Raises UsageError."""
    if not query.strip():
        raise UsageError("Nothing to search for. Give some words.")
    filters = _filters(ctx, allowed, _day(ctx, since), _day(ctx, until))
    is_limited = allowed != Access() or bool(forget_requests.not_yet_withheld(ctx.db))
    searched = max(limit, _SEARCHED_IF_LIMITED) if is_limited else limit
    result = search_memory(
        ctx.db, query, filters, searched, today=ctx.clock.today(), meaning=ctx.memory.meaning
    )
    if not is_limited:
        return SearchResult(query, result.hits, result.respelt)
    rights = _rights(ctx, allowed)
    readable = (hit for hit in result.hits if rights.may_read((hit.kind, hit.id)))
    hits = list(islice(readable, limit))
    # A respelt word that is only in what the client may not read would reveal it.
    texts = [fold(hit.text) for hit in hits]
    respelt = tuple(r for r in result.respelt if any(fold(r.searched) in text for text in texts))
    return SearchResult(query, hits, respelt)


@dataclass(frozen=True, slots=True)
class Part:
    """A message, or one part of a long message."""

    entry: Entry
    said_at: str
    """The day and time in the user's time zone: `2026-03-01 14:30`."""
    text: str
    number: int
    """Counts the parts of the message, from 1."""
    total: int
    """How many parts the message has."""


@dataclass(frozen=True, slots=True)
class SourcePage:
    """One page of the messages behind a note, or of a message itself."""

    reference: Reference
    entry: Entry
    """The message, observation or memory that the id names."""
    parts: Sequence[Part]
    page: int
    pages: int


def source(ctx: Context, allowed: Access, reference: Reference, page: int) -> SourcePage:
    """Return a page of the messages behind what an id names, oldest first.

    Raises NotFoundError if the client may not read them, or if there is no such page.
    """
    kind, number = reference
    filters = replace(_filters(ctx, allowed), all=True)
    named = results(ctx.db, kind, [number], filters)
    entries = _messages_behind(ctx, named[0], filters) if named else []
    if not (entries and _rights(ctx, allowed).may_read(reference)):
        raise NotFoundError(f"{written(reference)} does not exist, or cannot be read here.")
    parts = [part for entry in entries for part in _parts(ctx, entry)]
    pages = -(-len(parts) // _PARTS_PER_PAGE)
    if not 1 <= page <= pages:
        has = "1 page" if pages == 1 else f"{pages} pages"
        raise NotFoundError(f"There is no page {page}: {written(reference)} has {has}.")
    shown = parts[(page - 1) * _PARTS_PER_PAGE : page * _PARTS_PER_PAGE]
    return SourcePage(reference, named[0], shown, page, pages)


def agenda(ctx: Context, allowed: Access) -> Agenda:
    """Return the agenda items that a client may read."""
    whole, rights = whole_agenda(ctx), _rights(ctx, allowed)
    items = [item for item in whole.items if rights.may_read((ItemKind.OBSERVATION, item.id))]
    return replace(whole, items=items)


def current(ctx: Context, allowed: Access) -> list[Observation]:
    """Return the most urgent active observations that a client may read, oldest first.

    As many as fit into three quarters of the observation budget.
    """
    rights = _rights(ctx, allowed)
    readable = (
        (observation_id, tokens)
        for observation_id, tokens in observations.by_urgency(ctx.db, rights.scope)
        if rights.may_read((ItemKind.OBSERVATION, observation_id))
    )
    ids = packed(readable, ctx.memory.thresholds.budget)
    shown = observations.observations(ctx.db, ids)
    return sorted(shown, key=lambda o: (o.observation_date, o.id))


@dataclass(frozen=True, slots=True)
class Details:
    """Observations, with the sources of the reflections among them."""

    observations: Sequence[Observation]
    sources: Mapping[int, Sequence[int]]
    """Ids of the observations that a reflection condenses, by the reflection's id."""


def details(ctx: Context) -> Details:
    """Return the active and pending observations in the scope of the user's conversation."""
    asked_to_forget = forget_requests.not_yet_withheld(ctx.db)
    in_scope = observations_in_scope(ctx)
    shown = [o for o in in_scope if not (o.withheld or o.id in asked_to_forget)]
    sources: dict[int, list[int]] = {}
    for observation_id, source_id in provenance.source_links(ctx.db, [o.id for o in shown]):
        sources.setdefault(observation_id, []).append(source_id)
    return Details(shown, sources)


def record_call(ctx: Context, client: str, tool: str, result_count: int) -> None:
    """Store that a client used a tool, and how many results it got."""
    name = shorten(client, _MAX_CLIENT_CHARACTERS) or "unknown"
    doors.record_call(ctx.db, name, tool, result_count, to_text(ctx.clock.now()))


def door_calls(ctx: Context) -> list[DoorCalls]:
    """Return how often and when each client asked, the most recent client first."""
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
        descent=None
        if allowed.conversation is None
        else tuple(descent(ctx.db, allowed.conversation)),
        exclude=tuple(forget_requests.messages_not_yet_withheld(ctx.db)),
        zone=ctx.clock.zone,
        for_model=True,
    )


@dataclass(frozen=True, slots=True)
class _Rights:
    """What a client may read: what its access covers and the user has not asked to forget."""

    ctx: Context
    access: Access
    scope: Descent | None
    asked_to_forget: frozenset[int]
    """Ids of observations that the next compaction will withhold."""

    def may_read(self, reference: Reference) -> bool:
        """Return whether a client may read every message that something was drawn from.

        A memory without an observation belongs to no conversation, so a client that is
        limited to one cannot read it.
        """
        kind, number = reference
        if kind == ItemKind.MESSAGE:  # the filters apply to messages
            return True
        if kind == ItemKind.MEMORY:
            observation_id = memories.get_memory(self.ctx.db, number).observation_id
            if observation_id is None:
                return self.scope is None
            number = observation_id
        if number in self.asked_to_forget:
            return False
        if self.access == Access():
            return True
        return all(map(self._may_read_message, provenance.messages_behind(self.ctx.db, [number])))

    def _may_read_message(self, message: Message) -> bool:
        since = self.access.since
        if since is not None and self.ctx.clock.day(message.created_at) < since:
            return False
        return self.scope is None or any(
            message.conversation_id == conversation_id and message.id <= last_id
            for conversation_id, last_id in self.scope
        )


def _rights(ctx: Context, allowed: Access) -> _Rights:
    asked_to_forget = forget_requests.not_yet_withheld(ctx.db)
    return _Rights(ctx, allowed, _filters(ctx, allowed).descent, asked_to_forget)


def _messages_behind(ctx: Context, entry: Entry, filters: Filters) -> Sequence[Entry]:
    """Return the messages behind an entry that may be read, oldest first.

    A message, or a memory without an observation, is returned itself.
    """
    observation_id: int | None = entry.id
    if entry.kind == ItemKind.MEMORY:
        observation_id = memories.get_memory(ctx.db, entry.id).observation_id
    if observation_id is None or entry.kind == ItemKind.MESSAGE:
        return [entry]
    ids = [m.id for m in provenance.messages_behind(ctx.db, [observation_id])]
    found = results(ctx.db, ItemKind.MESSAGE, ids, filters)
    return sorted(found, key=lambda message: message.moment)


def _parts(ctx: Context, entry: Entry) -> Iterator[Part]:
    text = entry.text
    starts = range(0, len(text), _MAX_PART_CHARACTERS)
    said_at = f"{ctx.clock.local(from_text(entry.moment)):%Y-%m-%d %H:%M}"
    for number, start in enumerate(starts, 1):
        yield Part(entry, said_at, text[start : start + _MAX_PART_CHARACTERS], number, len(starts))

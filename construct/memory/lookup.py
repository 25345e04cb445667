"""Look things up in memory for a model: recall, source and agenda.

`reading_tools.py` makes tools of this. Readers differ only in their rights: the main
model in its own turn, and other programs' models through a door (`operations/doors.py`).
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, tzinfo

from construct.clock import Clock
from construct.errors import NotFoundError, UsageError
from construct.language.index_words import fold
from construct.memory.agenda import AgendaItem, agenda_items, recent
from construct.memory.config import MemoryConfig
from construct.memory.recall.search import Hit, search_memory
from construct.memory.recall.spelling import Respelt
from construct.memory.shown.forks import descent
from construct.references import Reference, written
from construct.store import search, search_index
from construct.store.agenda import dated_notes
from construct.store.driver import Connection
from construct.store.note_links import messages_behind
from construct.store.records import Descent
from construct.store.search import Entry, Filters
from construct.vocabulary import ItemKind

DEFAULT_HITS = 8
MAX_HITS = 50
_SEARCHED_IF_LIMITED = 200
"""Results among which those that may be read are looked for: others may rank higher."""
_PARTS_PER_PAGE = 6
_MAX_PART_CHARACTERS = 1_500
NEIGHBOURS = 12
"""The most messages before a message, and after it, that `source` shows with it."""


@dataclass(frozen=True, slots=True)
class Rights:
    """What a reader may be given. What was forgotten or withheld is never given to anyone."""

    descent: Descent | None = None
    """The conversation that may be read, with those it continues; None for all."""
    since: date | None = None
    """The first day that may be read."""
    is_narrowed: bool = False
    """Whether a note may be read only if every message behind it may be.

    A note without messages may then not be read.
    """
    hidden_messages: tuple[int, ...] = ()
    hidden_observations: frozenset[int] = frozenset()

    @property
    def is_limited(self) -> bool:
        """Whether the filters of a search are not enough to tell what may be read."""
        return self.is_narrowed or bool(self.hidden_observations)

    def filters(self, zone: tzinfo | None) -> Filters:
        """Return what a search with these rights is restricted to."""
        return Filters(
            since=self.since,
            descent=self.descent,
            exclude=self.hidden_messages,
            zone=zone,
            for_model=True,
        )


@dataclass(frozen=True, slots=True)
class Query:
    """What `recall` looks for. Days are included."""

    words: str
    since: date | None = None
    until: date | None = None
    limit: int = DEFAULT_HITS
    kind: str | None = None
    role: str | None = None
    """Whose words: then only messages are searched."""


@dataclass(frozen=True, slots=True)
class Recalled:
    """The results of a search, best first."""

    hits: Sequence[Hit]
    respelt: Sequence[Respelt]
    nowhere: Sequence[str]
    """Words of the query that nothing holds."""
    not_searched: int
    """Imported messages that are not in the search index yet."""


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
    """One page of the messages behind a note, or around a message."""

    reference: Reference
    entry: Entry
    """The message or observation that the id names."""
    parts: Sequence[Part]
    page: int
    pages: int


def recall(db: Connection, config: MemoryConfig, rights: Rights, query: Query) -> Recalled:
    """Search what may be read, best first. Raises UsageError if there are no words."""
    if not query.words.strip():
        raise UsageError("Nothing to search for. Give some words.")
    clock = config.clock
    days = [day for day in (query.since, rights.since) if day is not None]
    filters = replace(
        rights.filters(clock.zone),
        since=max(days, default=None),
        until=query.until,
        kind=query.kind,
        role=query.role,
    )
    searched = max(query.limit, _SEARCHED_IF_LIMITED) if rights.is_limited else query.limit
    results = search_memory(
        db, query.words, filters, searched, today=clock.today(), meaning=config.meaning
    )
    hits, respelt, nowhere = results.hits, results.respelt, results.nowhere
    if rights.is_limited:
        allowed = readable(db, rights, clock.zone, [(hit.kind, hit.id) for hit in hits])
        hits = [hit for hit in hits if (hit.kind, hit.id) in allowed][: query.limit]
        nowhere = ()
        # A respelt word that is only in what may not be read would reveal it.
        texts = [fold(hit.text) for hit in hits]
        respelt = tuple(r for r in respelt if any(fold(r.searched) in text for text in texts))
    return Recalled(hits, respelt, nowhere, search_index.count_missing(db))


def source(
    db: Connection, clock: Clock, rights: Rights, reference: Reference, page: int
) -> SourcePage:
    """Return a page of the messages behind a note, oldest first, or around a message.

    Raises NotFoundError if they may not be read, or if there is no such page.
    """
    filters = replace(rights.filters(clock.zone), all=True)
    named = search.results(db, reference[0], [reference[1]], filters)
    if not (named and readable(db, rights, clock.zone, [reference])):
        raise NotFoundError(f"{written(reference)} does not exist, or cannot be read here.")
    entries = _source_messages(db, named[0], filters)
    parts = [part for entry in entries for part in _parts(entry, clock)]
    pages = max(1, -(-len(parts) // _PARTS_PER_PAGE))
    if not 1 <= page <= pages:
        has = "1 page" if pages == 1 else f"{pages} pages"
        raise NotFoundError(f"There is no page {page}: {written(reference)} has {has}.")
    shown = parts[(page - 1) * _PARTS_PER_PAGE : page * _PARTS_PER_PAGE]
    if reference[0] == ItemKind.MESSAGE:
        shown.sort(key=lambda part: (part.entry.id, part.number))
    return SourcePage(reference, named[0], shown, page, pages)


def agenda(db: Connection, clock: Clock, rights: Rights) -> list[AgendaItem]:
    """Return the agenda items that may be read, sorted by last day.

    Plans that have been of unknown outcome for long are left out.
    """
    today = clock.today()
    items = recent(agenda_items(dated_notes(db), today), today)
    ids = [item.id for item in items]
    filters = rights.filters(clock.zone)
    found = {entry.id for entry in search.results(db, ItemKind.OBSERVATION, ids, filters)}
    allowed = readable(db, rights, clock.zone, [(ItemKind.OBSERVATION, i) for i in found])
    return [item for item in items if (ItemKind.OBSERVATION, item.id) in allowed]


def readable(
    db: Connection, rights: Rights, zone: tzinfo | None, references: Collection[Reference]
) -> set[Reference]:
    """Return those of these items that may be read, with one query for all of them.

    Messages are left as they are, since a search's filters apply to them.
    """
    if not rights.is_limited:
        return set(references)
    ids = {number for kind, number in references if kind == ItemKind.OBSERVATION}
    allowed = ids - rights.hidden_observations
    if rights.is_narrowed:
        allowed &= search.resting_within(db, ids, rights.since, rights.descent, zone)
    return {
        (kind, number)
        for kind, number in references
        if kind == ItemKind.MESSAGE or number in allowed
    }


def _source_messages(db: Connection, entry: Entry, filters: Filters) -> Sequence[Entry]:
    """Return the messages behind a note that may be read, oldest first.

    For a message, it comes first and then its neighbours, the nearest first.
    """
    if entry.kind == ItemKind.MESSAGE:
        assert entry.conversation is not None
        line = tuple(descent(db, entry.conversation))
        near = search.around(db, entry.id, line, filters, NEIGHBOURS)
        entries = {one.id: one for one in search.results(db, ItemKind.MESSAGE, near, filters)}
        return [entry, *(entries[i] for i in near if i in entries)]
    ids = [m.id for m in messages_behind(db, [entry.id])]
    found = search.results(db, ItemKind.MESSAGE, ids, filters)
    return sorted(found, key=lambda message: message.moment)


def _parts(entry: Entry, clock: Clock) -> Iterator[Part]:
    text = entry.text
    starts = range(0, len(text), _MAX_PART_CHARACTERS)
    said_at = f"{clock.there(entry.moment, entry.utc_offset):%Y-%m-%d %H:%M}"
    for number, start in enumerate(starts, 1):
        yield Part(entry, said_at, text[start : start + _MAX_PART_CHARACTERS], number, len(starts))

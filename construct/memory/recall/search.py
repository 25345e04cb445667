"""Search messages, observations and memories in one ranking."""

import math
import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, tzinfo
from itertools import chain

from construct.clock import Clock
from construct.language.index_words import index_words, stem, word_forms
from construct.memory.graph.reading import reached
from construct.memory.recall.meaning import Meaning, Near, without
from construct.memory.recall.query import Query, analyse, any_of, gated
from construct.memory.recall.rank import (
    Candidate,
    Features,
    Matcher,
    PreparedQuery,
    in_context,
    ranked,
    score,
    shortlist,
    weights,
    words_in,
)
from construct.memory.recall.speakers import called_in, speakers
from construct.memory.recall.spelling import Respelt, as_said
from construct.store import search
from construct.store.search import Entry, Filters
from construct.vocabulary import Match

CANDIDATES = 200  # entries of each kind taken from the index
SHORTLIST = 30  # entries of each kind ranked together with the turns around them
NEARBY = 3  # ids searched on each side for neighbours: conversations may interleave
NEWEST_PIECES = 20_000  # rows scanned for scripts without spaces
# Rows that the gate of a large file lets through, and rows whose words add to the score
# (query.gated; benchmarks/README.md, "Is it fast").
REQUIRED_ROWS = 5_000
WEIGHED_ROWS = 100_000
SIMILAR = 60  # entries of each kind taken for their similarity of meaning
SIMILAR_IN_PART = 1000  # entries of each kind compared when filters are narrow
ALONE = 0.3  # similarity (cosine) that the best entry needs if no word is found
ALIKE = 0.45  # similarity (cosine) that makes a match direct, whatever words it has
MOST_GATES = 4  # rarest words dropped, one at a time, while the gate lets nothing through
HALF = 0.5  # a direct match has more than this share of the words

MATCH_MEANS: dict[Match, str] = {
    Match.LOOSE: "has only some of the words, or stands next to a match",
    Match.RELATED: "by way of the graph",
    Match.RESPELT: "has a word with a similar spelling",
}

SHARE = 4  # one result in this many may be a memory related through the graph
_RELATED_STANDING = -3.0  # standing of related memories when nothing else is found


@dataclass(frozen=True, slots=True)
class Found:
    """An entry that was found, with its standing: higher is better."""

    entry: Entry
    standing: float
    match: Match = Match.DIRECT
    """How it was found, judged by the query's words that occur anywhere. Decides the order."""
    lacks_unsaid: bool = False
    """True if it is loose once words that occur nowhere are counted too."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One search result; `date` is the day in the user's zone."""

    kind: str
    id: int
    conversation: int | None
    date: str
    text: str
    score: float
    role: str | None = None
    created_at: str | None = None
    generation: int | None = None
    priority: str | None = None
    stance: str | None = None
    state: str | None = None
    match: Match = Match.DIRECT
    """How it was found; MATCH_MEANS explains each kind but `direct`."""


@dataclass(frozen=True, slots=True)
class Results:
    """The results of a search, best first, and the words it respelt."""

    hits: list[Hit]
    respelt: tuple[Respelt, ...] = ()


def searched(
    db: sqlite3.Connection,
    query: str,
    filters: Filters = Filters(),
    limit: int = 20,
    *,
    today: date | None = None,
    meaning: Meaning | None = None,
) -> Results:
    """Return the best matches, best first. Deterministic.

    A word of the query that occurs nowhere is ignored. A word with almost the same
    spelling is searched instead; entries that have only that one rank below the others.
    With `meaning`, entries that say the same in other words are found too. `today` is
    the day that "yesterday" refers to. Raises ValueError when the query is blank.
    """
    asked = analyse(query, today)
    frequency = _frequencies(db, asked.words, filters)
    unsaid = [word for word in asked.words if not frequency[word]]
    asked, respelt = as_said(db, asked, unsaid, filters, today)
    if meaning and asked.bare and asked.unsaid:
        # The meaning of the query says more than the stop words left in it.
        asked = replace(asked, words=())
    found = _once(db, rank(db, asked, filters, max(0, limit), meaning))
    if not found and asked.has_more_than_phrases:
        # A phrase quoted from memory, or a title: search for its words instead.
        found = _once(db, rank(db, replace(asked, phrases=()), filters, max(0, limit), meaning))
        found = [replace(f, match=Match.LOOSE) for f in found]
    found = _with_related(db, asked, filters, found, limit)
    return Results([hit(f, filters.zone) for f in found], respelt)


def rank(
    db: sqlite3.Connection,
    query: Query,
    filters: Filters,
    limit: int,
    meaning: Meaning | None = None,
) -> list[Found]:
    """Find and rank entries that have words of the query or a similar meaning.

    Returns at most twice the limit.
    """
    called = called_in(db, query)
    wanted = tuple(word for word in query.words if word not in called) or query.words
    in_quotes = " ".join(query.phrases).split()
    looked_for = tuple(dict.fromkeys((*wanted, *in_quotes, *query.spelt)))
    frequency = _frequencies(db, looked_for, filters)
    found = _matching(db, query, wanted, frequency, filters)
    by_spelling: list[Entry] = []
    if query.spelt and not query.phrases:
        unaided = replace(query, pieces=())
        by_spelling = _without(_matching(db, unaided, query.spelt, frequency, filters), found)
    matcher = Matcher(looked_for, query.pieces)
    for piece in query.pieces:
        frequency[piece] = sum(piece in matcher.counts(entry) for entry in found)
    weight = weights(frequency, sum(search.highest_id(db, kind) for kind in search.KINDS))
    prepared = PreparedQuery(
        query, weight, matcher, speakers(called, [*found, *by_spelling], query.role)
    )
    best: list[Entry] = []
    for kind in search.KINDS:
        for part in (found, by_spelling):
            best += shortlist(_of(kind, part), prepared, max(SHORTLIST, limit))
    near = None
    if meaning and not query.phrases and (query.words or query.pieces or query.unsaid):
        near = meaning.near(db, without(query.text, called), filters.kinds())
    similar = _similar(db, near, filters, alone=not (found or by_spelling)) if near else []
    read = read_around(db, [*best, *_without(similar, best)], filters, results=not query.phrases)
    heard = [*found, *by_spelling, *(candidate.entry for candidate in read)]
    prepared = replace(prepared, speakers=speakers(called, heard, query.role))
    if near and similar:
        turns = chain.from_iterable((c.entry, *c.before, *c.after) for c in read)
        prepared = replace(prepared, near=near.of_all(turns))
    count = len(read) if query.spelt else 2 * limit
    judged = [
        _judged(candidate, features, prepared)
        for candidate, features in ranked(read, prepared, count)
    ]
    return _respelt_last(judged, prepared) if query.spelt else judged


def _respelt_last(found: Sequence[Found], prepared: PreparedQuery) -> list[Found]:
    """Rank entries that match only through a respelt word below all others.

    Those whose neighbours have the word, and not they themselves, become loose.
    """
    typed = [f for f in found if f.match != Match.RESPELT]
    respelt = [f for f in found if f.match == Match.RESPELT]
    lower = min(0.0, typed[-1].standing - respelt[0].standing) if typed and respelt else 0.0
    for f in respelt:
        words = prepared.matcher.counts(f.entry).keys()
        match: Match = Match.LOOSE if words.isdisjoint(prepared.query.spelt) else Match.RESPELT
        typed.append(replace(f, standing=f.standing + lower, match=match))
    return typed


def _without(entries: Iterable[Entry], others: Iterable[Entry]) -> list[Entry]:
    known = {entry.key for entry in others}
    return [entry for entry in entries if entry.key not in known]


def _matching(
    db: sqlite3.Connection,
    query: Query,
    wanted: Sequence[str],
    frequency: Mapping[str, int],
    filters: Filters,
) -> list[Entry]:
    """Return the entries that the index finds for the query's phrases, else its words.

    When the filters exclude every row that the gate of a large file lets through (all
    were undone, say), the rarest word is dropped and the search repeated.
    """
    left = sorted(wanted, key=lambda word: frequency.get(word, 0))
    required = WEIGHED_ROWS if filters.restrict_messages() else REQUIRED_ROWS
    for _ in range(MOST_GATES):
        gate = gated(left, frequency, required, WEIGHED_ROWS)
        expression = any_of((), query.phrases) or gate
        found: list[Entry] = []
        for kind in filters.kinds():
            found += _entries(db, kind, expression, query.pieces, filters)
        is_all = query.phrases or query.pieces or expression == any_of(left)
        if found or is_all or not left:
            return found
        left = left[1:]
    return []


def _similar(db: sqlite3.Connection, near: Near, filters: Filters, *, alone: bool) -> list[Entry]:
    """Return the entries most similar in meaning, best first by kind.

    Empty if the search by words found nothing (`alone`) and nothing is similar enough.
    """
    found: list[Entry] = []
    for kind in filters.kinds():
        ids = near.nearest(kind, SIMILAR_IN_PART if filters.restrict_messages() else SIMILAR)
        found += search.results(db, kind, ids, filters)
    known = near.of_all(found)
    if alone and max(known.values(), default=0.0) < ALONE:
        return []
    best = sorted(found, key=lambda e: (-known.get(e.key, -1.0), -e.id))
    return [entry for kind in filters.kinds() for entry in _of(kind, best)[:SIMILAR]]


def _judged(candidate: Candidate, features: Features, prepared: PreparedQuery) -> Found:
    """Return the candidate with its standing and how well it matches the query."""
    query, near = prepared.query, prepared.near.get(candidate.entry.key, 0.0)
    standing = score(features)
    if query.phrases or near >= ALIKE:
        return Found(candidate.entry, standing)
    words, known = words_in(candidate, prepared), len(prepared.weight)
    if query.spelt and words <= set(query.spelt):
        return Found(candidate.entry, standing, Match.RESPELT)
    if not prepared.matcher.counts(candidate.entry) or len(words) <= HALF * max(1, known):
        return Found(candidate.entry, standing, Match.LOOSE)
    # A respelt word already counts for the one it replaces.
    unsaid = query.unsaid - len(query.spelt)
    has_few_words = len(words) <= HALF * max(1, known + unsaid)
    lacks_unsaid = has_few_words or (query.bare and query.unsaid > 0)
    return Found(candidate.entry, standing, lacks_unsaid=lacks_unsaid)


def _of(kind: str, entries: Iterable[Entry]) -> list[Entry]:
    return [entry for entry in entries if entry.kind == kind]


def read_around(
    db: sqlite3.Connection, best: Sequence[Entry], filters: Filters, *, results: bool
) -> list[Candidate]:
    """Return entries with the turns around them.

    With `results`, the turns around them may become results themselves.
    """
    ids = {entry.id for entry in best if entry.kind == "message"}
    nearby = chain.from_iterable(range(i - NEARBY, i + NEARBY + 1) for i in ids)
    around = search.entries(db, "message", {*nearby} - ids - {*filters.exclude}, filters)
    if not results:
        around = [entry._replace(found=False) for entry in around]
    return in_context([*best, *around])


def _entries(
    db: sqlite3.Connection, kind: str, expression: str, pieces: Sequence[str], filters: Filters
) -> list[Entry]:
    ids = search.match(db, kind, expression, filters, CANDIDATES) if expression else []
    if pieces:
        ids += search.containing(db, kind, pieces, filters, NEWEST_PIECES)[-CANDIDATES:]
    return search.results(db, kind, ids, filters)


def _frequencies(db: sqlite3.Connection, wanted: Sequence[str], filters: Filters) -> dict[str, int]:
    """Return how many rows of all kinds have each word, in any of its forms.

    Messages that the filters leave out do not count.
    """
    roots = {word: [stem(form) for form in word_forms(word)] for word in wanted}
    all_roots = list(chain.from_iterable(roots.values()))
    total: Counter[str] = Counter()
    for kind in search.KINDS:
        total.update(search.frequencies(db, kind, all_roots))
    if filters.exclude:
        for entry in search.entries(db, "message", filters.exclude, Filters()):
            total.subtract(set(map(stem, index_words(entry.text))))
    return {word: max(0, sum(total[root] for root in group)) for word, group in roots.items()}


def _once(db: sqlite3.Connection, found: Sequence[Found]) -> list[Found]:
    """Drop memories whose observation was found too."""
    promoted = search.promoted_from(db, [f.entry.id for f in found if f.entry.kind == "memory"])
    observations = {f.entry.id for f in found if f.entry.kind == "observation"}
    return [
        f for f in found if f.entry.kind != "memory" or promoted.get(f.entry.id) not in observations
    ]


def _with_related(
    db: sqlite3.Connection, query: Query, filters: Filters, found: Sequence[Found], limit: int
) -> list[Found]:
    """Insert memories reached through the graph below the direct matches."""
    if limit <= 0:
        return []
    known = {f.entry.key for f in found[:limit]}
    memories = _reached(db, query, filters)
    promoted = search.promoted_from(db, [e.id for e in memories])
    related = [
        e
        for e in memories
        if e.key not in known and ("observation", promoted.get(e.id, 0)) not in known
    ][: max(1, limit // SHARE)]
    if not related:
        return list(found[:limit])
    direct = max((i + 1 for i, f in enumerate(found[:limit]) if f.match == Match.DIRECT), default=0)
    place = max(0, min(direct, limit - len(related)))
    before, after = found[:place], found[place : limit - len(related)]
    standing = _between(before, after)
    return [*before, *(Found(entry, standing, Match.RELATED) for entry in related), *after]


def _reached(db: sqlite3.Connection, query: Query, filters: Filters) -> list[Entry]:
    """Return the memories reached through the graph, nearest first.

    Empty for a search as of an earlier time: the graph has no history.
    """
    if "memory" not in filters.kinds() or filters.as_of is not None or query.phrases:
        return []
    ids = reached(db, query.text)
    entries = {e.id: e for e in search.results(db, "memory", ids, filters)}
    return [entries[i] for i in ids if i in entries]


def _between(before: Sequence[Found], after: Sequence[Found]) -> float:
    if before and after:
        return (before[-1].standing + after[0].standing) / 2
    if before:
        return before[-1].standing - 1
    return after[0].standing if after else _RELATED_STANDING


def hit(found: Found, zone: tzinfo | None) -> Hit:
    """Return a found entry as a search result."""
    entry = found.entry
    return Hit(
        kind=entry.kind,
        id=entry.id,
        conversation=entry.conversation,
        date=entry.day or Clock(zone=zone).day(entry.moment).isoformat(),
        text=entry.text,
        score=round(1 / (1 + math.exp(-found.standing)), 6),
        role=entry.role,
        created_at=entry.moment,
        generation=entry.generation,
        priority=entry.priority,
        stance=entry.stance,
        state=entry.state,
        match=Match.LOOSE if found.lacks_unsaid and found.match == Match.DIRECT else found.match,
    )

"""Recall: one ranking over messages, observations and memories."""

import math
import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, tzinfo
from itertools import chain
from typing import Literal

from construct.clock import Clock
from construct.language.index_words import index_words, stem, word_forms
from construct.memory.graph import reading as graph
from construct.memory.recall.meaning import Meaning, Near, without
from construct.memory.recall.query import Query, analyse, any_of, gated
from construct.memory.recall.rank import (
    Asked,
    Candidate,
    Features,
    Matcher,
    held,
    in_context,
    ranked,
    score,
    shortlist,
    weights,
)
from construct.memory.recall.speakers import called_in, speakers
from construct.memory.recall.spelling import Respelt, as_said
from construct.store import search as store
from construct.store.search import Entry, Filters

CANDIDATES = 200  # of each kind are taken from the index
SHORTLIST = 30  # of them are read with the turns around them
NEARBY = 3  # neighbours are looked for among so many ids to each side: conversations may interleave
NEWEST_PIECES = 20_000  # rows looked through for scripts without spaces
REQUIRED_ROWS, WEIGHED_ROWS = (
    5_000,
    100_000,
)  # the gate of a large file (query.gated; benchmarks/README.md, "Is it fast")
SIMILAR, SIMILAR_IN_PART = (
    60,
    1000,
)  # of each kind are taken for their meaning; looked through under narrow filters
ALONE = 0.3  # so near in meaning must the best be when no word is found
ALIKE = 0.45  # so near in meaning is no loose match, whatever words it has
MOST_GATES = 4  # words are given up, the rarest first, when they let nothing in
HALF = 0.5  # nor is what holds more than this share of the words


Match = Literal["direct", "related", "loose", "respelt"]
MATCH_MEANS: dict[Match, str] = {
    "loose": "only part of the words, or only beside what has them",
    "related": "by way of the graph",
    "respelt": "only a word spelt almost like one of these",
}

SHARE = 4  # of so many places one is kept for what is only related
_ALONE = -3.0  # the standing of what is related where nothing else is found


@dataclass(frozen=True, slots=True)
class Found:
    """An entry with its standing: higher is better."""

    entry: Entry
    standing: float
    match: Match = "direct"
    """How it was found by the words that are said anywhere: what stands where goes by
    this.
    """
    lacks_unsaid: bool = False
    """Loose all the same, counting the words that nothing holds."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One thing found; `date` is the day in the user's zone."""

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
    match: Match = "direct"
    """`related`: found by way of the graph.

    `loose`: only in part, or by what stands around it; `respelt`: only by a word that
    is spelt almost like one of the query's.
    """


@dataclass(frozen=True, slots=True)
class Results:
    """What a search found, best first, and which words it respelt."""

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
    """Return what matches best, best first; the same each time.

    `today` is what "yesterday" is counted from.

    A word that nothing holds changes nothing in what is found; one that is spelt almost
    like it is searched too, and what has only that ranks below. With `meaning` what
    says the same in other words is found too. Raises ValueError when the query is
    blank.
    """
    asked = analyse(query, today)
    frequency = _frequencies(db, asked.words, filters)
    unsaid = [word for word in asked.words if not frequency[word]]
    asked, respelt = as_said(db, asked, unsaid, filters, today)
    if meaning and asked.bare and asked.unsaid:
        # What the query means tells more than its little words.
        asked = replace(asked, words=())
    found = _once(db, rank(db, asked, filters, max(0, limit), meaning))
    if not found and asked.has_more_than_phrases:
        # Quoted from memory, or a title: the words will do.
        found = _once(db, rank(db, replace(asked, phrases=()), filters, max(0, limit), meaning))
        found = [replace(f, match="loose") for f in found]
    found = _with_related(db, asked, filters, found, limit)
    return Results([hit(f, filters.zone) for f in found], respelt)


def rank(
    db: sqlite3.Connection,
    query: Query,
    filters: Filters,
    limit: int,
    meaning: Meaning | None = None,
) -> list[Found]:
    """Find and rank what holds something of the query, or is near it in meaning.

    Twice the limit at most.
    """
    called = called_in(db, query)
    wanted = tuple(word for word in query.words if word not in called) or query.words
    in_quotes = " ".join(query.phrases).split()
    looked_for = tuple(dict.fromkeys((*wanted, *in_quotes, *query.spelt)))
    frequency = _frequencies(db, looked_for, filters)
    found = _matching(db, query, wanted, frequency, filters)
    by_spelling = []
    if query.spelt and not query.phrases:
        unaided = replace(query, pieces=())
        by_spelling = _without(_matching(db, unaided, query.spelt, frequency, filters), found)
    matcher = Matcher(looked_for, query.pieces)
    for piece in query.pieces:
        frequency[piece] = sum(piece in matcher.counts(entry) for entry in found)
    weight = weights(frequency, sum(store.total(db, kind) for kind in store.KINDS))
    asked = Asked(query, weight, matcher, speakers(called, [*found, *by_spelling], query.role))
    best: list[Entry] = []
    for kind in store.KINDS:
        for part in (found, by_spelling):
            best += shortlist(_of(kind, part), asked, max(SHORTLIST, limit))
    near = None
    if meaning and not query.phrases and (query.words or query.pieces or query.unsaid):
        near = meaning.near(db, without(query.text, called), filters.kinds())
    similar = _similar(db, near, filters, alone=not (found or by_spelling)) if near else []
    read = read_around(db, [*best, *_without(similar, best)], filters, results=not query.phrases)
    heard = [*found, *by_spelling, *(candidate.entry for candidate in read)]
    asked = replace(asked, speakers=speakers(called, heard, query.role))
    if near and similar:
        turns = chain.from_iterable((c.entry, *c.before, *c.after) for c in read)
        asked = replace(asked, near=near.of_all(turns))
    most = len(read) if query.spelt else 2 * limit
    judged = [_judged(*one, asked) for one in ranked(read, asked, most)]
    return _respelt_last(judged, asked) if query.spelt else judged


def _respelt_last(found: Sequence[Found], asked: Asked) -> list[Found]:
    """Put what has a word of the query only in another spelling below all else.

    Of that, what merely stands around it is loose.
    """
    typed = [f for f in found if f.match != "respelt"]
    respelt = [f for f in found if f.match == "respelt"]
    lower = min(0.0, typed[-1].standing - respelt[0].standing) if typed and respelt else 0.0
    for f in respelt:
        holds = not asked.matcher.counts(f.entry).keys().isdisjoint(asked.query.spelt)
        match: Match = "respelt" if holds else "loose"
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
    """Return what the index finds for a query's phrases, or for some words.

    Where no row that the gate of a large file lets in may be found (they were undone,
    say, or are of other days), the rarest word is left out, as one that no row has is.
    """
    left = sorted(wanted, key=lambda word: frequency.get(word, 0))
    required = WEIGHED_ROWS if filters.narrow() else REQUIRED_ROWS
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
    """Return the entries that are nearest in meaning.

    None where no word was found and nothing is near.
    """
    found: list[Entry] = []
    for kind in filters.kinds():
        ids = near.nearest(kind, SIMILAR_IN_PART if filters.narrow() else SIMILAR)
        found += store.results(db, kind, ids, filters)
    known = near.of_all(found)
    if alone and max(known.values(), default=0.0) < ALONE:
        return []
    best = sorted(found, key=lambda e: (-known.get(e.key, -1.0), -e.id))
    return [entry for kind in filters.kinds() for entry in _of(kind, best)[:SIMILAR]]


def _judged(candidate: Candidate, features: Features, asked: Asked) -> Found:
    """Return whether it answers the query as a whole, in part or by what is around it."""
    query, near = asked.query, asked.near.get(candidate.entry.key, 0.0)
    standing = score(features)
    if query.phrases or near >= ALIKE:
        return Found(candidate.entry, standing)
    words, known = held(candidate, asked), len(asked.weight)
    if query.spelt and words <= set(query.spelt):
        return Found(candidate.entry, standing, "respelt")
    if not asked.matcher.counts(candidate.entry) or len(words) <= HALF * max(1, known):
        return Found(candidate.entry, standing, "loose")
    # A word searched in the place of another counts as that one.
    others = query.unsaid - len(query.spelt)
    lacks = len(words) <= HALF * max(1, known + others) or (query.bare and query.unsaid > 0)
    return Found(candidate.entry, standing, lacks_unsaid=lacks)


def _of(kind: str, entries: Iterable[Entry]) -> list[Entry]:
    return [entry for entry in entries if entry.kind == kind]


def read_around(
    db: sqlite3.Connection, best: Sequence[Entry], filters: Filters, *, results: bool
) -> list[Candidate]:
    """Return entries with the turns around them.

    Those are results too, unless a phrase is wanted.
    """
    ids = {entry.id for entry in best if entry.kind == "message"}
    nearby = chain.from_iterable(range(i - NEARBY, i + NEARBY + 1) for i in ids)
    around = store.entries(db, "message", {*nearby} - ids - {*filters.without}, filters)
    if not results:
        around = [entry._replace(found=False) for entry in around]
    return in_context([*best, *around])


def _entries(
    db: sqlite3.Connection, kind: str, expression: str, pieces: Sequence[str], filters: Filters
) -> list[Entry]:
    ids = store.match(db, kind, expression, filters, CANDIDATES) if expression else []
    if pieces:
        ids += store.containing(db, kind, pieces, filters, NEWEST_PIECES)[-CANDIDATES:]
    return store.results(db, kind, ids, filters)


def _frequencies(db: sqlite3.Connection, wanted: Sequence[str], filters: Filters) -> dict[str, int]:
    """Return in how many rows of all kinds each word occurs, in any of its forms.

    What is left out does not count.
    """
    roots = {word: [stem(form) for form in word_forms(word)] for word in wanted}
    all_roots = list(chain.from_iterable(roots.values()))
    total: Counter[str] = Counter()
    for kind in store.KINDS:
        total.update(store.frequencies(db, kind, all_roots))
    if filters.without:
        for entry in store.entries(db, "message", filters.without, Filters()):
            total.subtract(set(map(stem, index_words(entry.text))))
    return {word: max(0, sum(total[root] for root in group)) for word, group in roots.items()}


def _once(db: sqlite3.Connection, found: Sequence[Found]) -> list[Found]:
    """Leave out the memories whose observation was found too."""
    promoted = store.promoted_from(db, [f.entry.id for f in found if f.entry.kind == "memory"])
    there = {f.entry.id for f in found if f.entry.kind == "observation"}
    return [f for f in found if f.entry.kind != "memory" or promoted.get(f.entry.id) not in there]


def _with_related(
    db: sqlite3.Connection, query: Query, filters: Filters, found: Sequence[Found], limit: int
) -> list[Found]:
    """Put the memories that the graph leads to below what was found directly."""
    if limit <= 0:
        return []
    known = {f.entry.key for f in found[:limit]}
    reached = _reached(db, query, filters)
    promoted = store.promoted_from(db, [e.id for e in reached])
    related = [
        e
        for e in reached
        if e.key not in known and ("observation", promoted.get(e.id, 0)) not in known
    ][: max(1, limit // SHARE)]
    if not related:
        return list(found[:limit])
    direct = max((i + 1 for i, f in enumerate(found[:limit]) if f.match == "direct"), default=0)
    place = max(0, min(direct, limit - len(related)))
    before, after = found[:place], found[place : limit - len(related)]
    standing = _between(before, after)
    return [*before, *(Found(entry, standing, "related") for entry in related), *after]


def _reached(db: sqlite3.Connection, query: Query, filters: Filters) -> list[Entry]:
    """Return the memories that the graph leads to, nearest first.

    Of the past it knows nothing.
    """
    if "memory" not in filters.kinds() or filters.as_of is not None or query.phrases:
        return []
    ids = graph.reached(db, query.text)
    entries = {e.id: e for e in store.results(db, "memory", ids, filters)}
    return [entries[i] for i in ids if i in entries]


def _between(before: Sequence[Found], after: Sequence[Found]) -> float:
    if before and after:
        return (before[-1].standing + after[0].standing) / 2
    if before:
        return before[-1].standing - 1
    return after[0].standing if after else _ALONE


def hit(found: Found, zone: tzinfo | None) -> Hit:
    """Return what was found as it is handed out."""
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
        match="loose" if found.lacks_unsaid and found.match == "direct" else found.match,
    )

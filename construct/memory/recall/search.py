"""Recall: one ranking over messages, observations and memories."""

import math
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, tzinfo

from construct.memory.language.stem import forms, stem
from construct.memory.recall.meaning import Meaning, Near, without
from construct.memory.recall.names import HEARD, Speakers, Turn, is_called, may_be_called, speakers
from construct.memory.recall.query import Query, analyse, any_of, gated
from construct.memory.recall.rank import (
    Asked,
    Candidate,
    Matcher,
    in_context,
    ranked,
    score,
    share_held,
    shortlist,
    weights,
)
from construct.memory.recall.related import Found, Match, once, with_related
from construct.store import search as store
from construct.store.search import Entry, Filters

CANDIDATES = 200  # of each kind are taken from the index
SHORTLIST = 30  # of them are read with the turns around them
NEARBY = 3  # neighbours are looked for among so many ids to each side: conversations may interleave
NEWEST_PIECES = 20_000  # rows looked through for scripts without spaces
REQUIRED_ROWS, WEIGHED_ROWS = 5_000, 100_000  # the gate of a large file (query.gated; benchmarks/README.md, "Scale")
SIMILAR, SIMILAR_IN_PART = 60, 1000  # of each kind are taken for their meaning; looked through under narrow filters
ALONE = 0.3  # so near in meaning must the best be when no word is found
ALIKE = 0.45  # so near in meaning is no loose match, whatever words it has
HALF = 0.5  # nor is what holds more than this share of the words
NAME_GLANCE, NAME_SAMPLE = 16, 100  # turns read to learn whether a word may be a participant's name, and whether it is


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
    """`related`: found by way of the graph; `loose`: only in part, or by what stands around it."""


def search(
    db: sqlite3.Connection,
    query: str,
    filters: Filters = Filters(),
    limit: int = 20,
    *,
    today: date | None = None,
    meaning: Meaning | None = None,
) -> list[Hit]:
    """Return what matches best, best first; the same each time. `today` is what "yesterday" is counted from.

    With `meaning` what says the same in other words is found too. Raises ValueError when the query is blank.
    """
    asked = analyse(query, today)
    found = once(db, rank(db, asked, filters, max(0, limit), meaning))
    if not found and asked.has_more_than_phrases:  # quoted from memory, or a title: the words will do
        found = once(db, rank(db, replace(asked, phrases=()), filters, max(0, limit), meaning))
        found = [replace(f, match="loose") for f in found]
    return [hit(f.entry, f.standing, filters.zone, f.match) for f in with_related(db, asked, filters, found, limit)]


def rank(
    db: sqlite3.Connection, query: Query, filters: Filters, limit: int, meaning: Meaning | None = None
) -> list[Found]:
    """Find and rank what holds something of the query, or is near it in meaning; twice the limit at most."""
    called = called_in(db, query)
    wanted = tuple(word for word in query.words if word not in called) or query.words
    looked_for = tuple(dict.fromkeys((*wanted, *(word for phrase in query.phrases for word in phrase.split()))))
    frequency = _frequencies(db, looked_for)
    required = WEIGHED_ROWS if filters.narrow() else REQUIRED_ROWS
    expression = any_of((), query.phrases) or gated(wanted, frequency, required, WEIGHED_ROWS)
    found = [entry for kind in filters.kinds() for entry in _entries(db, kind, expression, query.pieces, filters)]
    matcher = Matcher(looked_for, query.pieces)
    frequency |= {piece: sum(piece in matcher.counts(entry) for entry in found) for piece in query.pieces}
    weight = weights(frequency, sum(store.total(db, kind) for kind in store.KINDS))
    asked = _asked(query, weight, matcher, called, found)
    best = [entry for kind in store.KINDS for entry in shortlist(_of(kind, found), asked, max(SHORTLIST, limit))]
    near = _near(db, query, called, filters, meaning)
    similar = _similar(db, near, filters, alone=not found) if near else []
    best += [entry for entry in similar if entry not in best]
    read = read_around(db, best, filters, results=not query.phrases)
    asked = _asked(query, weight, matcher, called, [*found, *(candidate.entry for candidate in read)])
    if near and similar:
        asked = replace(asked, near=_nearness(near, read))
    return [
        Found(candidate.entry, score(features), _match(candidate, asked))
        for candidate, features in ranked(read, asked, 2 * limit)
    ]


def _near(
    db: sqlite3.Connection, query: Query, called: Collection[str], filters: Filters, meaning: Meaning | None
) -> Near | None:
    """Return what is near the query in meaning; nothing where words in quotes are wanted, or none are given."""
    if meaning is None or query.phrases or not (query.words or query.pieces):
        return None
    return meaning.near(db, without(query.text, called), filters.kinds())


def _similar(db: sqlite3.Connection, near: Near, filters: Filters, *, alone: bool) -> list[Entry]:
    """Return the entries that are nearest in meaning; none where no word was found and nothing is near."""
    found: list[Entry] = []
    for kind in filters.kinds():
        ids = near.nearest(kind, SIMILAR_IN_PART if filters.narrow() else SIMILAR)
        found += store.results(db, kind, ids, filters)
    known = near.of_all(found)
    if alone and max(known.values(), default=0.0) < ALONE:
        return []
    best = sorted(found, key=lambda e: (-known.get(e.key, -1.0), -e.id))
    return [entry for kind in filters.kinds() for entry in _of(kind, best)[:SIMILAR]]


def _nearness(near: Near, read: Iterable[Candidate]) -> dict[tuple[str, int], float]:
    """Return how near in meaning candidates and the turns around them are."""
    return near.of_all(e for candidate in read for e in (candidate.entry, *candidate.before, *candidate.after))


def _match(candidate: Candidate, asked: Asked) -> Match:
    """Tell whether it answers the query as a whole, or only in part, or by no more than what stands around it."""
    near = asked.near.get(candidate.entry.key, 0.0)
    holds = bool(asked.matcher.counts(candidate.entry)) and share_held(candidate, asked) > HALF
    whole = asked.query.phrases or near >= ALIKE or holds
    return "direct" if whole else "loose"


def _asked(
    query: Query, weight: dict[str, float], matcher: Matcher, called: dict[str, list[Turn]], read: Sequence[Entry]
) -> Asked:
    return Asked(query, weight, matcher, meant(query, called, read))


def meant(query: Query, called: Mapping[str, Sequence[Turn]], read: Iterable[Entry]) -> Speakers:
    """Return who is meant, learned from the turns that have the names and from all that was read."""
    turns = [turn for turns in called.values() for turn in turns]
    turns += [(entry.conversation or 0, entry.role, entry.text) for entry in read if entry.role] if called else []
    return speakers(turns, frozenset(called), query.role)


def _of(kind: str, entries: Iterable[Entry]) -> list[Entry]:
    return [entry for entry in entries if entry.kind == kind]


def read_around(db: sqlite3.Connection, best: Sequence[Entry], filters: Filters, *, results: bool) -> list[Candidate]:
    """Return entries with the turns around them; those are results too, unless a phrase is wanted."""
    ids = {entry.id for entry in best if entry.kind == "message"}
    near = {id_ for found in ids for id_ in range(found - NEARBY, found + NEARBY + 1)} - ids
    around = store.entries(db, "message", near, filters)
    return in_context([*best, *(around if results else [entry._replace(found=False) for entry in around])])


def called_in(db: sqlite3.Connection, query: Query) -> dict[str, list[Turn]]:
    """Return the words of the query that are participants' names, with the newest turns that have them."""
    words = [word for word in query.words if word in query.capitals and len(word) > 1]
    likely = [word for word in words if may_be_called(word, store.mentions(db, any_of([word]), NAME_GLANCE, HEARD))]
    turns = {word: store.mentions(db, any_of([word]), NAME_SAMPLE, HEARD) for word in likely}
    return {word: said for word, said in turns.items() if is_called(word, said)}


def _entries(
    db: sqlite3.Connection, kind: str, expression: str, pieces: Sequence[str], filters: Filters
) -> list[Entry]:
    """Return what the index finds of a kind."""
    ids = store.match(db, kind, expression, filters, CANDIDATES) if expression else []
    if pieces:
        ids += store.containing(db, kind, pieces, filters, NEWEST_PIECES)[-CANDIDATES:]
    return store.results(db, kind, ids, filters)


def _frequencies(db: sqlite3.Connection, wanted: Sequence[str]) -> dict[str, int]:
    """Return in how many rows of all kinds each word occurs, in any of its forms."""
    roots = {word: [stem(form) for form in forms(word)] for word in wanted}
    all_roots = [root for group in roots.values() for root in group]
    counted = [store.frequencies(db, kind, all_roots) for kind in store.KINDS]
    return {word: sum(counts[root] for counts in counted for root in group) for word, group in roots.items()}


def hit(entry: Entry, standing: float, zone: tzinfo | None, match: Match = "direct") -> Hit:
    """Return an entry as it is handed out."""
    return Hit(
        kind=entry.kind,
        id=entry.id,
        conversation=entry.conversation,
        date=entry.day or _day(entry.moment, zone),
        text=entry.text,
        score=round(1 / (1 + math.exp(-standing)), 6),
        role=entry.role,
        created_at=entry.moment,
        generation=entry.generation,
        priority=entry.priority,
        stance=entry.stance,
        state=entry.state,
        match=match,
    )


def _day(moment: str, zone: tzinfo | None) -> str:
    try:
        return datetime.fromisoformat(moment).astimezone(zone).date().isoformat()
    except OverflowError:  # the calendar's first or last day
        return moment[:10]

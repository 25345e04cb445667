"""Recall: one ranking over messages, observations and memories."""

import math
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, tzinfo

from construct.memory.language.stem import forms, stem, words
from construct.memory.recall.meaning import Meaning, Near, without
from construct.memory.recall.names import HEARD, Speakers, Turn, is_called, may_be_called, speakers
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
    share_held,
    shortlist,
    weights,
)
from construct.memory.recall.related import Found, Match, once, with_related
from construct.memory.recall.spelling import Respelt, as_said
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
MOST_GATES = 4  # words are given up, the rarest first, when they let nothing in
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
    """`related`: found by way of the graph; `loose`: only in part, or by what stands around it; `respelt`: only by a
    word that is spelt almost like one of the query's."""


@dataclass(frozen=True, slots=True)
class Results:
    """What a search found, best first, and which words it looked for in the place of words that nothing holds."""

    hits: list[Hit]
    respelt: tuple[Respelt, ...] = ()


def search(
    db: sqlite3.Connection,
    query: str,
    filters: Filters = Filters(),
    limit: int = 20,
    *,
    today: date | None = None,
    meaning: Meaning | None = None,
) -> list[Hit]:
    """Return what `searched` finds, without the words that it looked for in the place of others."""
    return searched(db, query, filters, limit, today=today, meaning=meaning).hits


def searched(
    db: sqlite3.Connection,
    query: str,
    filters: Filters = Filters(),
    limit: int = 20,
    *,
    today: date | None = None,
    meaning: Meaning | None = None,
) -> Results:
    """Return what matches best, best first; the same each time. `today` is what "yesterday" is counted from.

    A word that nothing holds changes nothing in what is found; one that is spelt almost like it is searched too, and
    what has only that ranks below. With `meaning` what says the same in other words is found too. Raises ValueError
    when the query is blank.
    """
    asked = analyse(query, today)
    frequency = _frequencies(db, asked.words, filters)
    asked, respelt = as_said(db, asked, [word for word in asked.words if not frequency[word]], filters, today)
    if meaning is not None and asked.bare and asked.unsaid:  # what the query means tells more than its little words
        asked = replace(asked, words=())
    found = once(db, rank(db, asked, filters, max(0, limit), meaning))
    if not found and asked.has_more_than_phrases:  # quoted from memory, or a title: the words will do
        found = once(db, rank(db, replace(asked, phrases=()), filters, max(0, limit), meaning))
        found = [replace(f, match="loose") for f in found]
    found = with_related(db, asked, filters, found, limit)
    return Results([_hit(f, filters.zone) for f in found], respelt)


def rank(
    db: sqlite3.Connection, query: Query, filters: Filters, limit: int, meaning: Meaning | None = None
) -> list[Found]:
    """Find and rank what holds something of the query, or is near it in meaning; twice the limit at most."""
    called = called_in(db, query)
    wanted = tuple(word for word in query.words if word not in called) or query.words
    in_quotes = [word for phrase in query.phrases for word in phrase.split()]
    looked_for = tuple(dict.fromkeys((*wanted, *in_quotes, *query.spelt)))
    frequency = _frequencies(db, looked_for, filters)
    found = _found(db, query, wanted, frequency, filters)
    by_spelling = [] if query.phrases else _without(_found_by(db, query.spelt, frequency, filters), found)
    matcher = Matcher(looked_for, query.pieces)
    frequency |= {piece: sum(piece in matcher.counts(entry) for entry in found) for piece in query.pieces}
    weight = weights(frequency, sum(store.total(db, kind) for kind in store.KINDS))
    asked = _asked(query, weight, matcher, called, [*found, *by_spelling])
    most = max(SHORTLIST, limit)
    best = [e for kind in store.KINDS for part in (found, by_spelling) for e in shortlist(_of(kind, part), asked, most)]
    near = _near(db, query, called, filters, meaning)
    similar = _similar(db, near, filters, alone=not (found or by_spelling)) if near else []
    best += _without(similar, best)
    read = read_around(db, best, filters, results=not query.phrases)
    asked = _asked(query, weight, matcher, called, [*found, *by_spelling, *(candidate.entry for candidate in read)])
    if near and similar:
        asked = replace(asked, near=_nearness(near, read))
    most_ranked = len(read) if query.spelt else 2 * limit
    best_first = [_judged(candidate, features, asked) for candidate, features in ranked(read, asked, most_ranked)]
    if not query.spelt:
        return best_first
    holding = {f.entry.key for f in best_first if not matcher.counts(f.entry).keys().isdisjoint(query.spelt)}
    return [
        replace(f, match="loose") if f.match == "respelt" and f.entry.key not in holding else f
        for f in _respelt_last(best_first)
    ]


def _respelt_last(found: Sequence[Found]) -> list[Found]:
    """Put what has a word of the query only in another spelling below all else."""
    typed = [f for f in found if f.match != "respelt"]
    respelt = [f for f in found if f.match == "respelt"]
    if not (typed and respelt):
        return [*typed, *respelt]
    lower = min(0.0, typed[-1].standing - respelt[0].standing)
    return [*typed, *(replace(f, standing=f.standing + lower) for f in respelt)]


def _without(entries: Iterable[Entry], others: Iterable[Entry]) -> list[Entry]:
    known = {entry.key for entry in others}
    return [entry for entry in entries if entry.key not in known]


def _found(
    db: sqlite3.Connection, query: Query, wanted: Sequence[str], frequency: Mapping[str, int], filters: Filters
) -> list[Entry]:
    """Return what the index finds for a query as it was typed."""
    if query.phrases or query.pieces:
        expression = any_of((), query.phrases) or _gate(wanted, frequency, filters)
        return [entry for kind in filters.kinds() for entry in _entries(db, kind, expression, query.pieces, filters)]
    return _found_by(db, wanted, frequency, filters)


def _found_by(
    db: sqlite3.Connection, wanted: Sequence[str], frequency: Mapping[str, int], filters: Filters
) -> list[Entry]:
    """Return what the index finds for some words.

    Where no row that the gate of a large file lets in may be found (they were undone, say, or are of other days), the
    rarest word is left out, as one that no row has is.
    """
    left = sorted(wanted, key=lambda word: frequency.get(word, 0))
    for _ in range(MOST_GATES):
        expression = _gate(left, frequency, filters)
        found = [entry for kind in filters.kinds() for entry in _entries(db, kind, expression, (), filters)]
        if found or not left or expression == any_of(left):
            return found
        left = left[1:]
    return []


def _gate(words: Sequence[str], frequency: Mapping[str, int], filters: Filters) -> str:
    return gated(words, frequency, WEIGHED_ROWS if filters.narrow() else REQUIRED_ROWS, WEIGHED_ROWS)


def _near(
    db: sqlite3.Connection, query: Query, called: Collection[str], filters: Filters, meaning: Meaning | None
) -> Near | None:
    """Return what is near the query in meaning; nothing where words in quotes are wanted, or none are given."""
    if meaning is None or query.phrases or not (query.words or query.pieces or query.unsaid):
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


def _judged(candidate: Candidate, features: Features, asked: Asked) -> Found:
    """Tell whether it answers the query as a whole, or only in part, or by no more than what stands around it."""
    query, near = asked.query, asked.near.get(candidate.entry.key, 0.0)
    standing = score(features)
    if query.phrases or near >= ALIKE:
        return Found(candidate.entry, standing)
    if query.spelt and held(candidate, asked) <= set(query.spelt):
        return Found(candidate.entry, standing, "respelt")
    if not asked.matcher.counts(candidate.entry) or share_held(candidate, asked, with_unsaid=False) <= HALF:
        return Found(candidate.entry, standing, "loose")
    whole = share_held(candidate, asked, with_unsaid=True) > HALF and not (query.bare and query.unsaid)
    return Found(candidate.entry, standing, lacks_unsaid=not whole)


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
    near = {id_ for found in ids for id_ in range(found - NEARBY, found + NEARBY + 1)} - ids - {*filters.without}
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


def _frequencies(db: sqlite3.Connection, wanted: Sequence[str], filters: Filters) -> dict[str, int]:
    """Return in how many rows of all kinds each word occurs, in any of its forms; what is left out does not count."""
    roots = {word: [stem(form) for form in forms(word)] for word in wanted}
    all_roots = [root for group in roots.values() for root in group]
    counted = [store.frequencies(db, kind, all_roots) for kind in store.KINDS]
    left_out = [e.text for e in store.entries(db, "message", filters.without, Filters())] if filters.without else []
    counted += [dict.fromkeys(map(stem, words(text)), -1) for text in left_out]
    found = {word: sum(counts.get(root, 0) for counts in counted for root in group) for word, group in roots.items()}
    if left_out:  # counts that were kept may be from before it was stored
        for word in [word for word, count in found.items() if count <= 0]:
            fresh = sum(sum(store.count(db, kind, roots[word]).values()) for kind in store.KINDS)
            found[word] = max(0, fresh + sum(counted[-1].get(root, 0) for root in roots[word]))
    return found


def _hit(found: Found, zone: tzinfo | None) -> Hit:
    match: Match = "loose" if found.lacks_unsaid and found.match == "direct" else found.match
    return hit(found.entry, found.standing, zone, match)


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

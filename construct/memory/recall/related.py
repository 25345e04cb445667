"""What stands behind a ranking: one line for what is said twice, and what the graph leads to from what is named."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from construct.memory.graph.reading import reached
from construct.memory.recall.query import Query
from construct.store import search as store
from construct.store.search import Entry, Filters

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
    """How it was found by the words that are said anywhere: what stands where goes by this."""
    lacks_unsaid: bool = False
    """Loose all the same, counting the words that nothing holds."""


def once(db: sqlite3.Connection, found: Sequence[Found]) -> list[Found]:
    """Leave out the memories whose observation is there too: that one has its date, stance and sources."""
    promoted = store.promoted_from(db, [f.entry.id for f in found if f.entry.kind == "memory"])
    there = {f.entry.id for f in found if f.entry.kind == "observation"}
    return [f for f in found if f.entry.kind != "memory" or promoted.get(f.entry.id) not in there]


def with_related(
    db: sqlite3.Connection, query: Query, filters: Filters, found: Sequence[Found], limit: int
) -> list[Found]:
    """Return at most so many: below what was found directly, the memories one or two relations from what is named."""
    known = {f.entry.key for f in found[:limit]}
    related = _unsaid(db, [e for e in _related(db, query, filters) if e.key not in known], known)
    if limit <= 0 or not related:
        return list(found[: max(0, limit)])
    related = related[: max(1, limit // SHARE)]
    direct = max((i + 1 for i, f in enumerate(found[:limit]) if f.match == "direct"), default=0)
    place = max(0, min(direct, limit - len(related)))
    before, after = found[:place], found[place : limit - len(related)]
    standing = _between(before, after)
    return [*before, *(Found(entry, standing, "related") for entry in related), *after]


def _related(db: sqlite3.Connection, query: Query, filters: Filters) -> list[Entry]:
    """Return the memories that the graph leads to, nearest first; of the past it knows nothing."""
    if "memory" not in filters.kinds() or filters.as_of is not None or query.phrases:
        return []
    ids = reached(db, query.text)
    entries = {e.id: e for e in store.results(db, "memory", ids, filters)}
    return [entries[i] for i in ids if i in entries]


def _unsaid(db: sqlite3.Connection, related: Sequence[Entry], known: set[tuple[str, int]]) -> list[Entry]:
    """Leave out the memories whose observation was found."""
    promoted = store.promoted_from(db, [e.id for e in related])
    return [e for e in related if ("observation", promoted.get(e.id, 0)) not in known]


def _between(before: Sequence[Found], after: Sequence[Found]) -> float:
    if not before:
        return _ALONE if not after else after[0].standing
    return (before[-1].standing + after[0].standing) / 2 if after else before[-1].standing - 1

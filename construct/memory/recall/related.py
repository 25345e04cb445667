"""What is added to a ranking: what the graph leads to from what is named."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from construct.memory.graph import reading as graph
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
    """Leave out the memories whose observation is there too, with its date and sources."""
    promoted = store.promoted_from(db, [f.entry.id for f in found if f.entry.kind == "memory"])
    there = {f.entry.id for f in found if f.entry.kind == "observation"}
    return [f for f in found if f.entry.kind != "memory" or promoted.get(f.entry.id) not in there]


def with_related(
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

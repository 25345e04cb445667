"""Where words stand in a file: about how many rows have one, and which are the newest of these.

A word is looked up once, and no more of its rows are read than `READ`: what it costs does not grow with the file.
What has more is common; how common is told by how close together its newest rows lie. That is kept by this process
until the file has grown by a quarter: talk is made of common words mostly, and those are not looked up again.
"""

import sqlite3
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from construct.memory.recall.query import any_of
from construct.store import search as store

READ = 50
GROWN = 1.25
COMMON = 0.05  # share of the rows that a word has at most: one that is much in use of late was not always
KEPT = 10_000  # common words, a megabyte or two

Newest = Mapping[str, Sequence[int]]
"""The newest ids by kind, newest first, `READ` of each at most."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Where words stand."""

    path: str
    """Of the file."""
    totals: Mapping[str, int]
    """The rows of each kind, about."""
    rows: Mapping[str, int]
    """How many rows have each word, of all kinds; about, where it is common."""
    newest: Mapping[str, Newest]
    """Of the words that were looked up."""

    @property
    def total(self) -> int:
        """The rows of all kinds, about."""
        return sum(self.totals.values())


def look(db: sqlite3.Connection, words: Collection[str]) -> Standing:
    """Return where words stand, in any of their forms; those known to be common are not looked up."""
    path, totals = store.path(db), {kind: store.total(db, kind) for kind in store.KINDS}
    total = sum(totals.values())
    shares = {word: _common.get((path, word), (0.0, 0)) for word in words}
    known = {word: int(share * total) for word, (share, then) in shares.items() if total < GROWN * then}
    newest = _look_up(db, [word for word in shares if word not in known])
    rows = {word: sum(_about(ids, totals[kind]) for kind, ids in of.items()) for word, of in newest.items()}
    if len(_common) > KEPT:
        _common.clear()
    for word, of in newest.items():
        if any(len(ids) == READ for ids in of.values()):
            _common[path, word] = rows[word] / total, total
    return Standing(path, totals, known | rows, newest)


_common: dict[tuple[str, str], tuple[float, int]] = {}
"""The share of a file's rows that has a word, and how many rows there were then."""


def newest_with(db: sqlite3.Connection, word: str, standing: Standing) -> Newest:
    """Return the newest rows with a word, looked up now if it was not before."""
    return standing.newest.get(word) or _look_up(db, [word])[word]


def _look_up(db: sqlite3.Connection, words: Sequence[str]) -> dict[str, Newest]:
    found: dict[str, dict[str, list[int]]] = {word: {} for word in words}
    for kind in store.KINDS if words else ():
        expressions = [any_of([word]) for word in words]
        for word, ids in zip(words, store.newest_of_each(db, kind, expressions, READ), strict=True):
            found[word][kind] = ids
    return dict(found)


def _about(newest: Sequence[int], rows: int) -> int:
    """Return how many of so many rows have a word, given the newest that have it."""
    if len(newest) < READ:
        return len(newest)
    return max(READ, min(int(COMMON * rows), READ * rows // (rows - newest[-1] + 1)))

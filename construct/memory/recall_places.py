"""Where words stand in a file: about how many rows have one, and which are the newest of these.

A word is looked up once, and no more of its rows are read than `READ`: what it costs does not grow with the file.
What has more is common; how common is told by how close together its newest rows lie. That is kept by this process
until the file has grown by a quarter: talk is made of common words mostly, and those are not looked up again.
"""

import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from construct.memory.query import any_of
from construct.store import search as store

READ = 50
GROWN = 1.25
COMMON = 0.05  # share of the rows that a word has at most: one that is much in use of late was not always
KEPT = 10_000  # common words, a megabyte or two


@dataclass(frozen=True, slots=True)
class Places:
    """Where one word stands."""

    rows: int
    """How many rows have it, of all kinds; about, when it is common."""
    newest: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """The newest ids by kind, newest first; nothing for a word that is known to be common."""


def places(db: sqlite3.Connection, words: Iterable[str], rows: Mapping[str, int]) -> dict[str, Places]:
    """Return where each word stands, in any of its forms; `rows` are those of each kind, about."""
    path, total = store.path(db), sum(rows.values())
    shares = {word: _common.get((path, word), (0.0, 0)) for word in words}
    known = {word: Places(int(share * total)) for word, (share, then) in shares.items() if total < GROWN * then}
    found = look_up(db, [word for word in shares if word not in known], rows)
    if len(_common) > KEPT:
        _common.clear()
    for word, place in found.items():
        if any(len(ids) == READ for ids in place.newest.values()):
            _common[path, word] = place.rows / total, total
    return known | found


_common: dict[tuple[str, str], tuple[float, int]] = {}
"""The share of a file's rows that has a word, and how many rows there were then."""


def look_up(db: sqlite3.Connection, words: Collection[str], rows: Mapping[str, int]) -> dict[str, Places]:
    """Return where each word stands, by looking."""
    newest: dict[str, dict[str, list[int]]] = {word: {} for word in words}
    for kind in rows if words else ():
        expressions = [of_kind(kind, any_of([word])) for word in words]
        for word, ids in zip(words, store.newest_of_each(db, kind, expressions, READ), strict=True):
            newest[word][kind] = ids
    return {word: Places(sum(_about(ids, rows[kind]) for kind, ids in of.items()), of) for word, of in newest.items()}


def _about(newest: Sequence[int], rows: int) -> int:
    """Return how many of so many rows have a word, given the newest that have it."""
    if len(newest) < READ:
        return len(newest)
    return max(READ, min(int(COMMON * rows), READ * rows // (rows - newest[-1] + 1)))


def of_kind(kind: str, expression: str) -> str:
    """Return an expression for own text as a kind's index takes it: only messages have a context beside it."""
    return expression if kind == "message" else expression.removeprefix("{text} : ")

"""Where words stand: about how many messages have one, and which rows of all kinds are the newest of these.

A word is looked up once, and no more of its rows are read than `READ`: what it costs does not grow with the file.
What has more is common; how common is told by how close together its newest rows lie. That is kept by this process
until the file has grown by a quarter: talk is made of common words mostly, and those are not looked up again.
What is remembered says what was said: how rare a word is, messages tell, and the other kinds only of one that no
message has.
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

_REMEMBERED = ("observation", "memory")

Newest = Mapping[str, Sequence[int]]
"""The newest ids by kind, newest first, `READ` of each at most."""


@dataclass(frozen=True, slots=True)
class Places:
    """Where words stand."""

    path: str
    """Of the file."""
    total: int
    """The messages, about."""
    rows: Mapping[str, int]
    """How many messages have each word; about, where it is common. Of one that none has: how many other rows do."""
    newest: Mapping[str, Sequence[int]]
    """The newest messages with each word that was looked up, newest first, `READ` at most."""


def look(db: sqlite3.Connection, words: Collection[str]) -> Places:
    """Return where words stand, in any of their forms; those known to be common are not looked up."""
    path, total = store.path(db), store.total(db, "message")
    shares = {word: _common.get((path, word), (0.0, 0)) for word in words}
    known = {word: int(share * total) for word, (share, then) in shares.items() if total < GROWN * then}
    newest = _newest(db, "message", [word for word in shares if word not in known])
    rows = {word: _about(ids, total) for word, ids in newest.items()}
    if len(_common) > KEPT:
        _common.clear()
    for word, ids in newest.items():
        if len(ids) == READ:
            _common[path, word] = rows[word] / total, total
    unsaid = [word for word, many in rows.items() if not many]
    others = [_newest(db, kind, unsaid) for kind in _REMEMBERED]
    rows |= {word: sum(len(ids[word]) for ids in others) for word in unsaid}
    return Places(path, total, known | rows, newest)


_common: dict[tuple[str, str], tuple[float, int]] = {}
"""The share of a file's messages that has a word, and how many messages there were then."""


def newest_with(db: sqlite3.Connection, word: str, places: Places) -> Newest:
    """Return the newest rows with a word, in any of its forms."""
    said = places.newest if word in places.newest else _newest(db, "message", [word])
    return {"message": said[word]} | {kind: _newest(db, kind, [word])[word] for kind in _REMEMBERED}


def _newest(db: sqlite3.Connection, kind: str, words: Sequence[str]) -> Mapping[str, Sequence[int]]:
    found = store.newest_of_each(db, kind, [any_of([word]) for word in words], READ) if words else []
    return dict(zip(words, found, strict=True))


def _about(newest: Sequence[int], rows: int) -> int:
    """Return how many of so many rows have a word, given the newest that have it."""
    if len(newest) < READ:
        return len(newest)
    return max(READ, min(int(COMMON * rows), READ * rows // (rows - newest[-1] + 1)))

"""How many messages have a word, about, and which rows of all kinds are the newest of these.

A word is looked up once, and no more of its rows are read than `READ`: what it costs does
not grow with the file. What has more is common; how common is told by how close together
its newest rows lie. How rare a word is, messages tell, and what is remembered only of a
word that no message has: it says what was said.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from construct.memory.recall.query import any_of
from construct.store import search as store

READ = 50
COMMON = 0.05  # share of the rows that a word has at most: much in use of late is not always

_REMEMBERED = ("observation", "memory")


@dataclass(frozen=True, slots=True)
class DocumentFrequency:
    """How often words were said."""

    total: int
    """The messages, about."""
    rows: Mapping[str, int]
    """How many messages have each word, in any of its forms; about, where it is common.

    Of one that none has: how many other rows do.
    """
    newest: Mapping[str, Sequence[int]]
    """The newest messages with each word, newest first, `READ` at most."""


def document_frequency(db: sqlite3.Connection, words: Sequence[str]) -> DocumentFrequency:
    """Look up how many messages have each of these words, in any of its forms."""
    total = store.total(db, "message")
    newest = _newest(db, "message", words)
    rows = {word: _estimate(ids, total) for word, ids in newest.items()}
    unsaid = [word for word, many in rows.items() if not many]
    for kind in _REMEMBERED:
        for word, ids in _newest(db, kind, unsaid).items():
            rows[word] += len(ids)
    return DocumentFrequency(total, rows, newest)


def newest_with(
    db: sqlite3.Connection, word: str, frequency: DocumentFrequency
) -> dict[str, Sequence[int]]:
    """Return the newest ids with a word by kind, newest first, `READ` of each at most."""
    remembered = {kind: _newest(db, kind, [word])[word] for kind in _REMEMBERED}
    return {"message": frequency.newest[word]} | remembered


def _newest(db: sqlite3.Connection, kind: str, words: Sequence[str]) -> Mapping[str, Sequence[int]]:
    if not words:
        return {}
    ids = store.newest_of_each(db, kind, [any_of([word]) for word in words], READ)
    return dict(zip(words, ids, strict=True))


def _estimate(newest: Sequence[int], total: int) -> int:
    """Return how many of so many rows have a word, given the newest that have it."""
    if len(newest) < READ:
        return len(newest)
    return max(READ, min(int(COMMON * total), READ * total // (total - newest[-1] + 1)))

"""The full-text indexes: entries for many messages at once, and merging segments.

Of the time that it takes to store an import two thirds go into the index of messages,
and with an entry for each row as it comes (FTS5 then writes a segment for each) it would
be six sevenths. So the rows come first, in one transaction, and what is not in the index
yet can be told by its having no row in `messages_fts_docsize`. `meta` has a row
`unindexed` while there is any: the lowest id that may lack its entry. Whoever is stopped
half-way leaves it to the next.

Each transaction that stores words leaves a segment behind, and a word is looked for in
every one. SQLite merges them by itself when there are many, a dozen or two in a talk;
here two of a size are merged, which leaves about five.
"""

import math
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import accumulate

from construct.store.database import transaction
from construct.store.sql import GIVEN, given, scalar

_BATCH_TOKENS = 250_000
"""The write lock is held for about a tenth of a second."""
_BATCH_MESSAGES = 5_000
_BREATH = 0.03  # seconds between two batches: SQLite's lock knows no queue
_TRIGGER = "messages_fts_insert"
_INDEXES = ("messages_fts", "observations_fts", "memories_fts")
_MERGED_PAGES = 32  # written at a time, at most: the write lock is held for a few milliseconds
_MISSING = "NOT EXISTS (SELECT 1 FROM messages_fts_docsize WHERE id = messages.id)"


@contextmanager
def put_off(db: sqlite3.Connection) -> Iterator[None]:
    """Store messages in the block without their entries, inside the caller's transaction.

    Where they are few, those are made at its end; else `complete` makes them.
    """
    trigger = scalar(db, "SELECT sql FROM sqlite_master WHERE name = ?", (_TRIGGER,))
    newest = scalar(db, "SELECT ifnull(max(id), 0) FROM messages")
    db.execute(f"DROP TRIGGER {_TRIGGER}")
    yield
    db.execute(trigger)
    db.execute("INSERT OR IGNORE INTO meta (name, value) VALUES ('unindexed', ?)", (newest + 1,))
    _make_batch(db)


def complete(
    db: sqlite3.Connection,
    progress: Callable[[int, int], None] = lambda done, total: None,
    seconds: float = math.inf,
) -> None:
    """Make the entries that are missing, as many as the time allows.

    Other processes have their turn in between.
    """
    total = count_missing(db)
    done = 0
    until = time.monotonic() + seconds
    while time.monotonic() < until and (made := make_some(db)):
        done += made
        progress(done, total)
        time.sleep(_BREATH)


def make_some(db: sqlite3.Connection) -> int:
    """Make some of the missing entries, and return how many; 0 when none is missing."""
    if _first_missing(db) is None:
        return 0
    with transaction(db):
        return _make_batch(db)


def count_missing(db: sqlite3.Connection) -> int:
    """Return how many messages lack their entry; costs nothing when none does."""
    first = _first_missing(db)
    if first is None:
        return 0
    # By an index: the messages themselves may fill a gigabyte.
    query = """SELECT (SELECT count(*) FROM messages INDEXED BY messages_by_conversation
                       WHERE id >= :first)
                    - (SELECT count(*) FROM messages_fts_docsize WHERE id >= :first)"""
    return scalar(db, query, {"first": first})


def merge_some(db: sqlite3.Connection) -> bool:
    """Merge segments of each index that has two of a size; False when none has."""
    with transaction(db):
        return any(_merge(db, index) for index in _INDEXES)


def merge_all(db: sqlite3.Connection) -> None:
    """Leave one segment of each index, with nothing in it of what was deleted."""
    for index in _INDEXES:
        db.execute(f"INSERT INTO {index}({index}) VALUES ('optimize')")


def _merge(db: sqlite3.Connection, index: str) -> bool:
    if scalar(db, f"SELECT v FROM {index}_config WHERE k = 'usermerge'") != 2:
        db.execute(f"INSERT INTO {index}({index}, rank) VALUES ('usermerge', 2)")
    before = db.total_changes
    db.execute(f"INSERT INTO {index}({index}, rank) VALUES ('merge', {_MERGED_PAGES})")
    # One change is the statement itself (https://www.sqlite.org/fts5.html, 6.9).
    return db.total_changes - before > 1


def _first_missing(db: sqlite3.Connection) -> int | None:
    found = scalar(db, "SELECT value FROM meta WHERE name = 'unindexed'")
    return None if found is None else int(found)


def _make_batch(db: sqlite3.Connection) -> int:
    first = _first_missing(db)
    found = db.execute(
        f"SELECT id, token_count FROM messages WHERE id >= ? AND {_MISSING} ORDER BY id LIMIT ?",
        (first, _BATCH_MESSAGES + 1),
    ).fetchall()
    ids = [row_id for row_id, _ in found]
    before = accumulate((tokens for _, tokens in found), initial=0)
    batch = [
        row_id
        for row_id, tokens in zip(ids[:_BATCH_MESSAGES], before, strict=False)
        if tokens < _BATCH_TOKENS
    ]
    query = f"""INSERT INTO messages_fts (rowid, text)
                SELECT id, text FROM messages_search WHERE id IN {GIVEN}"""
    db.execute(query, (given(batch),))
    if len(batch) == len(ids):
        db.execute("DELETE FROM meta WHERE name = 'unindexed'")
    else:
        db.execute("UPDATE meta SET value = ? WHERE name = 'unindexed'", (ids[len(batch)],))
    return len(batch)

"""The full-text index of messages, for many at once: their entries are made after them, some at a time.

Of the time that it takes to store an import two thirds go into the index, and with an entry for each row as it comes
(FTS5 then writes a segment for each) it would be six sevenths. So the rows come first, in one transaction, and what is
not in the index yet can be told by its having no row in `messages_fts_docsize`. `meta` has a row `unindexed` while
there is any: the lowest id that may lack its entry. Whoever is stopped half-way leaves it to the next.
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
    """Make the entries that are missing, as many as the time allows, other processes having their turn in between."""
    total = count_missing(db)
    done = 0
    until = time.monotonic() + seconds
    while time.monotonic() < until and (made := make_some(db)):
        done += made
        progress(done, total)
        time.sleep(_BREATH)


def make_some(db: sqlite3.Connection) -> int:
    """Make some of the entries that are missing; return of how many messages, 0 when none is."""
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
    query = """SELECT (SELECT count(*) FROM messages INDEXED BY messages_by_conversation WHERE id >= :first)
                    - (SELECT count(*) FROM messages_fts_docsize WHERE id >= :first)"""
    return int(scalar(db, query, {"first": first}))


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
    batch = [row_id for row_id, tokens in zip(ids[:_BATCH_MESSAGES], before, strict=False) if tokens < _BATCH_TOKENS]
    query = f"INSERT INTO messages_fts (rowid, text) SELECT id, text FROM messages_search WHERE id IN {GIVEN}"
    db.execute(query, (given(batch),))
    if len(batch) == len(ids):
        db.execute("DELETE FROM meta WHERE name = 'unindexed'")
    else:
        db.execute("UPDATE meta SET value = ? WHERE name = 'unindexed'", (ids[len(batch)],))
    return len(batch)

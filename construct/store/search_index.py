"""Maintenance of the full-text indexes: indexing what came all at once, and merging segments.

Indexing takes two thirds of the time of an import, and would take six sevenths if each
message were indexed as it is stored, since FTS5 then writes a segment for each. So an
import first stores all messages in one transaction. A message is not indexed yet if it
has no row in `messages_fts_docsize`. While there are such messages, the row `unindexed`
of `meta` has the lowest id that may be one. If indexing is interrupted, it goes on later.
A file of an earlier version is indexed anew in the same way.

Each transaction that adds text leaves a segment in the index, and a search looks into
every segment. SQLite merges them by itself only when there are one or two dozen. Here
any two of similar size are merged, which leaves about five.
"""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from construct.store.database import transaction
from construct.store.driver import Connection
from construct.store.passages import PART_BITS, indexed_text_sql, passages_sql
from construct.store.sql import ID_LIST, json_ids, scalar

_BATCH_TOKENS = 250_000
"""A batch ends once it has this many tokens: the write lock is held for about 0.1 s."""
_BATCH_MESSAGES = 5_000
_PAUSE_SECONDS = 0.03
"""Between two batches, so that other processes get the write lock."""
_TRIGGER = "messages_fts_insert"
_INDEXES = ("messages_fts", "observations_fts")
_MERGED_PAGES = 32
"""About how many pages are written at once: the write lock is held for a few milliseconds."""
_MISSING = f"""NOT EXISTS (
    SELECT 1 FROM messages_fts_docsize WHERE id = messages.id << {PART_BITS})"""


@contextmanager
def deferred_indexing(db: Connection) -> Iterator[None]:
    """Store messages in the block without indexing them, in the caller's transaction.

    The first batch is indexed at the end of the block, the rest by `complete`.
    """
    trigger = scalar(db, "SELECT sql FROM sqlite_master WHERE name = ?", (_TRIGGER,))
    newest = scalar(db, "SELECT ifnull(max(id), 0) FROM messages")
    db.execute(f"DROP TRIGGER {_TRIGGER}")
    yield
    db.execute(trigger)
    db.execute("INSERT OR IGNORE INTO meta (name, value) VALUES ('unindexed', ?)", (newest + 1,))
    _make_batch(db)


def complete(
    db: Connection,
    progress: Callable[[int, int], None] = lambda done, total: None,
    seconds: float = math.inf,
) -> None:
    """Index the messages that are not indexed yet, stopping after this many seconds.

    Other processes can write between batches.
    """
    total = count_missing(db)
    done = 0
    until = time.monotonic() + seconds
    while time.monotonic() < until and (made := make_some(db)):
        done += made
        progress(done, total)
        time.sleep(_PAUSE_SECONDS)


def make_some(db: Connection) -> int:
    """Index a batch of messages and return how many there were; 0 if none was left."""
    if _first_missing(db) is None:
        return 0
    with transaction(db):
        return _make_batch(db)


def count_missing(db: Connection) -> int:
    """Return how many messages are not indexed yet; this is cheap if there are none."""
    first = _first_missing(db)
    if first is None:
        return 0
    # Counts in an index, as the messages themselves may take up a gigabyte.
    query = f"""SELECT (SELECT count(*) FROM messages INDEXED BY messages_by_conversation
                        WHERE id >= :first)
                     - (SELECT count(*) FROM messages_fts_docsize
                        WHERE id >= :first << {PART_BITS} AND NOT id & {(1 << PART_BITS) - 1})"""
    return scalar(db, query, {"first": first})


def merge_some(db: Connection) -> bool:
    """Merge similar segments of one index, at least in part; return whether there were any."""
    with transaction(db):
        return any(_merge(db, index) for index in _INDEXES)


def merge_all(db: Connection) -> None:
    """Merge each index into one segment, which drops all deleted words."""
    for index in _INDEXES:
        db.execute(f"INSERT INTO {index}({index}) VALUES ('optimize')")


def _merge(db: Connection, index: str) -> bool:
    if scalar(db, f"SELECT v FROM {index}_config WHERE k = 'usermerge'") != 2:
        db.execute(f"INSERT INTO {index}({index}, rank) VALUES ('usermerge', 2)")
    before = db.total_changes
    db.execute(f"INSERT INTO {index}({index}, rank) VALUES ('merge', {_MERGED_PAGES})")
    # One change is the statement itself (https://www.sqlite.org/fts5.html, 6.9).
    return db.total_changes - before > 1


def _first_missing(db: Connection) -> int | None:
    value = scalar(db, "SELECT value FROM meta WHERE name = 'unindexed'")
    return None if value is None else int(value)


def _make_batch(db: Connection) -> int:
    rows = db.execute(
        f"SELECT id, token_count FROM messages WHERE id >= ? AND {_MISSING} ORDER BY id LIMIT ?",
        (_first_missing(db), _BATCH_MESSAGES + 1),
    ).fetchall()
    batch: list[int] = []
    batch_tokens = 0
    for message_id, tokens in rows[:_BATCH_MESSAGES]:
        if batch_tokens >= _BATCH_TOKENS:
            break
        batch.append(message_id)
        batch_tokens += tokens
    texts = f"{indexed_text_sql('m')} FROM messages AS m WHERE m.id IN {ID_LIST}"
    db.execute(f"INSERT INTO messages_fts (rowid, text) {passages_sql(texts)}", (json_ids(batch),))
    if len(batch) == len(rows):
        db.execute("DELETE FROM meta WHERE name = 'unindexed'")
    else:
        next_id, _ = rows[len(batch)]
        db.execute("UPDATE meta SET value = ? WHERE name = 'unindexed'", (next_id,))
    return len(batch)

"""Merging the segments of the full-text indexes, a little at a time or all of them.

Each transaction that stores words leaves a segment behind, and a word is looked for in every one. SQLite merges them by
itself when there are many, a dozen or two in a talk; here two of a size are merged, which leaves about five.
"""

import sqlite3

from construct.store.database import transaction

PAGES = 32  # written at a time, at most: the write lock is held for a few milliseconds
_INDEXES = ("messages_fts", "observations_fts", "memories_fts")


def merge_some(db: sqlite3.Connection) -> bool:
    """Merge segments of each index that has two of a size; False when none has."""
    with transaction(db):
        return any(_merge(db, index) for index in _INDEXES)


def merge_all(db: sqlite3.Connection) -> None:
    """Leave one segment of each index, with nothing in it of what was deleted."""
    for index in _INDEXES:
        db.execute(f"INSERT INTO {index}({index}) VALUES ('optimize')")


def _merge(db: sqlite3.Connection, index: str) -> bool:
    if db.execute(f"SELECT v FROM {index}_config WHERE k = 'usermerge'").fetchone() != (2,):
        db.execute(f"INSERT INTO {index}({index}, rank) VALUES ('usermerge', 2)")
    before = db.total_changes
    db.execute(f"INSERT INTO {index}({index}, rank) VALUES ('merge', {PAGES})")
    return db.total_changes - before > 1  # one change is the statement itself (https://www.sqlite.org/fts5.html, 6.9)

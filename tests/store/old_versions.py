"""Files as earlier versions wrote them."""

import sqlite3
from pathlib import Path

from sqlite_utils import Database

from construct.store.schema import migrations
from construct.store.version import APPLICATION_ID

_ROWS = Path(__file__).with_name("version_7.sql")
"""A life that version 7 wrote; version_7.jsonl is the export it made of that.

The life has edits, an undone one too, an outdated pair, reflections of two generations,
a pinned note, a pending one, and something forgotten.
"""
_STEPS = [step.name for step in migrations.pending(Database(memory=True))]


LAST_WITH_MEMORIES = 12
"""The last version in which memories were a table of their own, as in the rows."""


def make_version_7(path: Path, brought_to: int = 7) -> sqlite3.Connection:
    """Return a connection to a file of version 7 or an earlier one, or brought to a later one."""
    db = sqlite3.connect(path, isolation_level=None)
    migrations.apply(Database(db), stop_before=_STEPS[min(brought_to, LAST_WITH_MEMORIES)])
    tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    for line in _ROWS.read_text("utf-8").splitlines():
        if line.startswith("INSERT INTO ") and line.split()[2] in tables:
            db.execute(line)
    migrations.apply(Database(db), stop_before=_STEPS[brought_to])
    set_version(db, brought_to)
    return db


def set_version(db: sqlite3.Connection, version: int) -> None:
    """Mark a file as ours, of a version."""
    db.executescript(f"""PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {version};
                         PRAGMA foreign_keys = ON; PRAGMA journal_mode = WAL;
                         PRAGMA synchronous = OFF""")

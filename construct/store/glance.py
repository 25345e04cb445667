"""A look into the file that never writes, never migrates and never waits.

Imports little, for `construct brief`.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from construct.store import faults
from construct.store.version import APPLICATION_ID, SCHEMA_VERSION, has_beside


@contextmanager
def glance(path: Path) -> Iterator[sqlite3.Connection | None]:
    """Open the database for reading only; None where there is nothing to read.

    That is: no file, an empty one, one that an earlier version wrote, or one that is
    busy. Raises DatabaseUnusableError for a newer, foreign or damaged one.
    """
    if not path.exists():
        yield None
        return
    # Without a log, `immutable` leaves no -wal and -shm beside the file.
    how = "mode=ro" if has_beside(path, "-wal") else "mode=ro&immutable=1"
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True, timeout=0)) as db:
        yield db if _is_current(db, path) else None


def _is_current(db: sqlite3.Connection, path: Path) -> bool:
    (mark,) = db.execute("PRAGMA application_id").fetchone()
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if mark != APPLICATION_ID:
        if db.execute("SELECT count(*) FROM sqlite_master").fetchone() != (0,):
            raise faults.foreign(path)
        return False
    if version > SCHEMA_VERSION:
        raise faults.newer(path)
    return bool(version == SCHEMA_VERSION)

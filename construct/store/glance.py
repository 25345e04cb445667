"""Read access to the database that never writes, migrates or waits.

Imports little, to keep `construct brief` and `construct remind` fast.
"""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeVar

from construct.errors import DatabaseUnusableError
from construct.store import faults
from construct.store.driver import Connection, error_name, errors
from construct.store.encryption import is_encrypted, knows_key, open_file
from construct.store.version import APPLICATION_ID, SCHEMA_VERSION, has_side_file

T = TypeVar("T")
_DAMAGED = ("SQLITE_CORRUPT", "SQLITE_NOTADB")


@contextmanager
def glance(path: Path) -> Iterator[Connection | None]:
    """Open the database read-only.

    Yields None if the file is missing, empty, from an earlier version, or encrypted without
    a key command or file. Raises
    DatabaseUnusableError if it is from a newer version or belongs to another program, and
    an SQLite error if it is locked or damaged.
    """
    if not path.exists():
        yield None
        return
    # Without a write-ahead log, `immutable` keeps SQLite from creating -wal and -shm files.
    options = "mode=ro" if has_side_file(path, "-wal") else "mode=ro&immutable=1"
    if is_encrypted(path) and not knows_key(path):
        yield None  # nobody is asked here
        return
    with closing(open_file(path, options, timeout=0)) as db:
        yield db if _is_current(db, path) else None


def read_at_a_glance(path: Path, read: Callable[[Connection], T], nothing: T) -> T:
    """Return what `read` finds in the database; `nothing` if it cannot be read now.

    It cannot if it is missing, locked or from an earlier version. Raises
    DatabaseUnusableError if it is newer, damaged or not Construct's.
    """
    if path.exists() and not path.is_file():
        raise faults.cannot_open_error(path)
    try:
        with glance(path) as db:
            return nothing if db is None else read(db)
    except errors() as error:
        if error_name(error).startswith(_DAMAGED):
            raise faults.damaged_error(path) from error
        return nothing
    except OSError as error:
        raise DatabaseUnusableError(str(faults.cannot_open_error(path))) from error


def _is_current(db: Connection, path: Path) -> bool:
    (application_id,) = db.execute("PRAGMA application_id").fetchone()
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if application_id != APPLICATION_ID:
        if db.execute("SELECT count(*) FROM sqlite_master").fetchone() != (0,):
            raise faults.foreign_error(path)
        return False
    if version > SCHEMA_VERSION:
        raise faults.newer_error(path)
    return bool(version == SCHEMA_VERSION)

"""Opening the one file, and transactions on it.

A file that is newer, foreign, damaged, read-only or locked is refused before SQLite may
write to it: even switching the journal mode would change its bytes.
"""

import os
import sqlite3
import struct
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from construct.errors import DatabaseUnusableError
from construct.store import faults
from construct.store.never import keep_to
from construct.store.version import APPLICATION_ID, SCHEMA_VERSION, beside, has_beside

_BUSY_SECONDS = 10.0
_CHECKED_BYTES = 4 << 20
"""Up to here every page is looked at on opening: 4 ms a megabyte."""
MAGIC = b"SQLite format 3\x00"


_OPEN: Counter[tuple[int, int]] = Counter()
"""This process's connections by file.

While there are any, the file must not be read otherwise: closing it would drop their
POSIX locks, and another process would throw away the log they write to
(https://www.sqlite.org/howtocorrupt.html, 2.2).
"""
_opening = threading.RLock()


class Connection(sqlite3.Connection):
    """A connection that is counted while it is open."""

    identity: tuple[int, int] | None = None

    def close(self) -> None:
        """Close it; safe to call twice."""
        super().close()
        with _opening:
            if self.identity is not None:
                _OPEN[self.identity] -= 1
                self.identity = None


def open_database(path: Path, rules: Path | None = None) -> sqlite3.Connection:
    """Open the database, making or migrating it as needed; 0600 in a folder made 0700.

    What is written through it to the memory keeps to the rules in the file `rules`.

    Raises DatabaseUnusableError, the file untouched, when it cannot be used.
    """
    try:
        with _opening:
            _make_file(path)
            if not _OPEN[_identity(path)]:
                _check_header(path)
            db = _connect(path)
            keep_to(db, rules)
            return db
    except OSError as error:
        raise faults.unopened(path, f": {error.strerror or error}") from error
    except sqlite3.Error as error:
        raise faults.explain(error, path) from error


def look_into(path: Path, rules: Path | None = None) -> sqlite3.Connection:
    """Open the database to read only. Without a file it is empty, and none is made."""
    try:
        path.lstat()
    except FileNotFoundError:
        db = sqlite3.connect(":memory:", isolation_level=None)
        _upgrade(db)
        return db
    except OSError:
        pass  # which is said as when it is opened
    return open_database(path, rules)


def bring_up(copy: sqlite3.Connection, path: Path) -> None:
    """Bring a copy of a database, which nobody else has, to this version.

    Raises DatabaseUnusableError when it is none of ours, newer or damaged.
    """
    if copy.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        raise faults.foreign(path)
    _refuse_newer(copy, path)
    _check_pages(copy, path)
    _upgrade(copy)


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """Run the block as one write transaction.

    It begins IMMEDIATE, so that a block that reads first cannot fail when it writes.
    """
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:  # Ctrl-C too must leave nothing half written; it is raised again
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
    else:
        db.execute("COMMIT")


@contextmanager
def patience(db: sqlite3.Connection, seconds: float) -> Iterator[None]:
    """Wait for other connections as long as told, within the block."""
    (usual,) = db.execute("PRAGMA busy_timeout").fetchone()
    db.execute(f"PRAGMA busy_timeout = {int(seconds * 1000)}")
    try:
        yield
    finally:
        db.execute(f"PRAGMA busy_timeout = {usual}")


@contextmanager
def snapshot(db: sqlite3.Connection) -> Iterator[None]:
    """Read one and the same state throughout the block."""
    if db.in_transaction:
        yield
        return
    db.execute("BEGIN")
    try:
        yield
    finally:
        db.execute("ROLLBACK")


@contextmanager
def rehearsal(db: sqlite3.Connection) -> Iterator[None]:
    """Run the block as a write transaction that is taken back: to see what would be."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")


def make_folder(folder: Path) -> None:
    """Make a folder and those above it that are missing, each 0700."""
    for missing in reversed([folder, *folder.parents]):
        if not missing.exists():
            missing.mkdir(mode=0o700, exist_ok=True)


def _make_file(path: Path) -> None:
    if path.exists() and not path.is_file():
        kind = "a folder" if path.is_dir() else "no regular file"
        raise DatabaseUnusableError(
            f"{path} is {kind}, not a database.\nName a file with --db or CONSTRUCT_DB."
        )
    make_folder(path.parent)
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        # The file's mode is asked too: root may write whatever it says.
        writable = path.stat().st_mode & 0o222
        if not writable or not os.access(path, os.W_OK) or not os.access(path.parent, os.W_OK):
            raise faults.read_only(path) from None


def _check_header(path: Path) -> None:
    """Refuse by the file's own first bytes (https://www.sqlite.org/fileformat2.html#the_database_header)."""
    header, size = _read_header(path)
    if not header:
        return
    if not header.startswith(MAGIC):
        raise DatabaseUnusableError(
            f"{path} is not a Construct database.\n"
            "Name another file with --db; this one was not touched."
        )
    if len(header) < 100:
        raise faults.damaged(path, "; it was not touched")
    version, application_id = struct.unpack_from(">i4xI", header, 60)
    if application_id != APPLICATION_ID and not (application_id == 0 and _is_blank(path)):
        raise faults.foreign(path)
    logged = has_beside(path, "-wal")
    # A newer version may stand in the log only. A connection that may write would move it
    # into the file on closing.
    if logged:
        with _reading(path, "mode=ro") as db:
            (version,) = db.execute("PRAGMA user_version").fetchone()
    if version > SCHEMA_VERSION:
        raise faults.newer(path)
    if _is_cut_off(path, header, size):
        raise faults.damaged(path, "; it was not touched")
    if logged and size <= _CHECKED_BYTES:
        with _reading(path, "mode=ro") as db:
            _check_pages(db, path)


def _read_header(path: Path) -> tuple[bytes, int]:
    with path.open("rb") as file:
        return file.read(100), file.seek(0, os.SEEK_END)


def _is_cut_off(path: Path, header: bytes, size: int) -> bool:
    """Return whether pages are missing, while nobody is only now writing them."""
    for _ in range(20):
        page_size, pages = struct.unpack_from(">H10xI", header, 16)
        if (
            (65536 if page_size == 1 else page_size) * pages <= size
            or has_beside(path, "-wal")
            or has_beside(path, "-journal")
        ):
            return False
        time.sleep(0.01)
        header, size = _read_header(path)
    return True


def _is_blank(path: Path) -> bool:
    """Return whether an unmarked file has no tables, or became ours meanwhile."""
    for _ in range(100):
        if not has_beside(path, "-journal"):
            break
        time.sleep(0.02)
    # Without a log, `immutable` reads the file alone: `mode=ro` would leave -wal and
    # -shm beside a WAL file.
    how = "mode=ro" if has_beside(path, "-wal") else "mode=ro&immutable=1"
    with _reading(path, how) as db:
        (tables,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        (mark,) = db.execute("PRAGMA application_id").fetchone()
    return mark == APPLICATION_ID or (mark == 0 and not tables)


def _reading(path: Path, how: str) -> closing[sqlite3.Connection]:
    return closing(
        sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True, timeout=_BUSY_SECONDS)
    )


def _identity(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_dev, found.st_ino


def _connect(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(
        path.absolute(), timeout=_BUSY_SECONDS, isolation_level=None, factory=Connection
    )
    db.identity = _identity(path)
    _OPEN[db.identity] += 1
    try:
        _prepare(db, path)
    except BaseException:  # whatever it was, the file must not stay open; it is raised again
        db.close()
        raise
    return db


def _prepare(db: sqlite3.Connection, path: Path) -> None:
    version = _refuse_newer(db, path)
    if path.stat().st_size <= _CHECKED_BYTES and not has_beside(path, "-wal"):
        _check_pages(db, path)
    db.execute("PRAGMA foreign_keys = ON")
    db.execute("PRAGMA secure_delete = ON")  # what is forgotten is overwritten, not only unlinked
    db.execute("PRAGMA synchronous = NORMAL")
    if version < SCHEMA_VERSION:
        _upgrade(db, path)
    if db.execute("PRAGMA journal_mode").fetchone()[0] != "wal":  # new, or a backup put in place
        _use_wal(db)
    for file in (beside(path, suffix) for suffix in ("", "-wal", "-shm")):
        if file.exists() and file.stat().st_mode & 0o077:
            file.chmod(0o600)


def _refuse_newer(db: sqlite3.Connection, path: Path) -> int:
    """Return the version; raises DatabaseUnusableError where it is not known yet."""
    version = int(db.execute("PRAGMA user_version").fetchone()[0])
    if version > SCHEMA_VERSION:
        raise faults.newer(path)
    return version


def _check_pages(db: sqlite3.Connection, path: Path) -> None:
    """Refuse a small file with damage inside before anything is written.

    A large one says so when it is read.
    """
    try:
        found = db.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.DatabaseError as error:
        if not error.sqlite_errorname.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
            raise
        found = None
    if found != ("ok",):
        raise faults.damaged(path, "; it was not touched")


def _upgrade(db: sqlite3.Connection, path: Path | None = None) -> None:
    """Bring the database to this version.

    With a path, a file of an earlier one is copied first.

    Raises ConstructError, nothing changed, when it cannot be copied.
    """
    from sqlite_utils import Database

    from construct.store.copy_before_migration import save_copy_before_migration
    from construct.store.schema import migrate

    with transaction(db):  # holds the lock: two processes may start on the same file
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if path is not None and 0 < version < SCHEMA_VERSION:
            save_copy_before_migration(path, SCHEMA_VERSION)
        if version < SCHEMA_VERSION:
            migrate(Database(db))


def _use_wal(db: sqlite3.Connection) -> None:
    # Switching the mode does not wait for other connections by itself.
    deadline = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return

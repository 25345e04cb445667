"""Opening the database file, and transactions on it.

A file that is newer, read-only, locked, another program's or found to be damaged is
refused before SQLite can write to it: even switching the journal mode would change it.
"""

import os
import struct
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from construct.errors import DatabaseUnusableError
from construct.store import faults
from construct.store.connection import OPEN_CONNECTIONS, OPENING_LOCK, SOUND, FileConnection
from construct.store.driver import (
    Connection,
    connect,
    database_errors,
    error_name,
    errors,
    operational_errors,
)
from construct.store.encryption import connect_file, is_encrypted, open_file
from construct.store.version import (
    APPLICATION_ID,
    MAGIC,
    SCHEMA_VERSION,
    has_side_file,
    side_file,
)
from construct.user_rules import RulesFile

_BUSY_SECONDS = 10.0
"""How long to wait while another process has the lock."""
_MAX_CHECKED_BYTES = 4 << 20
"""Files up to this size are checked completely when opened, at 4 ms per megabyte.

Larger ones are checked before the first write of a process, so that nobody waits to read.
"""


def open_database(path: Path, rules: RulesFile | None = None) -> Connection:
    """Open the database, and create or migrate it if necessary.

    A new file gets mode 0600, new folders 0700. `rules` is the file with the user's
    `never:` rules for what is written. Raises ConstructError, without having changed
    the file, if it cannot be used.
    """
    try:
        with OPENING_LOCK:
            _make_file(path)
            if not OPEN_CONNECTIONS[_identity(path)]:
                _check_header(path)
            return _connect(path, rules)
    except OSError as error:
        raise faults.cannot_open_error(path, error.strerror or str(error)) from error
    except errors() as error:
        raise faults.explain(error, path) from error


def open_without_creating(path: Path, rules: RulesFile | None = None) -> Connection:
    """Open the database if the file exists, otherwise an empty one in memory.

    For commands that only read.
    """
    try:
        path.lstat()
    except FileNotFoundError:
        db = connect(":memory:", isolation_level=None)
        _upgrade(db)
        return db
    except OSError:
        pass  # open_database will raise the error to show
    return open_database(path, rules)


def migrate_copy(copy: Connection, path: Path) -> None:
    """Migrate a private copy of the database at `path` to this version.

    Raises DatabaseUnusableError if it is newer, damaged or another program's.
    """
    if copy.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        raise faults.foreign_error(path)
    _refuse_newer(copy, path)
    _check_pages(copy, path)
    _upgrade(copy)


@contextmanager
def transaction(db: Connection) -> Iterator[None]:
    """Run the block as one write transaction.

    It takes the write lock at once, so that a block that reads first cannot find the
    database locked when it writes. Raises DatabaseUnusableError, before the block, if the
    file is damaged.
    """
    refuse_damaged(db)
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")  # may fail too: the disk may be full
    except BaseException:  # such as Ctrl-C, which must not leave anything half written either
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def refuse_damaged(db: Connection) -> None:
    """Check all pages of the file, once in a process, before it is written to.

    Raises DatabaseUnusableError if any is damaged.
    """
    if isinstance(db, FileConnection) and db.identity not in SOUND:
        _check_pages(db, db.path)


@contextmanager
def patience(db: Connection, seconds: float) -> Iterator[None]:
    """Limit how long the block waits while another connection has the lock."""
    (previous,) = db.execute("PRAGMA busy_timeout").fetchone()
    db.execute(f"PRAGMA busy_timeout = {int(seconds * 1000)}")
    try:
        yield
    finally:
        db.execute(f"PRAGMA busy_timeout = {previous}")


@contextmanager
def snapshot(db: Connection) -> Iterator[None]:
    """Let all queries of the block see the same state of the database."""
    if db.in_transaction:
        yield
        return
    db.execute("BEGIN")
    try:
        yield
    finally:
        if db.in_transaction:  # SQLite ends it by itself after some errors
            db.execute("ROLLBACK")


@contextmanager
def rehearsal(db: Connection) -> Iterator[None]:
    """Run the block as a write transaction and roll it back, to see what it would do."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")


def make_folder(folder: Path) -> None:
    """Make a folder and its missing parents, each with mode 0700."""
    for missing in reversed([folder, *folder.parents]):
        if not missing.exists():
            missing.mkdir(mode=0o700, exist_ok=True)


def _make_file(path: Path) -> None:
    if path.exists() and not path.is_file():
        kind = "a folder" if path.is_dir() else "a special file"
        raise DatabaseUnusableError(
            f"{path} is {kind}, not a database.\nName a file with --db or CONSTRUCT_DB."
        )
    make_folder(path.parent)
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        # os.access() is always true for root, so the mode is checked too.
        is_writable = path.stat().st_mode & 0o222
        if not is_writable or not os.access(path, os.W_OK) or not os.access(path.parent, os.W_OK):
            raise faults.read_only_error(path) from None


def _check_header(path: Path) -> None:
    """Refuse a file by its header, without opening it with SQLite if possible.

    See https://www.sqlite.org/fileformat2.html#the_database_header.
    """
    header, size = _read_header(path)
    if not header:
        return
    if is_encrypted(path):
        _check_encrypted(path)
        return
    if not header.startswith(MAGIC):
        raise DatabaseUnusableError(
            f"{path} is not a Construct database.\n"
            "Name another file with --db; this one was not touched."
        )
    if len(header) < 100:
        raise faults.damaged_error(path, untouched=True)
    version, application_id = struct.unpack_from(">i4xI", header, 60)
    if application_id != APPLICATION_ID and not (application_id == 0 and _is_blank(path)):
        raise faults.foreign_error(path)
    has_log = has_side_file(path, "-wal")
    # A newer version number may still be in the log only. A connection that can write
    # would move it into the file when it is closed.
    if has_log:
        with _read_only(path, "mode=ro") as db:
            (version,) = db.execute("PRAGMA user_version").fetchone()
    if version > SCHEMA_VERSION:
        raise faults.newer_error(path)
    if _is_cut_off(path, header, size):
        raise faults.damaged_error(path, untouched=True)
    if has_log and size <= _MAX_CHECKED_BYTES:
        with _read_only(path, "mode=ro") as db:
            _check_pages(db, path)


def _check_encrypted(path: Path) -> None:
    """Refuse an encrypted file that is not ours, or newer. Asks for its key."""
    # Without a write-ahead log, `immutable` keeps SQLite from creating -wal and -shm files.
    options = "mode=ro" if has_side_file(path, "-wal") else "mode=ro&immutable=1"
    with _read_only(path, options) as db:
        if db.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
            raise faults.foreign_error(path)
        _refuse_newer(db, path)


def _read_header(path: Path) -> tuple[bytes, int]:
    with path.open("rb") as file:
        return file.read(100), file.seek(0, os.SEEK_END)


def _is_cut_off(path: Path, header: bytes, size: int) -> bool:
    """Return whether pages are missing that no process is about to write."""
    for _ in range(20):
        page_size, pages = struct.unpack_from(">H10xI", header, 16)
        if page_size == 1:  # stands for 65536, which does not fit
            page_size = 65536
        has_all_pages = page_size * pages <= size
        if has_all_pages or has_side_file(path, "-wal") or has_side_file(path, "-journal"):
            return False
        time.sleep(0.01)
        header, size = _read_header(path)
    return True


def _is_blank(path: Path) -> bool:
    """Return whether a file without our mark has no tables, or has become ours in the meantime."""
    for _ in range(100):
        if not has_side_file(path, "-journal"):
            break
        time.sleep(0.02)
    # Without a write-ahead log, `immutable` keeps SQLite from creating -wal and -shm files.
    options = "mode=ro" if has_side_file(path, "-wal") else "mode=ro&immutable=1"
    with _read_only(path, options) as db:
        (tables,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        (mark,) = db.execute("PRAGMA application_id").fetchone()
    return mark == APPLICATION_ID or (mark == 0 and not tables)


def _read_only(path: Path, options: str) -> closing[Connection]:
    return closing(open_file(path, options, timeout=_BUSY_SECONDS))


def _identity(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino


def _connect(path: Path, rules: RulesFile | None) -> Connection:
    db = connect_file(path, timeout=_BUSY_SECONDS, isolation_level=None)
    assert isinstance(db, FileConnection)
    db.identity, db.path, db.rules_file = _identity(path), path, rules
    OPEN_CONNECTIONS[db.identity] += 1
    try:
        _prepare(db, path)
    except BaseException:  # such as Ctrl-C, which must not leave the file open either
        db.close()
        raise
    return db


def _prepare(db: Connection, path: Path) -> None:
    version = _refuse_newer(db, path)
    if path.stat().st_size <= _MAX_CHECKED_BYTES and not has_side_file(path, "-wal"):
        _check_pages(db, path)
    uses_wal = db.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
    if version and not uses_wal:  # a restored backup, whose mode is about to be changed
        refuse_damaged(db)
    db.execute("PRAGMA secure_delete = ON")  # overwrite deleted rows, not only unlink them
    db.execute("PRAGMA synchronous = NORMAL")
    if version < SCHEMA_VERSION:
        _upgrade(db, path)
    db.execute("PRAGMA foreign_keys = ON")  # only now: migrations make tables anew
    if not uses_wal:
        _use_wal(db)
    for file in (side_file(path, suffix) for suffix in ("", "-wal", "-shm")):
        if file.exists() and file.stat().st_mode & 0o077:
            file.chmod(0o600)


def _refuse_newer(db: Connection, path: Path) -> int:
    """Return the schema version; raises DatabaseUnusableError if it is newer than ours."""
    version = int(db.execute("PRAGMA user_version").fetchone()[0])
    if version > SCHEMA_VERSION:
        raise faults.newer_error(path)
    return version


def _check_pages(db: Connection, path: Path) -> None:
    """Refuse a damaged file before anything is written to it.

    Reads all of it, so a large file is not checked when it is opened.
    """
    try:
        result = db.execute("PRAGMA quick_check(1)").fetchone()
    except database_errors() as error:
        if not error_name(error).startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
            raise
        result = None
    except UnicodeDecodeError:  # of what it found wrong, which is no text
        result = None
    if result != ("ok",):
        raise faults.damaged_error(path, untouched=True)
    if isinstance(db, FileConnection) and db.identity is not None:
        SOUND.add(db.identity)


def _upgrade(db: Connection, path: Path | None = None) -> None:
    """Migrate the database to this version, after copying the file at `path`, if given.

    Raises ConstructError, with nothing changed, if it cannot be copied.
    """
    from sqlite_utils import Database

    from construct.store.copy_before_migration import save_copy_before_migration
    from construct.store.schema import migrate

    with transaction(db):  # the lock keeps another process from migrating the same file
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if path is not None and 0 < version < SCHEMA_VERSION:
            save_copy_before_migration(path, SCHEMA_VERSION)
        if version < SCHEMA_VERSION:
            migrate(Database(db))


def _use_wal(db: Connection) -> None:
    # SQLite does not wait for other connections when the mode is switched, so we do.
    deadline = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
        except operational_errors() as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return

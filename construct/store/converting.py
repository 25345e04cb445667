"""Turn a database file into an encrypted one, back, or into one with another key.

The new file is written beside the old one, checked, and put in its place in one step, so
that one of the two is whole at any moment. Nobody else can have it open meanwhile.
"""

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from construct.errors import ConstructError, DatabaseUnusableError
from construct.store import encryption, faults
from construct.store.copy_before_migration import find_copy_before_migration
from construct.store.driver import (
    Connection,
    connect_with_sqlcipher,
    errors,
    operational_errors,
    write_copy,
)
from construct.store.invariants import violations
from construct.store.sql import scalar
from construct.store.version import MAGIC, SCHEMA_VERSION, SIDE_FILES, side_file

_BLOCK = bytes(1 << 20)


@dataclass(frozen=True, slots=True)
class KeyChange:
    """How the key file changes together with the database."""

    wrapped: bytes | None
    """What it will hold; None if there will be none."""


def convert(path: Path, old: str | None, new: str | None, change: KeyChange) -> list[Path]:
    """Write the database, and the copy that a migration made, with another key.

    None as a key means a plain file. Returns the files that changed. Raises
    ConstructError, with all as it was, if they cannot be written.
    """
    settle(path)
    key_file = encryption.key_file(path)
    copy = find_copy_before_migration(path)
    try:
        with _nobody_else(path, old) as db:
            _write(db, path, new)
            if copy is not None:
                _write_from(copy, old, new)
            if change.wrapped is not None:
                _write_durably(side_file(key_file, encryption.NEW), change.wrapped)
            _put_in_place(path)
        encryption.remember_key(path, new)
        if copy is not None:
            _put_in_place(copy)
        _finish_key_file(key_file, change)
    except OSError as error:
        raise ConstructError(
            f"{path} could not be converted: {error.strerror or error}.\n"
            "It is whole. Check the disk and permissions, then run the same command again."
        ) from error
    except errors() as error:
        raise faults.explain(error, path) from error
    finally:
        settle(path)  # whatever stopped it, such as Ctrl-C
    return [path] if copy is None else [path, copy]


def settle(path: Path) -> bool:
    """Undo or finish a conversion that was interrupted; return whether there was one.

    As long as the database's new file is not in its place, nothing has changed, and the
    new files go. After that, the copy follows.
    """
    if not encryption.is_interrupted(path):
        return False
    copy = find_copy_before_migration(path)
    if copy is None or encryption.converting_file(path).exists():
        for file in filter(None, (path, copy)):
            _remove(encryption.converting_file(file))
    else:
        _put_in_place(copy)
    return True


def _remove(new_file: Path) -> None:
    for file in (new_file, *(side_file(new_file, suffix) for suffix in SIDE_FILES)):
        file.unlink(missing_ok=True)


def _write_from(path: Path, old: str | None, new: str | None) -> None:
    with closing(connect_with_sqlcipher(str(path), old, isolation_level=None)) as db:
        _write(db, path, new)


def plain_copy(path: Path) -> Path | None:
    """Return the copy that a migration made of an encrypted database, if it is still plain."""
    copy = find_copy_before_migration(path) if encryption.is_encrypted(path) else None
    return None if copy is None or encryption.is_encrypted(copy) else copy


@contextmanager
def _nobody_else(path: Path, key: str | None) -> Iterator[Connection]:
    """Open the database, all of it in one file, with a lock that keeps everybody else out.

    SQLite gives up the write-ahead log only if no other connection is open.
    """
    with closing(connect_with_sqlcipher(str(path), key, isolation_level=None, timeout=2)) as db:
        try:
            db.execute("PRAGMA journal_mode = DELETE")
            db.execute("PRAGMA locking_mode = EXCLUSIVE")
            db.execute("BEGIN EXCLUSIVE")
            db.execute("COMMIT")
        except operational_errors() as error:
            if "locked" not in str(error):
                raise
            raise DatabaseUnusableError(
                f"{path} is open in another program or chat.\nClose it, then try again."
            ) from None
        yield db


def _write(db: Connection, path: Path, key: str | None) -> None:
    """Write all of a database into the new file beside it, and check that it is whole."""
    target = encryption.converting_file(path)
    os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    write_copy(db, target, key)
    with closing(connect_with_sqlcipher(str(target), key, isolation_level=None)) as made:
        _require_whole(made, db, key)
    with target.open("rb") as file:
        os.fsync(file.fileno())


def _require_whole(made: Connection, db: Connection, key: str | None) -> None:
    if _counts(made) != _counts(db) or not _is_sound(made, key):
        raise ConstructError("The new file is not whole.\nThe database is as it was.")


def _counts(db: Connection) -> dict[str, int]:
    """Return how many rows each table has; an index of words is counted by its parts."""
    tables = db.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0 ORDER BY name"
    ).fetchall()
    return {name: scalar(db, f'SELECT count(*) FROM "{name}"') for (name,) in tables}


def _is_sound(db: Connection, key: str | None) -> bool:
    if key is not None and db.execute("PRAGMA cipher_integrity_check").fetchall():
        return False
    if db.execute("PRAGMA integrity_check(1)").fetchone() != ("ok",):
        return False
    is_current = scalar(db, "PRAGMA user_version") == SCHEMA_VERSION
    return not is_current or not violations(db)


def _put_in_place(path: Path) -> None:
    """Replace a file by the new one, and overwrite the old one if it was plain."""
    with path.open("r+b") as old:
        encryption.converting_file(path).replace(os.path.realpath(path))
        _sync_folder(path)
        if old.read(len(MAGIC)) == MAGIC:
            size = old.seek(0, os.SEEK_END)
            old.seek(0)
            for start in range(0, size, len(_BLOCK)):
                old.write(_BLOCK[: size - start])
            old.flush()
            os.fsync(old.fileno())


def _finish_key_file(key_file: Path, change: KeyChange) -> None:
    if change.wrapped is None:
        key_file.unlink(missing_ok=True)
        side_file(key_file, encryption.NEW).unlink(missing_ok=True)
    else:
        side_file(key_file, encryption.NEW).replace(key_file)
    _sync_folder(key_file)


def _write_durably(file: Path, content: bytes) -> None:
    with suppress(FileNotFoundError):
        file.unlink()
    with os.fdopen(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as out:
        out.write(content)
        out.flush()
        os.fsync(out.fileno())


def _sync_folder(path: Path) -> None:
    with suppress(OSError):  # Windows cannot
        folder = os.open(Path(os.path.realpath(path)).parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

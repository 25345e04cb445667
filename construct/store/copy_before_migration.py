"""The copy of the database that is made before a migration changes it.

It is kept beside the database, for example as `construct.db.before-8` before a migration
to schema 8. There is at most one. Since it contains everything the database contained,
permanent deletion removes it too (purge.py).
"""

import os
import re
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

from construct.errors import ConstructError
from construct.store.driver import Connection, error_name, errors
from construct.store.encryption import is_encrypted, key_of, open_with_key
from construct.store.search_index import merge_all
from construct.store.version import side_file

_PARTIAL = ".partial"
"""The suffix of a copy that is not complete, so that a later start can remove it."""
# Matches `.before-8`, `.before-8.partial` and `.before-8.partial-journal`.
_SUFFIX = re.compile(r"\.before-[0-9]+(?P<unfinished>\.partial)?(?P<side_file>-journal|-wal|-shm)?")
_ERRORS_OF_THE_DATABASE = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_BUSY", "SQLITE_LOCKED")


def save_copy_before_migration(path: Path, schema: int) -> None:
    """Copy the database before it is migrated to `schema`, and remove earlier copies.

    The caller holds the write lock, so no other process writes or makes a copy. Raises
    ConstructError if the copy cannot be made, and an SQLite error if the database itself
    cannot be read.
    """
    target = side_file(path, f".before-{schema}")
    partial = side_file(target, _PARTIAL)
    try:
        _remove(file for file, match in _files(path) if match["unfinished"])
        os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        _copy(path, partial)
        partial.replace(target)
        _remove(file for file, _ in _files(path) if file != target)
    except errors() as error:
        _remove_unfinished(path)
        if error_name(error).startswith(_ERRORS_OF_THE_DATABASE):
            raise
        raise _not_copied(path, error) from error
    except OSError as error:
        _remove_unfinished(path)
        raise _not_copied(path, error.strerror or error) from error
    except BaseException:  # such as Ctrl-C, which must leave no partial copy either
        _remove_unfinished(path)
        raise


def find_copy_before_migration(path: Path) -> Path | None:
    """Return the copy made before this database's last migration, or None."""
    for file, match in _files(path):
        if not match["unfinished"] and not match["side_file"]:
            return file
    return None


def remove_copy_before_migration(path: Path) -> None:
    """Remove all copies made before migrations, including unfinished ones. Raises OSError."""
    _remove(file for file, _ in _files(path))


def is_copy_before_migration(path: Path, file: Path) -> bool:
    """Return whether a path, which need not exist, is that of a copy of this database."""
    return file.parent == side_file(path, "").parent and _match(path, file) is not None


def _files(path: Path) -> list[tuple[Path, re.Match[str]]]:
    """Return the copies beside a database, each with the match of its suffix."""
    files = sorted(side_file(path, "").parent.iterdir())
    matches = [(file, _match(path, file)) for file in files]
    return [(file, match) for file, match in matches if match]


def _match(path: Path, file: Path) -> re.Match[str] | None:
    home = side_file(path, "")
    if not file.name.startswith(home.name):
        return None
    return _SUFFIX.fullmatch(file.name.removeprefix(home.name))


def _remove(files: Iterator[Path]) -> None:
    for file in files:
        file.unlink(missing_ok=True)


def _remove_unfinished(path: Path) -> None:
    with suppress(OSError):
        _remove(file for file, match in _files(path) if match["unfinished"])


def _copy(path: Path, target: Path) -> None:
    """Copy the file and its log through a connection of its own.

    SQLite cannot copy from the caller's connection during a write transaction.
    """
    key = key_of(path) if is_encrypted(path) else None
    source = open_with_key(path, key, "mode=ro")
    with closing(source), closing(open_with_key(target, key, isolation_level=None)) as copy:
        source.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")  # a single file, without a log
        _clear_deleted(copy)


def _clear_deleted(copy: Connection) -> None:
    """Clear the bytes of forgotten rows, if that was not finished in the database."""
    tables = {name for (name,) in copy.execute("SELECT name FROM sqlite_master")}
    if not {"meta", "memories_fts"} <= tables:  # earlier versions could not forget
        return
    if copy.execute("DELETE FROM meta WHERE name = 'pruning'").rowcount:
        merge_all(copy)
        copy.execute("VACUUM")


def _not_copied(path: Path, reason: object) -> ConstructError:
    return ConstructError(
        f"The database {path} was not updated, because it could not be copied first ({reason}).\n"
        f"Check the free space and permissions of {path.absolute().parent}. Nothing was changed."
    )

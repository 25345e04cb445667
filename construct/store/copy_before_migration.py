"""The copy that is made of the database before a migration changes it.

It stands beside the database, as `construct.db.before-8` where 8 is the schema that the
file is brought to. There is one such copy at most. It holds every word the database
held, so whatever deletes words for good removes it too (purge.py).
"""

import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

from construct.errors import ConstructError
from construct.store.search_index import merge_all
from construct.store.version import beside

_PARTIAL = ".partial"
"""Ends the name of a copy that is not complete yet, so that a later start finds and removes it."""
_SUFFIX = re.compile(r"\.before-[0-9]+(?P<unfinished>\.partial)?(?P<side_file>-journal|-wal|-shm)?")
_NOT_ABOUT_THE_COPY = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_BUSY", "SQLITE_LOCKED")


def save_copy_before_migration(path: Path, schema: int) -> None:
    """Copy the database beside itself before it is brought to `schema`.

    Earlier copies go then.

    The caller holds the write lock, so nobody else writes to the file or makes a copy.
    Raises ConstructError when the copy cannot be made, and sqlite3.Error when the
    database itself cannot be read.
    """
    target = beside(path, f".before-{schema}")
    partial = beside(target, _PARTIAL)
    try:
        _remove(file for file, match in _files(path) if match["unfinished"])
        os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        _copy(path, partial)
        partial.replace(target)
        _remove(file for file, _ in _files(path) if file != target)
    except sqlite3.Error as error:
        _discard(path)
        if getattr(error, "sqlite_errorname", "").startswith(_NOT_ABOUT_THE_COPY):
            raise
        raise _not_copied(path, error) from error
    except OSError as error:
        _discard(path)
        raise _not_copied(path, error.strerror or error) from error
    except BaseException:  # Ctrl-C too must leave no half of a copy; it is raised again
        _discard(path)
        raise


def find_copy_before_migration(path: Path) -> Path | None:
    """Return the copy that this database's last migration left, or None."""
    for file, match in _files(path):
        if not match["unfinished"] and not match["side_file"]:
            return file
    return None


def remove_copy_before_migration(path: Path) -> None:
    """Remove what migrations left beside this database, unfinished copies too.

    Raises OSError.
    """
    _remove(file for file, _ in _files(path))


def is_copy_before_migration(path: Path, file: Path) -> bool:
    """Return whether a path is that of a copy of this database. It need not exist."""
    home = beside(path, "")
    name = file.name.removeprefix(home.name)
    return file.parent == home.parent and name != file.name and bool(_SUFFIX.fullmatch(name))


def _files(path: Path) -> list[tuple[Path, re.Match[str]]]:
    home = beside(path, "")
    found = []
    for file in sorted(home.parent.iterdir()):
        match = _SUFFIX.fullmatch(file.name.removeprefix(home.name))
        if match and file.name.startswith(home.name):
            found.append((file, match))
    return found


def _remove(files: Iterator[Path]) -> None:
    for file in files:
        file.unlink(missing_ok=True)


def _discard(path: Path) -> None:
    with suppress(OSError):
        _remove(file for file, match in _files(path) if match["unfinished"])


def _copy(path: Path, target: Path) -> None:
    """Copy what stands in the file and its log, by a connection of its own.

    The caller's connection cannot be copied from: SQLite refuses that during a write
    transaction.
    """
    source = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    with closing(source), closing(sqlite3.connect(target, isolation_level=None)) as copy:
        source.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")  # one file, with no log beside it
        _clear_out_deleted(copy)


def _clear_out_deleted(copy: sqlite3.Connection) -> None:
    """Clear the pages of what was forgotten, if an earlier run could not."""
    tables = {name for (name,) in copy.execute("SELECT name FROM sqlite_master")}
    if not {"meta", "memories_fts"} <= tables:  # versions that could not forget yet
        return
    if copy.execute("DELETE FROM meta WHERE name = 'pruning'").rowcount:
        merge_all(copy)
        copy.execute("VACUUM")


def _not_copied(path: Path, reason: object) -> ConstructError:
    return ConstructError(
        f"The database {path} was not updated: the copy that is made first failed ({reason}).\n"
        f"Check the room and the rights in {path.absolute().parent}; the database was not changed."
    )

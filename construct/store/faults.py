"""Error messages for a database that cannot be used, with advice on what to do."""

import shutil
from pathlib import Path

from construct.errors import ConstructError, DatabaseUnusableError, NewerDatabaseError
from construct.program import as_typed
from construct.store.driver import error_name

_MIN_FREE_BYTES = 1 << 16
"""With less free space SQLite cannot start, and reports an I/O error."""


def explain(error: Exception, path: Path | str) -> ConstructError:
    """Return the error to show the user for an SQLite error."""
    text, name = str(error), error_name(error)
    # If not even the index of the write-ahead log fits, SQLite reports an I/O error.
    is_full = name.startswith("SQLITE_IOERR") and _is_disk_full(path)
    if is_full or name.startswith("SQLITE_FULL") or "disk is full" in text:
        return ConstructError(
            f"The disk is full: the database {path}, or a temporary file for it, could not be "
            "written.\nFree some space there, or in the folder for temporary files "
            "(SQLITE_TMPDIR), and try again; nothing stored was lost."
        )
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_PROTOCOL")) or "locked" in text:
        return DatabaseUnusableError(
            f"The database {path} is locked by another program.\n"
            "Close that program, then try again."
        )
    if name.startswith("SQLITE_READONLY") or "readonly" in text:
        return read_only_error(path)
    if name.startswith("SQLITE_CANTOPEN"):
        return cannot_open_error(path)
    says_damaged = "malformed" in text or "not a database" in text
    if says_damaged or name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return damaged_error(path)
    if name.startswith("SQLITE_IOERR"):
        return ConstructError(
            f"Reading or writing the database {path} failed ({text}).\n"
            f"Check the disk, then run {as_typed('doctor')}."
        )
    return DatabaseUnusableError(
        f"The database {path} cannot be used: {text}.\n"
        f"Run {as_typed('doctor')}, or name another file with --db."
    )


def _is_disk_full(path: Path | str) -> bool:
    try:
        return shutil.disk_usage(Path(path).parent).free < _MIN_FREE_BYTES
    except OSError:
        return False


def cannot_open_error(path: Path | str, reason: str | None = None) -> DatabaseUnusableError:
    """Return the error for a file that cannot be opened."""
    detail = f": {reason}" if reason else ""
    return DatabaseUnusableError(
        f"The database {path} cannot be opened{detail}.\n"
        "Check the path and its permissions, or name another file with --db."
    )


def read_only_error(path: Path | str) -> DatabaseUnusableError:
    """Return the error for a file or folder that is not writable."""
    return DatabaseUnusableError(
        f"The database {path} is read-only.\n"
        "Make it and its folder writable (chmod u+w), or name another file with --db."
    )


def foreign_error(path: Path) -> DatabaseUnusableError:
    """Return the error for another program's file."""
    return DatabaseUnusableError(
        f"{path} belongs to another program.\n"
        "Name another file with --db; this one was not touched."
    )


def newer_error(path: Path) -> NewerDatabaseError:
    """Return the error for a file that a newer version wrote."""
    return NewerDatabaseError(
        f"{path} was written by a newer Construct.\n"
        "Update Construct to open it; the file was not touched."
    )


def damaged_error(path: Path | str, *, untouched: bool = False) -> DatabaseUnusableError:
    """Return the error for a file with wrong or missing pages.

    `untouched` adds that the file was not changed.
    """
    detail = "; it was not touched" if untouched else ""
    return DatabaseUnusableError(
        f"The database {path} is damaged{detail}.\n"
        "Restore a backup, or recover what is readable into a new file "
        "(`sqlite3 FILE .recover | sqlite3 NEW`, with the sqlite3 from https://sqlite.org; "
        "Debian's, for one, cannot run .recover) and name that file with --db."
    )

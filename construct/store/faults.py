"""What the user is told when the file cannot be used, and what to do about it."""

import shutil
import sqlite3
from pathlib import Path

from construct.errors import ConstructError, DatabaseUnusableError

_LEAST_ROOM = 1 << 16
"""With less of it free SQLite cannot begin, and calls that an I/O error."""


def explain(error: sqlite3.Error, path: Path | str) -> ConstructError:
    """Return the error the user is shown for one of SQLite's."""
    text, name = str(error), getattr(error, "sqlite_errorname", "") or ""
    full = name.startswith("SQLITE_IOERR") and _no_room(
        path
    )  # where not even the log's index can be made
    if full or name.startswith("SQLITE_FULL") or "disk is full" in text:
        return ConstructError(
            f"The disk is full: {path} could not be written.\n"
            "Make room and try again; nothing that was stored is lost."
        )
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_PROTOCOL")) or "locked" in text:
        return DatabaseUnusableError(
            f"The database {path} is locked by another program.\n"
            "Close that program, then try again."
        )
    if name.startswith("SQLITE_READONLY") or "readonly" in text:
        return read_only(path)
    if name.startswith("SQLITE_CANTOPEN"):
        return unopened(path)
    if (
        name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB"))
        or "malformed" in text
        or "not a database" in text
    ):
        return damaged(path)
    if name.startswith("SQLITE_IOERR"):
        return ConstructError(
            f"Reading or writing {path} failed ({text}).\n"
            "Check the disk, then run `construct doctor`."
        )
    return DatabaseUnusableError(
        f"The database {path} cannot be used: {text}.\n"
        "Run `construct doctor`, or name another file with --db."
    )


def _no_room(path: Path | str) -> bool:
    try:
        return shutil.disk_usage(Path(path).parent).free < _LEAST_ROOM
    except OSError:
        return False


def unopened(path: Path | str, why: str = "") -> DatabaseUnusableError:
    """Return the error of a file that cannot even be opened."""
    return DatabaseUnusableError(
        f"The database {path} cannot be opened{why}.\n"
        "Check the path and its permissions, or name another file with --db."
    )


def read_only(path: Path | str) -> DatabaseUnusableError:
    """Return the error of a file, or a folder, that may not be written to."""
    return DatabaseUnusableError(
        f"The database {path} is read-only.\n"
        "Make it and its folder writable (chmod u+w), or name another file with --db."
    )


def foreign(path: Path) -> DatabaseUnusableError:
    """Return the error of another program's file."""
    return DatabaseUnusableError(
        f"{path} belongs to another program.\n"
        "Name another file with --db; this one was not touched."
    )


def newer(path: Path) -> DatabaseUnusableError:
    """Return the error of a file that this version does not know yet."""
    return DatabaseUnusableError(
        f"{path} was written by a newer Construct.\n"
        "Update Construct to open it; the file was not touched."
    )


def damaged(path: Path | str, untouched: str = "") -> DatabaseUnusableError:
    """Return the error of a file with pages that are wrong or missing.

    `untouched` says that it was left as it is.
    """
    return DatabaseUnusableError(
        f"The database {path} is damaged{untouched}.\n"
        "Restore a backup, or save what can be read with `sqlite3 FILE .recover`, "
        "and name that file with --db."
    )

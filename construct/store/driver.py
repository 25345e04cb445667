"""The SQLite drivers. No other module imports one (a test enforces it).

An encrypted file needs a driver of its own (SQLCipher's, extra `encrypted`), and that
driver's exceptions are not sqlite3's. So what an `except` clause catches is asked for by a
call, which runs only when something was raised: `except errors() as error`.
"""

import sqlite3
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from construct.errors import DatabaseUnusableError

Connection = sqlite3.Connection
"""The type of every connection, whatever its driver: they have the same methods."""
Cursor = sqlite3.Cursor
complete_statement = sqlite3.complete_statement
connect = sqlite3.connect


_SQLCIPHER = "sqlcipher3.dbapi2"


def connect_with_sqlcipher(database: str, key: str | None, **options: Any) -> Connection:
    """Open a file with SQLCipher's driver; without a key, a plain one.

    `key` is 32 bytes in hexadecimal. Nothing is read yet, so a wrong one shows later.
    Temporary data stays in memory. Raises DatabaseUnusableError without the extra.
    """
    db: Connection = sqlcipher().connect(database, **options)
    db.execute("PRAGMA cipher_log_level = NONE")  # it would write to standard error
    if key is not None:
        db.execute(f"PRAGMA key = \"x'{key}'\"")
    db.execute("PRAGMA temp_store = MEMORY")
    return db


@cache
def sqlcipher() -> ModuleType:
    """Return SQLCipher's driver. Raises DatabaseUnusableError without the extra."""
    try:
        from sqlcipher3 import dbapi2
    except ImportError:
        from construct.installation import this_installation

        command = this_installation().with_extra("encrypted")
        raise DatabaseUnusableError(
            f"An encrypted database needs the extra `encrypted`.\nInstall it: {command}"
        ) from None
    module: ModuleType = dbapi2
    return module


def is_sqlcipher(db: Connection) -> bool:
    """Return whether a connection is one of SQLCipher's driver."""
    return not isinstance(db, sqlite3.Connection)


def write_copy(db: Connection, target: Path, key: str | None) -> None:
    """Write all of a database of SQLCipher's driver into an empty file, with another key.

    None as a key means a plain file.
    """
    key_text = "" if key is None else f"x'{key}'"
    db.execute("ATTACH DATABASE ? AS made KEY ?", (str(target), key_text))
    try:
        db.execute("SELECT sqlcipher_export('made')")
        for name in ("application_id", "user_version"):  # these it leaves out
            (value,) = db.execute(f"PRAGMA {name}").fetchone()
            db.execute(f"PRAGMA made.{name} = {int(value)}")
    finally:
        db.execute("DETACH DATABASE made")


def scratch() -> Connection:
    """Return an empty database of this process alone, for data on its way.

    It is a temporary file without a name, in which a large import has room. Once this
    process has opened an encrypted file, it is kept in memory.
    """
    return connect(":memory:" if _SQLCIPHER in sys.modules else "", isolation_level=None)


def _classes(name: str) -> tuple[type[Exception], ...]:
    """Return a class of exceptions of each driver that is loaded."""
    drivers = [sqlite3, *filter(None, [sys.modules.get(_SQLCIPHER)])]
    return tuple(getattr(driver, name) for driver in drivers)


def errors(*others: type[Exception]) -> tuple[type[Exception], ...]:
    """Return the exceptions that any failure of the database raises, and `others`."""
    return (*_classes("Error"), *others)


def database_errors() -> tuple[type[Exception], ...]:
    """Return those for failures of the database itself, such as a damaged file."""
    return _classes("DatabaseError")


def operational_errors(*others: type[Exception]) -> tuple[type[Exception], ...]:
    """Return those for failures outside the program's control, such as a lock, and `others`."""
    return (*_classes("OperationalError"), *others)


def integrity_errors() -> tuple[type[Exception], ...]:
    """Return those for a violated constraint."""
    return _classes("IntegrityError")


def error_name(error: BaseException) -> str:
    """Return SQLite's name for an error, such as SQLITE_FULL; empty if it has none."""
    return getattr(error, "sqlite_errorname", "") or ""

"""The SQLite driver. No other module imports one (a test enforces it).

An encrypted file needs a driver of its own, and that driver's exceptions are not
sqlite3's. So what an `except` clause catches is asked for by a call, which runs only when
something was raised: `except errors() as error`.
"""

import sqlite3

Connection = sqlite3.Connection
"""The type of every connection, whatever its driver: they have the same methods."""
Cursor = sqlite3.Cursor
complete_statement = sqlite3.complete_statement
connect = sqlite3.connect


def errors(*others: type[Exception]) -> tuple[type[Exception], ...]:
    """Return the exceptions that any failure of the database raises, and `others`."""
    return (sqlite3.Error, *others)


def database_errors() -> tuple[type[Exception], ...]:
    """Return those for failures of the database itself, such as a damaged file."""
    return (sqlite3.DatabaseError,)


def operational_errors(*others: type[Exception]) -> tuple[type[Exception], ...]:
    """Return those for failures outside the program's control, such as a lock, and `others`."""
    return (sqlite3.OperationalError, *others)


def integrity_errors() -> tuple[type[Exception], ...]:
    """Return those for a violated constraint."""
    return (sqlite3.IntegrityError,)


def error_name(error: BaseException) -> str:
    """Return SQLite's name for an error, such as SQLITE_FULL; empty if it has none."""
    return getattr(error, "sqlite_errorname", "") or ""

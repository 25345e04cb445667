"""The few ways in which rows are read and stored.

So each query stands where it is asked, once, and as SQL.
"""

import base64
import json
import os
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, TypeVar

R = TypeVar("R", bound=NamedTuple)
Values = Sequence[object] | Mapping[str, object]

GIVEN = "(SELECT value FROM json_each(?))"
"""Any number of ids, bound as the one value that `given` makes of them."""


def given(ids: Iterable[int]) -> str:
    """Return ids as the one value that `json_each(?)` takes them from."""
    return json.dumps(sorted(ids))


def new_uid() -> str:
    """Return an id that is unique across machines: 96 random bits in 16 characters.

    It is short because each is stored twice, in its table and in that table's index.
    """
    return base64.urlsafe_b64encode(os.urandom(12)).decode()


@cache
def columns(record: type[NamedTuple], table: str) -> str:
    """Return the record's columns for a SELECT, each behind the table's name, "" for none."""
    prefix = f"{table}." if table else ""
    return ", ".join(prefix + name for name in record._fields)


def select(
    db: sqlite3.Connection, record: type[R], source: str, values: Values = (), table: str = ""
) -> list[R]:
    """Return rows as records.

    `source` is all that follows FROM, `table` the one in it that the record is of.
    """
    return list(
        map(record._make, db.execute(f"SELECT {columns(record, table)} FROM {source}", values))
    )


def first(db: sqlite3.Connection, record: type[R], source: str, values: Values = ()) -> R | None:
    """Return the first row as a record, None when there is none."""
    return next(iter(select(db, record, f"{source} LIMIT 1", values)), None)


def column(db: sqlite3.Connection, query: str, values: Values = ()) -> list[Any]:
    """Return the first column of all rows."""
    return [row[0] for row in db.execute(query, values)]


def scalar(db: sqlite3.Connection, query: str, values: Values = ()) -> Any:
    """Return the first column of the first row, None when there is none."""
    row = db.execute(query, values).fetchone()
    return None if row is None else row[0]


def exists(db: sqlite3.Connection, source: str, values: Values = ()) -> bool:
    """Return whether there is a row; `source` is all that follows FROM."""
    return bool(scalar(db, f"SELECT EXISTS (SELECT 1 FROM {source})", values))


def insert(db: sqlite3.Connection, table: str, row: Mapping[str, object]) -> int:
    """Store a row given by its columns and return its id."""
    marks = ", ".join("?" * len(row))
    cursor = db.execute(
        f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", (*row.values(),)
    )
    assert cursor.lastrowid is not None
    return cursor.lastrowid

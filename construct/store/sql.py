"""Helpers that run SQL and turn rows into records.

The queries themselves stay plain SQL, in the module for their tables.
"""

import base64
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, TypeVar

from construct.store.driver import Connection

Record = TypeVar("Record", bound=NamedTuple)
Values = Sequence[object] | Mapping[str, object]

ID_LIST = "(SELECT value FROM json_each(?))"
"""SQL for the right side of `IN`: any number of ids, bound as one value by `json_ids`.

A JSON list of texts can be bound too.
"""


def json_ids(ids: Iterable[int]) -> str:
    """Return ids as a JSON list, the value to bind for `ID_LIST`."""
    return json.dumps(sorted(ids))


def new_uid() -> str:
    """Return an id that is unique across machines: 96 random bits in 16 characters.

    It is short because it is stored twice, in the table and in its index.
    """
    return base64.urlsafe_b64encode(os.urandom(12)).decode()


@cache
def columns(record: type[NamedTuple], table: str) -> str:
    """Return the record's columns as a SELECT list, prefixed with `table` unless empty."""
    prefix = f"{table}." if table else ""
    return ", ".join(prefix + name for name in record._fields)


def select(
    db: Connection, record: type[Record], source: str, values: Values = (), table: str = ""
) -> list[Record]:
    """Return rows as records.

    `source` is everything after FROM. If it joins several tables, `table` names the one
    that holds the record's columns.
    """
    rows = db.execute(f"SELECT {columns(record, table)} FROM {source}", values)
    return list(map(record._make, rows))


def first(db: Connection, record: type[Record], source: str, values: Values = ()) -> Record | None:
    """Return the first row as a record, or None if there is no row."""
    return next(iter(select(db, record, f"{source} LIMIT 1", values)), None)


def column(db: Connection, query: str, values: Values = ()) -> list[Any]:
    """Return the first column of all rows."""
    return [row[0] for row in db.execute(query, values)]


def scalar(db: Connection, query: str, values: Values = ()) -> Any:
    """Return the first column of the first row, or None if there is no row."""
    row = db.execute(query, values).fetchone()
    return None if row is None else row[0]


def exists(db: Connection, source: str, values: Values = ()) -> bool:
    """Return whether there is a row; `source` is everything after FROM."""
    return bool(scalar(db, f"SELECT EXISTS (SELECT 1 FROM {source})", values))


def insert(db: Connection, table: str, row: Mapping[str, object]) -> int:
    """Store a row (values by column name) and return its id."""
    marks = ", ".join("?" * len(row))
    cursor = db.execute(
        f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", (*row.values(),)
    )
    assert cursor.lastrowid is not None
    return cursor.lastrowid

"""The lines of an own export that have been read and checked, kept in a temporary table until all of them are.

A file may be larger than memory, and nobody else should wait for its reading.
"""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from construct.store.transfer.format import Kind, RefusedError, SqlValue, kinds_of, parse, uid
from construct.text import shorten


class Line(NamedTuple):
    """A line of which each value by itself can be stored."""

    number: int
    kind: Kind
    values: Mapping[str, SqlValue]
    links: tuple[list[str], list[str]]
    """The uids of the messages and of the observations that an observation comes from."""


class Checked:
    """All lines of a file of some version, in their order."""

    def __init__(self, db: sqlite3.Connection, version: int) -> None:
        self.counts: Counter[str] = Counter()
        self._kinds = kinds_of(version)
        self._db = db
        self._newest = 0
        self.drop()
        db.execute("CREATE TEMP TABLE checked (number INTEGER PRIMARY KEY, kind TEXT, held TEXT)")

    def take(self, number: int, record: Mapping[str, Any]) -> None:
        """Check a line and keep it; raises RefusedError naming it."""
        try:
            kind, held = self._check(record)
        except ValueError as error:
            raise RefusedError(f"line {number}", error) from None
        self.counts[kind.type] += 1
        self._db.execute("INSERT INTO checked VALUES (?, ?, ?)", (number, kind.type, json.dumps(held)))

    def lines(self) -> Iterator[Line]:
        """Yield the lines."""
        for number, kind, held in self._db.execute("SELECT number, kind, held FROM checked ORDER BY number"):
            values, links = json.loads(held)
            yield Line(number, self._kinds[kind], values, links)

    def drop(self) -> None:
        """Forget all."""
        self._db.execute("DROP TABLE IF EXISTS temp.checked")

    def _check(self, record: Mapping[str, Any]) -> tuple[Kind, tuple[dict[str, SqlValue], tuple[list[str], list[str]]]]:
        kind = self._kind(record)
        values = parse(kind, record)
        if kind.type == "message":
            self._check_order(values)
        return kind, (values, _links(record) if kind.type == "observation" else ([], []))

    def _kind(self, record: Mapping[str, Any]) -> Kind:
        name = record.get("type")
        if not isinstance(name, str) or name not in self._kinds:
            given = f"“{shorten(name, 40)}”" if isinstance(name, str) else "no word"
            raise ValueError(f'"type" must be one that an export has, and is {given}')
        return self._kinds[name]

    def _check_order(self, values: Mapping[str, SqlValue]) -> None:
        row_id = values["id"]
        assert isinstance(row_id, int)
        if row_id <= self._newest:
            raise ValueError("messages stand in the order of their ids, and this one does not")
        self._newest = row_id


def _links(record: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Return the uids of the messages and of the observations that an observation comes from."""
    found = []
    for key in ("messages", "sources"):
        names = record.get(key, [])
        if not isinstance(names, list):
            raise ValueError(f'"{key}" must be a list of uids')  # noqa: TRY004 (a file's value)
        try:
            found.append([uid(name) for name in names])
        except ValueError as error:
            raise ValueError(f'in "{key}" each {error}') from None
    return found[0], found[1]

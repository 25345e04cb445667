"""Plain queries over the full-text indexes; what is found good is decided in `construct.memory`.

Never found: messages withheld or retried, removed words, observations of reverted cycles,
superseded memories; superseded observations only with `Filters.all`.
"""

import json
import math
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Any, NamedTuple

from construct.clock import to_text
from construct.store.observations import in_descent
from construct.store.records import REMOVED, Descent
from construct.store.sql import column, scalar

KINDS = ("message", "observation", "memory")

_FOUND_MESSAGE = f"m.withheld = 0 AND m.retried = 0 AND m.content <> '{REMOVED}'"


@dataclass(frozen=True, slots=True)
class Filters:
    """What a search is narrowed to; days are the user's, both ends included."""

    since: date | None = None
    until: date | None = None
    talk: Descent | None = None
    """Only this one; what was kept by itself belongs to every talk."""
    kind: str | None = None
    role: str | None = None
    as_of: datetime | None = None
    all: bool = False
    zone: tzinfo | None = None
    """The user's zone; None is the system's."""

    def kinds(self) -> tuple[str, ...]:
        """Return the kinds that can be found; only messages have a role."""
        if self.role:
            return ("message",) if self.kind in (None, "message") else ()
        return (self.kind,) if self.kind else KINDS

    def first_moment(self) -> str | None:
        """Return the beginning of `since` as stored times are written."""
        return None if self.since is None else _midnight(self.since, self.zone)

    def end_moment(self) -> str | None:
        """Return the end of `until` as stored times are written."""
        if self.until is None or self.until == date.max:
            return None
        return _midnight(self.until + timedelta(days=1), self.zone)

    def narrow(self) -> bool:
        """Tell whether fewer messages than all can be found."""
        return any(value is not None for value in (self.since, self.until, self.talk, self.role, self.as_of))


class Entry(NamedTuple):
    """One row of any kind as ranking needs it; `moment` is when it was said or noted."""

    kind: str
    id: int
    conversation: int | None
    moment: str
    text: str
    role: str | None = None
    day: str | None = None
    about: str | None = None
    """An observation's days: when it was observed, and what it refers to."""
    generation: int | None = None
    priority: str | None = None
    stance: str | None = None
    state: str | None = None
    found: bool = True
    """False: it may be read as context, never be a result."""


def _midnight(day: date, zone: tzinfo | None) -> str:
    try:
        return to_text(datetime.combine(day, time(), tzinfo=zone).astimezone(UTC))
    except (OverflowError, ValueError):  # the calendar's first and last days, moved by a zone
        return to_text(datetime.combine(day, time(), tzinfo=UTC))


def match(db: sqlite3.Connection, kind: str, expression: str, filters: Filters, limit: int) -> list[int]:
    """Return the ids that match an FTS5 expression, best first by bm25.

    Without filters messages that are not to be found may be among them: `entries` tells.
    """
    table = _TABLES[kind]
    where, values = _conditions(kind, filters) if kind != "message" or filters.narrow() else ([], [])
    join = f"JOIN {table} AS m ON m.id = f.rowid {_JOINS[kind]}" if where else ""
    query = f"""SELECT f.rowid FROM {table}_fts AS f {join} WHERE {table}_fts MATCH ?
                {_and(where)} ORDER BY bm25({table}_fts), f.rowid LIMIT ?"""
    return column(db, query, (expression, *values, limit))


def containing(db: sqlite3.Connection, kind: str, pieces: Sequence[str], filters: Filters, newest: int) -> list[int]:
    """Return which of the newest rows hold any of `pieces` as a part of a word: for scripts without spaces."""
    table = _TABLES[kind]
    where, values = _conditions(kind, filters)
    held = " OR ".join("instr(content, ?)" for _ in pieces)
    query = f"""SELECT id FROM (SELECT m.id, m.content FROM {table} AS m {_JOINS[kind]} WHERE 1 {_and(where)}
                                ORDER BY m.id DESC LIMIT ?) WHERE {held}"""
    return column(db, query, (*values, newest, *pieces))


def entries(db: sqlite3.Connection, kind: str, ids: Iterable[int], filters: Filters) -> list[Entry]:
    """Return the rows of these ids, in order of id."""
    wanted = sorted(set(ids))
    if not wanted:
        return []
    where, values = _conditions(kind, filters)
    ok = " AND ".join(where) or "1"
    marks = ",".join(map(str, map(int, wanted)))
    rows = db.execute(
        f"SELECT {_COLUMNS[kind]}, {ok} FROM {_TABLES[kind]} AS m {_JOINS[kind]} WHERE m.id IN ({marks}) ORDER BY m.id",
        values,
    )
    read = {"message": _message, "observation": _observation, "memory": _memory}[kind]
    moment = to_text(filters.as_of) if filters.as_of else ""
    return [read(row, moment) for row in rows]


def total(db: sqlite3.Connection, kind: str) -> int:
    """Return how many rows there are, about: the highest id is had without counting."""
    return scalar(db, f"SELECT max(id) FROM {_TABLES[kind]}") or 0


def since(db: sqlite3.Connection, kind: str, expression: str, first: int) -> list[int]:
    """Return the ids that match, from the first on: what lies below it is not looked at."""
    table = _TABLES[kind]
    query = f"SELECT rowid FROM {table}_fts WHERE {table}_fts MATCH ? AND rowid >= ? ORDER BY rowid"
    return column(db, query, (expression, first))  # backwards is slower


def newest_of_each(db: sqlite3.Connection, kind: str, expressions: Sequence[str], limit: int) -> list[list[int]]:
    """Return for each expression the newest ids that match, newest first.

    All are looked up by one statement: to ask takes longer than to find. It does not grow with the file.
    """
    table = _TABLES[kind]
    rows = db.execute(
        f"""SELECT (SELECT group_concat(rowid) FROM (
              SELECT rowid FROM {table}_fts WHERE {table}_fts MATCH value ORDER BY rowid DESC LIMIT ?))
            FROM json_each(?) ORDER BY key""",
        (limit, json.dumps(expressions)),
    )
    return [sorted(map(int, ids.split(",")), reverse=True) if ids else [] for (ids,) in rows]


def path(db: sqlite3.Connection) -> str:
    """Return the file's path: what this process knows of a file is kept under it."""
    return str(scalar(db, "SELECT file FROM pragma_database_list WHERE name = 'main'"))


def noted(db: sqlite3.Connection, messages: Iterable[int]) -> dict[int, list[tuple[int, str]]]:
    """Return the observations (id, content) that were drawn from each of these messages."""
    found: dict[int, list[tuple[int, str]]] = {}
    marks = ",".join(map(str, map(int, messages)))
    for message, row_id, content in db.execute(
        "SELECT s.message_id, o.id, o.content FROM observation_messages AS s "
        f"JOIN observations AS o ON o.id = s.observation_id WHERE s.message_id IN ({marks}) ORDER BY 1, 2"
    ):
        found.setdefault(message, []).append((row_id, content))
    return found


def promoted_from(db: sqlite3.Connection, memories: Iterable[int]) -> dict[int, int]:
    """Return the observation each of these memories was promoted from, where it was."""
    marks = ",".join(map(str, map(int, memories)))
    return dict(
        db.execute(f"SELECT id, observation_id FROM memories WHERE id IN ({marks}) AND observation_id IS NOT NULL")
    )


def frequencies(db: sqlite3.Connection, kind: str, stems: Sequence[str]) -> dict[str, int]:
    """Return in how many rows each stem occurs, from the index.

    The index counts by reading all of a word's entries, 0.7 ms in a large file (facts.md): there what was counted is
    kept while this process runs, until the file has grown by a tenth.
    """
    rows = total(db, kind)
    known: dict[str, int] = {}
    if rows >= _MANY_ROWS:
        known = _counted.setdefault((path(db), kind, round(math.log(rows, 1.1))), known)
    known |= _count(db, kind, [stem for stem in stems if stem not in known])
    return {stem: known[stem] for stem in stems}


_MANY_ROWS = 20_000
_counted: dict[tuple[str, str, int], dict[str, int]] = {}


def _count(db: sqlite3.Connection, kind: str, stems: Sequence[str]) -> dict[str, int]:
    table = _TABLES[kind]
    db.execute(f"CREATE VIRTUAL TABLE IF NOT EXISTS temp.{table}_vocab USING fts5vocab(main, {table}_fts, row)")
    sql = f"SELECT doc FROM temp.{table}_vocab WHERE term = ?"
    return {stem: scalar(db, sql, (stem,)) or 0 for stem in stems}


def mentions(db: sqlite3.Connection, expression: str, newest: int, most: int) -> list[tuple[int, str, str]]:
    """Return (conversation, role, text) of the newest messages that match; `most` characters of each."""
    return db.execute(
        "SELECT m.conversation_id, m.role, substr(m.content, 1, ?) FROM (SELECT rowid AS id FROM messages_fts "
        "WHERE messages_fts MATCH ? ORDER BY rowid DESC LIMIT ?) AS f JOIN messages AS m ON m.id = f.id",
        (most, expression, newest),
    ).fetchall()


_TABLES = {"message": "messages", "observation": "observations", "memory": "memories"}
_JOINS = {
    "message": "",
    "observation": "JOIN cycles AS c ON c.id = m.cycle_id",
    "memory": "LEFT JOIN observations AS o ON o.id = m.observation_id",
}
_COLUMNS = {
    "message": "m.id, m.conversation_id, m.created_at, m.content, m.role",
    "observation": "m.id, m.conversation_id, m.created_at, m.content, m.observation_date, m.referenced_date, "
    "m.generation, m.priority, m.stance, m.committed_at, m.superseded_at",
    "memory": "m.id, o.conversation_id, m.created_at, m.content, m.superseded_at",
}


def _and(where: Sequence[str]) -> str:
    return "".join(f" AND {condition}" for condition in where)


def _conditions(kind: str, filters: Filters) -> tuple[list[str], list[object]]:
    """Return SQL conditions on a kind's rows and their values, in the same order."""
    where, values = _always(kind, filters)
    day = "m.observation_date" if kind == "observation" else None
    bounds = (
        (filters.since.isoformat() if day and filters.since else filters.first_moment(), ">="),
        (filters.until.isoformat() if day and filters.until else filters.end_moment(), "<=" if day else "<"),
    )
    for value, operator in bounds:
        if value is not None:
            where.append(f"{day or 'm.created_at'} {operator} ?")
            values.append(value)
    if filters.talk is not None:
        condition, ids = _of_talk(kind, filters.talk)
        where.append(condition)
        values += ids
    if filters.role and kind == "message":
        where.append("m.role = ?")
        values.append(filters.role)
    return where, values


def _of_talk(kind: str, talk: Descent) -> tuple[str, tuple[int, ...]]:
    if kind == "message":
        said = " OR ".join("(m.conversation_id = ? AND m.id <= ?)" for _ in talk)
        return f"({said})", tuple(value for one in talk for value in one)
    if kind == "observation":
        return in_descent(talk, "m")
    condition, ids = in_descent(talk, "o")
    return f"(m.observation_id IS NULL OR {condition})", ids


def _always(kind: str, filters: Filters) -> tuple[list[str], list[object]]:
    """Return the conditions that concern what is in force."""
    moment = to_text(filters.as_of) if filters.as_of else None
    if kind == "message":
        return [_FOUND_MESSAGE] + (["m.created_at <= ?"] if moment else []), [moment] if moment else []
    if kind == "memory":
        if filters.all:
            return (["m.created_at <= ?"], [moment]) if moment else ([], [])
        if moment:
            return ["m.created_at <= ?", "(m.superseded_at IS NULL OR m.superseded_at > ?)"], [moment, moment]
        return ["m.superseded_at IS NULL"], []
    where = ["c.status <> 'reverted'"]
    if moment:
        where += ["m.committed_at <= ?"]
        if filters.all:
            return where, [moment]
        return [*where, "(m.superseded_at IS NULL OR m.superseded_at > ?)"], [moment, moment]
    return where + ([] if filters.all else ["m.superseded_at IS NULL"]), []


def _message(row: tuple[Any, ...], moment: str) -> Entry:
    row_id, conversation, said, text, role, ok = row
    return Entry("message", row_id, conversation, said, text, role=role, found=bool(ok))


def _observation(row: tuple[Any, ...], moment: str) -> Entry:
    *columns, committed, superseded, ok = row
    row_id, conversation, made, text, day, about, generation, priority, stance = columns
    state = _state(committed, superseded, moment)
    return Entry(
        "observation", row_id, conversation, made, text, None, day, about, generation, priority, stance, state, bool(ok)
    )


def _memory(row: tuple[Any, ...], moment: str) -> Entry:
    row_id, conversation, made, text, superseded, ok = row
    return Entry("memory", row_id, conversation, made, text, state=_state(made, superseded, moment), found=bool(ok))


def _state(committed: str | None, superseded: str | None, moment: str) -> str:
    """Return the state at a moment; "" is now."""
    if superseded and (not moment or superseded <= moment):
        return "superseded"
    return "active" if committed and (not moment or committed <= moment) else "pending"

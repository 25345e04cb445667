"""Plain queries over the full-text indexes.

What is found good is decided in `construct.memory`.

Never found: messages withheld, retried or without words, removed words, observations withheld or of
reverted cycles, memories that are superseded or whose observation is withheld;
superseded observations only with `Filters.all`.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import NamedTuple

from construct.clock import to_text
from construct.store.dates import FIRST_DAY_SQL, LAST_DAY_SQL
from construct.store.observations import in_descent
from construct.store.records import LEFT_OUT_SQL, REMOVED, Descent
from construct.store.sql import GIVEN, column, given, scalar
from construct.vocabulary import ItemKind

KINDS = tuple(ItemKind)

_Condition = tuple[str, tuple[object, ...]]
_FOUND_MESSAGE = f"""m.withheld = 0 AND m.retried = 0
    AND (m.content NOT IN ('', '{REMOVED}') OR m.attached IS NOT NULL)"""


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
    without: tuple[int, ...] = ()
    """Messages that are neither found nor read as context: what is being answered."""
    zone: tzinfo | None = None
    """The user's zone; None is the system's."""
    for_model: bool = False
    """Whether a model will be sent what is found.

    Then messages that are left out of requests are not found.
    """

    def kinds(self) -> tuple[str, ...]:
        """Return the kinds that can be found; only messages have a role."""
        if self.role:
            return ("message",) if self.kind in (None, "message") else ()
        return (self.kind,) if self.kind else KINDS

    def narrow(self) -> bool:
        """Return whether fewer messages than all can be found."""
        return any(
            value is not None
            for value in (self.since, self.until, self.talk, self.role, self.as_of)
        )


class Entry(NamedTuple):
    """One row of any kind as ranking needs it.

    `moment` is when it was said or noted.
    """

    kind: str
    id: int
    conversation: int | None
    moment: str
    text: str
    role: str | None = None
    day: str | None = None
    about: str | None = None
    about_until: str | None = None
    """An observation's days: when it was observed, and from when to when is what it refers to."""
    generation: int | None = None
    priority: str | None = None
    stance: str | None = None
    state: str | None = None
    found: bool = True
    """False: it may be read as context, never be a result."""

    @property
    def key(self) -> tuple[str, int]:
        """Kind and id."""
        return self.kind, self.id


def _midnight(day: date, zone: tzinfo | None) -> str:
    try:
        return to_text(datetime.combine(day, time(), tzinfo=zone).astimezone(UTC))
    except (OverflowError, ValueError):  # the calendar's first and last days, moved by a zone
        return to_text(datetime.combine(day, time(), tzinfo=UTC))


def match(
    db: sqlite3.Connection, kind: str, expression: str, filters: Filters, limit: int
) -> list[int]:
    """Return the ids that match an FTS5 expression, best first by bm25.

    Without filters messages that are not to be found may be among them: `entries`
    tells.
    """
    table = _TABLES[kind]
    where, values = (
        _conditions(kind, filters) if kind != ItemKind.MESSAGE or filters.narrow() else ([], [])
    )
    join = f"JOIN {table} AS m ON m.id = f.rowid {_JOINS[kind]}" if where else ""
    query = f"""SELECT f.rowid FROM {table}_fts AS f {join} WHERE {table}_fts MATCH ?
                {_and(where)} ORDER BY bm25({table}_fts), f.rowid LIMIT ?"""
    return column(db, query, (expression, *values, limit))


def containing(
    db: sqlite3.Connection, kind: str, pieces: Sequence[str], filters: Filters, newest: int
) -> list[int]:
    """Return which of the newest rows hold any of `pieces` as a part of a word.

    For scripts without spaces.
    """
    table = _TABLES[kind]
    where, values = _conditions(kind, filters)
    held = " OR ".join("instr(content, ?)" for _ in pieces)
    query = f"""SELECT id FROM (
                    SELECT m.id, m.content FROM {table} AS m {_JOINS[kind]} WHERE 1 {_and(where)}
                    ORDER BY m.id DESC LIMIT ?) WHERE {held}"""
    return column(db, query, (*values, newest, *pieces))


def entries(db: sqlite3.Connection, kind: str, ids: Iterable[int], filters: Filters) -> list[Entry]:
    """Return the rows of these ids, in order of id."""
    where, values = _conditions(kind, filters)
    moment = to_text(filters.as_of) if filters.as_of else _ALWAYS
    fields = _FIELDS[kind] | {"found": " AND ".join(where) or "1"}
    rows = db.execute(
        f"""SELECT {", ".join(fields.values())} FROM {_TABLES[kind]} AS m {_JOINS[kind]}
            WHERE m.id IN {GIVEN} ORDER BY m.id""",
        (*[moment] * fields.get("state", "").count("?"), *values, given(ids)),
    )
    return [Entry(kind, **dict(zip(fields, row, strict=True))) for row in rows]


def results(db: sqlite3.Connection, kind: str, ids: Iterable[int], filters: Filters) -> list[Entry]:
    """Return those of these rows that may be results, in order of id."""
    return [entry for entry in entries(db, kind, ids, filters) if entry.found]


def total(db: sqlite3.Connection, kind: str) -> int:
    """Return how many rows there are, about: the highest id is had without counting."""
    return scalar(db, f"SELECT max(id) FROM {_TABLES[kind]}") or 0


def since(db: sqlite3.Connection, kind: str, expression: str, first: int) -> list[int]:
    """Return the ids that match, from the first on: what lies below it is not looked at."""
    table = _TABLES[kind]
    query = f"SELECT rowid FROM {table}_fts WHERE {table}_fts MATCH ? AND rowid >= ? ORDER BY rowid"
    return column(db, query, (expression, first))  # backwards is slower


def newest_of_each(
    db: sqlite3.Connection, kind: str, expressions: Sequence[str], limit: int
) -> list[list[int]]:
    """Return for each expression the newest ids that match, newest first.

    All are looked up by one statement: to ask takes longer than to find. It does not
    grow with the file.
    """
    table = _TABLES[kind]
    rows = db.execute(
        f"""SELECT (SELECT group_concat(rowid) FROM (
              SELECT rowid FROM {table}_fts WHERE {table}_fts MATCH value
              ORDER BY rowid DESC LIMIT ?))
            FROM json_each(?) ORDER BY key""",
        (limit, json.dumps(expressions)),
    )
    return [sorted(map(int, ids.split(",")), reverse=True) if ids else [] for (ids,) in rows]


def path(db: sqlite3.Connection) -> str:
    """Return the file's path: what this process knows of a file is kept under it."""
    return scalar(db, "SELECT file FROM pragma_database_list WHERE name = 'main'")


def noted(db: sqlite3.Connection, messages: Iterable[int]) -> dict[int, list[tuple[int, str]]]:
    """Return (id, content) of what was drawn from each of these messages and is not withheld."""
    query = f"""SELECT s.message_id, o.id, o.content FROM observation_messages AS s
                JOIN observations AS o ON o.id = s.observation_id
                WHERE s.message_id IN {GIVEN} AND o.withheld = 0 ORDER BY 1, 2"""
    found: dict[int, list[tuple[int, str]]] = {}
    for message, row_id, content in db.execute(query, (given(messages),)):
        found.setdefault(message, []).append((row_id, content))
    return found


def promoted_from(db: sqlite3.Connection, memories: Iterable[int]) -> dict[int, int]:
    """Return the observation each of these memories was promoted from, where it was."""
    query = f"""SELECT id, observation_id FROM memories
                WHERE id IN {GIVEN} AND observation_id IS NOT NULL"""
    return dict(db.execute(query, (given(memories),)))


def frequencies(db: sqlite3.Connection, kind: str, stems: Sequence[str]) -> dict[str, int]:
    """Return in how many rows each stem occurs, from the index."""
    sql = f"SELECT doc FROM {_vocabulary(db, kind)} WHERE term = ?"
    return {stem: scalar(db, sql, (stem,)) or 0 for stem in stems}


def terms_among(db: sqlite3.Connection, stems: Iterable[str]) -> set[str]:
    """Return those of these stems that the index of any kind holds."""
    held = " OR ".join(
        f"EXISTS (SELECT 1 FROM {_instances(db, kind)} WHERE term = value)" for kind in KINDS
    )
    return set(
        column(db, f"SELECT value FROM json_each(?) WHERE {held}", (json.dumps(sorted(stems)),))
    )


def terms_beginning(db: sqlite3.Connection, letters: str, most: int) -> set[str]:
    """Return the first stems of each kind's index that begin with some letters."""
    found: set[str] = set()
    for kind in KINDS:
        sql = f"SELECT term FROM {_vocabulary(db, kind)} WHERE term >= ? AND term < ? LIMIT ?"
        found.update(column(db, sql, (letters, letters + "\U0010ffff", most)))
    return found


def rows_of_term(db: sqlite3.Connection, kind: str, term: str, most: int) -> list[int]:
    """Return the ids of the oldest rows that have a term, as the index spells it."""
    sql = (
        f"SELECT DISTINCT doc FROM (SELECT doc FROM {_instances(db, kind)} WHERE term = ? LIMIT ?)"
    )
    return column(db, sql, (term, most))


def _vocabulary(db: sqlite3.Connection, kind: str) -> str:
    table = _TABLES[kind]
    db.execute(
        f"""CREATE VIRTUAL TABLE IF NOT EXISTS temp.{table}_vocab
            USING fts5vocab(main, {table}_fts, row)"""
    )
    return f"temp.{table}_vocab"


def _instances(db: sqlite3.Connection, kind: str) -> str:
    table = _TABLES[kind]
    db.execute(
        f"""CREATE VIRTUAL TABLE IF NOT EXISTS temp.{table}_instances
            USING fts5vocab(main, {table}_fts, instance)"""
    )
    return f"temp.{table}_instances"


def mentions(
    db: sqlite3.Connection, expression: str, newest: int, most: int
) -> list[tuple[int, str, str]]:
    """Return (conversation, role, text) of the newest messages that match.

    `most` characters of each.
    """
    return db.execute(
        """SELECT m.conversation_id, m.role, substr(m.content, 1, ?) FROM (
               SELECT rowid AS id FROM messages_fts WHERE messages_fts MATCH ?
               ORDER BY rowid DESC LIMIT ?) AS f JOIN messages AS m ON m.id = f.id""",
        (most, expression, newest),
    ).fetchall()


_TABLES: Mapping[str, str] = {
    ItemKind.MESSAGE: "messages",
    ItemKind.OBSERVATION: "observations",
    ItemKind.MEMORY: "memories",
}
_JOINS = {
    "message": "",
    "observation": "JOIN cycles AS c ON c.id = m.cycle_id",
    "memory": "LEFT JOIN observations AS o ON o.id = m.observation_id",
}
_ALWAYS = "9999"
"""Is later than any stored time."""
_ANY = {
    "id": "m.id",
    "conversation": "m.conversation_id",
    "moment": "m.created_at",
    "text": "m.content",
}
_FIELDS = {
    "message": _ANY
    | {
        "text": """CASE WHEN m.attached IS NULL THEN m.content WHEN m.content = '' THEN m.attached
                   ELSE m.attached || char(10) || m.content END""",
        "role": "m.role",
    },
    "observation": _ANY
    | {
        "day": "m.observation_date", "about": FIRST_DAY_SQL.format("m.referenced_date"),
        "about_until": LAST_DAY_SQL.format("m.referenced_date"),
        "generation": "m.generation", "priority": "m.priority", "stance": "m.stance",
        "state": """CASE WHEN m.superseded_at <= ? THEN 'superseded'
                    WHEN m.committed_at <= ? THEN 'active' ELSE 'pending' END""",
    },
    "memory": _ANY
    | {
        "conversation": "o.conversation_id",
        "state": "iif(m.superseded_at <= ?, 'superseded', 'active')",
    },
}  # fmt: skip
"""What an entry is read from."""


def _and(where: Sequence[str]) -> str:
    return "".join(f" AND {condition}" for condition in where)


def _conditions(kind: str, filters: Filters) -> tuple[list[str], list[object]]:
    """Return SQL conditions on a kind's rows and their values, in the same order."""
    found = [*_in_force(kind, filters), *_within_days(kind, filters)]
    if filters.talk is not None:
        found.append(_of_talk(kind, filters.talk))
    if filters.role and kind == ItemKind.MESSAGE:
        found.append(("m.role = ?", (filters.role,)))
    if filters.without and kind == ItemKind.MESSAGE:
        found.append((f"m.id NOT IN {GIVEN}", (given(filters.without),)))
    return [f"({condition})" for condition, _ in found], [
        value for _, values in found for value in values
    ]


def _in_force(kind: str, filters: Filters) -> Iterator[_Condition]:
    """Yield the conditions that concern what counts, at a moment or now."""
    at = (to_text(filters.as_of),) if filters.as_of else ()
    if kind == ItemKind.MESSAGE:
        yield _FOUND_MESSAGE, ()
        if filters.for_model:
            yield f"NOT {LEFT_OUT_SQL}", ()
    if kind == ItemKind.OBSERVATION:
        yield "c.status <> 'reverted' AND m.withheld = 0", ()
    if kind == ItemKind.MEMORY:
        yield "o.withheld IS NOT 1", ()
    if at:
        yield f"m.{'committed_at' if kind == 'observation' else 'created_at'} <= ?", at
    if kind != ItemKind.MESSAGE and not filters.all:
        yield f"m.superseded_at IS NULL{' OR m.superseded_at > ?' if at else ''}", at


def _within_days(kind: str, filters: Filters) -> Iterator[_Condition]:
    if kind == ItemKind.OBSERVATION:
        if filters.since:
            yield "m.observation_date >= ?", (filters.since.isoformat(),)
        if filters.until:
            yield "m.observation_date <= ?", (filters.until.isoformat(),)
        return
    if filters.since:
        yield "m.created_at >= ?", (_midnight(filters.since, filters.zone),)
    if filters.until and filters.until < date.max:
        yield "m.created_at < ?", (_midnight(filters.until + timedelta(days=1), filters.zone),)


def _of_talk(kind: str, talk: Descent) -> _Condition:
    if kind == ItemKind.MESSAGE:
        said = " OR ".join("(m.conversation_id = ? AND m.id <= ?)" for _ in talk)
        return said, tuple(value for one in talk for value in one)
    if kind == ItemKind.OBSERVATION:
        return in_descent(talk, "m")
    condition, ids = in_descent(talk, "o")
    return f"m.observation_id IS NULL OR {condition}", ids

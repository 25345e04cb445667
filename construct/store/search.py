"""Queries over the full-text indexes; `memory/recall` ranks what they find.

Some rows are not searchable: messages that are withheld, retried, empty or removed;
observations that are withheld or of undone cycles. Superseded observations are
searchable only with `Filters.all`, or with `Filters.as_of` if they were active then.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from itertools import chain, zip_longest
from typing import NamedTuple

from construct.clock import to_text
from construct.stems import fold, one_width
from construct.store.dates import FIRST_DAY_SQL, LAST_DAY_SQL
from construct.store.driver import Connection
from construct.store.observations import in_descent
from construct.store.passages import PART_BITS, row_of
from construct.store.records import LEFT_OUT_SQL, REMOVED, TO_FORGET_SQL, Descent
from construct.store.sql import ID_LIST, column, json_ids, scalar
from construct.vocabulary import ItemKind

KINDS = tuple(ItemKind)

_Condition = tuple[str, tuple[object, ...]]
_IS_SEARCHABLE_MESSAGE = f"""m.withheld = 0 AND m.retried = 0
    AND (m.content NOT IN ('', '{REMOVED}') OR m.attached IS NOT NULL)"""


@dataclass(frozen=True, slots=True)
class Filters:
    """What a search is restricted to. `since` and `until` are days, both included."""

    since: date | None = None
    until: date | None = None
    descent: Descent | None = None
    """Only this conversation and its ancestors. Notes kept on request always match."""
    kind: str | None = None
    role: str | None = None
    as_of: datetime | None = None
    """Search the memory as it was at this time."""
    all: bool = False
    """Include superseded observations."""
    exclude: tuple[int, ...] = ()
    """Ids of messages to ignore, such as the one being answered."""
    hidden: frozenset[int] = frozenset()
    """Ids of observations to ignore."""
    zone: tzinfo | None = None
    """The user's time zone, None for the system's."""
    for_model: bool = False
    """Whether the results go to a model.

    Then messages that are left out of requests, or that the user asked to forget, are not
    found.
    """

    def kinds(self) -> tuple[str, ...]:
        """Return the kinds to search. With a role it is messages only, as nothing else has one."""
        if self.role:
            return (ItemKind.MESSAGE,) if self.kind in (None, ItemKind.MESSAGE) else ()
        return (self.kind,) if self.kind else KINDS

    def restricts_messages(self) -> bool:
        """Return whether a filter other than `exclude` and `for_model` applies to messages."""
        filters = (self.since, self.until, self.descent, self.role, self.as_of)
        return any(value is not None for value in filters)


class Entry(NamedTuple):
    """A message or observation with the fields that ranking needs."""

    kind: str
    id: int
    conversation: int | None
    moment: str
    """When it was said or stored."""
    text: str
    role: str | None = None
    day: str | None = None
    """The date of an observation, or of a message at the place where it was written."""
    utc_offset: int | None = None
    """That place's, in minutes east, if it is known."""
    about: str | None = None
    """The first day of the date that an observation refers to."""
    about_until: str | None = None
    """The last day of that date."""
    generation: int | None = None
    priority: str | None = None
    stance: str | None = None
    state: str | None = None
    pasted: str | None = None
    """The parts of a message's text that are pasted (construct/pasted.py), as stored."""
    is_searchable: bool = True
    """Whether it may be a result; if not, it may only be read as context."""

    @property
    def key(self) -> tuple[str, int]:
        """Kind and id."""
        return self.kind, self.id


def _midnight(day: date, zone: tzinfo | None) -> str:
    try:
        return to_text(datetime.combine(day, time(), tzinfo=zone).astimezone(UTC))
    except (OverflowError, ValueError):  # the zone moved it beyond the first or last day there is
        return to_text(datetime.combine(day, time(), tzinfo=UTC))


def _days_later(day: date, days: int) -> date:
    """Return the day so many days later, or the first or last day there is."""
    try:
        return day + timedelta(days=days)
    except OverflowError:
        return date.min if days < 0 else date.max


def match(db: Connection, kind: str, expression: str, filters: Filters, limit: int) -> list[int]:
    """Return the ids that match an FTS5 expression, best first by bm25.

    An id comes once for each passage that matches. To save the join, messages are
    checked for being searchable only if a filter applies. So the result may have messages whose
    `Entry.is_searchable` is false.
    """
    table = _TABLES[kind]
    where: list[str] = []
    values: list[object] = []
    if kind != ItemKind.MESSAGE or filters.restricts_messages():
        where, values = _conditions(kind, filters)
    entry = _ENTRY_OF_ROW[kind].format("f.rowid")
    join = f"JOIN {table} AS m ON m.id = {entry} {_JOINS[kind]}" if where else ""
    query = f"""SELECT {entry} FROM {table}_fts AS f {join} WHERE {table}_fts MATCH ?
                {_and(where)} ORDER BY bm25({table}_fts), f.rowid LIMIT ?"""
    return column(db, query, (expression, *values, limit))


def containing(
    db: Connection, kind: str, pieces: Sequence[str], filters: Filters, newest: int
) -> list[int]:
    """Search the `newest` latest rows for any of `pieces`, even inside words.

    Returns the ids of the rows that contain one: those with the most of them first, then
    the newest. Meant for scripts without spaces.
    """
    where, values = _conditions(kind, filters)
    query = f"""SELECT m.id, {_FIELDS[kind]["text"]} FROM {_TABLES[kind]} AS m {_JOINS[kind]}
                WHERE 1 {_and(where)} ORDER BY m.id DESC LIMIT ?"""
    counts: dict[int, int] = {}
    has_latin = any(map(str.isascii, pieces))
    for row_id, text in db.execute(query, (*values, newest)):
        usual_text = fold(text) if has_latin else one_width(text).lower()
        if count := sum(piece in usual_text for piece in pieces):
            counts[row_id] = count
    return sorted(counts, key=lambda row_id: (-counts[row_id], -row_id))


def entries(db: Connection, kind: str, ids: Iterable[int], filters: Filters) -> list[Entry]:
    """Return the entries with these ids, ordered by id."""
    where, values = _conditions(kind, filters)
    moment = to_text(filters.as_of) if filters.as_of else _END_OF_TIME
    fields = _FIELDS[kind] | {"is_searchable": " AND ".join(where) or "1"}
    rows = db.execute(
        f"""SELECT {", ".join(fields.values())} FROM {_TABLES[kind]} AS m {_JOINS[kind]}
            WHERE m.id IN {ID_LIST} ORDER BY m.id""",
        (*[moment] * fields.get("state", "").count("?"), *values, json_ids(ids)),
    )
    return [Entry(kind, **dict(zip(fields, row, strict=True))) for row in rows]


def results(db: Connection, kind: str, ids: Iterable[int], filters: Filters) -> list[Entry]:
    """Return the entries with these ids that may be results, ordered by id."""
    return [entry for entry in entries(db, kind, ids, filters) if entry.is_searchable]


def within_days(
    db: Connection, kind: str, first: date, last: date, filters: Filters, limit: int
) -> list[Entry]:
    """Return the newest results of some days: said then, or about them."""
    if kind == ItemKind.MESSAGE:
        days = replace(
            filters,
            since=max(filter(None, (first, filters.since))),
            until=min(filter(None, (last, filters.until))),
        )
        # No place is more than a day away from UTC: the index on the time narrows it down.
        near: tuple[object, ...] = (
            _midnight(_days_later(first, -1), UTC),
            _midnight(_days_later(last, 2), UTC),
        )
        narrow = "m.created_at >= ? AND m.created_at < ?"
    else:
        days = filters
        about = FIRST_DAY_SQL.format("m.referenced_date")
        narrow = f"(m.observation_date BETWEEN ? AND ? OR {about} BETWEEN ? AND ?)"
        near = (first.isoformat(), last.isoformat()) * 2
    where, values = _conditions(kind, days)
    query = f"""SELECT m.id FROM {_TABLES[kind]} AS m {_JOINS[kind]}
                WHERE {narrow} {_and(where)} ORDER BY m.id DESC LIMIT ?"""
    return results(db, kind, column(db, query, (*near, *values, limit)), days)


def highest_id(db: Connection, kind: str) -> int:
    """Return the highest id: about the number of rows, without counting them."""
    return scalar(db, f"SELECT max(id) FROM {_TABLES[kind]}") or 0


def count_rows(db: Connection, kind: str) -> int:
    """Return how many rows a kind's full-text index has, without counting them.

    FTS5 keeps the number as a varint, the first of the record with the averages that bm25
    needs (https://www.sqlite.org/src/file/ext/fts5/fts5_index.c, FTS5_AVERAGES_ROWID).
    """
    record = scalar(db, f"SELECT block FROM {_TABLES[kind]}_fts_data WHERE id = 1") or b""
    number = 0
    for byte in record[:8]:
        number = number << 7 | byte & 0x7F
        if byte < 0x80:
            break
    return number


def matches_from(db: Connection, kind: str, expression: str, first: int) -> list[int]:
    """Return the matching ids from `first` on; lower ones are not read."""
    table = _TABLES[kind]
    first_row = row_of(first) if kind == ItemKind.MESSAGE else first
    query = f"""SELECT DISTINCT {_ENTRY_OF_ROW[kind].format("rowid")} FROM {table}_fts
                WHERE {table}_fts MATCH ? AND rowid >= ? ORDER BY rowid"""
    return column(db, query, (expression, first_row))  # descending order is slower


def newest_of_each(
    db: Connection, kind: str, expressions: Sequence[str], limit: int
) -> list[list[int]]:
    """Return the newest matching ids for each expression, newest first.

    A single statement looks them all up, since a statement costs more than a lookup.
    The time does not grow with the database.
    """
    table, entry = _TABLES[kind], _ENTRY_OF_ROW[kind].format("rowid")
    rows = db.execute(
        f"""SELECT (SELECT group_concat(entry) FROM (
              SELECT DISTINCT {entry} AS entry FROM {table}_fts WHERE {table}_fts MATCH value
              ORDER BY rowid DESC LIMIT ?))
            FROM json_each(?) ORDER BY key""",
        (limit, json.dumps(expressions)),
    )
    return [sorted(map(int, ids.split(",")), reverse=True) if ids else [] for (ids,) in rows]


def database_path(db: Connection) -> str:
    """Return the path of the database file, a key for caches."""
    return scalar(db, "SELECT file FROM pragma_database_list WHERE name = 'main'")


def observations_by_message(
    db: Connection, messages: Iterable[int]
) -> dict[int, list[tuple[int, str]]]:
    """Return (id, content) of the observations drawn from each message, by message id.

    Withheld observations are left out.
    """
    query = f"""SELECT s.message_id, o.id, o.content FROM observation_messages AS s
                JOIN observations AS o ON o.id = s.observation_id
                WHERE s.message_id IN {ID_LIST} AND s.direct AND o.withheld = 0 ORDER BY 1, 2"""
    by_message: dict[int, list[tuple[int, str]]] = {}
    for message_id, observation_id, content in db.execute(query, (json_ids(messages),)):
        by_message.setdefault(message_id, []).append((observation_id, content))
    return by_message


def resting_within(
    db: Connection,
    observations: Iterable[int],
    since: date | None,
    descent: Descent | None,
    zone: tzinfo | None,
) -> set[int]:
    """Return those of these observations that rest only on messages of these days and talks.

    All messages behind an observation count, and at least one is needed.
    """
    conditions = list(_within_days(ItemKind.MESSAGE, Filters(since=since, zone=zone)))
    if descent is not None:
        conditions.append(_within_descent(ItemKind.MESSAGE, descent))
    within = " AND ".join(f"({condition})" for condition, _ in conditions) or "1"
    query = f"""SELECT s.observation_id FROM observation_messages AS s
        JOIN messages AS m ON m.id = s.message_id WHERE s.observation_id IN {ID_LIST}
        GROUP BY s.observation_id HAVING min({within})"""
    values = chain.from_iterable(bound for _, bound in conditions)
    return set(column(db, query, (json_ids(observations), *values)))


def around(
    db: Connection, message: int, descent: Descent, filters: Filters, count: int
) -> list[int]:
    """Return the ids of up to `count` messages on each side of a message, nearest first.

    `descent`: the message's conversation, with those it continues.
    """
    where, values = _conditions(ItemKind.MESSAGE, filters)
    condition, bound = _within_descent(ItemKind.MESSAGE, descent)
    where.append(f"({condition})")
    sides = []
    for side, order in (("m.id < ?", "DESC"), ("m.id > ?", "ASC")):
        query = f"""SELECT m.id FROM messages AS m WHERE {side} {_and(where)}
                    ORDER BY m.id {order} LIMIT ?"""
        sides.append(column(db, query, (message, *values, *bound, count)))
    pairs = zip_longest(*sides)
    return [one for one in chain.from_iterable(pairs) if one is not None]


def frequencies(db: Connection, kind: str, stems: Sequence[str]) -> dict[str, int]:
    """Return in how many passages of a kind each stem occurs."""
    sql = f"SELECT doc FROM {_vocabulary(db, kind)} WHERE term = ?"
    return {stem: scalar(db, sql, (stem,)) or 0 for stem in stems}


def terms_among(db: Connection, stems: Iterable[str]) -> set[str]:
    """Return the stems that occur in the index of any kind."""
    is_indexed = " OR ".join(
        f"EXISTS (SELECT 1 FROM {_instances(db, kind)} WHERE term = value)" for kind in KINDS
    )
    return set(
        column(
            db, f"SELECT value FROM json_each(?) WHERE {is_indexed}", (json.dumps(sorted(stems)),)
        )
    )


def terms_beginning(db: Connection, letters: str, limit: int) -> set[str]:
    """Return stems that begin with these letters, at most `limit` from each kind's index."""
    terms: set[str] = set()
    for kind in KINDS:
        sql = f"SELECT term FROM {_vocabulary(db, kind)} WHERE term >= ? AND term < ? LIMIT ?"
        terms.update(column(db, sql, (letters, letters + "\U0010ffff", limit)))
    return terms


def rows_of_term(db: Connection, kind: str, term: str, limit: int) -> list[int]:
    """Return the ids of the oldest rows that contain an indexed term."""
    entry = _ENTRY_OF_ROW[kind].format("doc")
    sql = f"""SELECT DISTINCT {entry} FROM (
                  SELECT doc FROM {_instances(db, kind)} WHERE term = ? LIMIT ?)"""
    return column(db, sql, (term, limit))


def _vocabulary(db: Connection, kind: str) -> str:
    table = _TABLES[kind]
    db.execute(
        f"""CREATE VIRTUAL TABLE IF NOT EXISTS temp.{table}_vocab
            USING fts5vocab(main, {table}_fts, row)"""
    )
    return f"temp.{table}_vocab"


def _instances(db: Connection, kind: str) -> str:
    table = _TABLES[kind]
    db.execute(
        f"""CREATE VIRTUAL TABLE IF NOT EXISTS temp.{table}_instances
            USING fts5vocab(main, {table}_fts, instance)"""
    )
    return f"temp.{table}_instances"


def newest_excerpts(
    db: Connection, expression: str, limit: int, length: int
) -> list[tuple[int, str, str]]:
    """Return (conversation id, role, text) of the newest matching messages.

    Each text is cut to `length` characters.
    """
    return db.execute(
        f"""SELECT m.conversation_id, m.role, substr(m.content, 1, ?) FROM (
               SELECT DISTINCT rowid >> {PART_BITS} AS id FROM messages_fts
               WHERE messages_fts MATCH ? ORDER BY rowid DESC LIMIT ?) AS f
            JOIN messages AS m ON m.id = f.id""",
        (length, expression, limit),
    ).fetchall()


_TABLES: Mapping[str, str] = {
    ItemKind.MESSAGE: "messages",
    ItemKind.OBSERVATION: "observations",
}
_ENTRY_OF_ROW = {"message": f"({{}} >> {PART_BITS})", "observation": "{}"}
"""The SQL for the id of an entry, from that of a row in its full-text index."""
_JOINS = {"message": "", "observation": "JOIN cycles AS c ON c.id = m.cycle_id"}
_DAYS = {
    "message": "date(m.created_at, m.utc_offset || ' minutes')",
    "observation": "m.observation_date",
}
"""The SQL for the day of an entry, NULL for a message that was written nobody knows where."""
_END_OF_TIME = "9999"
"""Later than any stored time."""
_COMMON_FIELDS = {
    "id": "m.id",
    "conversation": "m.conversation_id",
    "moment": "m.created_at",
    "text": "m.content",
}
_FIELDS = {
    "message": _COMMON_FIELDS
    | {
        "text": """CASE WHEN m.attached IS NULL THEN m.content WHEN m.content = '' THEN m.attached
                   ELSE m.attached || char(10) || m.content END""",
        "role": "m.role", "day": _DAYS["message"], "utc_offset": "m.utc_offset",
        "pasted": "m.pasted",
    },
    "observation": _COMMON_FIELDS
    | {
        "day": "m.observation_date", "about": FIRST_DAY_SQL.format("m.referenced_date"),
        "about_until": LAST_DAY_SQL.format("m.referenced_date"),
        "generation": "m.generation", "priority": "m.priority", "stance": "m.stance",
        "state": """CASE WHEN m.superseded_at <= ? THEN 'superseded'
                    WHEN ifnull(m.committed_at > ?, 1) THEN 'pending'
                    WHEN m.shelved AND NOT m.pinned THEN 'shelved' ELSE 'active' END""",
    },
}  # fmt: skip
"""The SQL for each field of an `Entry`, by kind."""


def _and(where: Sequence[str]) -> str:
    return "".join(f" AND {condition}" for condition in where)


def _conditions(kind: str, filters: Filters) -> tuple[list[str], list[object]]:
    """Return SQL conditions on a kind's rows and their values, in the same order."""
    conditions = [*_in_force(kind, filters), *_within_days(kind, filters)]
    if filters.descent is not None:
        conditions.append(_within_descent(kind, filters.descent))
    if filters.role and kind == ItemKind.MESSAGE:
        conditions.append(("m.role = ?", (filters.role,)))
    if filters.exclude and kind == ItemKind.MESSAGE:
        conditions.append((f"m.id NOT IN {ID_LIST}", (json_ids(filters.exclude),)))
    if filters.hidden and kind == ItemKind.OBSERVATION:
        conditions.append((f"m.id NOT IN {ID_LIST}", (json_ids(filters.hidden),)))
    values = chain.from_iterable(bound for _, bound in conditions)
    return [f"({condition})" for condition, _ in conditions], list(values)


def _in_force(kind: str, filters: Filters) -> Iterator[_Condition]:
    """Yield the conditions for being in force, now or at the time of `filters.as_of`."""
    as_of = (to_text(filters.as_of),) if filters.as_of else ()
    if kind == ItemKind.MESSAGE:
        yield _IS_SEARCHABLE_MESSAGE, ()
        if filters.for_model:
            yield f"NOT {LEFT_OUT_SQL} AND m.id NOT IN {TO_FORGET_SQL}", ()
    if kind == ItemKind.OBSERVATION:
        yield "c.status <> 'reverted' AND m.withheld = 0", ()
    if as_of:
        begin = "committed_at" if kind == ItemKind.OBSERVATION else "created_at"
        yield f"m.{begin} <= ?", as_of
    if kind != ItemKind.MESSAGE and not filters.all:
        or_later = " OR m.superseded_at > ?" if as_of else ""
        yield f"m.superseded_at IS NULL{or_later}", as_of


def _within_days(kind: str, filters: Filters) -> Iterator[_Condition]:
    """Yield the conditions on the day: where it was written, or else the user's."""
    observed = _DAYS[kind]
    if filters.since:
        midnight = _midnight(filters.since, filters.zone)
        yield f"ifnull({observed} >= ?, m.created_at >= ?)", (filters.since.isoformat(), midnight)
    if filters.until and filters.until < date.max:
        midnight = _midnight(filters.until + timedelta(days=1), filters.zone)
        yield f"ifnull({observed} <= ?, m.created_at < ?)", (filters.until.isoformat(), midnight)


def _within_descent(kind: str, descent: Descent) -> _Condition:
    if kind == ItemKind.MESSAGE:
        said = " OR ".join("(m.conversation_id = ? AND m.id <= ?)" for _ in descent)
        return said, tuple(chain.from_iterable(descent))
    return in_descent(descent, "m")

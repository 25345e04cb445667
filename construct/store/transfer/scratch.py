"""The scratch database that every file becomes first: our own tables, attached as `scratch`.

It is a temporary file that SQLite makes 0600 and unlinks at once, so nothing of it is left
whatever becomes of this process. Filling it locks nobody out.
"""

import json
import sqlite3
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import chain, groupby, islice
from typing import Any

from construct.clock import from_text
from construct.errors import ConstructError
from construct.store.attachments import digest
from construct.store.invariants import violations
from construct.store.messages import message_tokens
from construct.store.sql import GIVEN, column, insert, scalar
from construct.store.transfer.format import (
    KINDS,
    OUTDATED,
    Field,
    Kind,
    RefusedError,
    SqlValue,
    kinds_of,
    parse,
    uid,
)
from construct.store.transfer.shapes import Said, Talk, hand_made, identity
from construct.text import shorten
from construct.vocabulary import CycleKind, Relation, Role

CACHE_KB = 64_000
"""The indexes of hundreds of thousands of messages: with SQLite's own 2 MB storing them takes
half as long again."""
_TABLES = [*(kind.table for kind in KINDS.values()), "observation_messages", "observation_sources"]
_SCHEMA = f"""SELECT sql FROM main.sqlite_master
              WHERE type = '{{}}' AND tbl_name IN {GIVEN} AND sql IS NOT NULL"""
_MESSAGES_AT_ONCE = 500
"""A conversation may be larger than memory."""


@contextmanager
def attached(db: sqlite3.Connection) -> Iterator[None]:
    """Attach an empty scratch database for the block, in which foreign keys are not enforced.

    They need not be, since every reference is looked up here. To be able to take a
    statement back for one, SQLite copies every page that it changes: a third of the time.
    """
    db.execute("PRAGMA foreign_keys = OFF")
    db.execute("ATTACH '' AS scratch")
    try:
        db.execute(f"PRAGMA scratch.cache_size = -{CACHE_KB}")
        for sql in column(db, _SCHEMA.format("table"), (json.dumps(_TABLES),)):
            made = sql.replace("CREATE TABLE ", "CREATE TABLE scratch.", 1)
            db.execute(made.replace(" AUTOINCREMENT", ""))
        yield
    finally:
        db.execute("PRAGMA foreign_keys = ON")
        with suppress(sqlite3.OperationalError):  # a disk that fails now spoils only the scratch
            db.execute("DETACH scratch")


def refuse_violations(broken: list[str], *advice: str) -> None:
    """Raise RefusedError with the first of these violations, if there are any."""
    if broken:
        more = f" ({len(broken) - 1} more like this)" if len(broken) > 1 else ""
        raise RefusedError("", broken[0].rstrip(".") + more, *advice)


@contextmanager
def filling(db: sqlite3.Connection) -> Iterator[None]:
    """Fill the scratch database in the block, in one transaction, and check it afterwards.

    Raises RefusedError for what breaks an invariant, and ConstructError where there is no
    room: it is not the database's disk which is full.
    """
    db.execute("BEGIN")
    try:
        yield
        for sql in column(db, _SCHEMA.format("index"), (json.dumps(_TABLES),)):  # cheaper now
            db.execute(sql.replace("INDEX ", "INDEX scratch.", 1))
        refuse_violations(violations(db, schema="scratch"))
        db.execute("COMMIT")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorname != "SQLITE_FULL":
            raise
        raise ConstructError(
            "The folder for temporary files is full: a file is kept there while it is read.\n"
            "Nothing was imported. Make room, or name another folder with SQLITE_TMPDIR."
        ) from error
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")


class ExportLines:
    """The lines of an own export on their way into the scratch database, ids and all."""

    def __init__(self, db: sqlite3.Connection, version: int) -> None:
        self.counts: Counter[str] = Counter()
        self._db = db
        self._kinds = kinds_of(version)
        self._newest_message = 0
        self._latest: dict[str, tuple[SqlValue, int | None]] = {}
        """What was found last: a hundred messages in a row name one conversation."""
        self._later: list[tuple[int, Kind, Field, SqlValue, str]] = []
        """What may stand further down: (line, kind, field, id, uid of what is named)."""

    def take(self, number: int, record: Mapping[str, Any]) -> None:
        """Store what a line says. Raises RefusedError naming it."""
        try:
            self._store(number, record)
        except ValueError as error:
            raise RefusedError(f"line {number}", error) from None
        except sqlite3.IntegrityError:
            why = "it stands there twice, or contradicts a line above"
            raise RefusedError(f"line {number}", why) from None

    def finish(self) -> None:
        """Settle what depends on the whole file. Raises RefusedError naming a line."""
        for number, kind, field, row_id, name in self._later:
            found = self._find(field.ref, name)
            if found is None:
                why = f"it names {name}, and no {field.ref} in the file has that uid"
                raise RefusedError(f"line {number}", why)
            query = f"UPDATE scratch.{kind.table} SET {field.column} = ? WHERE id = ?"
            self._db.execute(query, (found, row_id))

    def _store(self, number: int, record: Mapping[str, Any]) -> None:
        name = record.get("type")
        if not isinstance(name, str) or name not in self._kinds:
            given = f"“{shorten(name, 40)}”" if isinstance(name, str) else "no word"
            raise ValueError(f'"type" must be one that an export has, and is {given}')
        kind = self._kinds[name]
        values = parse(kind, record)
        self.counts[name] += 1
        row = {key: values[key] for key in ("id", "uid") if kind.keyed}
        for field in kind.fields:
            value = values[field.key]
            if field.later and value is not None:
                self._later.append((number, kind, field, values["id"], str(value)))
                value = None
            row[field.column] = self._named(field.ref, field.key, value) if field.ref else value
        if name == "shown" and values["block"] == 0:
            return  # what fell off the budget, as earlier versions wrote it
        if name == "message":
            self._check_order(values["id"])
            _check_notebook(values)
        if name == "attachment":
            self._check_attachment(row)
        if kind is OUTDATED:
            query = "SELECT kind FROM scratch.cycles WHERE id = ?"
            is_edit = scalar(self._db, query, (row["cycle_id"],)) == CycleKind.EDIT
            row["relation"] = Relation.EDIT if is_edit else Relation.OUTDATED
        if name == "tombstone":  # two of one message say the same
            query = "INSERT OR IGNORE INTO scratch.tombstones VALUES (?, ?)"
            self._db.execute(query, (*row.values(),))
            return
        insert(self._db, f"scratch.{kind.table}", row)
        if name == "observation":
            self._link(values["id"], "messages", "message", record.get("messages", []))
            self._link(values["id"], "sources", "observation", record.get("sources", []))

    def _check_order(self, row_id: SqlValue) -> None:
        assert isinstance(row_id, int)
        if row_id <= self._newest_message:
            raise ValueError("messages stand in the order of their ids, and this one does not")
        self._newest_message = row_id

    def _check_attachment(self, row: Mapping[str, SqlValue]) -> None:
        """Raise ValueError for a file that is not what its line says."""
        from construct.attachments import Attachment, attachment_name, is_kept

        data, name, media_type = row["data"], str(row["name"]), str(row["media_type"])
        assert isinstance(data, bytes)
        if (row["size"], row["sha256"]) != (len(data), digest(data)):
            raise ValueError('"data" is not what "size" and "sha256" say')
        if attachment_name(name) != name:
            raise ValueError('"name" is none that an attachment has')
        if not is_kept(Attachment(name, media_type, data)):
            raise ValueError(f'"data" is not of the type {shorten(media_type, 40)}, or too large')
        query = "SELECT role FROM scratch.messages WHERE id = ?"
        if scalar(self._db, query, (row["message_id"],)) != Role.USER:
            raise ValueError("only the user's messages have attachments")

    def _find(self, kind: str, name: SqlValue) -> int | None:
        latest = self._latest.get(kind)
        if latest is None or latest[0] != name:
            query = f"SELECT id FROM scratch.{KINDS[kind].table} WHERE uid = ?"
            latest = self._latest[kind] = name, scalar(self._db, query, (name,))
        return latest[1]

    def _named(self, kind: str, key: str, name: SqlValue) -> int | None:
        if name is None:
            return None
        found = self._find(kind, name)
        if found is None:
            raise ValueError(f'"{key}" names {name!s}, and no {kind} above has that uid')
        return found

    def _link(self, row_id: SqlValue, key: str, kind: str, names: Any) -> None:
        if not isinstance(names, list):
            raise ValueError(f'"{key}" must be a list of uids')  # noqa: TRY004 (a file's value)
        try:
            uids = [uid(name) for name in names]
        except ValueError as error:
            raise ValueError(f'in "{key}" each {error}') from None
        rows = [(row_id, self._named(kind, kind, name)) for name in uids]
        self._db.executemany(f"INSERT OR IGNORE INTO scratch.observation_{key} VALUES (?, ?)", rows)


def _check_notebook(message: Mapping[str, SqlValue]) -> None:
    """Raise ValueError for a notebook's reply that has words of its own, or is the user's."""
    is_notebooks = str(message["blocks"] or "").startswith("{")
    if is_notebooks and (message["content"] or message["role"] != Role.ASSISTANT):
        raise ValueError("a notebook's reply must be the assistant's, without content")


class Talks:
    """Other programs' conversations on their way into the scratch database, archived.

    Messages that are known are passed over. The others go on their conversation; what would
    have to stand before what it holds already becomes a conversation of its own.
    """

    def __init__(self, db: sqlite3.Connection, now: str) -> None:
        self.known = 0
        self._db = db
        self._now = now
        self._newest: dict[str, str] = {}
        """When the newest message of each conversation was said, by uid."""

    def take(self, talk: Talk) -> None:
        """Store a talk."""
        said = iter(talk.said)
        conversation_id, name = 0, ""
        while some := list(islice(said, _MESSAGES_AT_ONCE)):
            new = self._new(some)
            self.known += len(some) - len(new)
            if not new:
                continue
            if not conversation_id:
                conversation_id, name = self._conversation_for(talk, new[0])
            self._newest[name] = self._time(talk, new[-1])
            self._db.executemany(
                """INSERT INTO scratch.messages
                       (uid, conversation_id, role, content, archived, token_count, created_at)
                   VALUES (?, ?, ?, ?, 1, ?, ?)""",
                [
                    (s.uid, conversation_id, s.role, s.content, message_tokens(s.content),
                     self._time(talk, s))
                    for s in new
                ],
            )  # fmt: skip

    def _time(self, talk: Talk, said: Said) -> str:
        return said.created_at or talk.created_at or self._now

    def _new(self, said: Sequence[Said]) -> list[Said]:
        uids = json.dumps([s.uid for s in said])
        known: set[str] = set()
        for schema in ("main", "scratch"):
            query = f"SELECT uid FROM {schema}.messages WHERE uid IN {GIVEN}"
            known.update(column(self._db, query, (uids,)))
        new: dict[str, Said] = {}
        for message in said:
            if message.uid not in known:
                new.setdefault(message.uid, message)
        return list(new.values())

    def _conversation_for(self, talk: Talk, first: Said) -> tuple[int, str]:
        """Return id and uid of where a talk's new messages go, made if need be."""
        begins = self._time(talk, first)
        name = talk.uid
        last = self._last_time(name)
        if last is not None and from_text(last) > from_text(begins):
            name = identity("late", talk.uid, first.uid)
        found = scalar(self._db, "SELECT id FROM scratch.conversations WHERE uid = ?", (name,))
        if found is None:
            titled_by = "user" if talk.title else None
            created_at = talk.created_at or begins
            row = {
                "uid": name,
                "title": talk.title,
                "titled_by": titled_by,
                "created_at": created_at,
            }
            found = insert(self._db, "scratch.conversations", row)
        return found, name

    def _last_time(self, name: str) -> str | None:
        here = """SELECT created_at FROM main.messages WHERE conversation_id =
                  (SELECT id FROM main.conversations WHERE uid = ?) ORDER BY id DESC LIMIT 1"""
        return self._newest.get(name) or scalar(self._db, here, (name,))


class HandMadeLines:
    """Lines of messages, each with the title of its conversation, until all have been read."""

    def __init__(self, db: sqlite3.Connection, now: str) -> None:
        self._db = db
        self._now = now
        self._numbers: dict[str, int] = {}
        self._last_time: dict[str, str] = {}
        db.execute(
            "CREATE TABLE scratch.lines (talk INTEGER, title TEXT, role TEXT, content TEXT,"
            " created_at TEXT, has_time INTEGER, number INTEGER PRIMARY KEY)"
        )

    def take(self, number: int, record: Mapping[str, Any]) -> None:
        """Keep a message. Raises RefusedError naming the line."""
        try:
            line = hand_made(record)
        except ValueError as error:
            raise RefusedError(f"line {number}", error) from None
        talk = self._numbers.setdefault(line.title, len(self._numbers))
        created_at = line.created_at or self._last_time.get(line.title) or self._now
        self._last_time[line.title] = created_at
        has_time = line.created_at is not None
        row = (talk, line.title, line.role, line.content, created_at, has_time, number)
        self._db.execute("INSERT INTO scratch.lines VALUES (?, ?, ?, ?, ?, ?, ?)", row)

    def talks(self) -> Generator[Talk, None, None]:
        """Yield the conversations, their messages in order of time."""
        rows = self._db.execute("SELECT * FROM scratch.lines ORDER BY talk, created_at, number")
        for _, lines in groupby(rows, key=lambda row: row[0]):
            said = _said(lines)
            title, first = next(said)
            name = identity("hand-made", title, first.uid)
            yield Talk(name, title, None, chain([first], (message for _, message in said)))


def _said(lines: Iterable[tuple[Any, ...]]) -> Iterator[tuple[str, Said]]:
    """Yield the messages of one conversation, each with its title.

    The identity of a message is what it says, when, and for the how manieth time.
    """
    times: Counter[str] = Counter()
    for _, title, role, content, created_at, has_time, _ in lines:
        same = identity("hand-made", title, role, content, created_at if has_time else None)
        times[same] += 1
        yield title, Said(identity(same, times[same]), role, content, created_at)

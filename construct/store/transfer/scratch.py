"""The scratch database, into which every file is read first.

It has our own tables and is attached as `scratch`. It is a temporary file that SQLite
creates with mode 0600 and unlinks at once, so it never outlives this process. Filling it
does not lock the main database.
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
from construct.store.sql import ID_LIST, column, insert, scalar
from construct.store.transfer.format import (
    KINDS,
    OUTDATED,
    Field,
    Kind,
    SqlValue,
    kinds_of,
    parse,
    uid,
)
from construct.store.transfer.refused import RefusedError
from construct.store.transfer.shapes import (
    ImportedConversation,
    ImportedMessage,
    hand_made,
    stable_uid,
)
from construct.text import shorten
from construct.vocabulary import CycleKind, Relation, Role

CACHE_KB = 64_000
"""Page cache during an import.

With SQLite's default of 2 MB, storing hundreds of thousands of messages takes 50 % longer,
because of their indexes.
"""
_TABLES = [*(kind.table for kind in KINDS.values()), "observation_messages", "observation_sources"]
_SCHEMA = f"""SELECT sql FROM main.sqlite_master
              WHERE type = '{{}}' AND tbl_name IN {ID_LIST} AND sql IS NOT NULL"""
_MESSAGES_AT_ONCE = 500
"""How many messages of a conversation are held, as it may be larger than memory."""


@contextmanager
def attached(db: sqlite3.Connection) -> Iterator[None]:
    """Attach an empty scratch database for the block, without enforcing foreign keys.

    The import looks up every reference itself. Enforcing them would take half as long
    again, since SQLite copies each changed page to be able to undo a statement.
    """
    db.execute("PRAGMA foreign_keys = OFF")
    db.execute("ATTACH '' AS scratch")
    try:
        db.execute(f"PRAGMA scratch.cache_size = -{CACHE_KB}")
        for sql in column(db, _SCHEMA.format("table"), (json.dumps(_TABLES),)):
            statement = sql.replace("CREATE TABLE ", "CREATE TABLE scratch.", 1)
            db.execute(statement.replace(" AUTOINCREMENT", ""))
        yield
    finally:
        db.execute("PRAGMA foreign_keys = ON")
        with suppress(
            sqlite3.OperationalError
        ):  # a disk error now only affects the scratch database
            db.execute("DETACH scratch")


def refuse_violations(broken: list[str], *advice: str) -> None:
    """Raise RefusedError with the first of these violations, if there is one."""
    if broken:
        more = f" ({len(broken) - 1} more like this)" if len(broken) > 1 else ""
        raise RefusedError("", broken[0].rstrip(".") + more, *advice)


@contextmanager
def filling(db: sqlite3.Connection) -> Iterator[None]:
    """Fill the scratch database in the block, in one transaction, and check it afterwards.

    Raises RefusedError if an invariant is violated, and ConstructError if the disk for
    temporary files is full, which may be another than the database's.
    """
    db.execute("BEGIN")
    try:
        yield
        for sql in column(
            db, _SCHEMA.format("index"), (json.dumps(_TABLES),)
        ):  # cheaper after the rows
            db.execute(sql.replace("INDEX ", "INDEX scratch.", 1))
        refuse_violations(violations(db, schema="scratch"))
        db.execute("COMMIT")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorname != "SQLITE_FULL":
            raise
        raise ConstructError(
            "The folder for temporary files is full. Nothing was imported.\n"
            "Free some space there, or name another folder with SQLITE_TMPDIR."
        ) from error
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")


class ExportLines:
    """Reads the lines of our own JSONL export into the scratch database, with their ids."""

    def __init__(self, db: sqlite3.Connection, version: int) -> None:
        self.counts: Counter[str] = Counter()
        self._db = db
        self._kinds = kinds_of(version)
        self._newest_message = 0
        self._last_lookup: dict[str, tuple[SqlValue, int | None]] = {}
        """The uid last looked up, by kind, with its id: many lines in a row name the same."""
        self._forward: list[tuple[int, Kind, Field, SqlValue, str]] = []
        """References that may be to later lines: (line number, kind, field, id, target uid)."""

    def add(self, number: int, record: Mapping[str, Any]) -> None:
        """Store a line. Raises RefusedError with its number."""
        try:
            self._store(number, record)
        except ValueError as error:
            raise RefusedError(f"line {number}", error) from None
        except sqlite3.IntegrityError:
            why = "it appears twice, or contradicts an earlier line"
            raise RefusedError(f"line {number}", why) from None

    def finish(self) -> None:
        """Resolve references to later lines. Raises RefusedError with the number of a line."""
        for number, kind, field, row_id, target_uid in self._forward:
            target_id = self._find(field.ref, target_uid)
            if target_id is None:
                why = f"it refers to {target_uid}, but no {field.ref} in the file has that uid"
                raise RefusedError(f"line {number}", why)
            update = f"UPDATE scratch.{kind.table} SET {field.column} = ? WHERE id = ?"
            self._db.execute(update, (target_id, row_id))

    def _store(self, number: int, record: Mapping[str, Any]) -> None:
        name = record.get("type")
        if not isinstance(name, str) or name not in self._kinds:
            actual = f"“{shorten(name, 40)}”" if isinstance(name, str) else "not text"
            raise ValueError(f'"type" must be one that an export has, but is {actual}')
        kind = self._kinds[name]
        values = parse(kind, record)
        self.counts[name] += 1
        row = {key: values[key] for key in ("id", "uid") if kind.keyed}
        for field in kind.fields:
            value = values[field.key]
            if field.later and value is not None:
                self._forward.append((number, kind, field, values["id"], str(value)))
                value = None
            row[field.column] = self._resolved(field.ref, field.key, value) if field.ref else value
        if name == "shown" and values["block"] == 0:
            return  # earlier versions wrote this for what did not fit the budget
        if name == "message":
            self._check_order(values["id"])
            _check_notebook(values)
        if name == "attachment":
            self._check_attachment(row)
        if kind is OUTDATED:
            query = "SELECT kind FROM scratch.cycles WHERE id = ?"
            is_edit = scalar(self._db, query, (row["cycle_id"],)) == CycleKind.EDIT
            row["relation"] = Relation.EDIT if is_edit else Relation.OUTDATED
        if name == "tombstone":  # a message may have two
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
            raise ValueError("messages must be in the order of their ids")
        self._newest_message = row_id

    def _check_attachment(self, row: Mapping[str, SqlValue]) -> None:
        """Raise ValueError if an attachment is not what its line says."""
        from construct.attachments import Attachment, attachment_name, is_kept

        data, name, media_type = row["data"], str(row["name"]), str(row["media_type"])
        assert isinstance(data, bytes)
        if (row["size"], row["sha256"]) != (len(data), digest(data)):
            raise ValueError('"data" does not match "size" and "sha256"')
        if attachment_name(name) != name:
            raise ValueError('"name" is not allowed for an attachment')
        if not is_kept(Attachment(name, media_type, data)):
            raise ValueError(f'"data" is not of the type {shorten(media_type, 40)}, or too large')
        query = "SELECT role FROM scratch.messages WHERE id = ?"
        if scalar(self._db, query, (row["message_id"],)) != Role.USER:
            raise ValueError("only the user's messages have attachments")

    def _find(self, kind: str, row_uid: SqlValue) -> int | None:
        last = self._last_lookup.get(kind)
        if last is None or last[0] != row_uid:
            query = f"SELECT id FROM scratch.{KINDS[kind].table} WHERE uid = ?"
            last = self._last_lookup[kind] = row_uid, scalar(self._db, query, (row_uid,))
        return last[1]

    def _resolved(self, kind: str, key: str, row_uid: SqlValue) -> int | None:
        """Return the id of the row with a uid. Raises ValueError if it was not read yet."""
        if row_uid is None:
            return None
        row_id = self._find(kind, row_uid)
        if row_id is None:
            raise ValueError(f'"{key}" refers to {row_uid!s}, but no {kind} above has that uid')
        return row_id

    def _link(self, row_id: SqlValue, key: str, kind: str, names: Any) -> None:
        if not isinstance(names, list):
            raise ValueError(f'"{key}" must be a list of uids')  # noqa: TRY004 (a file's value)
        try:
            uids = [uid(name) for name in names]
        except ValueError as error:
            raise ValueError(f'in "{key}" each {error}') from None
        rows = [(row_id, self._resolved(kind, kind, name)) for name in uids]
        self._db.executemany(f"INSERT OR IGNORE INTO scratch.observation_{key} VALUES (?, ?)", rows)


def _check_notebook(message: Mapping[str, SqlValue]) -> None:
    """Raise ValueError for a notebook's reply that has content, or is a user message."""
    is_notebook_reply = str(message["blocks"] or "").startswith("{")
    if is_notebook_reply and (message["content"] or message["role"] != Role.ASSISTANT):
        raise ValueError("a notebook's reply must have the role assistant and no content")


class ConversationWriter:
    """Adds conversations of other programs to the scratch database, archived.

    Messages that are already known are skipped. New ones continue their conversation. If
    they are older than what it already has, they become a new conversation.
    """

    def __init__(self, db: sqlite3.Connection, now: str) -> None:
        self.known = 0
        """Number of messages skipped."""
        self._db = db
        self._now = now
        self._newest: dict[str, str] = {}
        """The time of the newest message added, by the conversation's uid."""

    def add(self, conversation: ImportedConversation) -> None:
        """Add a conversation."""
        messages = iter(conversation.messages)
        conversation_id, conversation_uid = 0, ""
        while batch := list(islice(messages, _MESSAGES_AT_ONCE)):
            new = self._without_known(batch)
            self.known += len(batch) - len(new)
            if not new:
                continue
            if not conversation_id:
                conversation_id, conversation_uid = self._conversation_for(conversation, new[0])
            self._newest[conversation_uid] = self._time(conversation, new[-1])
            self._db.executemany(
                """INSERT INTO scratch.messages
                       (uid, conversation_id, role, content, archived, token_count, created_at)
                   VALUES (?, ?, ?, ?, 1, ?, ?)""",
                [
                    (
                        message.uid,
                        conversation_id,
                        message.role,
                        message.content,
                        message_tokens(message.content),
                        self._time(conversation, message),
                    )
                    for message in new
                ],
            )

    def _time(self, conversation: ImportedConversation, message: ImportedMessage) -> str:
        return message.created_at or conversation.created_at or self._now

    def _without_known(self, messages: Sequence[ImportedMessage]) -> list[ImportedMessage]:
        """Return the messages that are in neither database yet, each once."""
        uids = json.dumps([message.uid for message in messages])
        known: set[str] = set()
        for schema in ("main", "scratch"):
            query = f"SELECT uid FROM {schema}.messages WHERE uid IN {ID_LIST}"
            known.update(column(self._db, query, (uids,)))
        new: dict[str, ImportedMessage] = {}
        for message in messages:
            if message.uid not in known:
                new.setdefault(message.uid, message)
        return list(new.values())

    def _conversation_for(
        self, conversation: ImportedConversation, first: ImportedMessage
    ) -> tuple[int, str]:
        """Return the id and uid of the conversation for new messages, created if necessary."""
        begins = self._time(conversation, first)
        conversation_uid = conversation.uid
        last = self._last_time(conversation_uid)
        if last is not None and from_text(last) > from_text(begins):
            conversation_uid = stable_uid("late", conversation.uid, first.uid)
        query = "SELECT id FROM scratch.conversations WHERE uid = ?"
        conversation_id = scalar(self._db, query, (conversation_uid,))
        if conversation_id is None:
            row = {
                "uid": conversation_uid,
                "title": conversation.title,
                "titled_by": "user" if conversation.title else None,
                "created_at": conversation.created_at or begins,
            }
            conversation_id = insert(self._db, "scratch.conversations", row)
        return conversation_id, conversation_uid

    def _last_time(self, conversation_uid: str) -> str | None:
        stored = """SELECT created_at FROM main.messages WHERE conversation_id =
                  (SELECT id FROM main.conversations WHERE uid = ?) ORDER BY id DESC LIMIT 1"""
        newest = self._newest.get(conversation_uid)
        return newest or scalar(self._db, stored, (conversation_uid,))


class HandMadeLines:
    """Collects hand-made lines, one message each, and groups them into conversations."""

    def __init__(self, db: sqlite3.Connection, now: str) -> None:
        self._db = db
        self._now = now
        self._numbers: dict[str, int] = {}
        self._last_time: dict[str, str] = {}
        db.execute(
            "CREATE TABLE scratch.lines (conversation INTEGER, title TEXT, role TEXT, content TEXT,"
            " created_at TEXT, has_time INTEGER, number INTEGER PRIMARY KEY)"
        )

    def add(self, number: int, record: Mapping[str, Any]) -> None:
        """Store a line. Raises RefusedError with its number."""
        try:
            line = hand_made(record)
        except ValueError as error:
            raise RefusedError(f"line {number}", error) from None
        conversation = self._numbers.setdefault(line.title, len(self._numbers))
        created_at = line.created_at or self._last_time.get(line.title) or self._now
        self._last_time[line.title] = created_at
        has_time = line.created_at is not None
        row = (conversation, line.title, line.role, line.content, created_at, has_time, number)
        self._db.execute("INSERT INTO scratch.lines VALUES (?, ?, ?, ?, ?, ?, ?)", row)

    def conversations(self) -> Generator[ImportedConversation, None, None]:
        """Yield the conversations with their messages in order of time."""
        rows = self._db.execute(
            "SELECT * FROM scratch.lines ORDER BY conversation, created_at, number"
        )
        for _, lines in groupby(rows, key=lambda row: row[0]):
            said = _messages(lines)
            title, first = next(said)
            conversation_uid = stable_uid("hand-made", title, first.uid)
            yield ImportedConversation(
                conversation_uid, title, None, chain([first], (message for _, message in said))
            )


def _messages(lines: Iterable[tuple[Any, ...]]) -> Iterator[tuple[str, ImportedMessage]]:
    """Yield (conversation title, message) for the lines of one conversation.

    A message's uid is derived from its text, time and how often it occurred before.
    """
    occurrences: Counter[str] = Counter()
    for _, title, role, content, created_at, has_time, _ in lines:
        key = stable_uid("hand-made", title, role, content, created_at if has_time else None)
        occurrences[key] += 1
        yield title, ImportedMessage(stable_uid(key, occurrences[key]), role, content, created_at)

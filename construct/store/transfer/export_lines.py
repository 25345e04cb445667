"""Reads the lines of our own JSONL export into a database."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from construct.store.attachments import digest
from construct.store.driver import Connection, integrity_errors
from construct.store.sql import exists, insert, scalar
from construct.store.transfer.checks import SqlValue, uid
from construct.store.transfer.format import Field, Kind, parse
from construct.store.transfer.refused import RefusedError
from construct.text import shorten
from construct.vocabulary import CycleKind, Replacement, Role


class ExportLines:
    """Stores the lines of an export as rows of a database, with their ids."""

    def __init__(self, db: Connection, schema: str, kinds: Mapping[str, Kind]) -> None:
        """Prepare for lines of these types; `schema` is `main`, or an attached database."""
        self.counts: Counter[str] = Counter()
        self._db = db
        self._schema = schema
        self._kinds = kinds
        self._newest_message = 0
        self._last_lookup: dict[str, tuple[SqlValue, int | None]] = {}
        """The last uid of each kind and its id: many consecutive lines refer to the same row."""
        self._forward: list[tuple[int, Kind, Field, SqlValue, str]] = []
        """References to resolve at the end: (line number, kind, field, row id, target uid)."""

    def add(self, number: int, record: Mapping[str, Any]) -> None:
        """Store a line. Raises RefusedError with its number."""
        try:
            self._store(number, record)
        except ValueError as error:
            raise RefusedError(f"line {number}", error) from None
        except integrity_errors():
            why = "it appears twice, or contradicts an earlier line"
            raise RefusedError(f"line {number}", why) from None

    def finish(self) -> None:
        """Resolve references to later lines. Raises RefusedError with the number of a line."""
        for number, kind, field, row_id, target_uid in self._forward:
            target_id = self._id_of(field.ref, target_uid)
            if target_id is None:
                why = f"it refers to {target_uid}, but no {field.ref} in the file has that uid"
                raise RefusedError(f"line {number}", why)
            update = f"UPDATE {self._schema}.{kind.table} SET {field.column} = ? WHERE id = ?"
            self._db.execute(update, (target_id, row_id))

    def _store(self, number: int, record: Mapping[str, Any]) -> None:
        kind = self._kind(record.get("type"))
        name = kind.type
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
            return  # earlier versions exported observations that did not fit the budget
        if name == "message":
            self._check_order(values["id"])
            _check_notebook(values)
        if name == "attachment":
            self._check_attachment(row)
        if name == "outdated":  # of version 1
            query = f"SELECT kind FROM {self._schema}.cycles WHERE id = ?"
            is_edit = scalar(self._db, query, (row["cycle_id"],)) == CycleKind.EDIT
            row["relation"] = Replacement.EDIT if is_edit else Replacement.OUTDATED
        if name == "tombstone":  # a repeated line is accepted
            known = f"{self._schema}.tombstones WHERE message_uid = ?"
            if exists(self._db, known, (row["message_uid"],)):
                return
        insert(self._db, f"{self._schema}.{kind.table}", row)
        if name == "observation":
            self._link_messages(values["id"], record)
            sources = self._listed(record, "sources", "observation")
            self._db.executemany(
                f"INSERT OR IGNORE INTO {self._schema}.observation_sources VALUES (?, ?)",
                [(values["id"], source) for source in sources],
            )

    def _kind(self, name: Any) -> Kind:
        if not isinstance(name, str):
            raise ValueError('"type" is missing or not text')  # noqa: TRY004 (a file's value)
        if name not in self._kinds:
            why = "which is not a type of line in an export"
            raise ValueError(f'"type" is “{shorten(name, 40)}”, {why}')
        return self._kinds[name]

    def _check_order(self, row_id: SqlValue) -> None:
        """Raise ValueError if a message's id is not higher than those before it."""
        assert isinstance(row_id, int)
        if row_id <= self._newest_message:
            raise ValueError("messages must be in the order of their ids")
        self._newest_message = row_id

    def _check_attachment(self, row: Mapping[str, SqlValue]) -> None:
        """Raise ValueError if an attachment is not what its line says."""
        from construct.attachments import Attachment, attachment_name, is_acceptable

        data, name, media_type = row["data"], str(row["name"]), str(row["media_type"])
        assert isinstance(data, bytes)
        if (row["size"], row["sha256"]) != (len(data), digest(data)):
            raise ValueError('"data" does not match "size" and "sha256"')
        if attachment_name(name) != name:
            raise ValueError('"name" is not allowed for an attachment')
        if not is_acceptable(Attachment(name, media_type, data)):
            raise ValueError(
                f'"data" is not of the type {shorten(media_type, 40)}, or is too large'
            )
        query = f"SELECT role FROM {self._schema}.messages WHERE id = ?"
        if scalar(self._db, query, (row["message_id"],)) != Role.USER:
            raise ValueError("only the user's messages have attachments")

    def _id_of(self, kind: str, row_uid: SqlValue) -> int | None:
        last = self._last_lookup.get(kind)
        if last is None or last[0] != row_uid:
            query = f"SELECT id FROM {self._schema}.{self._kinds[kind].table} WHERE uid = ?"
            last = self._last_lookup[kind] = row_uid, scalar(self._db, query, (row_uid,))
        return last[1]

    def _resolved(self, kind: str, key: str, row_uid: SqlValue) -> int | None:
        """Return the id of the row with a uid. Raises ValueError if it has not been read yet."""
        if row_uid is None:
            return None
        row_id = self._id_of(kind, row_uid)
        if row_id is None:
            raise ValueError(f'"{key}" refers to {row_uid!s}, but no {kind} above has that uid')
        return row_id

    def _link_messages(self, row_id: SqlValue, record: Mapping[str, Any]) -> None:
        """Store which messages an observation rests on: those it names, and others."""
        direct = self._listed(record, "messages", "message")
        insert_link = f"""INSERT OR IGNORE INTO {self._schema}.observation_messages
            (observation_id, message_id{{}}) VALUES (?, ?{{}})"""
        links = [(row_id, message) for message in direct]
        self._db.executemany(insert_link.format("", ""), links)
        if through := self._listed(record, "through", "message"):
            links = [(row_id, message) for message in through]
            self._db.executemany(insert_link.format(", direct", ", 0"), links)

    def _listed(self, record: Mapping[str, Any], key: str, kind: str) -> list[int | None]:
        """Return the ids of the rows whose uids a line lists."""
        listed = record.get(key, [])
        if not isinstance(listed, list):
            raise ValueError(f'"{key}" must be a list of uids')  # noqa: TRY004 (a file's value)
        try:
            uids = [uid(value) for value in listed]
        except ValueError as error:
            raise ValueError(f'each uid in "{key}" {error}') from None
        return [self._resolved(kind, key, row_uid) for row_uid in uids]


def _check_notebook(message: Mapping[str, SqlValue]) -> None:
    """Raise ValueError for a notebook's reply that has content, or is a user message."""
    is_notebook_reply = str(message["blocks"] or "").startswith("{")
    if is_notebook_reply and (message["content"] or message["role"] != Role.ASSISTANT):
        raise ValueError("a notebook's reply must have the role assistant and no content")

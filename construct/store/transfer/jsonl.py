"""The JSONL export: all that was said and learned, one JSON object per line.

The same rows always give the same bytes. The export leaves out what belongs to one machine
or moment: open chats, running cycles and their results, owners of cycles, other programs'
calls, what a reply was given from memory, `meta`, and which observations did not fit a
conversation's budget. It also leaves out what can be made again: vectors, search indexes
and token factors.
"""

import base64
import json
from bisect import bisect_right
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import Any

from construct.errors import ConstructError
from construct.store.database import snapshot
from construct.store.driver import Connection
from construct.store.sql import column, scalar
from construct.store.transfer.checks import time
from construct.store.transfer.format import KINDS, Field, Kind

VERSION = 3
COUNTED = ("conversation", "message", "observation")
"""The types of line whose number the first line gives, so that a truncated file is noticed."""


def export_jsonl(db: Connection, write: Callable[[str], object]) -> None:
    """Write the export, as of one moment."""
    with snapshot(db):
        for line in lines(db):
            write(line)


def lines(db: Connection) -> Iterator[str]:
    """Yield the lines of the export, each with a line feed."""
    for record in records(db):
        try:
            if record["type"] == "attachment":
                record["data"] = base64.b64encode(record["data"]).decode()
            yield json.dumps(record, allow_nan=False) + "\n"
        except (TypeError, ValueError) as error:
            raise ConstructError(
                f"{record['type']} {record.get('id', '')} has a value that cannot be exported:"
                f" {error}.\n"
                "Another program changed that row. Correct it, then export again."
            ) from error


def records(db: Connection) -> Iterator[dict[str, Any]]:
    """Yield the objects of the export. The data of attachments are still bytes."""
    counts = {
        kind: scalar(db, f"SELECT count(*) FROM {KINDS[kind].table} WHERE {KINDS[kind].where}")
        for kind in COUNTED
    }
    yield {"type": "construct-export", "version": VERSION, "counts": counts}
    observed = _Observed(db)
    for kind in KINDS.values():
        for record in _rows(db, kind):
            if kind.type == "message":
                observed.drop_archived_if_unobserved(record)
            elif kind.type == "observation":
                _add_links(db, record)
            yield record


def _rows(db: Connection, kind: Kind) -> Iterator[dict[str, Any]]:
    """Yield one table's rows as objects, without those that lack a needed reference."""
    keys = (["id", "uid"] if kind.keyed else []) + [field.key for field in kind.fields]
    columns = (["t.id", "t.uid"] if kind.keyed else []) + [
        expression(kind, field) for field in kind.fields
    ]
    needed = [
        field.key
        for field in kind.fields
        if field.ref and not field.later and field.default is not None
    ]
    times = [field.key for field in kind.fields if field.key.endswith("_at") and not field.ref]
    times = [key for key in times if key != "remind_at"]  # on the wall clock, of no time zone
    source = f"{kind.table} AS t WHERE {kind.where} ORDER BY {kind.order}"
    for row in db.execute(f"SELECT {', '.join(columns)} FROM {source}"):
        values = dict(zip(keys, row, strict=True))
        if all(values[key] is not None for key in needed):
            values.update({key: _normalised_time(values[key]) for key in times})
            yield {"type": kind.type} | {key: _without_nul(value) for key, value in values.items()}


def expression(kind: Kind, field: Field) -> str:
    """Return the SQL for the exported value of a field."""
    if field.ref:
        target = KINDS[field.ref]
        return f"(SELECT uid FROM {target.table} WHERE id = t.{field.column} AND {target.where})"
    if (kind.type, field.key) == ("observation", "superseded_at"):
        running = "t.superseded_by IN (SELECT id FROM cycles WHERE status = 'running')"
        return f"CASE WHEN {running} THEN NULL ELSE t.superseded_at END"
    return f"t.{field.column}"


def _normalised_time(value: Any) -> Any:
    try:
        return value if value is None else time(value)
    except ValueError:
        return value


def _without_nul(value: Any) -> Any:
    return value.replace("\x00", "") if isinstance(value, str) else value


def _add_links(db: Connection, record: dict[str, Any]) -> None:
    for key, direct in (("messages", 1), ("through", 0)):
        record[key] = column(
            db,
            """SELECT uid FROM observation_messages JOIN messages ON messages.id = message_id
               WHERE observation_id = ? AND direct = ? ORDER BY message_id""",
            (record["id"], direct),
        )
    record["sources"] = column(
        db,
        f"""SELECT uid FROM observation_sources JOIN observations ON observations.id = source_id
            WHERE observation_id = ? AND {KINDS["observation"].where} ORDER BY source_id""",
        (record["id"],),
    )


class _Observed:
    """Which messages observers have read, by conversation."""

    def __init__(self, db: Connection) -> None:
        self._spans: dict[str, list[tuple[int, int]]] = {}
        self._reached: dict[str, list[int]] = {}
        """For each span, the highest message that it or a span before it reaches."""
        self._watermarks: dict[str, int] = dict(
            db.execute(
                """SELECT uid, message_id FROM watermarks
                   JOIN conversations ON conversations.id = conversation_id
                   WHERE name = 'observed'"""
            ).fetchall()
        )
        for uid, first, last in db.execute(
            """SELECT conversations.uid, first_message_id, last_message_id
               FROM cycles JOIN conversations ON conversations.id = conversation_id
               WHERE kind = 'observer' AND status = 'succeeded'
               AND first_message_id <= last_message_id
               ORDER BY first_message_id"""
        ):
            self._spans.setdefault(uid, []).append((first, last))
        for uid, spans in self._spans.items():
            self._reached[uid] = list(accumulate((last for _, last in spans), max))

    def drop_archived_if_unobserved(self, message: dict[str, Any]) -> None:
        """Remove `archived` from an unobserved message, as an import sets it anyway."""
        uid, row_id = message["conversation"], message["id"]
        spans = bisect_right(self._spans.get(uid, []), row_id, key=lambda span: span[0])
        is_observed = spans > 0 and self._reached[uid][spans - 1] >= row_id
        if not is_observed and row_id > self._watermarks.get(uid, 0):
            del message["archived"]

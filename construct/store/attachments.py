"""Attachments: plain queries.

`messages.attached` has a message's lines `[image: name]`, kept in step by triggers: a
message without any costs no query.
"""

import hashlib
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from construct.errors import NotFoundError
from construct.store.records import Attached, Message
from construct.store.sql import GIVEN, first, given, insert, new_uid, scalar, select

if TYPE_CHECKING:  # a chat's prompt waits for nothing that only an attachment takes
    from construct.attachments import Attachment


@dataclass(frozen=True, slots=True)
class NewAttachment:
    """A file about to be stored with its message."""

    file: "Attachment"
    token_count: int
    """Where a model is sent it whole."""
    sent_tokens: int
    """What the model that is sent it now reads of it: perhaps only its line."""


def add_attachments(
    db: sqlite3.Connection, message_id: int, files: Sequence[NewAttachment]
) -> None:
    """Store the files of a message, in order."""
    for position, new in enumerate(files):
        row = {
            "uid": new_uid(), "message_id": message_id, "position": position,
            "name": new.file.name, "media_type": new.file.media_type,
            "sha256": digest(new.file.data), "size": len(new.file.data),
            "token_count": new.token_count, "data": new.file.data,
        }  # fmt: skip
        insert(db, "attachments", row)


def digest(data: bytes) -> str:
    """Return what `sha256` says of data."""
    return hashlib.sha256(data).hexdigest()


def attached_to(db: sqlite3.Connection, messages: Iterable[Message]) -> list[Attached]:
    """Return the attachments of messages, in the order of both."""
    ids = [m.id for m in messages if m.attached]
    if not ids:
        return []
    source = f"attachments WHERE message_id IN {GIVEN} ORDER BY message_id, position"
    return select(db, Attached, source, (given(ids),))


def with_data(
    db: sqlite3.Connection, messages: Iterable[Message]
) -> Mapping[int, list[tuple[Attached, bytes]]]:
    """Return the attachments of messages and their data, by message."""
    found: dict[int, list[tuple[Attached, bytes]]] = defaultdict(list)
    for one in attached_to(db, messages):
        found[one.message_id].append((one, data_of(db, one.id)))
    return found


def get_attachment(db: sqlite3.Connection, attachment_id: int) -> Attached:
    """Return an attachment; raises NotFoundError."""
    found = first(db, Attached, "attachments WHERE id = ?", (attachment_id,))
    if found is None:
        raise NotFoundError(f"There is no attachment {attachment_id}.")
    return found


def data_of(db: sqlite3.Connection, attachment_id: int) -> bytes:
    """Return an attachment's bytes."""
    return bytes(scalar(db, "SELECT data FROM attachments WHERE id = ?", (attachment_id,)))


def attachment_violations(db: sqlite3.Connection) -> list[str]:
    """Return a sentence for every attachment that is not as it was stored."""
    found = []
    lines: dict[int, list[str]] = defaultdict(list)
    for one in select(db, Attached, "attachments ORDER BY message_id, position"):
        data = data_of(db, one.id)
        if (one.sha256, one.size) != (digest(data), len(data)):
            found.append(f"Attachment {one.id} ({one.name}) is not what was stored.")
        lines[one.message_id].append(one.line)
    told = db.execute("SELECT id, attached FROM messages WHERE attached IS NOT NULL").fetchall()
    wrong = dict(told).items() ^ {i: "\n".join(of) for i, of in lines.items()}.items()
    found += [f"Message {i} disagrees with its attachments." for i in sorted({i for i, _ in wrong})]
    return found

"""Queries for attachments: the pictures, PDFs and texts that came with messages.

Triggers keep `messages.attached` up to date: one line such as `[image: name]` for each
attachment. So a message without attachments is recognised without a query.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from construct.errors import NotFoundError
from construct.program import as_typed
from construct.store.driver import Connection
from construct.store.records import Message, StoredAttachment
from construct.store.sql import ID_LIST, first, insert, json_ids, new_uid, scalar, select

if TYPE_CHECKING:  # importing it would delay the prompt of every chat
    from construct.attachments import Attachment


@dataclass(frozen=True, slots=True)
class NewAttachment:
    """A file about to be stored with its message."""

    file: "Attachment"
    token_count: int
    """Tokens of the whole file, as sent to a model that can read it."""
    sent_tokens: int
    """Tokens sent to the model that replies now, which may get only the file's name."""


def add_attachments(db: Connection, message_id: int, files: Sequence[NewAttachment]) -> None:
    """Store the attachments of a message, in order."""
    for position, new in enumerate(files):
        row = {
            "uid": new_uid(), "message_id": message_id, "position": position,
            "name": new.file.name, "media_type": new.file.media_type,
            "sha256": digest(new.file.data), "size": len(new.file.data),
            "token_count": new.token_count, "data": new.file.data,
        }  # fmt: skip
        insert(db, "attachments", row)


def digest(data: bytes) -> str:
    """Return the SHA-256 digest of data, in hexadecimal."""
    from hashlib import sha256  # loads OpenSSL (2 ms), which few commands need

    return sha256(data).hexdigest()


def attachments_of(db: Connection, messages: Iterable[Message]) -> list[StoredAttachment]:
    """Return the attachments of messages, ordered by message and position."""
    ids = [m.id for m in messages if m.attached]
    if not ids:
        return []
    source = f"attachments WHERE message_id IN {ID_LIST} ORDER BY message_id, position"
    return select(db, StoredAttachment, source, (json_ids(ids),))


def attachments_with_data(
    db: Connection, messages: Iterable[Message]
) -> Mapping[int, list[tuple[StoredAttachment, bytes]]]:
    """Return the attachments of messages with their data, by message id."""
    files: dict[int, list[tuple[StoredAttachment, bytes]]] = defaultdict(list)
    for attachment in attachments_of(db, messages):
        data = attachment_data(db, attachment.id)
        files[attachment.message_id].append((attachment, data))
    return files


def get_attachment(db: Connection, attachment_id: int) -> StoredAttachment:
    """Return an attachment; raises NotFoundError."""
    attachment = first(db, StoredAttachment, "attachments WHERE id = ?", (attachment_id,))
    if attachment is None:
        raise NotFoundError(
            f"There is no attachment {attachment_id}.\n"
            f"{as_typed('conversations show')} with a conversation's id shows its attachments."
        )
    return attachment


def attachment_data(db: Connection, attachment_id: int) -> bytes:
    """Return an attachment's bytes."""
    return bytes(scalar(db, "SELECT data FROM attachments WHERE id = ?", (attachment_id,)))


def attachment_violations(db: Connection) -> list[str]:
    """Return a sentence for each damaged attachment and each wrong `messages.attached`."""
    problems = []
    lines: dict[int, list[str]] = defaultdict(list)
    for attachment in select(db, StoredAttachment, "attachments ORDER BY message_id, position"):
        data = attachment_data(db, attachment.id)
        if (attachment.sha256, attachment.size) != (digest(data), len(data)):
            problems.append(
                f"Attachment {attachment.id} ({attachment.name}) has changed since it was stored."
            )
        lines[attachment.message_id].append(attachment.line)
    expected = {message_id: "\n".join(of_message) for message_id, of_message in lines.items()}
    stored = dict(
        db.execute("SELECT id, attached FROM messages WHERE attached IS NOT NULL").fetchall()
    )
    all_ids = sorted(expected.keys() | stored.keys())
    wrong = [i for i in all_ids if expected.get(i) != stored.get(i)]
    return problems + [f"Message {i} disagrees with its attachments." for i in wrong]

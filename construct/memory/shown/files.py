"""Choose what a model is sent of a file: the file, its text or a line. No I/O."""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from construct import tokens
from construct.llm.types import File, Text
from construct.store.attachments import NewAttachment
from construct.store.records import Message, StoredAttachment
from construct.text import as_pasted
from construct.vocabulary import AttachmentKind

if TYPE_CHECKING:
    from construct.attachments import Attachment

Reads = Collection[AttachmentKind]


def new_attachment(file: "Attachment", reads: Reads) -> NewAttachment:
    """Return a file about to be stored, with what it costs a model that reads such files."""
    size = file.tokens
    is_sent = file.kind in reads or file.kind is AttachmentKind.TEXT
    return NewAttachment(file, size, size if is_sent else tokens.count(file.line))


def stored_file(attached: StoredAttachment, data: bytes) -> File:
    """Return a stored attachment as a block."""
    return File(attached.name, attached.media_type, data, attached.token_count)


def new_file(new: NewAttachment) -> File:
    """Return an attachment that is not stored as a block."""
    return File(new.file.name, new.file.media_type, new.file.data, new.token_count)


def sent_as(file: File, reads: Reads) -> File | Text:
    """Return the block that a model is sent."""
    kind = AttachmentKind.of(file.media_type)
    if kind in reads:
        return file
    line = f"[{kind}: {file.name}]"
    return Text(f"{line}\n{text_of(file)}" if kind is AttachmentKind.TEXT else line)


def with_material(message: Message, files: Sequence[File]) -> Message:
    """Return a message for an observer: attachment lines and texts above its words."""
    parts = []
    for file in files:
        kind = AttachmentKind.of(file.media_type)
        parts.append(f"[{kind}: {file.name}]")
        if kind is AttachmentKind.TEXT:
            parts.append(as_pasted(text_of(file)).rstrip("\n"))
    return message._replace(content="\n".join([*parts, message.content]).rstrip("\n"))


def text_of(file: File) -> str:
    """Return the text of a text file."""
    return file.data.decode("utf-8", "replace")

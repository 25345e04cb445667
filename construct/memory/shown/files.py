"""Choose whether a model is sent an attachment itself, its text or its name. No I/O."""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from construct import tokens
from construct.language.abridging import abridged
from construct.llm.types import File, Text
from construct.pasted import load_spans, with_marks
from construct.store.attachments import NewAttachment
from construct.store.records import Message, StoredAttachment
from construct.text import as_pasted
from construct.vocabulary import AttachmentKind

if TYPE_CHECKING:
    from construct.attachments import Attachment

Reads = Collection[AttachmentKind]
"""The kinds of attachment that a model can read."""


def new_attachment(file: "Attachment", reads: Reads) -> NewAttachment:
    """Return a file to store, with the tokens it takes in a request to a model."""
    is_sent = file.kind in reads or file.kind is AttachmentKind.TEXT
    sent_tokens = file.tokens if is_sent else tokens.count(file.line)
    return NewAttachment(file, file.tokens, sent_tokens)


def stored_file(attached: StoredAttachment, data: bytes) -> File:
    """Return the block for an attachment that is stored."""
    return File(attached.name, attached.media_type, data, attached.token_count)


def new_file(new: NewAttachment) -> File:
    """Return the block for an attachment that is not stored yet."""
    return File(new.file.name, new.file.media_type, new.file.data, new.token_count)


def sent_as(file: File, reads: Reads) -> File | Text:
    """Return the block that a model is sent for a file.

    If the model cannot read such files, that is the text of a text file, and the name of
    any other.
    """
    kind = AttachmentKind.of(file.media_type)
    if kind in reads:
        return file
    line = f"[{kind}: {file.name}]"
    return Text(f"{line}\n{text_of(file)}" if kind is AttachmentKind.TEXT else line)


def as_read(message: Message) -> Message:
    """Return a message for an observer, with its pasted parts in lines that begin with `> `.

    Long runs of code or encoded data are shortened.
    """
    return _abridged(message, _marked(message))


def _marked(message: Message) -> str:
    spans = load_spans(message.pasted)
    return with_marks(message.content, spans) if spans else message.content


def _abridged(message: Message, content: str) -> Message:
    """Return a message with this content, shortened; its tokens are those that are left."""
    short = abridged(content)
    saved = tokens.count(content) - tokens.count(short) if short != content else 0
    left = max(tokens.count(short), message.token_count - saved)
    return message._replace(content=short, pasted=None, token_count=left)


def with_material(message: Message, files: Sequence[File]) -> Message:
    """Return a message for an observer, with its attachments' names and texts first."""
    parts = []
    for file in files:
        kind = AttachmentKind.of(file.media_type)
        parts.append(f"[{kind}: {file.name}]")
        if kind is AttachmentKind.TEXT:
            parts.append(as_pasted(text_of(file)).rstrip("\n"))
    return _abridged(message, "\n".join([*parts, _marked(message)]).rstrip("\n"))


def text_of(file: File) -> str:
    """Return the text of a text file."""
    return file.data.decode("utf-8", "replace")

"""Read files that the user attaches, check them, and make them safe to keep and send.

The content of a file decides what it is, never its name.
"""

import io
import os
import re
import stat
import zlib
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from construct import pictures, tokens
from construct.errors import AttachmentError
from construct.text import is_blank, printable
from construct.vocabulary import AttachmentKind

MEDIA_TYPES = {
    "image/png": AttachmentKind.IMAGE,
    "image/jpeg": AttachmentKind.IMAGE,
    "application/pdf": AttachmentKind.PDF,
    "text/plain": AttachmentKind.TEXT,
}
"""Media types that are kept and sent. Pictures of other types become PNG or JPEG."""

KB, MB = 1024, 1024 * 1024
_MAX_BYTES = {
    AttachmentKind.IMAGE: 20 * MB,
    AttachmentKind.PDF: 5 * MB,
    AttachmentKind.TEXT: 256 * KB,
}
"""The largest file that can be attached, in bytes."""
_MAX_PAGES = 100
_MAX_NAME = 255
"""The most characters that a file name can have on common systems."""
_PIXELS_PER_TOKEN = 750
_TOKENS_PER_PAGE = 3_000
"""Of a PDF: the model is sent the page's text and a picture of it."""
_ACCEPTED = "only PNG, JPEG, GIF and WebP pictures, PDFs and plain UTF-8 text can"
_KINDS = {
    AttachmentKind.IMAGE: "a picture",
    AttachmentKind.PDF: "a PDF",
    AttachmentKind.TEXT: "a text file",
}


@dataclass(frozen=True, slots=True)
class Attachment:
    """A checked file, ready to be kept and sent."""

    name: str
    media_type: str
    data: bytes

    @property
    def kind(self) -> AttachmentKind:
        """Whether it is a picture, a PDF or text."""
        return MEDIA_TYPES[self.media_type]

    @property
    def line(self) -> str:
        """The text that stands for the file where it is not shown, such as `[image: cat.png]`."""
        return f"[{self.kind}: {self.name}]"

    @property
    def tokens(self) -> int:
        """The estimated size in tokens. Slow for PDF and text: all of it is read."""
        match self.kind:
            case AttachmentKind.IMAGE:
                width, height = pictures.size(self.data)
                return max(1, width * height // _PIXELS_PER_TOKEN)
            case AttachmentKind.PDF:
                return max(1, _count_pages(self.data)) * _TOKENS_PER_PAGE
            case AttachmentKind.TEXT:
                return tokens.count(self.data.decode("utf-8", "replace"))


def read_attachment(path: Path) -> Attachment:
    """Read and check a file. Takes up to a second for a large picture.

    Raises AttachmentError, with a message of one line, if it cannot be attached.
    """
    name = attachment_name(path.name)
    data = _read(path, name)
    match _kind(data):
        case AttachmentKind.IMAGE:
            return Attachment(name, *pictures.encode(data, name))
        case AttachmentKind.PDF:
            return _read_pdf(data, name)
        case AttachmentKind.TEXT:
            return _read_text(data, name)


def read_pasted_picture(data: bytes) -> Attachment:
    """Check a picture from the clipboard. Raises AttachmentError."""
    if not data or _kind(data) is not AttachmentKind.IMAGE:
        raise AttachmentError("There is no picture on the clipboard.")
    if len(data) > _MAX_BYTES[AttachmentKind.IMAGE]:
        raise AttachmentError(
            f"The picture on the clipboard is larger than {_limit(AttachmentKind.IMAGE)}."
        )
    return Attachment("clipboard", *pictures.encode(data, "The picture on the clipboard"))


def attachment_name(name: str) -> str:
    """Return a file's name with everything replaced that would break `[image: name]`."""
    return "".join(map(_name_character, name)).strip() or "unnamed"


def is_acceptable(attachment: Attachment) -> bool:
    """Return whether an attachment from elsewhere keeps the limits of `read_attachment`.

    The characters of its name and the metadata of a picture are not checked.
    """
    name, data = attachment.name, attachment.data
    if MEDIA_TYPES.get(attachment.media_type) is not _kind(data) or len(name) > _MAX_NAME:
        return False
    if attachment.kind is AttachmentKind.IMAGE:
        return pictures.is_encoded(data, attachment.media_type)
    if len(data) > _MAX_BYTES[attachment.kind]:
        return False
    read = _read_pdf if attachment.kind is AttachmentKind.PDF else _read_text
    try:
        read(data, name)
    except AttachmentError:
        return False
    return True


def _name_character(character: str) -> str:
    if character in "[]":
        return "(" if character == "[" else ")"
    if character.isspace():
        return " "
    return printable(character) or "_"


# Files.


def _read(path: Path, name: str) -> bytes:
    """Return the bytes of a regular file, reading no more than one beyond the limit."""
    try:
        # Opening a device can have effects. "." has no name of its own.
        _require_regular(path.stat().st_mode, name if path.name else str(path))
        descriptor = os.open(path, os.O_RDONLY | _flags("O_NONBLOCK", "O_CLOEXEC", "O_BINARY"))
        with os.fdopen(descriptor, "rb", buffering=0) as file:
            before = os.fstat(descriptor)
            _require_regular(before.st_mode, name)
            data = _read_up_to(file, name, before.st_size)
            after = os.fstat(descriptor)
    except FileNotFoundError:
        raise AttachmentError(f"There is no file {path}. Check its path.") from None
    except PermissionError:
        raise AttachmentError(f"{name} cannot be read: permission denied.") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a path"
        raise AttachmentError(f"{name} cannot be read: {reason}.") from None
    is_unchanged = (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns)
    if not is_unchanged or len(data) != after.st_size:
        raise AttachmentError(
            f"{name} changed while it was being read. Try again when it no longer changes."
        )
    return data


def _flags(*names: str) -> int:
    """Return the named flags of `os.open`, without those that this system does not have."""
    flags = 0
    for name in names:
        flags |= getattr(os, name, 0)
    return flags


def _require_regular(mode: int, name: str) -> None:
    if stat.S_ISDIR(mode):
        raise AttachmentError(f"{name} is a folder. Attach the files in it one by one.")
    if not stat.S_ISREG(mode):
        raise AttachmentError(f"{name} is not a regular file, and only those can be attached.")


def _read_up_to(file: io.FileIO, name: str, size: int) -> bytes:
    """Return a file's content; its first bytes decide how large it may be."""
    if not size:
        raise AttachmentError(f"{name} is empty.")
    data = file.read(4 * KB)
    kind = _kind(data)
    limit = _MAX_BYTES[kind]
    if size > limit:
        if kind is AttachmentKind.TEXT:
            _require_text(data, name, whole=False)
        raise AttachmentError(f"{name} is too large: {_KINDS[kind]} may be at most {_limit(kind)}.")
    while len(data) <= limit and (piece := file.read(limit + 1 - len(data))):
        data += piece
    return data


def _limit(kind: AttachmentKind) -> str:
    limit = _MAX_BYTES[kind]
    return f"{limit // MB} MB" if limit >= MB else f"{limit // KB} KB"


def _kind(data: bytes) -> AttachmentKind:
    """Return the kind of a file by its first bytes; text if they say nothing else."""
    if pictures.format_of(data):
        return AttachmentKind.IMAGE
    return AttachmentKind.PDF if data.startswith(b"%PDF-") else AttachmentKind.TEXT


# Text.

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f]")  # a form feed separates pages
# What may precede the <svg> element: white space, <?xml …?>, comments, <!DOCTYPE …>.
_BEFORE_SVG = re.compile(
    r"(?:\s+|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^>\[]*(?:\[.*?\]\s*)?>)*+", re.S | re.I
)
_SVG = re.compile(r"<(?:[\w-]+:)?svg\b", re.I)


def _read_text(data: bytes, name: str) -> Attachment:
    text = _require_text(data, name, whole=True)
    if is_blank(text):
        raise AttachmentError(f"{name} contains only white space.")
    return Attachment(name, "text/plain", text.encode())


def _require_text(data: bytes, name: str, *, whole: bool) -> str:
    """Return the text in `data`, or raise AttachmentError if it is something else.

    Unless `whole`, `data` is only the beginning of the file.
    """
    if whole:
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = "\0"
    else:  # the last character may be cut: it has at most four bytes
        text = data[:-3].decode("utf-8-sig", "ignore")
    if _SVG.match(text, _BEFORE_SVG.match(text).end()):  # type: ignore[union-attr]
        raise AttachmentError(f"{name} is an SVG drawing. Save it as PNG and attach that.")
    if _CONTROL.search(text):
        raise AttachmentError(f"{name} cannot be attached: {_ACCEPTED}.")
    return text


# PDF.

# 12 0 obj
_OBJECT = re.compile(rb"(?<!\d)(\d{1,10})[\0\s]{1,8}\d{1,5}[\0\s]{1,8}obj\b")
# /Type /Page, but not /Type /Pages
_PAGE = re.compile(rb"/Type[\0\s]{0,8}/Page(?![A-Za-z0-9])")
# /First 36: where the objects begin in an object stream
_FIRST_OBJECT = re.compile(rb"/First[\0\s]{1,8}(\d{1,8})")
# /Encrypt 5 0 R, or /Encrypt <<
_ENCRYPTED = re.compile(rb"/Encrypt[\0\s]{0,8}(?:\d|<<)")
# Limits on what is read of a hostile PDF.
_MAX_OBJECTS = 200_000
_MAX_INFLATED = 32 * MB
_MAX_HEADER = 256 * KB


def _read_pdf(data: bytes, name: str) -> Attachment:
    if b"%%EOF" not in data[-4 * KB :]:
        raise AttachmentError(f"{name} is damaged: the end of the PDF is missing.")
    if _ENCRYPTED.search(data):
        raise AttachmentError(f"{name} is a protected PDF. Attach an unprotected copy.")
    pages = _count_pages(data)
    if not pages:
        raise AttachmentError(f"{name} is damaged: this PDF has no pages.")
    if pages > _MAX_PAGES:
        raise AttachmentError(
            f"{name} has {pages:,} pages, and a PDF may have at most {_MAX_PAGES}."
            " Attach part of it."
        )
    return Attachment(name, "application/pdf", data)


def _count_pages(data: bytes) -> int:
    """Return how many pages a PDF has by counting page objects, including compressed ones.

    A PDF library would follow the file's own tables, which a hostile file can make
    endless. This reads each byte once, and does not count pages beyond the limits above.
    """
    pages: set[int] = set()  # by object number: a revised object is in the file twice
    inflated = 0
    for number, content in islice(_objects(data), _MAX_OBJECTS):
        head, _, stream = content.partition(b"stream")
        if _PAGE.search(head):
            pages.add(number)
        elif b"/ObjStm" in head and (first := _FIRST_OBJECT.search(head)):
            packed = _decompress(stream, _MAX_INFLATED - inflated)
            inflated += len(packed)
            pages.update(_packed_pages(packed, int(first[1])))
    return len(pages)


def _objects(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the number and content of each object in a PDF."""
    previous: re.Match[bytes] | None = None
    for match in _OBJECT.finditer(data):
        if previous:
            yield int(previous[1]), data[previous.end() : match.start()]
        previous = match
    if previous:
        yield int(previous[1]), data[previous.end() :]


def _decompress(stream: bytes, max_bytes: int) -> bytes:
    try:
        return zlib.decompressobj().decompress(stream.lstrip(b"\r\n"), max(1, max_bytes))
    except zlib.error:
        return b""


def _packed_pages(packed: bytes, first: int) -> Iterator[int]:
    """Yield the object numbers of the pages in an object stream.

    The stream begins with a pair of numbers for each object: its own number, and its
    offset from `first`.
    """
    try:
        header = [int(word) for word in packed[: min(first, _MAX_HEADER)].split()]
    except ValueError:
        return
    # Found once for all objects: in a hostile file, the ranges may overlap.
    pages = [match.start() for match in _PAGE.finditer(packed)]
    starts = [first + offset for offset in header[1::2]]
    for number, start, end in zip(header[::2], starts, [*starts[1:], len(packed)], strict=False):
        if bisect_left(pages, start) < bisect_left(pages, end):
            yield number

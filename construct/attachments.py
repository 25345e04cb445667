"""Read files that the user attaches, check them, and make them safe to keep and send.

The content of a file decides what it is, never its name. A picture is decoded and encoded
again, so that neither its metadata nor malformed data reaches a model or the database.
"""

import io
import os
import re
import stat
import struct
import warnings
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, product
from pathlib import Path
from typing import TYPE_CHECKING

from construct import tokens
from construct.errors import AttachmentError
from construct.text import is_blank, printable
from construct.vocabulary import AttachmentKind

if TYPE_CHECKING:
    from PIL import Image

MEDIA_TYPES = {
    "image/png": AttachmentKind.IMAGE,
    "image/jpeg": AttachmentKind.IMAGE,
    "application/pdf": AttachmentKind.PDF,
    "text/plain": AttachmentKind.TEXT,
}
"""Types of what is kept and sent. Pictures of other types become PNG or JPEG."""

KB, MB = 1024, 1024 * 1024
LONGEST_SIDE = 1568
"""The longest side of a picture, in pixels. The API would reduce a larger one itself."""
_MAX_PIXELS = 50_000_000
_MAX_BYTES = {
    AttachmentKind.IMAGE: 20 * MB,
    AttachmentKind.PDF: 5 * MB,
    AttachmentKind.TEXT: 256 * KB,
}
"""The largest file that can be attached, in bytes."""
_TOO_MANY_PIXELS = "{} has more than 50 megapixels. Attach a smaller copy."
_MAX_PICTURE_BYTES = 37 * MB // 10  # 5 MB, the API's limit, once encoded as base64
_MAX_PAGES = 100
_MAX_NAME = 255  # characters in a file name, on every system
_PIXELS_PER_TOKEN = 750
_TOKENS_PER_PAGE = 3_000  # of a PDF: the page's text and a picture of it
_ACCEPTED = "only PNG, JPEG, GIF and WebP pictures, PDF and UTF-8 text can"
_KINDS = {
    AttachmentKind.IMAGE: "a picture",
    AttachmentKind.PDF: "a PDF",
    AttachmentKind.TEXT: "a text",
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
        """The text that stands for the file where it is not shown, as `[image: cat.png]`."""
        return f"[{self.kind}: {self.name}]"

    @property
    def tokens(self) -> int:
        """The estimated size in tokens. Slow for PDF and text: all of it is read."""
        match self.kind:
            case AttachmentKind.IMAGE:
                width, height = _picture_size(self.data)
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
            return _read_picture(data, name)
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
    return _read_picture(data, "clipboard")


def attachment_name(name: str) -> str:
    """Return a file's name with everything replaced that would break `[image: name]`."""
    return "".join(map(_name_character, name)).strip() or "unnamed"


def is_kept(attachment: Attachment) -> bool:
    """Return whether an attachment could come from `read_attachment`: an imported one may not."""
    name, data = attachment.name, attachment.data
    if MEDIA_TYPES.get(attachment.media_type) is not _kind(data) or len(name) > _MAX_NAME:
        return False
    if attachment.kind is AttachmentKind.IMAGE:
        has_its_type = attachment.media_type == f"image/{_picture_format(data).lower()}"
        return has_its_type and len(data) <= _MAX_PICTURE_BYTES and _is_picture_as_kept(data)
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
        _require_regular(path.stat().st_mode, name)  # opening a device can have effects
        descriptor = os.open(path, os.O_RDONLY | _flags("O_NONBLOCK", "O_CLOEXEC", "O_BINARY"))
        with os.fdopen(descriptor, "rb", buffering=0) as file:
            before = os.fstat(descriptor)
            _require_regular(before.st_mode, name)
            data = _read_up_to(file, name, before.st_size)
            after = os.fstat(descriptor)
    except FileNotFoundError:
        raise AttachmentError(f"There is no file {name}. Check its path.") from None
    except PermissionError:
        raise AttachmentError(f"{name} cannot be read: permission denied.") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a path"
        raise AttachmentError(f"{name} cannot be read: {reason}.") from None
    is_unchanged = (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns)
    if not is_unchanged or len(data) != after.st_size:
        raise AttachmentError(f"{name} changed while it was read. Try again when it is finished.")
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
        raise AttachmentError(f"{name} is too large: {_KINDS[kind]} may be {_limit(kind)} at most.")
    while len(data) <= limit and (piece := file.read(limit + 1 - len(data))):
        data += piece
    return data


def _limit(kind: AttachmentKind) -> str:
    limit = _MAX_BYTES[kind]
    return f"{limit // MB} MB" if limit >= MB else f"{limit // KB} KB"


def _kind(data: bytes) -> AttachmentKind:
    """Return the kind of a file by its first bytes; text if they say nothing else."""
    if _picture_format(data):
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

    Unless `whole`, only the beginning of a file is given.
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

_OBJECT = re.compile(rb"(?<!\d)(\d{1,10})[\0\s]{1,8}\d{1,5}[\0\s]{1,8}obj\b")  # 12 0 obj
_PAGE = re.compile(rb"/Type[\0\s]{0,8}/Page(?![A-Za-z0-9])")  # but not /Type /Pages
_FIRST_OBJECT = re.compile(rb"/First[\0\s]{1,8}(\d{1,8})")
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
            f"{name} has {pages:,} pages, and a PDF may have {_MAX_PAGES} at most."
            " Attach part of it."
        )
    return Attachment(name, "application/pdf", data)


def _count_pages(data: bytes) -> int:
    """Return how many pages a PDF has, counting page objects, also in compressed streams.

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
    starts = [first + offset for offset in header[1::2]]
    for number, start, end in zip(header[::2], starts, [*starts[1:], len(packed)], strict=False):
        if _PAGE.search(packed, start, end):
            yield number


# Pictures.

_MAGIC = {
    b"\x89PNG\r\n\x1a\n": "PNG",
    b"\xff\xd8\xff": "JPEG",
    b"GIF87a": "GIF",
    b"GIF89a": "GIF",
}
# A JPEG marker that starts a segment, not one of 00, D0-D7 inside the picture data.
_MARKER = re.compile(rb"\xff+([^\x00\xff\xd0-\xd7])", re.S)
_START_OF_SCAN, _END_OF_IMAGE = 0xDA, 0xD9
_START_OF_FRAME = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_MAX_SCANS = 32
"""A progressive JPEG has about ten scans; decoding each takes as long as the whole picture."""
_MAX_DRAWING_COLOURS = 1 << 16
"""A picture with more colours than this is a photo. Others are drawings or screenshots, which
only PNG keeps sharp."""
_TRANSPOSE_BY_ORIENTATION = {2: 0, 3: 3, 4: 1, 5: 5, 6: 4, 7: 6, 8: 2}
"""Pillow's `Transpose` for each EXIF orientation."""
_QUALITIES = (88, 75, 60, 40, 20)
"""JPEG qualities to try, until the picture is small enough."""
_TILE = 1024
"""The side of a tile in pixels."""


def _picture_format(data: bytes) -> str:
    """Return a picture's format by its first bytes; empty if it is not a format we read."""
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "WEBP"
    return next((name for magic, name in _MAGIC.items() if data.startswith(magic)), "")


def _read_picture(data: bytes, name: str) -> Attachment:
    """Decode the first frame of a picture and encode it again."""
    if _has_too_many_scans(data):
        raise AttachmentError(f"{name} is damaged: it cannot be read as a picture.")
    import PIL.Image  # noqa: F401 - here, as below a missing Pillow would look like damage

    try:
        return Attachment(name, *_encode_within_limit(_decode(data, name), _picture_format(data)))
    except AttachmentError:
        raise
    except Exception:  # noqa: BLE001 - what Pillow raises for a damaged file is without limit
        raise AttachmentError(f"{name} is damaged: it cannot be read as a picture.") from None


def _is_picture_as_kept(data: bytes) -> bool:
    """Return whether a picture can be decoded and is no larger than `_decode` would make it."""
    from PIL import Image

    try:
        with Image.open(io.BytesIO(data), formats=[_picture_format(data)]) as picture:
            if max(picture.size) > LONGEST_SIDE or _has_too_many_scans(data):
                return False
            picture.load()
    except Exception:  # noqa: BLE001 - what Pillow raises for a damaged file is without limit
        return False
    return True


def _has_too_many_scans(data: bytes) -> bool:
    return sum(marker == _START_OF_SCAN for marker, _ in _jpeg_segments(data)) > _MAX_SCANS


def _decode(data: bytes, name: str) -> "Image.Image":
    """Return a picture upright, in RGB on white, with no side longer than LONGEST_SIDE."""
    from PIL import Image, WebPImagePlugin  # noqa: F401 - `open` alone does not load it

    # Pillow warns of odd metadata and of large pictures, which are refused below.
    warnings.filterwarnings("ignore", module=r"PIL\b")
    try:
        picture = Image.open(io.BytesIO(data), formats=[_picture_format(data)])
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise AttachmentError(_TOO_MANY_PIXELS.format(name)) from None
    with picture:
        width, height = picture.size
        if width * height > _MAX_PIXELS:
            raise AttachmentError(_TOO_MANY_PIXELS.format(name))
        picture.draft(None, (LONGEST_SIDE, LONGEST_SIDE))  # a JPEG is decoded smaller at once
        picture.load()
        flattened = _on_white(picture)
        flattened.thumbnail((LONGEST_SIDE, LONGEST_SIDE), Image.Resampling.LANCZOS)
        transpose = _TRANSPOSE_BY_ORIENTATION.get(_orientation(picture))
        if transpose is None:
            return flattened
        return flattened.transpose(Image.Transpose(transpose))


def _orientation(picture: "Image.Image") -> int:
    """Return the EXIF orientation of a picture; 1 is upright."""
    try:
        return int(picture.getexif().get(0x0112, 1))
    except Exception:  # noqa: BLE001 - damaged metadata does no harm to the picture
        return 1


def _on_white(picture: "Image.Image") -> "Image.Image":
    """Return a picture on white, reduced by a whole factor if it is much too large.

    Works tile by tile, so that memory never holds a second full-size copy.
    """
    from PIL import Image

    factor = max(1, max(picture.size) // (2 * LONGEST_SIDE))
    width, height = picture.size
    flattened = Image.new("RGB", (-(-width // factor), -(-height // factor)), "white")
    step = factor * max(1, _TILE // factor)
    for left, top in product(range(0, width, step), range(0, height, step)):
        box = (left, top, min(left + step, width), min(top + step, height))
        tile = _as_rgb(picture.crop(box)).reduce(factor)
        mask = tile if tile.mode == "RGBA" else None
        flattened.paste(tile, (left // factor, top // factor), mask)
    return flattened


def _as_rgb(tile: "Image.Image") -> "Image.Image":
    if tile.mode.startswith("I;16"):
        tile = tile.point(lambda value: value / 256, "L")
    return tile.convert("RGBA" if tile.has_transparency_data else "RGB")


def _encode_within_limit(picture: "Image.Image", source: str) -> tuple[str, bytes]:
    """Return a picture's media type and bytes, in the best quality that the limit allows.

    A JPEG stays one: its sharpness is lost already, and as PNG it would be large.
    """
    if source != "JPEG" and picture.getcolors(_MAX_DRAWING_COLOURS):
        data = _encoded(picture, "PNG")
        if len(data) <= _MAX_PICTURE_BYTES:
            return "image/png", data
    tries = (_encoded(picture, "JPEG", quality=quality) for quality in _QUALITIES)
    return "image/jpeg", next(data for data in tries if len(data) <= _MAX_PICTURE_BYTES)


def _encoded(picture: "Image.Image", format: str, **options: int) -> bytes:
    file = io.BytesIO()
    picture.save(file, format, **options)
    return file.getvalue()


def _jpeg_segments(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the marker and start of each segment of a JPEG; nothing for other files."""
    if not data.startswith(b"\xff\xd8"):
        return
    position = 2
    while match := _MARKER.search(data, position):
        marker, start = match[1][0], match.end()
        yield marker, start
        if marker == _END_OF_IMAGE:
            return
        position = start + int.from_bytes(data[start : start + 2])


def _picture_size(data: bytes) -> tuple[int, int]:
    """Return the width and height of a PNG or JPEG, or the maximum if they cannot be read."""
    if data.startswith(b"\x89PNG"):
        width, height = struct.unpack(">II", data[16:24].rjust(8, b"\xff"))
    else:
        frames = (start for marker, start in _jpeg_segments(data) if marker in _START_OF_FRAME)
        start = next(frames, len(data))
        height, width = struct.unpack(">HH", data[start + 3 : start + 7].rjust(4, b"\xff"))
    return min(width, LONGEST_SIDE), min(height, LONGEST_SIDE)

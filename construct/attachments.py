"""Files to show the model: what may be attached, read and made safe.

What a file holds decides what it is, never its name. A picture is drawn anew, so that
neither its metadata nor a malformed file goes on to a model or into the database.
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
"""What is kept and sent: pictures of other types become one of these."""

KB, MB = 1024, 1024 * 1024
LONGEST_SIDE = 1568
"""Pixels: the API would make a larger picture smaller by itself."""
_MOST_PIXELS = 50_000_000
_MOST_BYTES = {
    AttachmentKind.IMAGE: 20 * MB,
    AttachmentKind.PDF: 5 * MB,
    AttachmentKind.TEXT: 256 * KB,
}
_TOO_MANY_PIXELS = "{} has more than 50 megapixels. Make it smaller, and attach that."
_MOST_PICTURE_BYTES = 37 * MB // 10  # 5 MB as base64
_MOST_PAGES = 100
_LONGEST_NAME = 255  # of a file, on every system
_PIXELS_PER_TOKEN = 750
_TOKENS_PER_PAGE = 3_000  # its text, and a picture of it
_ACCEPTED = "only PNG, JPEG, GIF and WebP pictures, PDF and UTF-8 text can"
_KINDS = {
    AttachmentKind.IMAGE: "a picture",
    AttachmentKind.PDF: "a PDF",
    AttachmentKind.TEXT: "a text",
}


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file as it is kept and sent: `data` is safe to pass on."""

    name: str
    media_type: str
    data: bytes

    @property
    def kind(self) -> AttachmentKind:
        """What it is."""
        return MEDIA_TYPES[self.media_type]

    @property
    def line(self) -> str:
        """What stands for it where it is not shown."""
        return f"[{self.kind}: {self.name}]"

    @property
    def tokens(self) -> int:
        """About how many tokens it costs; reads the whole of a PDF or text."""
        match self.kind:
            case AttachmentKind.IMAGE:
                width, height = _picture_size(self.data)
                return max(1, width * height // _PIXELS_PER_TOKEN)
            case AttachmentKind.PDF:
                return max(1, _count_pages(self.data)) * _TOKENS_PER_PAGE
            case AttachmentKind.TEXT:
                return tokens.count(self.data.decode("utf-8", "replace"))


def read_attachment(path: Path) -> Attachment:
    """Return what a file holds, ready to be kept and sent.

    Raises `AttachmentError` with one line for a file that cannot be attached. Takes up
    to a second for a large picture.
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
    """Return a picture that comes from the clipboard instead of a file."""
    if not data or _kind(data) is not AttachmentKind.IMAGE:
        raise AttachmentError("The clipboard holds no picture.")
    if len(data) > _MOST_BYTES[AttachmentKind.IMAGE]:
        raise AttachmentError(
            f"The picture on the clipboard is larger than {_limit(AttachmentKind.IMAGE)}."
        )
    return _read_picture(data, "clipboard")


def attachment_name(name: str) -> str:
    """Return a file's name as it may stand in a line `[image: name]`."""
    return "".join(map(_in_a_line, name)).strip() or "unnamed"


def is_kept(attachment: Attachment) -> bool:
    """Return whether reading a file could have kept this: it is of its type, and whole."""
    name, data = attachment.name, attachment.data
    if MEDIA_TYPES.get(attachment.media_type) is not _kind(data) or len(name) > _LONGEST_NAME:
        return False
    if attachment.kind is AttachmentKind.IMAGE:
        is_of_type = attachment.media_type == f"image/{_picture_format(data).lower()}"
        return is_of_type and len(data) <= _MOST_PICTURE_BYTES and _is_picture_as_kept(data)
    if len(data) > _MOST_BYTES[attachment.kind]:
        return False
    try:
        (_read_pdf if attachment.kind is AttachmentKind.PDF else _read_text)(data, name)
    except AttachmentError:
        return False
    return True


def _in_a_line(character: str) -> str:
    if character in "[]":
        return "(" if character == "[" else ")"
    if character.isspace():
        return " "
    return printable(character) or "_"


# Files.


def _read(path: Path, name: str) -> bytes:
    """Return a regular file's bytes, never more than one beyond its limit."""
    try:
        _require_regular(path.stat().st_mode, name)  # opening a device may do something
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
    is_same = (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns)
    if not is_same or len(data) != after.st_size:
        raise AttachmentError(f"{name} changed while it was read. Try again when it is finished.")
    return data


def _flags(*names: str) -> int:
    """Return those flags of `os.open` that this system has."""
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
    """Return what a file holds; its first bytes tell how large it may be."""
    if not size:
        raise AttachmentError(f"{name} is empty.")
    data = file.read(4 * KB)
    kind = _kind(data)
    limit = _MOST_BYTES[kind]
    if size > limit:
        if kind is AttachmentKind.TEXT:
            _require_text(data, name, whole=False)
        raise AttachmentError(f"{name} is too large: {_KINDS[kind]} may have {_limit(kind)}.")
    while len(data) <= limit and (piece := file.read(limit + 1 - len(data))):
        data += piece
    return data


def _limit(kind: AttachmentKind) -> str:
    most = _MOST_BYTES[kind]
    return f"{most // MB} MB" if most >= MB else f"{most // KB} KB"


def _kind(data: bytes) -> AttachmentKind:
    """Return what a file is by its first bytes: text if nothing else."""
    if _picture_format(data):
        return AttachmentKind.IMAGE
    return AttachmentKind.PDF if data.startswith(b"%PDF-") else AttachmentKind.TEXT


# Text.

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f]")  # a form feed separates pages
_BEFORE_SVG = re.compile(
    r"(?:\s+|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^>\[]*(?:\[.*?\]\s*)?>)*+", re.S | re.I
)
_SVG = re.compile(r"<(?:[\w-]+:)?svg\b", re.I)


def _read_text(data: bytes, name: str) -> Attachment:
    text = _require_text(data, name, whole=True)
    if is_blank(text):
        raise AttachmentError(f"{name} holds nothing but white space.")
    return Attachment(name, "text/plain", text.encode())


def _require_text(data: bytes, name: str, *, whole: bool) -> str:
    """Return the text that a file, or the beginning of one, holds."""
    try:
        # Up to three bytes at the end of a beginning are part of a character.
        text = (
            data.decode("utf-8-sig", "strict") if whole else data[:-3].decode("utf-8-sig", "ignore")
        )
    except UnicodeDecodeError:
        text = "\0"
    if _SVG.match(text, _BEFORE_SVG.match(text).end()):  # type: ignore[union-attr]
        raise AttachmentError(f"{name} is an SVG drawing. Save it as PNG and attach that.")
    if _CONTROL.search(text):
        raise AttachmentError(f"{name} cannot be attached: {_ACCEPTED}.")
    return text


# PDF.

_OBJECT = re.compile(rb"(?<!\d)(\d{1,10})[\0\s]{1,8}\d{1,5}[\0\s]{1,8}obj\b")
_PAGE = re.compile(rb"/Type[\0\s]{0,8}/Page(?![A-Za-z0-9])")
_FIRST = re.compile(rb"/First[\0\s]{1,8}(\d{1,8})")
_ENCRYPTED = re.compile(rb"/Encrypt[\0\s]{0,8}(?:\d|<<)")
_MOST_OBJECTS = 200_000
_MOST_INFLATED = 32 * MB
_LONGEST_HEADER = 256 * KB


def _read_pdf(data: bytes, name: str) -> Attachment:
    if b"%%EOF" not in data[-4 * KB :]:
        raise AttachmentError(f"{name} is damaged: the end of the PDF is missing.")
    if _ENCRYPTED.search(data):
        raise AttachmentError(f"{name} is a protected PDF. Attach an unprotected copy of it.")
    pages = _count_pages(data)
    if not pages:
        raise AttachmentError(f"{name} is damaged: there is no page in this PDF.")
    if pages > _MOST_PAGES:
        raise AttachmentError(
            f"{name} has {pages:,} pages, and a PDF may have {_MOST_PAGES}. Attach a part of it."
        )
    return Attachment(name, "application/pdf", data)


def _count_pages(data: bytes) -> int:
    """Return how many page objects a PDF has, in plain sight and in compressed streams.

    A library would follow the file's own tables, which a hostile file can make endless.
    This reads each byte once. What a hostile file hides beyond the limits is not counted.
    """
    pages: set[int] = set()  # an object that was changed stands in the file twice
    inflated = 0
    for number, content in islice(_objects(data), _MOST_OBJECTS):
        head, _, stream = content.partition(b"stream")
        if _PAGE.search(head):
            pages.add(number)
        elif b"/ObjStm" in head and (first := _FIRST.search(head)):
            packed = _inflate(stream, _MOST_INFLATED - inflated)
            inflated += len(packed)
            pages.update(_packed_pages(packed, int(first[1])))
    return len(pages)


def _objects(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield a PDF's objects with their numbers."""
    last: re.Match[bytes] | None = None
    for match in _OBJECT.finditer(data):
        if last:
            yield int(last[1]), data[last.end() : match.start()]
        last = match
    if last:
        yield int(last[1]), data[last.end() :]


def _inflate(stream: bytes, most: int) -> bytes:
    try:
        return zlib.decompressobj().decompress(stream.lstrip(b"\r\n"), max(1, most))
    except zlib.error:
        return b""


def _packed_pages(packed: bytes, first: int) -> Iterator[int]:
    """Yield the numbers of the pages in an object stream.

    It begins with pairs of numbers: an object's, and where it begins behind `first`.
    """
    try:
        header = [int(word) for word in packed[: min(first, _LONGEST_HEADER)].split()]
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
_MARKER = re.compile(rb"\xff+([^\x00\xff\xd0-\xd7])", re.S)
_SCAN, _END, _FRAMES = 0xDA, 0xD9, frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_MOST_SCANS = 32
"""A progressive JPEG has ten or so; each of them goes over all of the picture."""
_GRAPHIC_COLOURS = 1 << 16
"""A picture with fewer colours than this is a drawing or a screenshot, and stays sharp as PNG."""
_UPRIGHT = {2: 0, 3: 3, 4: 1, 5: 5, 6: 4, 7: 6, 8: 2}
"""Pillow's `Transpose` for each EXIF orientation."""
_QUALITIES = (88, 75, 60, 40, 20)
_TILE = 1024


def _picture_format(data: bytes) -> str:
    """Return a picture's format by its first bytes; empty if it is none of ours."""
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "WEBP"
    return next((name for magic, name in _MAGIC.items() if data.startswith(magic)), "")


def _read_picture(data: bytes, name: str) -> Attachment:
    """Return the first frame of a picture, drawn anew."""
    if _has_too_many_scans(data):
        raise AttachmentError(f"{name} is damaged: it cannot be read as a picture.")
    import PIL.Image  # noqa: F401 - a missing Pillow is not the picture's fault

    try:
        return Attachment(name, *_encode(_decode(data, name), _picture_format(data)))
    except AttachmentError:
        raise
    except Exception:  # noqa: BLE001 - what Pillow raises for a damaged file is without limit
        raise AttachmentError(f"{name} is damaged: it cannot be read as a picture.") from None


def _is_picture_as_kept(data: bytes) -> bool:
    """Return whether a picture can be decoded and is no larger than one drawn anew."""
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
    return sum(marker == _SCAN for marker, _ in _jpeg_segments(data)) > _MOST_SCANS


def _decode(data: bytes, name: str) -> "Image.Image":
    """Return a picture upright, in RGB, on white, no side longer than the API takes."""
    from PIL import Image, WebPImagePlugin  # noqa: F401 - not loaded by `open` alone

    # Odd metadata is not worth a word; what is too large is refused below.
    warnings.filterwarnings("ignore", module=r"PIL\b")
    try:
        picture = Image.open(io.BytesIO(data), formats=[_picture_format(data)])
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise AttachmentError(_TOO_MANY_PIXELS.format(name)) from None
    with picture:
        width, height = picture.size
        if width * height > _MOST_PIXELS:
            raise AttachmentError(_TOO_MANY_PIXELS.format(name))
        picture.draft(None, (LONGEST_SIDE, LONGEST_SIDE))  # a JPEG is decoded smaller at once
        picture.load()
        drawn = _drawn(picture)
        drawn.thumbnail((LONGEST_SIDE, LONGEST_SIDE), Image.Resampling.LANCZOS)
        upright = _UPRIGHT.get(_orientation(picture))
        return drawn if upright is None else drawn.transpose(Image.Transpose(upright))


def _orientation(picture: "Image.Image") -> int:
    """Return how a camera was held, as EXIF numbers it; 1 is upright."""
    try:
        return int(picture.getexif().get(0x0112, 1))
    except Exception:  # noqa: BLE001 - damaged metadata does no harm to the picture
        return 1


def _drawn(picture: "Image.Image") -> "Image.Image":
    """Return a picture on white, smaller by a whole factor where it is much too large.

    Tile by tile, so that the whole of it is never there twice.
    """
    from PIL import Image

    factor = max(1, max(picture.size) // (2 * LONGEST_SIDE))
    width, height = picture.size
    drawn = Image.new("RGB", (-(-width // factor), -(-height // factor)), "white")
    step = factor * max(1, _TILE // factor)
    for left, top in product(range(0, width, step), range(0, height, step)):
        box = (left, top, min(left + step, width), min(top + step, height))
        tile = _in_colour(picture.crop(box)).reduce(factor)
        mask = tile if tile.mode == "RGBA" else None
        drawn.paste(tile, (left // factor, top // factor), mask)
    return drawn


def _in_colour(tile: "Image.Image") -> "Image.Image":
    if tile.mode.startswith("I;16"):
        tile = tile.point(lambda value: value / 256, "L")
    return tile.convert("RGBA" if tile.has_transparency_data else "RGB")


def _encode(picture: "Image.Image", source: str) -> tuple[str, bytes]:
    """Return a picture's media type and bytes, as good as the limit allows.

    What came as a JPEG has lost its sharpness already, and would be large as PNG.
    """
    if source != "JPEG" and picture.getcolors(_GRAPHIC_COLOURS):
        data = _saved(picture, "PNG")
        if len(data) <= _MOST_PICTURE_BYTES:
            return "image/png", data
    tries = (_saved(picture, "JPEG", quality=quality) for quality in _QUALITIES)
    return "image/jpeg", next(data for data in tries if len(data) <= _MOST_PICTURE_BYTES)


def _saved(picture: "Image.Image", format: str, **options: int) -> bytes:
    file = io.BytesIO()
    picture.save(file, format, **options)
    return file.getvalue()


def _jpeg_segments(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the marker and start of each segment of a JPEG; nothing for another file."""
    if not data.startswith(b"\xff\xd8"):
        return
    at = 2
    while found := _MARKER.search(data, at):
        marker = found[1][0]
        yield marker, found.end()
        if marker == _END:
            return
        at = found.end() + int.from_bytes(data[found.end() : found.end() + 2])


def _picture_size(data: bytes) -> tuple[int, int]:
    """Return the width and height of a PNG or JPEG; the largest there may be if unclear."""
    if data.startswith(b"\x89PNG"):
        width, height = struct.unpack(">II", data[16:24].rjust(8, b"\xff"))
    else:
        frames = (start for marker, start in _jpeg_segments(data) if marker in _FRAMES)
        start = next(frames, len(data))
        height, width = struct.unpack(">HH", data[start + 3 : start + 7].rjust(4, b"\xff"))
    return min(width, LONGEST_SIDE), min(height, LONGEST_SIDE)

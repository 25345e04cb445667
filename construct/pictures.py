"""Decode pictures and encode them again, and read the size of a PNG or JPEG.

Since a picture is encoded again when it is attached, neither its metadata nor malformed
data reaches a model or the database.
"""

import io
import re
import struct
import warnings
from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING

from construct.errors import AttachmentError

if TYPE_CHECKING:
    from PIL import Image

LONGEST_SIDE = 1568
"""The longest side of a picture, in pixels. The API would reduce a larger one itself."""
_MAX_PIXELS = 50_000_000
_TOO_MANY_PIXELS = "{} has more than 50 megapixels. Attach a smaller copy."
_MAX_PICTURE_BYTES = 37 * 1024 * 1024 // 10
"""Encoded as base64, this is just under 5 MB, the API's limit."""
_MAGIC = {
    b"\x89PNG\r\n\x1a\n": "PNG",
    b"\xff\xd8\xff": "JPEG",
    b"GIF87a": "GIF",
    b"GIF89a": "GIF",
}
# A JPEG marker that starts a segment, unlike 00 and D0-D7 inside the picture data.
_MARKER = re.compile(rb"\xff([^\x00\xff\xd0-\xd7])", re.S)
_START_OF_SCAN, _END_OF_IMAGE = 0xDA, 0xD9
_START_OF_FRAME = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_MAX_SCANS = 32
"""A progressive JPEG has about ten scans, each as slow to decode as a plain JPEG."""
_MAX_DRAWING_COLOURS = 1 << 16
"""A picture with more colours than this is a photo. Others are drawings or screenshots, which
only PNG keeps sharp."""
_TRANSPOSE_BY_ORIENTATION = {2: 0, 3: 3, 4: 1, 5: 5, 6: 4, 7: 6, 8: 2}
"""Pillow's `Transpose` for each EXIF orientation."""
_QUALITIES = (88, 75, 60, 40, 20)
"""JPEG qualities to try, until the picture is small enough."""
_TILE = 1024
"""The side of a tile in pixels."""


def format_of(data: bytes) -> str:
    """Return a picture's format by its first bytes; empty if it is not a format we read."""
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "WEBP"
    return next((name for magic, name in _MAGIC.items() if data.startswith(magic)), "")


def encode(data: bytes, name: str) -> tuple[str, bytes]:
    """Return the media type and bytes of a picture's first frame, encoded again.

    Raises AttachmentError, with the file's `name`, if it is damaged or too large.
    """
    if _has_too_many_scans(data):
        raise AttachmentError(f"{name} is damaged: it cannot be read as a picture.")
    # Outside the `try`, where a missing Pillow would be reported as a damaged file.
    import PIL.Image  # noqa: F401

    try:
        return _encode_within_limit(_decode(data, name), format_of(data))
    except AttachmentError:
        raise
    except Exception:  # noqa: BLE001 - Pillow raises all kinds of errors for a damaged file
        raise AttachmentError(f"{name} is damaged: it cannot be read as a picture.") from None


def is_encoded(data: bytes, media_type: str) -> bool:
    """Return whether a picture is of this type, can be decoded, and is within `encode`'s limits.

    Its metadata is not checked.
    """
    if media_type != f"image/{format_of(data).lower()}" or len(data) > _MAX_PICTURE_BYTES:
        return False
    from PIL import Image

    try:
        with Image.open(io.BytesIO(data), formats=[format_of(data)]) as picture:
            if max(picture.size) > LONGEST_SIDE or _has_too_many_scans(data):
                return False
            picture.load()
    except Exception:  # noqa: BLE001 - Pillow raises all kinds of errors for a damaged file
        return False
    return True


def _has_too_many_scans(data: bytes) -> bool:
    return sum(marker == _START_OF_SCAN for marker, _ in _jpeg_segments(data)) > _MAX_SCANS


def _decode(data: bytes, name: str) -> "Image.Image":
    """Return a picture upright, in RGB on white, with no side longer than LONGEST_SIDE."""
    from PIL import Image, WebPImagePlugin  # noqa: F401 - or `open` loads all plugins

    # Pillow warns of odd metadata and of large pictures, which are refused below.
    warnings.filterwarnings("ignore", module=r"PIL\b")
    try:
        picture = Image.open(io.BytesIO(data), formats=[format_of(data)])
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise AttachmentError(_TOO_MANY_PIXELS.format(name)) from None
    with picture:
        width, height = picture.size
        if width * height > _MAX_PIXELS:
            raise AttachmentError(_TOO_MANY_PIXELS.format(name))
        picture.draft(None, (LONGEST_SIDE, LONGEST_SIDE))  # scales a JPEG down while decoding it
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

    Works tile by tile, so that memory holds no full-size copy besides the result.
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

    A JPEG stays one: its sharpness is already lost, and as PNG it would be large.
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


def size(data: bytes) -> tuple[int, int]:
    """Return the width and height of a PNG or JPEG, each at most LONGEST_SIDE.

    Both are LONGEST_SIDE if they cannot be read.
    """
    if data.startswith(b"\x89PNG"):
        width, height = struct.unpack(">II", data[16:24].rjust(8, b"\xff"))
    else:
        frames = (start for marker, start in _jpeg_segments(data) if marker in _START_OF_FRAME)
        start = next(frames, len(data))
        height, width = struct.unpack(">HH", data[start + 3 : start + 7].rjust(4, b"\xff"))
    return min(width, LONGEST_SIDE), min(height, LONGEST_SIDE)

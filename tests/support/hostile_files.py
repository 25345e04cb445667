"""Files that must not be attached, and a word of what is said of each."""

import gzip
import os
import socket
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

from PIL import Image

from tests.support.files import object_stream, pdf, pdf_of, picture

_MEGABYTE = 1024 * 1024
_PNG = b"\x89PNG\r\n\x1a\n"
_SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'


def hostile_files(folder: Path) -> dict[str, str]:
    """Write the files; return what must be said of each, by its name."""
    said = {}
    for name, data, words in [*_pictures(), *_others(), *_pdfs(), *_texts()]:
        (folder / name).write_bytes(data)
        said[name] = words
    return said | _no_files(folder)


def many_frames(count: int) -> bytes:
    """Return a GIF of so many frames."""
    one = picture(Image.new("P", (1, 1)), "GIF")
    frame = one[one.index(b",", 13) : -1]
    return one[:-1] + frame * (count - 1) + b";"


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _png(width: int, height: int, *chunks: bytes) -> bytes:
    header = _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0))
    return _PNG + header + b"".join(chunks) + _chunk(b"IEND", b"")


def _pictures() -> Iterator[tuple[str, bytes, str]]:
    plain = Image.effect_noise((400, 400), 90)
    pixels = _chunk(b"IDAT", zlib.compress(bytes(2 * 8)))
    zeros = zlib.compress(bytes(70 * _MEGABYTE))
    bomb = _chunk(b"IDAT", zlib.compress(bytes(16_000 * 2_001)))
    png, jpeg, gif, webp = (picture(plain, kind) for kind in ("PNG", "JPEG", "GIF", "WEBP"))
    size = jpeg.index(b"\xff\xc0") + 5
    scan = jpeg.index(b"\xff\xda")
    yield "bomb.png", _png(16_000, 16_000, bomb), "50 megapixels"
    yield "claims.png", _png(30_000, 30_000, pixels), "50 megapixels"
    yield "overflow.png", _png(2**31 - 1, 2**31 - 1, pixels), "50 megapixels"
    yield "line.png", _png(50_000_001, 1, pixels), "50 megapixels"
    yield "nothing.png", _png(0, 0, pixels), "damaged"
    yield "magic.png", _PNG, "damaged"
    yield "cut.png", png[: len(png) // 2], "damaged"
    yield "checksum.png", png[:20] + b"\xff" + png[21:], "damaged"
    yield "pixels.png", _png(8, 8, _chunk(b"IDAT", b"no pixels")), "damaged"
    yield "texts.png", _png(8, 8, _chunk(b"zTXt", b"a\0\0" + zeros), pixels), "damaged"
    yield "profile.png", _png(8, 8, _chunk(b"iCCP", b"a\0\0" + zeros), pixels), "damaged"
    yield "heavy.png", png + bytes(20 * _MEGABYTE), "a picture may be at most 20 MB"
    yield "cut.jpg", jpeg[: len(jpeg) // 2], "damaged"
    yield "erased.jpg", jpeg[: len(jpeg) // 2] + b"\xff" * _MEGABYTE, "damaged"
    yield "magic.jpg", b"\xff\xd8\xff\xe0" + b"garbage" * 50, "damaged"
    yield "bomb.jpg", jpeg[:size] + b"\xff\xff\xff\xff" + jpeg[size + 4 :], "50 megapixels"
    yield "scans.jpg", jpeg[:scan] + jpeg[scan : scan + 14] * 500 + jpeg[scan:], "damaged"
    yield "cut.gif", gif[: len(gif) // 2], "damaged"
    yield "bomb.gif", gif[:6] + b"\xff\xff\xff\xff" + gif[10:], "50 megapixels"
    at = gif.index(b",\0\0\0\0") + 5
    yield "frame.gif", gif[:at] + b"\xff\xff\xff\xff" + gif[at + 4 :], "50 megapixels"
    yield "script.gif", b"GIF89a/*" + b"*/=1;alert(1)", "damaged"
    yield "cut.webp", webp[: len(webp) // 2], "damaged"
    size = webp.index(b"\x9d\x01\x2a") + 3
    yield "bomb.webp", webp[:size] + b"\xff\x3f\xff\x3f" + webp[size + 4 :], "50 megapixels"


def _others() -> Iterator[tuple[str, bytes, str]]:
    plain = Image.new("RGB", (8, 8))
    for kind in ("BMP", "TIFF", "ICO", "AVIF", "JPEG2000", "PPM"):
        yield f"picture.{kind.lower()}", picture(plain, kind), "cannot be attached: only PNG, JPEG"
    yield "photo.heic", b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", "cannot be attached: only PNG"
    yield "renamed.png", picture(plain, "TIFF"), "cannot be attached: only PNG"
    yield "program.txt", b"\x7fELF\x02\x01\x01" + bytes(100), "cannot be attached: only PNG"
    yield "large.zip", b"PK\x03\x04" + bytes(_MEGABYTE), "cannot be attached: only PNG"
    yield "drawing.svg", _SVG, "SVG"
    declared = b'\xef\xbb\xbf<?xml version="1.0"?>\n<!-- > -->\n<!DOCTYPE svg [<!ENTITY a "]">]>\n'
    yield "drawing.txt", declared + _SVG.replace(b"svg", b"s:SVG"), "SVG"
    yield "drawing.svgz", gzip.compress(_SVG), "cannot be attached: only PNG"
    yield "comments.svg", b"<!--" * 60_000 + b"-->" + _SVG, "SVG"


def _pdfs() -> Iterator[tuple[str, bytes, str]]:
    one = pdf(1)
    packed = object_stream({3: "<</Type/Page>>"})
    bomb = packed[: packed.index(b"stream\n") + 7] + zlib.compress(bytes(64 * _MEGABYTE))
    yield "pages.pdf", pdf(2_000), "2,000 pages"
    yield "packed.pdf", pdf(2_000, packed=True), "2,000 pages"
    yield "protected.pdf", one.replace(b"/Root", b"/Encrypt 9 0 R/Root"), "protected"
    yield "cut.pdf", one[:-20], "damaged"
    yield "empty.pdf", pdf(0), "no page"
    yield "magic.pdf", b"%PDF-1.7\n%%EOF", "no page"
    yield "bomb.pdf", pdf_of({1: bomb}), "no page"
    yield "header.pdf", pdf_of({1: packed.replace(b"/First ", b"/First 9999")}), "no page"
    yield "overlaps.pdf", pdf_of({1: _overlaps()}), "no page"
    yield "objects.pdf", b"%PDF-1.4\n" + b"1 0 obj " * 600_000 + b"%%EOF", "no page"
    yield "numbers.pdf", b"%PDF-1.4\n" + b"1 " * 2_500_000 + b"%%EOF", "no page"
    yield "heavy.pdf", one + b"%" * 5 * _MEGABYTE, "a PDF may be at most 5 MB"


def _overlaps() -> bytes:
    """Return a stream whose table says of many objects that each is the whole stream."""
    size = 8 * _MEGABYTE
    table = b"1 0 2 %d " % size * 8_000
    packed = zlib.compress(table + b"/" * size)
    head = b"<</Type/ObjStm/N 16000/First %d/Filter/FlateDecode>>\nstream\n" % len(table)
    return head + packed + b"\nendstream"


def _texts() -> Iterator[tuple[str, bytes, str]]:
    yield "long.txt", b"a" * (256 * 1024 + 1), "a text file may be at most 256 KB"
    yield "nul.txt", b"one\0two", "cannot be attached"
    yield "colours.log", b"\x1b[31mred\x1b[0m", "cannot be attached"
    yield "latin1.txt", "Olá".encode("latin-1"), "cannot be attached"
    yield "utf16.txt", "hello".encode("utf-16"), "cannot be attached"
    yield "surrogate.txt", b"\xed\xa0\x80", "cannot be attached"
    yield "blank.txt", b" \n\t" * 100, "white space"
    yield "none.txt", b"", "is empty"
    yield "a\nb\x1b]0;c\x07[.png", b"\0", "a b_)0;c_(.png cannot be"


def _no_files(folder: Path) -> dict[str, str]:
    """Make what is there and is no regular file."""
    (folder / "folder").mkdir()
    os.mkfifo(folder / "fifo")
    with socket.socket(socket.AF_UNIX) as end:
        end.bind(os.path.relpath(folder / "socket"))
    (folder / "device").symlink_to("/dev/zero")
    (folder / "terminal").symlink_to("/dev/tty")
    (folder / "process").symlink_to("/proc/self/environ")
    (folder / "dangling").symlink_to("nowhere")
    (folder / "loop").symlink_to("loop")
    with (folder / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    return {
        "folder": "is a folder",
        "fifo": "not a regular file",
        "socket": "not a regular file",
        "device": "not a regular file",
        "terminal": "not a regular file",
        "process": "is empty",
        "dangling": "There is no file",
        "loop": "cannot be read",
        "missing": "There is no file",
        "sparse": "cannot be attached",
        "x" * 300: "cannot be read",
        "fol\0der": "cannot be read",
    }

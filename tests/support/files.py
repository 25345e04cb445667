"""Files to attach: pictures and PDFs made by hand."""

import io
import zlib
from typing import Any

from PIL import Image


def picture(image: Image.Image, format: str, **options: Any) -> bytes:
    """Return a picture as a file's bytes."""
    file = io.BytesIO()
    image.save(file, format, **options)
    return file.getvalue()


def pdf(pages: int, *, packed: bool = False) -> bytes:
    """Return a PDF with so many empty pages, its objects packed or in plain sight."""
    numbers = range(3, 3 + pages)
    kids = " ".join(f"{number} 0 R" for number in numbers)
    objects = {1: "<</Type/Catalog/Pages 2 0 R>>", 2: f"<</Type/Pages/Count {pages}/Kids[{kids}]>>"}
    objects |= dict.fromkeys(numbers, "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] >>")
    if packed:
        return pdf_of({3 + pages: object_stream(objects)})
    return pdf_of({number: text.encode() for number, text in objects.items()})


def pdf_of(objects: dict[int, bytes]) -> bytes:
    """Return a PDF of those objects, without the table that leads to them."""
    body = b"".join(b"%d 0 obj\n%s\nendobj\n" % item for item in objects.items())
    return b"%PDF-1.5\n" + body + b"trailer <</Root 1 0 R>>\nstartxref\n0\n%%EOF\n"


def object_stream(objects: dict[int, str]) -> bytes:
    """Return objects packed into one stream."""
    body, header = "", ""
    for number, text in objects.items():
        header += f"{number} {len(body)} "
        body += text + "\n"
    packed = zlib.compress((header + body).encode())
    return (
        (
            f"<</Type/ObjStm/N {len(objects)}/First {len(header)}/Filter/FlateDecode"
            f"/Length {len(packed)}>>\nstream\n"
        ).encode()
        + packed
        + b"\nendstream"
    )

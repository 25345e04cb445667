"""Files of the user's, ready to be attached."""

from pathlib import Path

from PIL import Image

from construct.attachments import Attachment, read_attachment
from tests.support.fake_types import Json, blocks_of
from tests.support.files import pdf, picture


def cat(folder: Path, name: str = "cat.png", size: tuple[int, int] = (300, 200)) -> Path:
    """Return a picture of 80 tokens, of a colour of its own."""
    colour = sum(name.encode()) % 256
    return saved(folder / name, picture(Image.new("RGB", size, (colour, 80, 160)), "PNG"))


def lease(folder: Path, name: str = "lease.pdf") -> Path:
    """Return a PDF of one page."""
    return saved(folder / name, pdf(1))


def notes(folder: Path, text: str = "Rent is 950 euros.\nPets are welcome.\n") -> Path:
    """Return a text file."""
    return saved(folder / "notes.txt", text.encode())


def saved(path: Path, data: bytes) -> Path:
    """Write a file and return its path."""
    path.write_bytes(data)
    return path


def attachments(*paths: Path) -> tuple[Attachment, ...]:
    """Return files as they are sent."""
    return tuple(map(read_attachment, paths))


def shapes(message: Json) -> list[str]:
    """Return the types of a message's blocks without the ambient one.

    For a text message return its text.
    """
    found = []
    for block in blocks_of(message["content"]):
        if block["type"] != "text":
            found.append(block["type"])
        elif not block["text"].startswith("<"):
            found.append(block["text"])
    return found

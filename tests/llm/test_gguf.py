"""The head of a GGUF file."""

import struct
from pathlib import Path

import pytest

from construct.llm.gguf import read_gguf


def text(value: str) -> bytes:
    """Return a GGUF string."""
    return struct.pack("<Q", len(value)) + value.encode()


def gguf(*entries: bytes, version: int = 3) -> bytes:
    """Return a file with these entries and no tensors."""
    return b"GGUF" + struct.pack("<IQQ", version, 0, len(entries)) + b"".join(entries)


def number(name: str, value: int, kind: int = 4) -> bytes:
    """Return an entry that holds a whole number."""
    return text(name) + struct.pack({4: "<II", 10: "<IQ"}[kind], kind, value)


NAME = text("general.name") + struct.pack("<I", 8) + text("Smol")
LABEL = text("general.size_label") + struct.pack("<I", 8) + text("1.5B")
TAGS = text("general.tags") + struct.pack("<IIQ", 9, 8, 2) + text("a") + text("bc")
SIZES = text("general.sizes") + struct.pack("<IIQ3H", 9, 2, 3, 1, 2, 3)


def size(value: object) -> str | None:
    """Return what a test of these bytes is called."""
    return f"{len(value)} bytes" if isinstance(value, bytes) else None


@pytest.mark.parametrize(
    ("content", "length"),
    [
        (gguf(NAME, TAGS, SIZES, number("llama.context_length", 8192)), 8192),
        (gguf(number("x.block_count", 30), number("x.context_length", 131072, 10)), 131072),
        (gguf(NAME), None),
        (
            gguf(
                number("llama.rope.original_context_length", 4096),
                number("llama.context_length", 8192),
            ),
            8192,
        ),
        (gguf(number("llama.context_length", 8192))[:-1], None),
    ],
    ids=size,
)
def test_says_how_much_it_reads(tmp_path: Path, content: bytes, length: int | None) -> None:
    """The context length is found behind any other entry."""
    path = tmp_path / "model.gguf"
    path.write_bytes(content)
    assert read_gguf(path).context_length == length


@pytest.mark.parametrize(
    ("content", "parameters"),
    [
        (gguf(NAME, LABEL, number("llama.context_length", 8192)), 1_500_000_000),
        (gguf(LABEL, number("general.parameter_count", 1_543_714_304, 10)), 1_543_714_304),
        (gguf(NAME, text("general.size_label") + struct.pack("<I", 8) + text("large")), None),
        (gguf(NAME), None),
    ],
    ids=size,
)
def test_says_how_large_it_is(tmp_path: Path, content: bytes, parameters: int | None) -> None:
    """The number of parameters is the file's own count, else its label's."""
    path = tmp_path / "model.gguf"
    path.write_bytes(content)
    assert read_gguf(path).parameters == parameters


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"GG",
        b"PK\x03\x04 some archive",
        b"GGUF",
        gguf(NAME, version=1),
    ],
    ids=size,
)
def test_anything_else_is_refused(tmp_path: Path, content: bytes) -> None:
    """A file of another kind is a ValueError, at once."""
    path = tmp_path / "model.gguf"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"\w"):
        read_gguf(path)

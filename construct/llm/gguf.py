"""The head of a GGUF file: enough to know a model from anything else, and how much it can read at once."""

import re
from pathlib import Path

_HEAD = 1 << 20
"""What is looked for stands before the vocabulary. What else is wrong with a file llama.cpp finds when it loads it."""
_LENGTH = re.compile(rb"\.context_length(?:[\x04\x05]\0\0\0(.{4})|[\x0a\x0b]\0\0\0(.{8}))", re.DOTALL)
"""The end of the name, the number of the type (a whole number of 4 or 8 bytes), the value."""


def context_length(path: Path) -> int | None:
    """Return the tokens the model was trained to read at once, None when the file does not say.

    Raises ValueError when it is no GGUF file, OSError when it cannot be read.
    """
    with path.open("rb") as file:
        head = file.read(_HEAD)
    if not head.startswith(b"GGUF") or len(head) < 24:
        raise ValueError("not a GGUF file")
    version = int.from_bytes(head[4:8], "little")
    if version < 2:
        raise ValueError(f"GGUF version {version} is too old")
    found = _LENGTH.search(head)
    return int.from_bytes(found[1] or found[2], "little") if found else None

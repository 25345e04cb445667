"""Read a model's context window and number of parameters from a GGUF file's header.

The few keys needed are found by patterns; the header is not parsed as a whole.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from construct.llm.capable import parameters_in

_HEADER_BYTES = 1 << 20
"""Bytes read from the start of the file. The keys needed here come before the vocabulary.

The rest is not read: damage there is left to llama.cpp to report.
"""
# In GGUF a value follows its key and a type number: 4 and 5 are 32-bit integers, 10 and
# 11 are 64-bit ones, 8 is a string with its length first.
_NUMBER = rb"(?:[\x04\x05]\0\0\0(.{4})|[\x0a\x0b]\0\0\0(.{8}))"
_CONTEXT_LENGTH = re.compile(rb"\.context_length" + _NUMBER, re.DOTALL)
_PARAMETER_COUNT = re.compile(rb"general\.parameter_count" + _NUMBER, re.DOTALL)
_SIZE_LABEL = re.compile(rb"general\.size_label\x08\0\0\0(.)\0{7}", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Gguf:
    """Facts about the model in a GGUF file. None where the file does not give them."""

    context_length: int | None
    """The context window that the model was trained with, in tokens."""
    parameters: int | None


def read_gguf(path: Path) -> Gguf:
    """Read a file's header.

    Raises ValueError when it is not a GGUF file of version 2 or later, OSError when it cannot
    be read.
    """
    with path.open("rb") as file:
        head = file.read(_HEADER_BYTES)
    if not head.startswith(b"GGUF") or len(head) < 24:
        raise ValueError("not a GGUF file")
    version = int.from_bytes(head[4:8], "little")
    if version < 2:
        raise ValueError(f"GGUF version {version} is too old")
    return Gguf(
        _number(_CONTEXT_LENGTH, head),
        _number(_PARAMETER_COUNT, head) or _parameters_in_label(head),
    )


def _number(pattern: re.Pattern[bytes], head: bytes) -> int | None:
    match = pattern.search(head)
    return int.from_bytes(match[1] or match[2], "little") if match else None


def _parameters_in_label(head: bytes) -> int | None:
    match = _SIZE_LABEL.search(head)
    if match is None:
        return None
    length = match[1][0]
    return parameters_in(head[match.end() : match.end() + length].decode(errors="replace"))

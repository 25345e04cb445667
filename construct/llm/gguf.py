"""The head of a GGUF file: enough to know a model from anything else, and how much it can read at once."""

import struct
from pathlib import Path
from typing import BinaryIO

_STRING, _ARRAY = 8, 9
_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
_WHOLE_NUMBERS = {4: "<I", 5: "<i", 10: "<Q", 11: "<q"}
# The vocabulary comes after what is looked for; a file without it is not read to its end.
_MOST_KEYS = 200
_LONGEST_STRING = 1 << 20


def context_length(path: Path) -> int | None:
    """Return the tokens the model was trained to read at once, None when the file does not say.

    Raises ValueError when it is no GGUF file, OSError when it cannot be read.
    """
    with path.open("rb") as file:
        if file.read(4) != b"GGUF":
            raise ValueError("not a GGUF file")
        try:
            return _find(file)
        except (struct.error, OverflowError):
            raise ValueError("the file is cut off or damaged") from None


def _find(file: BinaryIO) -> int | None:
    version, _tensors, keys = _unpack(file, "<IQQ")
    if version < 2:
        raise ValueError(f"GGUF version {version} is too old")
    for _ in range(min(keys, _MOST_KEYS)):
        name, (kind,) = _string(file), _unpack(file, "<I")
        if name.endswith(b".context_length") and kind in _WHOLE_NUMBERS:
            return _unpack(file, _WHOLE_NUMBERS[kind])[0]
        if name.startswith(b"tokenizer.ggml.tokens"):
            return None
        _skip(file, kind)
    return None


def _skip(file: BinaryIO, kind: int, count: int = 1) -> None:
    if kind in _SIZES:
        file.seek(_SIZES[kind] * count, 1)
    elif kind == _STRING:
        for _ in range(count):
            _string(file)
    elif kind == _ARRAY and count == 1:
        _skip_items(file, *_unpack(file, "<IQ"))
    else:
        raise ValueError(f"no such kind of value: {kind}")


def _skip_items(file: BinaryIO, kind: int, count: int) -> None:
    if kind == _ARRAY:
        raise ValueError("an array of arrays, which no GGUF file has")
    _skip(file, kind, count)


def _string(file: BinaryIO) -> bytes:
    (length,) = _unpack(file, "<Q")
    if length > _LONGEST_STRING:
        raise ValueError("a string too long to be meant")
    text = file.read(length)
    if len(text) < length:
        raise ValueError("the file is cut off")
    return text


def _unpack(file: BinaryIO, form: str) -> tuple[int, ...]:
    return struct.unpack(form, file.read(struct.calcsize(form)))

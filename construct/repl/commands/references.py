"""What an argument names."""

from construct.errors import UsageError
from construct.text import shorten

Reference = tuple[str, int]
"""`observation`, `message` or `memory`, and its number."""

_KINDS = ("observation", "message", "memory")


def parse_reference(text: str, usage: str) -> Reference:
    """Return what an id names: `12`, `message:12`, `memory:12`; raises UsageError saying the usage."""
    kind, _, number = text.strip().rpartition(":")
    if (kind and kind not in _KINDS) or not (number.isascii() and number.isdigit()):
        wrong = f"{shorten(text, 40)!r} is no id. " if text.strip() else ""
        raise UsageError(f"{wrong}It is {usage}; /memory shows the ids.")
    return kind or "observation", int(number[:18])

"""Ids as they are typed: an observation's number, `message:N` or `memory:N`."""

from construct.errors import UsageError
from construct.text import shorten

Reference = tuple[str, int]
"""`observation`, `message` or `memory`, and its number."""

_KINDS = ("observation", "message", "memory")


def reference_in(text: str) -> Reference | None:
    """Return the kind and number that an id names; None when it is none."""
    kind, _, number = text.strip().rpartition(":")
    if (kind and kind not in _KINDS) or not (number.isascii() and number.isdigit()):
        return None
    return kind or "observation", int(number[:18])


def parse_reference(text: str, usage: str) -> Reference:
    """Return what an id names; raises UsageError saying the usage."""
    found = reference_in(text)
    if found is None:
        wrong = f"{shorten(text, 40)!r} is no id. " if text.strip() else ""
        raise UsageError(f"{wrong}It is {usage}; /memory shows the ids.")
    return found

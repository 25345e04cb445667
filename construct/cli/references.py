"""Ids as they are typed: an observation's number, `message:N` or `memory:N`."""

from construct.errors import UsageError

Reference = tuple[str, int]


def parse_reference(text: str) -> Reference:
    """Return the kind and number that an id names; raises UsageError when it is none."""
    kind, _, number = text.strip().rpartition(":")
    if kind not in {"", "observation", "message", "memory"} or not number.isascii() or not number.isdigit():
        raise UsageError(f"{text[:40]!r} is no id: give an observation's number, message:N or memory:N.")
    return kind or "observation", int(number[:18])

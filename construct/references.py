"""Ids as they are typed: an observation's number, `message:N` or `memory:N`."""

from construct.errors import UsageError
from construct.text import shorten

Reference = tuple[str, int]
"""`observation`, `message` or `memory`, and its number."""

_KINDS = ("observation", "message", "memory")


def parse_reference(text: str) -> Reference:
    """Return the kind and number that an id names.

    Raises UsageError when it is none.
    """
    kind, _, number = text.strip().rpartition(":")
    if (kind and kind not in _KINDS) or not (number.isascii() and number.isdigit()):
        raise UsageError(
            f"{shorten(text, 40)!r} is no id: give an observation's number, message:N or memory:N.\n"
            "`construct memory list` shows them."
        )
    return kind or "observation", int(number[:18])


def written(reference: Reference) -> str:
    """Return an id as it is typed: a bare number for an observation, `message:12`, `memory:3`."""
    kind, number = reference
    return str(number) if kind == "observation" else f"{kind}:{number}"

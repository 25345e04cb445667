"""Parse and format ids: an observation's number, or `message:N`."""

from construct.errors import UsageError
from construct.program import as_typed
from construct.text import shorten
from construct.vocabulary import ItemKind

Reference = tuple[str, int]
"""The kind (`observation` or `message`) and number of an item."""


def parse_reference(text: str) -> Reference:
    """Return the kind and number that an id names.

    Raises UsageError if it is not an id.
    """
    kind, _, number = text.strip().rpartition(":")
    if (kind and kind not in tuple(ItemKind)) or not (number.isascii() and number.isdigit()):
        raise UsageError(
            f"{shorten(text, 40)!r} is not an id: "
            "give an observation's number or message:N.\n"
            f"{as_typed('memory list')} shows the ids."
        )
    return kind or ItemKind.OBSERVATION, int(number[:18])


def written(reference: Reference) -> str:
    """Format an id as it is typed: `5` for an observation, `message:12`."""
    kind, number = reference
    return str(number) if kind == ItemKind.OBSERVATION else f"{kind}:{number}"

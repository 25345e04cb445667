"""Ids on the command line."""

from construct.errors import UsageError
from construct.references import Reference, reference_in
from construct.text import shorten

__all__ = ["Reference", "parse_reference"]


def parse_reference(text: str) -> Reference:
    """Return the kind and number that an id names; raises UsageError when it is none."""
    found = reference_in(text)
    if found is None:
        raise UsageError(
            f"{shorten(text, 40)!r} is no id: give an observation's number, message:N or memory:N.\n"
            "`construct memory list` and `search` show them."
        )
    return found

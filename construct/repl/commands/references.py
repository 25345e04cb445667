"""What an argument names."""

import re

from construct.errors import UsageError
from construct.references import Reference, reference_in
from construct.repl.chat import Chat
from construct.text import shorten

__all__ = ["Reference", "named", "number_in"]

_NUMBER = re.compile(r"[0-9]{1,18}")


def number_in(text: str) -> int | None:
    """Return the number that a text is, None when it is none or one that no row can have."""
    return int(text) if _NUMBER.fullmatch(text) else None


def named(chat: Chat, text: str, usage: str) -> Reference:
    """Return what an id names: `12`, `message:12`, `memory:12`; no id at all means what was shown last.

    Raises UsageError saying the usage.
    """
    found = reference_in(text) if text.strip() else chat.shown
    if found is None:
        wrong = f"{shorten(text, 40)!r} is no id." if text.strip() else "Which one?"
        raise UsageError(f"{wrong} It is {usage}; /memory shows the ids.")
    return found

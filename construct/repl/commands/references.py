"""What an argument names."""

import re

from construct.errors import UsageError
from construct.references import Reference, parse_reference
from construct.repl.chat import Chat

_NUMBER = re.compile(r"[0-9]{1,18}")


def number_in(text: str) -> int | None:
    """Return the number that a text is, None when it is none or one that no row can have."""
    return int(text) if _NUMBER.fullmatch(text) else None


def named(chat: Chat, text: str, usage: str) -> Reference:
    """Return what an id names: `12`, `message:12`, `memory:12`; no id at all means what was shown last."""
    if text.strip():
        return parse_reference(text)
    if chat.shown is None:
        raise UsageError(f"Which one? It is {usage}; /memory shows the ids.")
    return chat.shown

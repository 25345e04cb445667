"""Which parts of a message are pasted: somebody else's words. No I/O."""

import json
from collections.abc import Sequence

from construct.text import as_pasted

Span = tuple[int, int]
"""Where a pasted part begins and ends, in characters."""


def dump_spans(spans: Sequence[Span]) -> str | None:
    """Return the form in which spans are stored; None if there are none."""
    return json.dumps(spans) if spans else None


def load_spans(stored: str | None) -> tuple[Span, ...]:
    """Return stored spans."""
    return tuple((start, end) for start, end in json.loads(stored or "[]"))


def with_marks(text: str, spans: Sequence[Span]) -> str:
    """Return a text whose pasted parts stand in lines that begin with `> `, apart from the rest."""
    parts: list[str] = []
    done = 0
    for start, end in spans:
        parts += [text[done:start], as_pasted(text[start:end])]
        done = end
    parts.append(text[done:])
    return "\n".join(part.strip("\n") for part in parts if part.strip())

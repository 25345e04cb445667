"""Which stored notes an observer is told of, so that it does not write them again and can replace them."""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate

from construct import tokens
from construct.memory.language.terms import content_words, terms
from construct.memory.shown.lines import plain_line
from construct.store import observations as rows
from construct.store.records import Descent, Message, Observation

KNOWN_TOKENS = 1_500
_MOST_WORDS = 40
_CANDIDATES = 80


def known_notes(db: sqlite3.Connection, talk: Descent | None, messages: Sequence[Message]) -> list[Observation]:
    """Return active and pending notes, as many as KNOWN_TOKENS hold, the most relevant first.

    First those that share names or subject with the messages, then those of high priority, then the newest.
    """
    if not messages:
        return []
    found = [
        *rows.matching(db, _expression(messages), talk, _CANDIDATES),
        *rows.newest(db, talk, _CANDIDATES, high_only=True),
        *rows.newest(db, talk, _CANDIDATES),
    ]
    notes = list({o.id: o for o in found}.values())
    sizes = accumulate(tokens.count(plain_line(o)) + 2 for o in notes)
    return [o for o, size in zip(notes, sizes, strict=True) if size <= KNOWN_TOKENS]


def _expression(messages: Sequence[Message]) -> str:
    """Return an FTS5 expression for any of the telling words of the messages: names first, then the longest words."""
    named = Counter(term for m in messages for term in terms(m.content))
    said = Counter(word for m in messages if m.role == "user" for word in content_words(m.content))
    ordered = [*(w for w, _ in named.most_common()), *sorted(said, key=lambda w: (-len(w), w))]
    return " OR ".join(_quoted(list(dict.fromkeys(ordered))[:_MOST_WORDS]))


def _quoted(words: Iterable[str]) -> Iterable[str]:
    return ('"' + word.replace('"', '""') + '"' for word in words)

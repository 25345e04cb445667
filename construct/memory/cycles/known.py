"""Which stored notes an observer is told of, so that it does not write them again and can replace them."""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence

from construct.memory.language.terms import content_words, terms
from construct.memory.shown.lines import fitting
from construct.store import observations as rows
from construct.store.records import Descent, Message, Observation

_MOST_WORDS = 40
_CANDIDATES = 80


def known_notes(
    db: sqlite3.Connection, talk: Descent | None, messages: Sequence[Message], most: int
) -> list[Observation]:
    """Return active and pending notes, as many as `most` tokens hold, the most relevant first.

    First those that share names or subject with the messages, then those of high priority, then the newest.
    """
    if not messages:
        return []
    found = [
        *rows.matching(db, _expression(messages), talk, _CANDIDATES),
        *rows.newest(db, talk, _CANDIDATES, high_only=True),
        *rows.newest(db, talk, _CANDIDATES),
    ]
    return fitting(list({o.id: o for o in found}.values()), most)


def _expression(messages: Sequence[Message]) -> str:
    """Return an FTS5 expression for any of the telling words of the messages: names first, then the longest words."""
    named = Counter(term for m in messages for term in terms(m.content))
    said = Counter(word for m in messages if m.role == "user" for word in content_words(m.content))
    ordered = [*(w for w, _ in named.most_common()), *sorted(said, key=lambda w: (-len(w), w))]
    return " OR ".join(_quoted(list(dict.fromkeys(ordered))[:_MOST_WORDS]))


def _quoted(words: Iterable[str]) -> Iterable[str]:
    return ('"' + word.replace('"', '""') + '"' for word in words)

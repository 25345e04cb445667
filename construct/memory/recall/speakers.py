"""Whom a name in a query means.

A name that one side calls out ("Thanks, Anna!") is the other side's.
"""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

from construct.language.index_words import fold
from construct.memory.recall.query import Query, any_of
from construct.store import search as store
from construct.store.search import Entry

CALLS = 4  # turns that call out a name, at least, for it to be a participant's
CALLED_SHARE = 0.25  # and of the turns that have it, this share
HEARD = 4_000  # characters of a turn in which it may call somebody: what is pasted behind does not
ONE_SIDE = 0.8  # and in a conversation, this share of them by one side
SAMPLE = 100  # turns that are read to learn whether it is one

Turn = tuple[int, str, str]
"""(conversation, role, text)."""

_OTHER = {"user": "assistant", "assistant": "user"}
_ENDS = ",.!?:;\n"
_OPENERS = (
    *_ENDS, "hey", "hi", "hello", "thanks", "thank you", "dear", "sorry", "bye", "morning", "wow",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Speakers:
    """The participants a query names."""

    names: frozenset[str] = frozenset()
    bearers: frozenset[tuple[int, str | None]] = frozenset()
    """(conversation, role) of those who bear one of the names."""
    role: str | None = None
    """Set when the query says "I" or "you"."""
    usual: str | None = None
    """Who bears them by and large: what holds where nobody is called by name."""

    def sign(self, entry: Entry) -> float:
        """Return 1 for what was said by the one who is meant, -1 by someone else.

        0 when nobody or both are meant.
        """
        if entry.role is None or not (self.names or self.role):
            return 0.0
        if not self.names:
            return 1.0 if entry.role == self.role else -1.0
        conversation = entry.conversation or 0
        mine = (conversation, entry.role) in self.bearers
        other = (conversation, _OTHER[entry.role]) in self.bearers
        if not mine and not other:
            return -0.5 if entry.role == self.usual else -1.0
        return float(mine) - float(other)


def called_in(db: sqlite3.Connection, query: Query) -> dict[str, list[Turn]]:
    """Return a query's words that are participants' names, with their turns."""
    called = {}
    for word in query.words:
        if word in query.capitals and len(word) > 1:
            turns = store.newest_excerpts(db, any_of([word]), SAMPLE, HEARD)
            if is_called(word, turns):
                called[word] = turns
    return called


def is_called(name: str, turns: Sequence[Turn]) -> bool:
    """Return whether a word is a participant's name, from turns that have it."""
    calls = sum(_calls(name, text) for _, _, text in turns)
    return calls >= max(CALLS, CALLED_SHARE * len(turns))


def speakers(
    called: Mapping[str, Sequence[Turn]], read: Iterable[Entry] = (), role: str | None = None
) -> Speakers:
    """Return who bears some names, by the turns that have them and by what was read."""
    heard = [(entry.conversation or 0, entry.role, entry.text) for entry in read if entry.role]
    callers: dict[tuple[int, str], list[str]] = {}
    for name, turns in called.items():
        for conversation, who, text in (*turns, *heard):
            if _calls(name, text):
                callers.setdefault((conversation, name), []).append(who)
    bearers = {(conversation, _bearer(who)) for (conversation, _), who in callers.items()}
    everyone = list(chain.from_iterable(callers.values()))
    return Speakers(frozenset(called), frozenset(bearers), role, _bearer(everyone))


def _bearer(callers: Sequence[str]) -> str | None:
    """Return whose name it is that these called, None when both are called so."""
    by_user = callers.count("user") / len(callers) if callers else 0.5
    if by_user >= ONE_SIDE:
        return "assistant"
    return "user" if by_user <= 1 - ONE_SIDE else None


def _calls(name: str, text: str) -> bool:
    """Return whether a turn speaks to someone by name: "Thanks, Anna!"."""
    for before, after in pairwise(fold(text[:HEARD]).split(name)):
        opening = before.rstrip()
        if (not opening or opening.endswith(_OPENERS)) and after.lstrip(" ")[:1] in _ENDS:
            return True
    return False

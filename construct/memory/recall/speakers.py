"""Find out whether a name in a query means the user or the assistant.

A name by which one side addresses the other ("Thanks, Anna!") belongs to the other.
"""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

from construct.language.index_words import fold
from construct.memory.recall.query import Query, any_of
from construct.store import search
from construct.store.search import Entry

# A name is a participant's if at least CALLS turns address somebody by it, and at least
# CALLED_SHARE of the turns that contain it.
CALLS = 4
CALLED_SHARE = 0.25
ONE_SIDE = 0.8  # share of those turns that must come from one side for the name to be the other's
HEARD = 4_000  # characters read of a turn: pasted text after them addresses nobody
SAMPLE = 100  # newest turns read for each name

Turn = tuple[int, str, str]
"""(conversation id, role, text)."""

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
    """(conversation id, role) of the participants who have one of the names."""
    role: str | None = None
    """Whose words are meant, if the query says "I" or "you"."""
    usual: str | None = None
    """Who has the names overall, for conversations where nobody is addressed by name."""

    def sign(self, entry: Entry) -> float:
        """Return 1 if the participant that the query means said the entry, -1 if not.

        0 if the query means nobody or both. -0.5 if nobody is addressed by name in the
        conversation and the speaker usually has the name.
        """
        if entry.role is None or not (self.names or self.role):
            return 0.0
        if not self.names:
            return 1.0 if entry.role == self.role else -1.0
        conversation = entry.conversation or 0
        has_name = (conversation, entry.role) in self.bearers
        other_has_name = (conversation, _OTHER[entry.role]) in self.bearers
        if not has_name and not other_has_name:
            return -0.5 if entry.role == self.usual else -1.0
        return float(has_name) - float(other_has_name)


def called_in(db: sqlite3.Connection, query: Query) -> dict[str, list[Turn]]:
    """Return the query's words that are participants' names, with turns that contain them."""
    called = {}
    for word in query.words:
        if word in query.capitals and len(word) > 1:
            turns = search.newest_excerpts(db, any_of([word]), SAMPLE, HEARD)
            if is_called(word, turns):
                called[word] = turns
    return called


def is_called(name: str, turns: Sequence[Turn]) -> bool:
    """Return whether a word is a participant's name, judged by turns that contain it."""
    calls = sum(_calls(name, text) for _, _, text in turns)
    return calls >= max(CALLS, CALLED_SHARE * len(turns))


def speakers(
    called: Mapping[str, Sequence[Turn]], read: Iterable[Entry] = (), role: str | None = None
) -> Speakers:
    """Return who has some names, judged by turns that contain them and by entries read."""
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
    """Return whose name these roles called, or None if it is not clearly one side's."""
    by_user = callers.count("user") / len(callers) if callers else 0.5
    if by_user >= ONE_SIDE:
        return "assistant"
    return "user" if by_user <= 1 - ONE_SIDE else None


def _calls(name: str, text: str) -> bool:
    """Return whether a turn addresses someone by name: "Thanks, Anna!"."""
    for before, after in pairwise(fold(text[:HEARD]).split(name)):
        opening = before.rstrip()
        if (not opening or opening.endswith(_OPENERS)) and after.lstrip(" ")[:1] in _ENDS:
            return True
    return False

"""Tell whether a name in a query means the user or the assistant.

A name by which one participant addresses the other ("Thanks, Anna!") belongs to the
other.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import NamedTuple

from construct.language.index_words import fold
from construct.memory.recall.query import Query, any_of
from construct.store import search
from construct.store.driver import Connection
from construct.store.search import Entry

MIN_CALLS = 4
"""A participant's name is used to address somebody in at least this many turns."""
MIN_CALL_SHARE = 0.25
"""A participant's name addresses somebody in at least this share of the turns with it."""
ONE_SIDE_SHARE = 0.8
"""A name is one speaker's if at least this share of the calls by that name are the other's."""
TURNS_READ = 100
"""Newest turns that are read for each name."""
CHARACTERS_READ = 4_000
"""Characters of a turn that are read: pasted text after them addresses nobody."""

_OTHER = {"user": "assistant", "assistant": "user"}
_ENDS = ",.!?:;\n"
_OPENERS = (
    *_ENDS, "hey", "hi", "hello", "thanks", "thank you", "dear", "sorry", "bye", "morning", "wow",
)  # fmt: skip


class Turn(NamedTuple):
    """The part of a message that is needed to find names in it."""

    conversation: int
    role: str
    text: str


@dataclass(frozen=True, slots=True)
class Speakers:
    """The participants that a query means."""

    names: frozenset[str] = frozenset()
    """The participants' names in the query."""
    bearers: frozenset[tuple[int, str | None]] = frozenset()
    """(conversation id, role) of the participants who have one of the names."""
    role: str | None = None
    """The role that "I" or "you" in the query means, if it has one of them."""
    usual_bearer: str | None = None
    """The role that is mostly called by these names, over all conversations.

    It counts in conversations that do not show whose name it is.
    """

    def sign(self, entry: Entry) -> float:
        """Return 1 if a participant that the query means said the entry, -1 if not.

        0 if the query means nobody or both, or if the entry is not a message. -0.5 if the
        conversation does not show whose name it is and the speaker usually has the name.
        """
        if entry.role is None or not (self.names or self.role):
            return 0.0
        if not self.names:
            return 1.0 if entry.role == self.role else -1.0
        conversation = entry.conversation or 0
        has_name = (conversation, entry.role) in self.bearers
        other_has_name = (conversation, _OTHER[entry.role]) in self.bearers
        if not has_name and not other_has_name:
            return -0.5 if entry.role == self.usual_bearer else -1.0
        return float(has_name) - float(other_has_name)


def participant_names(db: Connection, query: Query) -> dict[str, list[Turn]]:
    """Return the query's words that are participants' names, with turns that have them."""
    names = {}
    for word in query.words:
        if word in query.possible_names and len(word) > 1:
            rows = search.newest_excerpts(db, any_of([word]), TURNS_READ, CHARACTERS_READ)
            turns = [Turn(*row) for row in rows]
            if is_participant_name(word, turns):
                names[word] = turns
    return names


def is_participant_name(word: str, turns: Sequence[Turn]) -> bool:
    """Return whether a word is a participant's name, judged by turns that contain it."""
    calls = sum(addresses(turn.text, word) for turn in turns)
    return calls >= max(MIN_CALLS, MIN_CALL_SHARE * len(turns))


def identify_speakers(
    names: Mapping[str, Sequence[Turn]], read: Iterable[Entry] = (), role: str | None = None
) -> Speakers:
    """Return the participants who have these names, judged by turns that contain them.

    `read`: entries to judge by as well. `role`: the role that "I" or "you" means.
    """
    others = [Turn(entry.conversation or 0, entry.role, entry.text) for entry in read if entry.role]
    callers: dict[tuple[int, str], list[str]] = {}
    """The roles of those who call a name, by conversation and name."""
    for name, turns in names.items():
        for turn in (*turns, *others):
            if addresses(turn.text, name):
                callers.setdefault((turn.conversation, name), []).append(turn.role)
    bearers = {(conversation, _bearer(roles)) for (conversation, _), roles in callers.items()}
    all_callers = list(chain.from_iterable(callers.values()))
    return Speakers(frozenset(names), frozenset(bearers), role, _bearer(all_callers))


def _bearer(callers: Sequence[str]) -> str | None:
    """Return the role whose name these roles call, or None if it is not clearly one."""
    for caller, bearer in (("user", "assistant"), ("assistant", "user")):
        if callers and callers.count(caller) / len(callers) >= ONE_SIDE_SHARE:
            return bearer
    return None


def addresses(text: str, name: str) -> bool:
    """Return whether a turn's text addresses someone by name: "Thanks, Anna!"."""
    for before, after in pairwise(fold(text[:CHARACTERS_READ]).split(name)):
        opening = before.rstrip()
        if (not opening or opening.endswith(_OPENERS)) and after.lstrip(" ")[:1] in _ENDS:
            return True
    return False

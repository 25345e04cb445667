"""Who is meant by a name in a query: a name that one side calls out ("Thanks, Anna!") is the other side's. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from construct.memory.language.stem import fold
from construct.store.search import Entry

CALLS = 4  # turns that call out a name, at least, for it to be a participant's
CALLED_SHARE = 0.25  # and of the turns that have it, this share
HEARD = 4_000  # characters of a turn in which it may call somebody: what is pasted behind calls nobody here
ONE_SIDE = 0.8  # and in a conversation, this share of them by one side

Turn = tuple[int, str, str]
"""(conversation, role, text)."""


@dataclass(frozen=True, slots=True)
class Speakers:
    """The participants a query names."""

    names: frozenset[str] = frozenset()
    bearers: frozenset[tuple[int | None, str]] = frozenset()
    """(conversation, role) of those who bear one of the names."""
    role: str | None = None
    """Set when the query says "I" or "you"."""
    usual: str | None = None
    """Who bears them by and large: what holds in a conversation where nobody is called by name."""

    def sign(self, entry: Entry) -> float:
        """Return 1 for what was said by the one who is meant, -1 by someone else, 0 when nobody or both are meant."""
        if entry.role is None:
            return 0.0
        if not self.names:
            return 0.0 if self.role is None else 1.0 if entry.role == self.role else -1.0
        mine = (entry.conversation, entry.role) in self.bearers
        other = (entry.conversation, _OTHER[entry.role]) in self.bearers
        if not mine and not other:
            return -0.5 if entry.role == self.usual else -1.0
        return float(mine) - float(other)


_OTHER = {"user": "assistant", "assistant": "user"}


def may_be_called(word: str, turns: Iterable[Turn]) -> bool:
    """Tell whether any turn calls a word out."""
    return any(_calls(word, text) for _, _, text in turns)


def is_called(word: str, turns: Iterable[Turn]) -> bool:
    """Tell whether a word is a participant's name, from turns that have it."""
    calls = [_calls(word, text) for _, _, text in turns]
    return sum(calls) >= max(CALLS, CALLED_SHARE * len(calls))


def speakers(turns: Iterable[Turn], names: frozenset[str], role: str | None) -> Speakers:
    """Return who bears the names in each conversation, from turns that may hold them."""
    calls: dict[tuple[int, str], list[str]] = {}
    for conversation, who, text in turns:
        for name in names:
            if _calls(name, text):
                calls.setdefault((conversation, name), []).append(who)
    bearers: set[tuple[int | None, str]] = set()
    for (conversation, _), callers in calls.items():
        if borne_by := _borne_by(callers):
            bearers.add((conversation, borne_by))
    everyone = [who for callers in calls.values() for who in callers]
    return Speakers(names, frozenset(bearers), role, _borne_by(everyone))


def _borne_by(callers: Sequence[str]) -> str | None:
    """Return whose name it is that these called, None when both are called so."""
    by_user = callers.count("user") / len(callers) if callers else 0.5
    return "assistant" if by_user >= ONE_SIDE else "user" if by_user <= 1 - ONE_SIDE else None


def _calls(name: str, text: str) -> bool:
    """Tell whether a turn speaks to someone by name: "Thanks, Anna!"."""
    folded = fold(text[:HEARD])
    at = folded.find(name)
    while at >= 0:
        before, after = folded[max(0, at - 12) : at].rstrip(), folded[at + len(name) : at + len(name) + 12].lstrip(" ")
        if (not before or before.endswith(_OPENERS)) and (not after or after[0] in ",.!?:;\n"):
            return True
        at = folded.find(name, at + 1)
    return False


_OPENERS = (*",.!?:;\n", "hey", "hi", "hello", "thanks", "thank you", "dear", "sorry", "bye", "morning", "wow")

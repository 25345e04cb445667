"""Who is meant by a name in a query: a name that one side calls out ("Thanks, Anna!") is the other side's. Pure."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from construct.store.search import Entry

CALLS = 4  # turns that call out a name, at least, for it to be a participant's
CALLED_SHARE = 0.25  # and of the turns that have it, this share
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

    unknown: float = -1.0
    """The sign where the name is nobody's, as far as is known."""

    def sign(self, entry: Entry) -> float:
        """Return 1 for what was said by the one who is meant, -1 by someone else, 0 when nobody or both are meant."""
        if entry.role is None:
            return 0.0
        if not self.names:
            return 0.0 if self.role is None else 1.0 if entry.role == self.role else -1.0
        mine = (entry.conversation, entry.role) in self.bearers
        other = (entry.conversation, _OTHER[entry.role]) in self.bearers
        return self.unknown if not mine and not other else float(mine) - float(other)


_OTHER = {"user": "assistant", "assistant": "user"}


def is_called(word: str, turns: Iterable[Turn]) -> bool:
    """Tell whether a word is a participant's name, from turns that have it."""
    pattern = _call(word)
    calls = [bool(pattern.search(text)) for _, _, text in turns]
    return sum(calls) >= max(CALLS, CALLED_SHARE * len(calls))


def speakers(turns: Iterable[Turn], names: frozenset[str], role: str | None, unknown: float = -1.0) -> Speakers:
    """Return who bears the names in each conversation, from turns that may hold them."""
    calls: dict[tuple[int, str], list[str]] = {}
    patterns = {name: _call(name) for name in names}
    for conversation, who, text in turns:
        lower = text.lower()
        for name in names:
            if name in lower and patterns[name].search(text):
                calls.setdefault((conversation, name), []).append(who)
    bearers: set[tuple[int | None, str]] = set()
    for (conversation, _), callers in calls.items():
        by_user = callers.count("user") / len(callers)
        if max(by_user, 1 - by_user) >= ONE_SIDE:
            bearers.add((conversation, "assistant" if by_user >= ONE_SIDE else "user"))
    return Speakers(names, frozenset(bearers), role, unknown)


def _call(name: str) -> re.Pattern[str]:
    """Return the pattern of a turn that speaks to someone."""
    return re.compile(
        rf"(?:^|[,.!?:;]\s*|\b(?:hey|hi|hello|thanks|thank you|dear|sorry|bye|morning|wow)\s*,?\s*){re.escape(name)}"
        r"\s*(?:[,.!?:;]|$)",
        re.IGNORECASE | re.MULTILINE,
    )

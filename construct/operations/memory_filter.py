"""Parse and apply filters for memory lists, such as `high planned since 7d dentist`. No I/O.

A priority, a stance or a mark keeps only what has it; of several priorities, or several
stances, one is enough. `since`, `until` and `on` take a day, a month, a year or an age.
`all` filters nothing. Every other word, and all text in quotation marks, must be in the
observation.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date

from construct.clock import Clock
from construct.errors import UsageError
from construct.language.moments import parse_moment
from construct.language.periods import parse_when
from construct.memory.agenda import outcome_unknown
from construct.store.records import Observation
from construct.vocabulary import Origin, Priority, Stance

# What can be typed, with an explanation for the help and the completion.
PRIORITIES: Mapping[str, str] = {
    Priority.HIGH: "high priority (!)",
    Priority.MEDIUM: "medium priority (-)",
    Priority.LOW: "low priority (~)",
}
STANCES: Mapping[str, str] = {
    Stance.STATED: "said as a fact",
    Stance.ASKED: "only asked",
    Stance.PLANNED: "a plan",
    Stance.HYPOTHETICAL: "only supposed",
    Stance.INFERRED: "concluded, not said",
    Stance.ASSISTANT: "the assistant's words",
    Stance.QUOTED: "someone else's words",
}
_BOUNDS = ("since", "until", "on")
EVERYTHING = "all"
"""The word that lists everything, however long the list is."""
# "quoted text", with or without its closing mark, or a bare word.
_TOKEN = re.compile(r'"(?P<quoted>[^"]*)"?|(?P<bare>[^\s"]+)')


MARKS: Mapping[str, tuple[str, Callable[[Observation, date], bool]]] = {
    "pending": ("written, not yet committed", lambda o, _: o.state == "pending"),
    "shelved": ("true, but out of sight", lambda o, _: o.state == "shelved"),
    "pinned": ("kept as it is", lambda o, _: bool(o.pinned)),
    "unknown": ("past plans, outcome unknown", outcome_unknown),
    "reflections": ("made from other observations", lambda o, _: o.generation > 0),
    "yours": ("written or edited by you", lambda o, _: o.origin == Origin.USER),
    "kept": ("kept on request", lambda o, _: bool(o.kept)),
}
"""Marks other than priority and stance, each with an explanation and its test."""
_MARKS_IN_WORDS = {"unknown": "outcome unknown", "kept": "kept on request"}


@dataclass(frozen=True, slots=True)
class MemoryFilter:
    """A parsed filter. Empty fields filter nothing; days are `YYYY-MM-DD`, both included."""

    priorities: tuple[str, ...] = ()
    stances: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    first_day: str = ""
    last_day: str = ""
    words: tuple[str, ...] = ()
    """In lower case."""
    everything: bool = False
    """Whether to list everything, however long the list is."""

    @property
    def narrows(self) -> bool:
        """Whether the filter leaves anything out."""
        return self != MemoryFilter(everything=self.everything)

    def matches(self, o: Observation, today: date) -> bool:
        """Return whether an observation passes the filter on the user's day `today`."""
        return (
            (not self.priorities or o.priority in self.priorities)
            and (not self.stances or o.stance in self.stances)
            and all(MARKS[mark][1](o, today) for mark in self.marks)
            and self._is_within(o.observation_date)
            and self._is_in(o.content)
        )

    def parts(self) -> Iterator[str]:
        """Yield each part of the filter in words, such as "high or low" or "since 2026-03-01"."""
        for names in (self.priorities, self.stances):
            if names:
                yield " or ".join(names)
        for mark in self.marks:
            yield _MARKS_IN_WORDS.get(mark, mark)
        if self.first_day and self.first_day == self.last_day:
            yield f"on {self.first_day}"
        else:
            if self.first_day:
                yield f"since {self.first_day}"
            if self.last_day:
                yield f"until {self.last_day}"
        yield from (f"“{word}”" for word in self.words)

    def _is_within(self, day: str) -> bool:
        return self.first_day <= day and (not self.last_day or day <= self.last_day)

    def _is_in(self, text: str) -> bool:
        folded = text.casefold()
        return all(word in folded for word in self.words)


def parse_filter(text: str, clock: Clock) -> MemoryFilter:
    """Parse a typed filter.

    Raises UsageError if the word after `since`, `until` or `on` has digits but is not a
    date.
    """
    named: dict[str, list[str]] = {"priorities": [], "stances": [], "marks": [], "words": []}
    first_day = last_day = ""
    everything = False
    tokens = list(_TOKEN.finditer(text))
    while tokens:
        token = tokens.pop(0)
        word = (token["bare"] or "").casefold()
        if word in _BOUNDS and tokens and (period := _days(tokens[0]["bare"] or "", clock)):
            tokens.pop(0)
            if word != "until":
                first_day = period[0]
            if word != "since":
                last_day = period[1]
        elif word == EVERYTHING:
            everything = True
        else:
            named[_kind(word)].append(word or token["quoted"].casefold())
    parts = {kind: tuple(dict.fromkeys(filter(None, words))) for kind, words in named.items()}
    return MemoryFilter(**parts, first_day=first_day, last_day=last_day, everything=everything)


def _kind(word: str) -> str:
    if word in PRIORITIES:
        return "priorities"
    if word in STANCES:
        return "stances"
    return "marks" if word in MARKS else "words"


def _days(text: str, clock: Clock) -> tuple[str, str] | None:
    """Return the first and last day of a date, month, year or age; None for other words.

    Raises UsageError if such a word has digits.
    """
    with suppress(ValueError, OverflowError):
        period = parse_when(text)
        return period.first.isoformat(), period.last.isoformat()
    try:
        day = clock.local(parse_moment(text, clock)).date().isoformat()
    except UsageError:
        if not any(character.isdigit() for character in text):
            return None
        raise UsageError(
            f"Not a date: {text[:40]}\n"
            "Give a date (2026-03-01), a month (2026-03), a year, 7d, 2w, today or yesterday."
        ) from None
    return day, day

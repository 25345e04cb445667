"""Filters of what is remembered, as typed: `high planned since 7d dentist`. Pure.

A priority, a stance or a mark leaves only what has it; of two priorities, or two
stances, either will do. `since`, `until` and `on` take a day, a month, a year or an
age. Every other word, and whatever stands in quotation marks, must be in the text.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date

from construct.clock import Clock, from_text
from construct.errors import UsageError
from construct.language.periods import parse_when
from construct.operations.moments import parse_moment
from construct.store.records import Memory, Observation
from construct.vocabulary import MemoryOrigin, Priority, Stance

PRIORITIES: Mapping[str, str] = {
    Priority.HIGH: "matters much (!)",
    Priority.MEDIUM: "matters some (-)",
    Priority.LOW: "matters little (~)",
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
"""The words of the two lists, each with its meaning."""
_BOUNDS = ("since", "until", "on")
EVERYTHING = "all"
_TOKEN = re.compile(r'"(?P<quoted>[^"]*)"?|(?P<bare>[^\s"]+)')


def outcome_unknown(o: Observation, today: date) -> bool:
    """Return whether a plan's time has passed, with no word of how it went."""
    passed = o.referenced_date is not None and parse_when(o.referenced_date).last < today
    return o.stance == Stance.PLANNED and passed and o.superseded_at is None


MARKS: Mapping[str, tuple[str, Callable[[Observation, date], bool]]] = {
    "pending": ("written, not yet committed", lambda o, _: o.state == "pending"),
    "pinned": ("kept as it is", lambda o, _: bool(o.pinned)),
    "unknown": ("plans of unknown outcome", outcome_unknown),
    "reflections": ("made of other observations", lambda o, _: o.generation > 0),
    "yours": ("said in your own words", lambda o, _: o.origin == MemoryOrigin.USER),
}
"""What an observation can be beside its priority and stance, each with its meaning."""


@dataclass(frozen=True, slots=True)
class MemoryFilter:
    """What is wanted. Empty parts leave everything in.

    Days are `YYYY-MM-DD`, both included.
    """

    priorities: tuple[str, ...] = ()
    stances: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    first_day: str = ""
    last_day: str = ""
    words: tuple[str, ...] = ()
    """In lower case."""
    everything: bool = False
    """Show all of it, however much that is."""

    @property
    def narrows(self) -> bool:
        """Whether anything is left out at all."""
        return self != MemoryFilter(everything=self.everything)

    def matches(self, o: Observation, today: date) -> bool:
        """Return whether an observation is wanted."""
        return (
            (not self.priorities or o.priority in self.priorities)
            and (not self.stances or o.stance in self.stances)
            and all(MARKS[mark][1](o, today) for mark in self.marks)
            and self._is_within(o.observation_date)
            and self._is_in(o.content)
        )

    def matches_memory(self, memory: Memory, clock: Clock) -> bool:
        """Return whether a memory is wanted. It has neither priority nor stance."""
        if self.priorities or self.stances or set(self.marks) - {"yours"}:
            return False
        kept = clock.local(from_text(memory.created_at)).date().isoformat()
        return (
            (not self.marks or memory.origin == MemoryOrigin.USER)
            and self._is_within(kept)
            and self._is_in(memory.content)
        )

    def parts(self) -> Iterator[str]:
        """Yield what narrows, part by part, as people read it."""
        yield from (" or ".join(names) for names in (self.priorities, self.stances) if names)
        yield from ("outcome unknown" if mark == "unknown" else mark for mark in self.marks)
        if self.first_day and self.first_day == self.last_day:
            yield f"on {self.first_day}"
        else:
            bounds = (("since", self.first_day), ("until", self.last_day))
            yield from (f"{name} {day}" for name, day in bounds if day)
        yield from (f"“{word}”" for word in self.words)

    def _is_within(self, day: str) -> bool:
        return self.first_day <= day and (not self.last_day or day <= self.last_day)

    def _is_in(self, text: str) -> bool:
        folded = text.casefold()
        return all(word in folded for word in self.words)


def parse_filter(text: str, clock: Clock) -> MemoryFilter:
    """Return the filter that a person types.

    Raises UsageError when what follows `since` looks like a day and is none.
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
            first_day = first_day if word == "until" else period[0]
            last_day = last_day if word == "since" else period[1]
        elif word == EVERYTHING:
            everything = True
        else:
            named[_kind(word)].append(word or token["quoted"].casefold())
    parts = {kind: tuple(dict.fromkeys(filter(None, words))) for kind, words in named.items()}
    return MemoryFilter(
        parts["priorities"],
        parts["stances"],
        parts["marks"],
        first_day,
        last_day,
        parts["words"],
        everything,
    )


def _kind(word: str) -> str:
    if word in PRIORITIES:
        return "priorities"
    if word in STANCES:
        return "stances"
    return "marks" if word in MARKS else "words"


def _days(text: str, clock: Clock) -> tuple[str, str] | None:
    """Return the first and last day that a word means. None if it looks like no day."""
    with suppress(ValueError, OverflowError):
        found = parse_when(text)
        return found.first.isoformat(), found.last.isoformat()
    try:
        day = clock.local(parse_moment(text, clock)).date().isoformat()
    except UsageError:
        if not any(character.isdigit() for character in text):
            return None
        raise UsageError(
            f"Not a day: {text[:40]}\n"
            "Give a date (2026-03-01), a month (2026-03), a year, 7d, 2w, today or yesterday."
        ) from None
    return day, day

"""Which of what is remembered is wanted: `high planned since 7d dentist`, read into one value. Pure.

A word of the lists below narrows by what it names; two of one list widen each other. `since`,
`until` and `on` take a day, a month, a year or an age. Every other word, and whatever stands
in quotation marks, must be in the text.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, timedelta

from construct.clock import Clock, from_text
from construct.errors import UsageError
from construct.memory.inspection.history import parse_moment
from construct.memory.language.when import last_day
from construct.store.records import Memory, Observation

PRIORITIES: Mapping[str, str] = {"high": "matters much (!)", "medium": "matters some (-)", "low": "matters little (~)"}
STANCES: Mapping[str, str] = {
    "stated": "said as a fact",
    "asked": "only asked",
    "planned": "a plan",
    "hypothetical": "only supposed",
    "inferred": "concluded, not said",
    "assistant": "the assistant's words",
    "quoted": "someone else's words",
}
"""The words of the two lists, each with its meaning."""
BOUNDS = ("since", "until", "on")
EVERYTHING = "all"
_TOKEN = re.compile(r'"(?P<quoted>[^"]*)"?|(?P<bare>[^\s"]+)')
_PERIOD = re.compile(r"(?P<year>[0-9]{4})(?:-(?P<month>[0-9]{2}))?")
_LAST_MONTH = 12


def outcome_unknown(o: Observation, today: date) -> bool:
    """Return whether an observation is a plan whose day, month or year has passed without a word of how it went."""
    passed = o.referenced_date is not None and last_day(o.referenced_date) < today
    return o.stance == "planned" and passed and o.superseded_at is None


MARKS: Mapping[str, tuple[str, Callable[[Observation, date], bool]]] = {
    "pending": ("written, not yet committed", lambda o, _: o.state == "pending"),
    "pinned": ("kept as it is", lambda o, _: bool(o.pinned)),
    "unknown": ("plans of unknown outcome", outcome_unknown),
    "reflections": ("made of other observations", lambda o, _: o.generation > 0),
    "yours": ("said in your own words", lambda o, _: o.origin == "user"),
}
"""What an observation can be beside its priority and stance, each with its meaning."""


@dataclass(frozen=True, slots=True)
class Narrowing:
    """What is wanted; empty parts do not narrow. Days are `YYYY-MM-DD`, both of them included."""

    priorities: tuple[str, ...] = ()
    stances: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    first_day: str = ""
    last_day: str = ""
    words: tuple[str, ...] = ()
    """Folded, as they are compared."""
    everything: bool = False
    """However much it is."""

    @property
    def narrows(self) -> bool:
        """Whether anything is left out at all."""
        return self != Narrowing(everything=self.everything)

    def holds(self, o: Observation, today: date) -> bool:
        """Tell whether an observation is wanted."""
        return (
            (not self.priorities or o.priority in self.priorities)
            and (not self.stances or o.stance in self.stances)
            and all(MARKS[mark][1](o, today) for mark in self.marks)
            and self._is_within(o.observation_date)
            and self._is_in(o.content)
        )

    def holds_memory(self, memory: Memory, clock: Clock) -> bool:
        """Tell whether something kept by itself is wanted; it has neither priority nor stance."""
        if self.priorities or self.stances or set(self.marks) - {"yours"}:
            return False
        kept = clock.local(from_text(memory.created_at)).date().isoformat()
        return (not self.marks or memory.origin == "user") and self._is_within(kept) and self._is_in(memory.content)

    def parts(self) -> Iterator[str]:
        """Give what narrows, part by part, as people read it."""
        yield from (" or ".join(names) for names in (self.priorities, self.stances) if names)
        yield from ("outcome unknown" if mark == "unknown" else mark for mark in self.marks)
        if self.first_day and self.first_day == self.last_day:
            yield f"on {self.first_day}"
        else:
            yield from (f"{name} {day}" for name, day in (("since", self.first_day), ("until", self.last_day)) if day)
        yield from (f"“{word}”" for word in self.words)

    def _is_within(self, day: str) -> bool:
        return self.first_day <= day and (not self.last_day or day <= self.last_day)

    def _is_in(self, text: str) -> bool:
        folded = text.casefold()
        return all(word in folded for word in self.words)


def parse(text: str, clock: Clock) -> Narrowing:
    """Return what a person asks for; raises UsageError when what stands behind `since` is no day."""
    named: dict[str, list[str]] = {"priorities": [], "stances": [], "marks": [], "words": []}
    first_day = last_day = ""
    everything = False
    tokens = list(_TOKEN.finditer(text))
    while tokens:
        token = tokens.pop(0)
        word = (token["bare"] or "").casefold()
        if word in BOUNDS and tokens and (period := _days(tokens[0]["bare"] or "", clock)):
            tokens.pop(0)
            first_day = first_day if word == "until" else period[0]
            last_day = last_day if word == "since" else period[1]
        elif word == EVERYTHING:
            everything = True
        else:
            named[_kind(word)].append(word or token["quoted"].casefold())
    parts = {kind: tuple(dict.fromkeys(filter(None, words))) for kind, words in named.items()}
    return Narrowing(
        parts["priorities"], parts["stances"], parts["marks"], first_day, last_day, parts["words"], everything
    )


def _kind(word: str) -> str:
    if word in PRIORITIES:
        return "priorities"
    if word in STANCES:
        return "stances"
    return "marks" if word in MARKS else "words"


def _days(text: str, clock: Clock) -> tuple[str, str] | None:
    """Return the first and the last day of what a word means; None when it is no day and does not look like one."""
    if found := _PERIOD.fullmatch(text):
        with suppress(ValueError, OverflowError):
            year, month = int(found["year"]), int(found["month"] or 1)
            last_month = int(found["month"] or _LAST_MONTH)
            after = date(year + last_month // _LAST_MONTH, last_month % _LAST_MONTH + 1, 1)
            return date(year, month, 1).isoformat(), (after - timedelta(days=1)).isoformat()
    try:
        day = clock.local(parse_moment(text, clock)).date().isoformat()
    except UsageError:
        if any(character.isdigit() for character in text):
            raise UsageError(
                f"{text[:40]!r} is no day.\n"
                "Give a date (2026-03-01), a month (2026-03), a year, 7d, 2w, today or yesterday."
            ) from None
        return None
    return day, day

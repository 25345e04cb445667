"""What was learned week by week, and what was active at each week's end. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta

from construct.clock import Clock, from_text
from construct.store.lineage import Span

_WEEK = timedelta(weeks=1)
_CAME = {"observer": "learned", "reflector": "into", "edit": "corrected"}


@dataclass(frozen=True, slots=True)
class Week:
    """One week: what came, what went, and what was left at its end."""

    monday: date
    learned: int
    """Observations made of messages."""
    condensed: int
    """Observations a reflector superseded; those it merely let go of, or found outdated, are among them."""
    into: int
    """Observations it made."""
    corrected: int
    """Edits by the user."""
    active: Mapping[int, int]
    """Observations that no later cycle had superseded at the week's end, by generation; pending ones too."""

    @property
    def is_quiet(self) -> bool:
        """Whether nothing changed."""
        return not (self.learned or self.condensed or self.into or self.corrected)


def weeks(spans: Iterable[Span], clock: Clock) -> list[Week]:
    """Return every week from the first in which something was learned to the present one, oldest first."""
    counts: Counter[tuple[date, str]] = Counter()
    changes: Counter[tuple[date, int]] = Counter()
    for span in spans:
        made = _monday(span.since, clock)
        counts[made, _CAME.get(span.made_by, "")] += 1
        changes[made, span.generation] += 1
        if span.until is not None:
            ended = _monday(span.until, clock)
            counts[ended, "condensed"] += span.ended_by == "reflector"
            changes[ended, span.generation] -= 1
    return _in_order(counts, changes, _monday_of(clock.today())) if changes else []


def _in_order(counts: Counter[tuple[date, str]], changes: Counter[tuple[date, int]], now: date) -> list[Week]:
    found: list[Week] = []
    active: dict[int, int] = dict.fromkeys(sorted({generation for _, generation in changes}), 0)
    monday, last = min(day for day, _ in changes), max(now, *(day for day, _ in changes))
    while monday <= last:
        for generation in active:
            active[generation] += changes[monday, generation]
        figures = {name: counts[monday, name] for name in ("learned", "condensed", "into", "corrected")}
        found.append(Week(monday, active={g: n for g, n in active.items() if n}, **figures))
        monday += _WEEK
    return found


def _monday(moment: str, clock: Clock) -> date:
    return _monday_of(clock.local(from_text(moment)).date())


def _monday_of(day: date) -> date:
    return day - timedelta(days=day.weekday())

"""What was learned week by week, or in bundles of weeks, and what was active at the end of each. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import groupby
from typing import Literal

from construct.clock import Clock, from_text
from construct.store.lineage import Span

Unit = Literal["week", "month", "quarter", "year"]

_UNITS: tuple[Unit, ...] = ("week", "month", "quarter", "year")
_WEEK = timedelta(weeks=1)
_CAME = {"reflector": "reflections", "edit": "corrected"}
_SUMS = ("superseded", "reflections", "corrected")


@dataclass(frozen=True, slots=True)
class Period:
    """A week, or a bundle of weeks: what came, what went, and what was left at its end."""

    begin: date
    """A Monday; of a bundle the first day of the month, quarter or year in which its weeks begin."""
    priorities: Mapping[str, int]
    """Observations made of messages, by priority."""
    superseded: int
    """Observations a reflector superseded: condensed, let go of, or found outdated."""
    reflections: int
    """Observations it made."""
    corrected: int
    """Edits by the user."""
    active: Mapping[int, int]
    """Observations that no later cycle had superseded at the end, by generation; pending ones too."""

    @property
    def learned(self) -> int:
        """Observations made of messages."""
        return sum(self.priorities.values())

    @property
    def is_quiet(self) -> bool:
        """Whether nothing changed."""
        return not (self.learned or self.superseded or self.reflections or self.corrected)


def weeks(spans: Iterable[Span], clock: Clock) -> list[Period]:
    """Return every week from the first in which something was learned to the present one, oldest first."""
    counts: Counter[tuple[date, str]] = Counter()
    changes: Counter[tuple[date, int]] = Counter()
    for span in spans:
        made = _monday(span.since, clock)
        counts[made, _CAME.get(span.made_by, span.priority)] += 1
        changes[made, span.generation] += 1
        if span.until is not None:
            ended = _monday(span.until, clock)
            counts[ended, "superseded"] += span.ended_by == "reflector"
            changes[ended, span.generation] -= 1
    return _in_order(counts, changes, _monday_of(clock.today())) if changes else []


def bundled(found: Sequence[Period], most: int) -> tuple[Unit, list[Period]]:
    """Return weeks in the smallest bundles that take no more than `most` lines; at worst in years."""
    ways = ((unit, _bundles(found, unit)) for unit in _UNITS)
    return next((way for way in ways if len(folded(way[1])) <= most), ("year", _bundles(found, "year")))


def folded(periods: Iterable[Period]) -> list[list[Period]]:
    """Return periods as the lines they take: each that brought something, and quiet ones in a row together."""
    lines: list[list[Period]] = []
    for period in periods:
        if period.is_quiet and lines and lines[-1][0].is_quiet:
            lines[-1].append(period)
        else:
            lines.append([period])
    return lines


def _bundles(found: Sequence[Period], unit: Unit) -> list[Period]:
    return [_sum(begin, list(part)) for begin, part in groupby(found, lambda week: _begin(week.begin, unit))]


def _begin(monday: date, unit: Unit) -> date:
    match unit:
        case "week":
            return monday
        case "month":
            return monday.replace(day=1)
        case "quarter":
            return monday.replace(month=monday.month - (monday.month - 1) % 3, day=1)
        case "year":
            return monday.replace(month=1, day=1)


def _sum(begin: date, found: Sequence[Period]) -> Period:
    priorities: Counter[str] = Counter()
    for week in found:
        priorities.update(week.priorities)
    sums = {name: sum(getattr(week, name) for week in found) for name in _SUMS}
    return Period(begin, priorities, **sums, active=found[-1].active)


def _in_order(counts: Counter[tuple[date, str]], changes: Counter[tuple[date, int]], now: date) -> list[Period]:
    found: list[Period] = []
    active: dict[int, int] = dict.fromkeys(sorted({generation for _, generation in changes}), 0)
    monday, last = min(day for day, _ in changes), max(now, *(day for day, _ in changes))
    while monday <= last:
        for generation in active:
            active[generation] += changes[monday, generation]
        priorities = {name: counts[monday, name] for name in ("high", "medium", "low") if counts[monday, name]}
        sums = {name: counts[monday, name] for name in _SUMS}
        found.append(Period(monday, priorities, active={g: n for g, n in active.items() if n}, **sums))
        monday += _WEEK
    return found


def _monday(moment: str, clock: Clock) -> date:
    return _monday_of(clock.local(from_text(moment)).date())


def _monday_of(day: date) -> date:
    return day - timedelta(days=day.weekday())

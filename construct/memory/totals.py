"""Add up the values that the user follows, by week. No I/O.

Amounts are added as decimals, so that a sum is what a person gets by hand.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal

from construct.store.tracked import TrackedValue

_WEEK = timedelta(days=7)
_MOST_WEEKS = 260
"""Weeks without values are shown in no longer time than this."""


@dataclass(frozen=True, slots=True)
class Total:
    """How many amounts there were, and what they come to."""

    count: int = 0
    sum: float = 0.0

    @property
    def mean(self) -> float | None:
        """The mean, None without amounts."""
        return float(Decimal(repr(self.sum)) / self.count) if self.count else None


@dataclass(frozen=True, slots=True)
class Week:
    """The total of one week."""

    monday: date
    total: Total


@dataclass(frozen=True, slots=True)
class Series:
    """The values of one name in one unit, oldest first, and their totals by week."""

    name: str
    unit: str | None
    values: Sequence[TrackedValue]
    weeks: Sequence[Week]
    """All weeks from the first to the last; in a long time only those with values."""

    @property
    def total(self) -> Total:
        """The total of all weeks."""
        return total(self.values)


def series_of(values: Iterable[TrackedValue]) -> list[Series]:
    """Return the values by name and unit, in the order of the names."""
    groups: dict[tuple[str, str], list[TrackedValue]] = {}
    for value in sorted(values, key=lambda value: (value.day, value.id)):
        key = (value.name.casefold(), (value.unit or "").casefold())
        groups.setdefault(key, []).append(value)
    return [
        Series(group[0].name, group[0].unit, group, _weeks(group))
        for _, group in sorted(groups.items())
    ]


def total(values: Iterable[TrackedValue]) -> Total:
    """Return the total of some values."""
    amounts = [Decimal(repr(value.amount)) for value in values]
    return Total(len(amounts), float(sum(amounts, Decimal(0))))


def _weeks(values: Sequence[TrackedValue]) -> list[Week]:
    by_week: dict[date, list[TrackedValue]] = {}
    for value in values:
        by_week.setdefault(_monday(value.day), []).append(value)
    first, last = min(by_week), max(by_week)
    mondays = [first + number * _WEEK for number in range((last - first) // _WEEK + 1)]
    if len(mondays) > _MOST_WEEKS:
        mondays = sorted(by_week)
    return [Week(monday, total(by_week.get(monday, ()))) for monday in mondays]


def _monday(day: str) -> date:
    parsed = date.fromisoformat(day)
    return parsed - min(timedelta(days=parsed.weekday()), parsed - date.min)

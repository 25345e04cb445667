"""Days, months and years as spans of days, in stored form and in words. No I/O."""

import calendar
import math
import re
from dataclasses import dataclass
from datetime import date

FADE_DAYS = 7.0
"""Days away from a period at which its `nearness` is 1/e, about 0.37.

People talk about a day within about a week of it.
"""

_WHEN = re.compile(r"(\d{4})(?:-(\d\d))?(?:-(\d\d))?")
_LEAP_YEAR = 2000
# (used below this many days, days in the unit, its name)
_UNITS = ((14, 1.0, "day"), (60, 7.0, "week"), (365, 30.44, "month"), (math.inf, 365.25, "year"))


@dataclass(frozen=True, slots=True)
class Period:
    """The days from `first` to `last`; if `yearly`, in any year."""

    first: date
    last: date
    yearly: bool = False

    def nearness(self, day: date) -> float:
        """Return 1 for a day within the period, and less the further the day is from it."""
        return math.exp(-self._gap(day) / FADE_DAYS)

    def latest(self, today: date) -> tuple[date, date]:
        """Return its first and last day; of a yearly one, those that began last by `today`."""
        if not self.yearly:
            return self.first, self.last
        first = _day_in(today.year, self.first.month, self.first.day)
        if first > today:
            first = _day_in(today.year - 1, self.first.month, self.first.day)
        return first, first + (self.last - self.first)

    def _gap(self, day: date) -> int:
        """Return the number of days from `day` to the period, 0 within it."""
        if not self.yearly:
            return max(0, (self.first - day).days, (day - self.last).days)
        length = (self.last - self.first).days
        years = range(max(1, day.year - 1), min(9999, day.year + 1) + 1)
        starts = [_day_in(year, self.first.month, self.first.day) for year in years]
        return min(max(0, (start - day).days, (day - start).days - length) for start in starts)


def _day_in(year: int, month: int, day: int) -> date:
    """Return the date of a day in a year: 28 February for a 29 February that it lacks."""
    return date(year, month, min(day, calendar.monthrange(year, month)[1]))


def period(
    year: str | int | None, month: str | int | None = None, day: str | int | None = None
) -> Period:
    """Return the period of a year, month or day. Without a year it is yearly.

    Raises ValueError for a date that does not exist.
    """
    in_year = _LEAP_YEAR if year is None else int(year)
    first = date(in_year, int(month or 1), int(day or 1))
    if day:
        return Period(first, first, yearly=year is None)
    last_month = int(month or 12)
    length = calendar.monthrange(in_year, last_month)[1]
    return Period(first, date(in_year, last_month, length), yearly=year is None)


def parse_when(when: str) -> Period:
    """Return the days of a stored `2026-03-05`, `2026-03` or `2026`.

    Raises ValueError for anything else.
    """
    if match := _WHEN.fullmatch(when):
        return period(*match.groups())
    raise ValueError(f"not a day, a month or a year: {when[:20]!r}")


def is_when(text: str) -> bool:
    """Return whether a text is a day, a month or a year that the calendar has."""
    try:
        parse_when(text)
    except ValueError:
        return False
    return True


def is_day(when: str | None) -> bool:
    """Return whether a stored date is a single day: not a month, a year or nothing."""
    return when is not None and len(when) == len("2026-03-05")


def add_months(day: date, months: int) -> date:
    """Return the same day some months on, or the last of a shorter month.

    Raises ValueError beyond the calendar.
    """
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    last = calendar.monthrange(year, month + 1)[1]
    return date(year, month + 1, min(day.day, last))


def relative_words(day: date, today: date) -> str:
    """Return how far off a day is, in words: "tomorrow", "in 3 days", "next year"."""
    days = (day - today).days
    if abs(days) <= 1:
        return ("yesterday", "today", "tomorrow")[days + 1]
    if abs(days) >= 365 and abs(day.year - today.year) == 1:
        return "next year" if days > 0 else "last year"
    size, unit = next((size, unit) for limit, size, unit in _UNITS if abs(days) < limit)
    count = round(abs(days) / size)
    amount = f"{count} {unit}{'' if count == 1 else 's'}"
    return f"in {amount}" if days > 0 else f"{amount} ago"

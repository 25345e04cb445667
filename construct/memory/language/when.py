"""What a fact refers to in time: a day, a month or a year, as `2026-03-05`, `2026-03` or `2026`. Pure."""

import calendar
import re
from datetime import date

_WHEN = re.compile(r"(\d{4})(?:-(\d\d))?(?:-(\d\d))?")


def is_when(text: str) -> bool:
    """Return whether a text is a day, a month or a year that the calendar has."""
    return bool(_WHEN.fullmatch(text)) and _span(text) is not None


def first_day(when: str) -> date:
    """Return the first day of a day, month or year; raises ValueError for anything else."""
    return _checked(when)[0]


def last_day(when: str) -> date:
    """Return the last day, after which a plan for then has passed; raises ValueError for anything else."""
    return _checked(when)[1]


def _checked(when: str) -> tuple[date, date]:
    if _WHEN.fullmatch(when) and (span := _span(when)):
        return span
    raise ValueError(f"not a day, a month or a year: {when[:20]!r}")


def _span(when: str) -> tuple[date, date] | None:
    year, *rest = (int(part) for part in when.split("-"))
    try:
        if not rest:
            return date(year, 1, 1), date(year, 12, 31)
        if len(rest) == 1:
            return date(year, rest[0], 1), date(year, rest[0], calendar.monthrange(year, rest[0])[1])
        return date(year, *rest), date(year, *rest)
    except (ValueError, calendar.IllegalMonthError):
        return None

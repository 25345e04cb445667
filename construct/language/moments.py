"""Parse moments as people write them: `2026-03-01`, `7d`, `yesterday`."""

import re
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta

from construct.clock import Clock
from construct.errors import UsageError

_AGO = re.compile(r"([0-9]{1,6}) ?(h|d|w)", re.IGNORECASE)  # 3h, 7 d
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
_FIRST, _LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
_DAYS_BACK = {"today": 0, "yesterday": 1}
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME = re.compile(r"[0-9]{4}-?[0-9]{2}-?[0-9]{2}[t ]")


def parse_moment(text: str, clock: Clock, *, end_of_day: bool = False) -> datetime:
    """Return the moment that a date, an ISO time or an age such as `7d` stands for.

    Also reads `2w`, `3h`, `today`, `yesterday` and `now`. A day without a time is its
    beginning in the user's time zone or, with `end_of_day`, its last microsecond. A time
    without an offset is in the user's time zone. Raises UsageError.
    """
    words = text.strip().lower()
    with suppress(ValueError, OverflowError):
        if words == "now":
            return clock.now()
        if ago := _AGO.fullmatch(words):
            return clock.now() - int(ago[1]) * _UNITS[ago[2]]
        if words in _DAYS_BACK:
            return _of_day(clock.today() - timedelta(days=_DAYS_BACK[words]), clock, end_of_day)
        if _DAY.fullmatch(words):
            return _of_day(date.fromisoformat(words), clock, end_of_day)
        if _TIME.match(words):
            return _in_utc(datetime.fromisoformat(words.upper()), clock)
    raise UsageError(
        f"Not a date: {text.strip()[:40]}\n"
        "Give a date (2026-03-01), a time (2026-03-01T14:30), 7d, 2w, 3h, today or yesterday."
    )


def _of_day(day: date, clock: Clock, end_of_day: bool) -> datetime:
    # Where clocks go back at midnight, 23:59:59 occurs twice: `fold` takes the second one.
    bound = time.max.replace(fold=1) if end_of_day else time()
    return _in_utc(datetime.combine(day, bound), clock)


def _in_utc(moment: datetime, clock: Clock) -> datetime:
    """Return a moment in UTC; one without an offset is in the user's time zone.

    At the very edges of Python's calendar, where the moment may be out of range in UTC,
    this is the nearest one in range.
    """
    try:
        return (moment if moment.tzinfo else moment.replace(tzinfo=clock.zone)).astimezone(UTC)
    except (OverflowError, ValueError):
        return _FIRST if moment.year == 1 else _LAST

"""The current time, in UTC and in the user's time zone.

`CONSTRUCT_NOW` replaces the current time in everything that is remembered. Leases use
`time.time` instead, as they need the real time.
"""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from typing import cast

_FIRST_YEAR, _LAST_YEAR = 1000, 9000


@dataclass(frozen=True, slots=True)
class Clock:
    """Tells the current time, and converts times to the user's time zone."""

    fixed: datetime | None = None
    """The time that `now` always returns; None for the real time."""
    zone: tzinfo | None = None
    """None for the system's time zone, daylight saving included."""

    def now(self) -> datetime:
        """Return the present moment in UTC."""
        return self.fixed.astimezone(UTC) if self.fixed else datetime.now(UTC)

    def local(self, moment: datetime) -> datetime:
        """Return the same moment in the user's time zone."""
        try:
            return moment.astimezone(self.zone)
        except OverflowError:  # an imported time in the first or last hours of the calendar
            return moment

    def wall(self) -> datetime:
        """Return what the clock on the user's wall shows now, without a zone."""
        return self.local(self.now()).replace(tzinfo=None)

    def day(self, moment: str) -> date:
        """Return the date of a stored time in the user's time zone."""
        return self.local(from_text(moment)).date()

    def there(self, moment: str, utc_offset: int | None) -> datetime:
        """Return a stored time as clocks showed it where something was written.

        `utc_offset` is that place's, in minutes east; None if the place is not known. Then
        it is the user's time zone.
        """
        zone = self.zone if utc_offset is None else timezone(timedelta(minutes=utc_offset))
        try:
            return from_text(moment).astimezone(zone)
        except OverflowError:  # an imported time in the first or last hours of the calendar
            return from_text(moment)

    def utc_offset(self) -> int:
        """Return how many minutes east of UTC the user is now."""
        offset = self.local(self.now()).utcoffset()
        return round(offset.total_seconds() / 60) if offset else 0

    def midnight(self, days: int = 0) -> datetime:
        """Return the beginning of today, or of the day `days` later, for the user."""
        start = datetime.combine(self.today() + timedelta(days=days), time(), self.zone)
        # Without a zone, astimezone() applies the system's offset as it is on that day.
        return start if start.tzinfo else start.astimezone()

    def today(self) -> date:
        """Return today's date in the user's time zone."""
        return self.local(self.now()).date()


def to_text(moment: datetime) -> str:
    """Return a time as it is stored: ISO 8601 in UTC with offset and microseconds."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def from_text(text: str) -> datetime:
    """Return the moment of a stored time; one without an offset is in UTC.

    Raises ValueError if it is not an ISO 8601 time.
    """
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


_UNITS = (
    ("year", 31_557_600, 0.95),
    ("month", 2_629_800, 1.9),
    ("week", 604_800, 1.9),
    ("day", 86_400, 0.95),
    ("hour", 3_600, 0.95),
)
"""Each unit of time, its length in seconds, and the smallest number of it that is used.

People say "9 days" and "5 weeks" rather than "1 week" and "1 month".
"""


def gap_words(gap: timedelta) -> str:
    """Return a length of time in words, rounded, in the largest unit that fits."""
    seconds = gap.total_seconds()
    for unit, size, minimum in _UNITS:
        if seconds >= minimum * size:
            count = round(seconds / size)
            return f"{count} {unit}" + ("s" if count != 1 else "")
    minutes = max(1, round(seconds / 60))
    return f"{minutes} minute" + ("s" if minutes != 1 else "")


def read_moment(text: str) -> datetime:
    """Return an ISO 8601 time, with its offset if it has one.

    Raises ValueError, whose message says what it must be.
    """
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = datetime.min  # noqa: DTZ901 - refused below
    if not _FIRST_YEAR <= moment.year <= _LAST_YEAR:
        raise ValueError("it must be an ISO 8601 time such as 2026-03-01T14:30:00+01:00")
    return moment


def at_zone(moment: datetime, zone: tzinfo | None) -> datetime:
    """Return a time with an offset; one without is in `zone`, or in the system's time zone."""
    if moment.tzinfo:
        return moment
    return moment.replace(tzinfo=zone) if zone else moment.astimezone()


def read_time_of_day(text: str) -> time:
    """Return a time of day such as 08:00. Raises ValueError, as `read_moment` does."""
    try:
        return time.fromisoformat(text).replace(second=0, microsecond=0, tzinfo=None)
    except ValueError:
        raise ValueError("it must be a time of day such as 08:00") from None


def read_zone(text: str) -> tzinfo:
    """Return the time zone with this name. Raises ValueError, as `read_moment` does."""
    from zoneinfo import ZoneInfo

    try:
        return cast(tzinfo, ZoneInfo(text))
    except (KeyError, ValueError, OSError):  # KeyError: not found; OSError: the name of a folder
        raise ValueError("it must be a time zone such as Europe/Lisbon") from None

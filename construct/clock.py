"""Now, and the user's days.

`CONSTRUCT_NOW` stands for now in all that is remembered; leases use the real clock
(`time.time`) and never come here.
"""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo


@dataclass(frozen=True, slots=True)
class Clock:
    """The time that is remembered, and the zone its days are counted in."""

    fixed: datetime | None = None
    zone: tzinfo | None = None
    """None: the system's zone, with its own daylight saving rules."""

    def now(self) -> datetime:
        """Return the present moment in UTC."""
        return self.fixed.astimezone(UTC) if self.fixed else datetime.now(UTC)

    def local(self, moment: datetime) -> datetime:
        """Return the same moment as the user's wall clock shows it.

        As it is where no calendar holds that.
        """
        try:
            return moment.astimezone(self.zone)
        except OverflowError:  # an import may speak of the first and the last hours there are
            return moment

    def day(self, moment: str) -> date:
        """Return the user's day of a stored time."""
        return self.local(from_text(moment)).date()

    def midnight(self, days: int = 0) -> datetime:
        """Return the moment at which the user's day began, or one so many days off."""
        start = datetime.combine(self.today() + timedelta(days=days), time(), self.zone)
        return (
            start if start.tzinfo else start.astimezone()
        )  # the system's zone, as it was at that moment

    def today(self) -> date:
        """Return the user's date."""
        return self.local(self.now()).date()


def to_text(moment: datetime) -> str:
    """Return a time as it is stored: ISO 8601 in UTC with offset and microseconds."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def from_text(text: str) -> datetime:
    """Return the moment that `to_text` wrote; a time without offset is taken as UTC.

    Raises ValueError when it is no ISO 8601 time.
    """
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def gap_words(gap: timedelta) -> str:
    """Return a length of time in the largest fitting unit, rounded."""
    seconds = gap.total_seconds()
    for unit, size in (
        ("year", 31_557_600),
        ("month", 2_629_800),
        ("week", 604_800),
        ("day", 86_400),
        ("hour", 3_600),
    ):
        if seconds >= 0.95 * size and (unit not in {"week", "month"} or seconds >= 1.9 * size):
            count = round(seconds / size)
            return f"{count} {unit}" + ("s" if count != 1 else "")
    minutes = max(1, round(seconds / 60))
    return f"{minutes} minute" + ("s" if minutes != 1 else "")

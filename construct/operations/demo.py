"""The demo: an invented life in a database of its own, with its dates moved up to today."""

import re
import tempfile
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path

from construct.config import Settings
from construct.prompts import shipped
from construct.store.database import open_database
from construct.store.transfer.importing import import_file

_TODAY_IN_FILE = date(2026, 6, 22)
"""The day that counts as today in `data/demo.jsonl`."""
_MONTHS = (
    "January February March April May June July August September October November December",
    "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
)
_WEEKDAYS = (
    "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
    "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag",
)
"""Names of months and weekdays, in the two languages of `data/demo.jsonl`."""
_ISO_DAY = re.compile(r"\b20\d\d-\d\d-\d\d(?!\d)")  # 2026-03-14
# "14 March" or "14. März": the day, the separator, the month.
_DAY_AND_MONTH = re.compile(rf"\b(\d{{1,2}})(\.? )({'|'.join(' '.join(_MONTHS).split())})\b")
_WEEKDAY = re.compile(rf"\b({'|'.join(' '.join(_WEEKDAYS).split())})(s?)\b")


def fill(settings: Settings) -> None:
    """Fill a new database with the demo's memory, its dates moved so that it ends today."""
    shift = settings.clock.today() - _TODAY_IN_FILE
    lines = shipped("data/demo.jsonl").read_text("utf-8").splitlines(keepends=True)
    with tempfile.TemporaryDirectory(prefix="construct-demo-") as folder:
        file = Path(folder) / "life.jsonl"
        file.write_text("".join(_moved(line, shift) for line in lines), "utf-8")
        with closing(open_database(settings.db)) as db:
            import_file(db, file, settings.clock)


def _moved(line: str, shift: timedelta) -> str:
    """Return a record with every date and weekday in it moved.

    A date without a year, such as "14 March", is the one nearest to the record's own.
    """
    first_date = _ISO_DAY.search(line)
    if first_date is None:
        return line
    record_date = date.fromisoformat(first_date[0])

    def moved_day(match: re.Match[str]) -> str:
        day, separator, month = match.groups()
        names = next(months.split() for months in _MONTHS if month in months.split())
        moved = _nearest(record_date, names.index(month) + 1, int(day)) + shift
        return f"{moved.day}{separator}{names[moved.month - 1]}"

    def moved_weekday(match: re.Match[str]) -> str:
        weekday, plural = match.groups()
        names = next(weekdays.split() for weekdays in _WEEKDAYS if weekday in weekdays.split())
        return names[(names.index(weekday) + shift.days) % len(names)] + plural

    line = _WEEKDAY.sub(moved_weekday, _DAY_AND_MONTH.sub(moved_day, line))
    return _ISO_DAY.sub(lambda day: (date.fromisoformat(day[0]) + shift).isoformat(), line)


def _nearest(anchor: date, month: int, day: int) -> date:
    """Return the date with this month and day that is nearest to `anchor`."""
    candidates = [date(anchor.year + years, month, day) for years in (-1, 0, 1)]
    return min(candidates, key=lambda candidate: abs(candidate - anchor))

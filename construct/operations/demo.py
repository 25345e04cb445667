"""The demo: an invented life in a database of its own, lived up to today."""

import re
import tempfile
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path

from construct.config import Settings
from construct.prompts import shipped
from construct.store.database import open_database
from construct.store.transfer.importing import import_file

_PRESENT = date(2026, 6, 22)
"""The day on which `data/demo.jsonl` is the present."""
_MONTHS = (
    "January February March April May June July August September October November December",
    "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
)
_WEEKDAYS = (
    "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
    "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag",
)
"""In the two languages of the life."""
_ISO_DAY = re.compile(r"\b20\d\d-\d\d-\d\d(?!\d)")
_DAY_AND_MONTH = re.compile(rf"\b(\d{{1,2}})(\.? )({'|'.join(' '.join(_MONTHS).split())})\b")
_WEEKDAY = re.compile(rf"\b({'|'.join(' '.join(_WEEKDAYS).split())})(s?)\b")


def fill(settings: Settings) -> None:
    """Fill a new database with the demo life, all its days moved so that it goes up to today."""
    shift = settings.clock.today() - _PRESENT
    lines = shipped("data/demo.jsonl").read_text("utf-8").splitlines(keepends=True)
    with tempfile.TemporaryDirectory(prefix="construct-demo-") as folder:
        file = Path(folder) / "life.jsonl"
        file.write_text("".join(_moved(line, shift) for line in lines), "utf-8")
        with closing(open_database(settings.db)) as db:
            import_file(db, file, settings.clock)


def _moved(line: str, shift: timedelta) -> str:
    """Return a record with every day in it moved, in its times and in its words.

    A day without a year, such as "14 March", is the nearest one to the record's own date.
    """
    found = _ISO_DAY.search(line)
    if found is None:
        return line
    said = date.fromisoformat(found[0])

    def moved_day(day: re.Match[str]) -> str:
        names = next(months.split() for months in _MONTHS if day[3] in months.split())
        there = _nearest(said, names.index(day[3]) + 1, int(day[1])) + shift
        return f"{there.day}{day[2]}{names[there.month - 1]}"

    def moved_weekday(day: re.Match[str]) -> str:
        names = next(weekdays.split() for weekdays in _WEEKDAYS if day[1] in weekdays.split())
        return names[(names.index(day[1]) + shift.days) % len(names)] + day[2]

    line = _WEEKDAY.sub(moved_weekday, _DAY_AND_MONTH.sub(moved_day, line))
    return _ISO_DAY.sub(lambda day: (date.fromisoformat(day[0]) + shift).isoformat(), line)


def _nearest(to: date, month: int, day: int) -> date:
    """Return the day of that name within half a year."""
    years = (to.year - 1, to.year, to.year + 1)
    return min((date(year, month, day) for year in years), key=lambda there: abs(there - to))

"""What was believed at a past moment, and what changed between two; cycles that were undone count as never run."""

import re
import sqlite3
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import TypeVar

from construct.clock import Clock
from construct.errors import UsageError
from construct.store import lineage
from construct.store.records import Memory, Observation
from construct.store.sql import select

Record = TypeVar("Record", Observation, Memory)

_AGO = re.compile(r"([0-9]{1,6}) ?(h|d|w)", re.IGNORECASE)
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
_DAYS_BACK = {"today": 0, "yesterday": 1}


@dataclass(frozen=True, slots=True)
class Diff:
    """What two moments have not in common."""

    learned: tuple[Observation, ...]
    """Believed at the second and not at the first, in nobody's place."""
    changed: tuple[tuple[Observation, Observation], ...]
    """What was believed at the first, and what stands in its place at the second."""
    gone: tuple[Observation, ...]
    """Believed at the first, with nothing in its place at the second."""


def as_of(db: sqlite3.Connection, moment: str) -> list[Observation]:
    """Return what was active at a stored time, oldest commit first, as it stands in the database now."""
    source = """observations AS o JOIN cycles ON cycles.id = o.cycle_id
        WHERE status <> 'reverted' AND committed_at <= :moment
        AND (superseded_at IS NULL OR superseded_at > :moment) ORDER BY committed_at, o.id"""
    return select(db, Observation, source, {"moment": moment}, "o")


def as_it_stood(record: Record, moment: str) -> Record:
    """Return an observation or a memory without what became of it after a stored time."""
    if record.superseded_at is None or record.superseded_at <= moment:
        return record
    return record._replace(superseded_at=None, superseded_by=None)


def diff(db: sqlite3.Connection, since: str, until: str) -> Diff:
    """Return what changed between two stored times; raises UsageError when the second is before the first."""
    if since > until:
        raise UsageError("The first moment is after the second.\nGive the earlier one first.")
    before = as_of(db, since)
    after = {o.id: o for o in as_of(db, until)}
    known = {o.id for o in before}
    changed: list[tuple[Observation, Observation]] = []
    gone: list[Observation] = []
    for old in before:
        if old.id in after:
            continue
        instead = sorted(lineage.heirs(db, old, lambda o: o.id in after), key=lambda o: o.id)
        changed += [(old, new) for new in instead]
        gone += [] if instead else [old]
    replacing = {new.id for _, new in changed}
    learned = tuple(o for o in after.values() if o.id not in known and o.id not in replacing)
    return Diff(learned, tuple(changed), tuple(gone))


def parse_moment(text: str, clock: Clock, *, end_of_day: bool = False) -> datetime:
    """Return the moment a person means: a date, an ISO time, `7d`, `2w`, `3h`, `today`, `yesterday` or `now`.

    A day without a time is its beginning in the user's zone, or its last microsecond. A time
    without an offset is the user's. Raises UsageError.
    """
    words = text.strip().lower()
    with suppress(ValueError, OverflowError):
        if words == "now":
            return clock.now()
        if ago := _AGO.fullmatch(words):
            return clock.now() - int(ago[1]) * _UNITS[ago[2]]
        if words in _DAYS_BACK:
            return _of_day(clock.today() - timedelta(days=_DAYS_BACK[words]), clock, end_of_day)
        if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", words):
            return _of_day(date.fromisoformat(words), clock, end_of_day)
        if re.match(r"[0-9]{4}-?[0-9]{2}-?[0-9]{2}[t ]", words):
            return _in_zone(datetime.fromisoformat(words.upper()), clock)
    raise UsageError(
        f"{text.strip()[:40]!r} is no moment.\n"
        "Give a date (2026-03-01), a time (2026-03-01T14:30), 7d, 2w, 3h, today or yesterday."
    )


def _of_day(day: date, clock: Clock, end_of_day: bool) -> datetime:
    # Where the clocks go back at midnight, the last microsecond of a day is the second of its name.
    return _in_zone(datetime.combine(day, time.max.replace(fold=1) if end_of_day else time()), clock)


def _in_zone(moment: datetime, clock: Clock) -> datetime:
    """Return a moment in UTC; without an offset it is by the user's wall clock.

    What lies in the calendar's first or last hours, and beyond it in UTC, is the nearest moment there is.
    """
    try:
        return (moment if moment.tzinfo else moment.replace(tzinfo=clock.zone)).astimezone(UTC)
    except (OverflowError, ValueError):
        return datetime.min.replace(tzinfo=UTC) if moment.year == 1 else datetime.max.replace(tzinfo=UTC)

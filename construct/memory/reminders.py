"""Decide which reminders are due at a moment, and what they say. No I/O.

Times are those of the clock on the wall, wherever the user is. Imports little, so that
`construct remind` starts fast.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from itertools import takewhile

from construct.clock import Clock, from_text
from construct.language.periods import is_day, relative_words
from construct.language.recurrence import occurrences
from construct.memory.agenda import skipped_days
from construct.store.reminders import RemindingNote
from construct.vocabulary import Priority, Recurrence

_BEFORE_TIMED = timedelta(hours=1)
"""How long before something with a time of day its reminder is due."""
KEPT_DUE = timedelta(days=1)
"""How late a reminder may be delivered."""
_ON_TIME = timedelta(minutes=15)
"""A reminder delivered later than this says that it is late."""
WITHOUT_LABEL = "Reminder"
"""What leaves the machine in place of a note that has no label."""


@dataclass(frozen=True, slots=True)
class Reminder:
    """A reminder of a note, due at a moment."""

    note: RemindingNote
    due_at: datetime
    day: date | None
    """The day of what it reminds of, if that is known."""

    @property
    def due(self) -> str:
        """When it is due, as it is stored: `2026-03-05 09:30`."""
        return self.due_at.isoformat(" ", "minutes")

    @property
    def text(self) -> str:
        """The note's label, else the fact."""
        return self.note.label or self.note.content

    def is_late(self, now: datetime) -> bool:
        """Whether it should have been delivered a while ago."""
        return now - self.due_at > _ON_TIME


def due_reminders(
    notes: Iterable[RemindingNote], clock: Clock, whole_day_at: time
) -> list[Reminder]:
    """Return the reminders that are due and not over a day late, the oldest first.

    What was said too late for its reminder has none, unless the user asked for one.
    """
    now = clock.wall()
    due = [
        reminder
        for note in notes
        for reminder in takewhile(
            lambda reminder: reminder.due_at <= now, _since(now - KEPT_DUE, note, whole_day_at)
        )
        if note.remind_at is not None or reminder.due_at > _said_at(note, clock)
    ]
    return sorted(due, key=lambda reminder: (reminder.due_at, reminder.note.id))


def next_reminders(
    notes: Iterable[RemindingNote], clock: Clock, whole_day_at: time
) -> list[Reminder]:
    """Return the next reminder of each note that has one ahead, the soonest first."""
    now = clock.wall()
    ahead = [
        next((r for r in _since(now, note, whole_day_at) if r.due_at > now), None) for note in notes
    ]
    known = (reminder for reminder in ahead if reminder is not None)
    return sorted(known, key=lambda reminder: (reminder.due_at, reminder.note.id))


def _said_at(note: RemindingNote, clock: Clock) -> datetime:
    return clock.local(from_text(note.said_at)).replace(tzinfo=None)


def _since(moment: datetime, note: RemindingNote, whole_day_at: time) -> Iterator[Reminder]:
    """Yield a note's reminders that are due from a moment on; of what comes again, all."""
    asked_for = datetime.fromisoformat(note.remind_at) if note.remind_at else None
    if not is_day(note.referenced_date):
        if asked_for is not None and asked_for >= moment:
            yield Reminder(note, asked_for, None)
        return
    first = date.fromisoformat(str(note.referenced_date))
    lead = first - asked_for.date() if asked_for else timedelta(0)
    for day in _days(note, first, moment.date() + lead):
        due_at = _due_at(note, day, whole_day_at)
        if asked_for is not None:
            due_at = asked_for + (day - first)
        if due_at is not None and due_at >= moment:
            yield Reminder(note, due_at, day)
        elif due_at is None:
            return


def _days(note: RemindingNote, first: date, since: date) -> Iterator[date]:
    """Yield the days of what a note speaks of; of what comes again, those from `since` on."""
    if note.recurs is None:
        yield first
        return
    skipped = skipped_days(note.recurs_except)
    days = occurrences(first, Recurrence(note.recurs), since)
    yield from (day for day in days if day not in skipped)


def _due_at(note: RemindingNote, day: date, whole_day_at: time) -> datetime | None:
    """Return when a note that says nothing of a reminder reminds of this day, if it does."""
    if note.referenced_time is not None:
        return datetime.combine(day, time.fromisoformat(note.referenced_time)) - _BEFORE_TIMED
    return datetime.combine(day, whole_day_at) if note.priority == Priority.HIGH else None


def when_words(reminder: Reminder, now: datetime) -> str:
    """Return when the thing itself is: "today at 09:30"; "" if that is not known."""
    if reminder.day is None:
        return ""
    words = relative_words(reminder.day, now.date())
    at = reminder.note.referenced_time
    return f"{words} at {at}" if at else words


def lateness_words(reminder: Reminder, now: datetime) -> str:
    """Return "this reminder is late: it was due yesterday at 20:00"; "" if it is on time."""
    if not reminder.is_late(now):
        return ""
    day = relative_words(reminder.due_at.date(), now.date())
    return f"this reminder is late: it was due {day} at {reminder.due_at:%H:%M}"


def reminder_line(reminder: Reminder, now: datetime) -> str:
    """Return a reminder in one line, as the user's own screen shows it."""
    return ", ".join(filter(None, (reminder.text, *_details(reminder, now))))


def outgoing_line(reminder: Reminder, now: datetime) -> str:
    """Return a reminder as it may leave the machine: with its label, not its words."""
    label = reminder.note.label or WITHOUT_LABEL
    return ", ".join(filter(None, (label, *_details(reminder, now))))


def _details(reminder: Reminder, now: datetime) -> tuple[str, str]:
    return when_words(reminder, now), lateness_words(reminder, now)

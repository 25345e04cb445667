"""Which reminders are due at a moment, and what they say."""

from datetime import UTC, datetime, time
from typing import Any

import pytest

from construct.clock import Clock
from construct.memory.reminders import (
    due_reminders,
    next_reminders,
    outgoing_line,
    reminder_line,
)
from construct.store.reminders import RemindingNote

EIGHT = time(8)


def note(**given: Any) -> RemindingNote:
    """Return a note of a dentist on 5 March, said on 1 March."""
    values: dict[str, Any] = dict.fromkeys(RemindingNote._fields) | {
        "id": 1, "content": "User sees Dr Moura", "priority": "medium",
        "referenced_date": "2026-03-05", "said_at": "2026-03-01T09:00:00+00:00",
    }  # fmt: skip
    return RemindingNote(**values | given)


def clock(moment: str) -> Clock:
    """Return a clock that shows a time of March 2026, such as `05 09:30`."""
    return Clock(datetime.fromisoformat(f"2026-03-{moment}").replace(tzinfo=UTC), UTC)


@pytest.mark.parametrize(
    ("given", "now", "due"),
    [
        ({"referenced_time": "09:30"}, "05 08:29", []),
        ({"referenced_time": "09:30"}, "05 08:30", ["2026-03-05 08:30"]),
        ({"referenced_time": "09:30"}, "06 08:30", ["2026-03-05 08:30"]),
        ({"referenced_time": "09:30"}, "06 08:31", []),
        ({"referenced_time": "00:30"}, "04 23:45", ["2026-03-04 23:30"]),
        ({"priority": "high"}, "05 07:59", []),
        ({"priority": "high"}, "05 08:00", ["2026-03-05 08:00"]),
        ({"priority": "medium"}, "05 12:00", []),
        ({"priority": "high", "referenced_date": "2026-03"}, "05 12:00", []),
        ({"remind_at": "2026-03-04 20:00"}, "04 20:00", ["2026-03-04 20:00"]),
        ({"remind_at": "2026-03-04 20:00", "referenced_time": "09:30"}, "05 08:30",
         ["2026-03-04 20:00"]),
        ({"remind_at": "2026-03-04 20:00", "referenced_date": None}, "04 20:00",
         ["2026-03-04 20:00"]),
        ({"referenced_date": "2026-02-19", "recurs": "weekly", "referenced_time": "19:00"},
         "05 18:00", ["2026-03-05 18:00"]),
        ({"referenced_date": "2026-02-19", "recurs": "weekly", "referenced_time": "19:00",
          "recurs_except": '["2026-03-05"]'}, "05 18:00", []),
        ({"referenced_date": "2026-02-19", "recurs": "weekly", "remind_at": "2026-02-18 20:00"},
         "04 20:00", ["2026-03-04 20:00"]),
        ({"referenced_date": "2026-03-01", "recurs": "daily", "referenced_time": "09:00"},
         "05 08:30", ["2026-03-05 08:00"]),
        # Said within the hour before it, or after 8:00 of the day itself
        ({"referenced_time": "09:30", "said_at": "2026-03-05T08:40:00+00:00"}, "05 08:41", []),
        ({"priority": "high", "said_at": "2026-03-05T12:00:00+00:00"}, "05 12:01", []),
        ({"remind_at": "2026-03-05 11:59", "said_at": "2026-03-05T12:00:00+00:00"}, "05 12:01",
         ["2026-03-05 11:59"]),
    ],
)  # fmt: skip
def test_what_is_due(given: dict[str, Any], now: str, due: list[str]) -> None:
    """A day late at most, and never before it was said, unless the user asked for it."""
    assert [r.due for r in due_reminders([note(**given)], clock(now), EIGHT)] == due


def test_the_next_ones() -> None:
    """The soonest first, one for each note."""
    notes = [
        note(id=1, priority="high"),
        note(id=2, referenced_date="2026-02-19", recurs="weekly", referenced_time="19:00"),
        note(id=3, referenced_date="2026-02-19", referenced_time="19:00"),
        note(id=4),
    ]
    following = next_reminders(notes, clock("04 12:00"), EIGHT)
    assert [(r.note.id, r.due) for r in following] == [
        (1, "2026-03-05 08:00"),
        (2, "2026-03-05 18:00"),
    ]
    assert [r.due for r in next_reminders(notes[1:2], clock("05 18:00"), EIGHT)] == [
        "2026-03-12 18:00"
    ]


@pytest.mark.parametrize(
    ("given", "now", "line", "outgoing"),
    [
        ({"referenced_time": "09:30", "label": "Dentist"}, "05 08:30",
         "Dentist, today at 09:30", "Dentist, today at 09:30"),
        ({"priority": "high"}, "05 08:10", "User sees Dr Moura, today", "Reminder, today"),
        ({"remind_at": "2026-03-04 20:00", "referenced_date": None}, "04 20:00",
         "User sees Dr Moura", "Reminder"),
        ({"referenced_time": "09:30"}, "06 07:00",
         "User sees Dr Moura, yesterday at 09:30, "
         "this reminder is late: it was due yesterday at 08:30",
         "Reminder, yesterday at 09:30, this reminder is late: it was due yesterday at 08:30"),
    ],
)  # fmt: skip
def test_what_it_says(given: dict[str, Any], now: str, line: str, outgoing: str) -> None:
    """What leaves the machine is the label and the time."""
    (reminder,) = due_reminders([note(**given)], clock(now), EIGHT)
    shown = clock(now).wall()
    assert reminder_line(reminder, shown) == line
    assert outgoing_line(reminder, shown) == outgoing

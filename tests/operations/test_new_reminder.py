"""`/remind WHEN TEXT`: when and of what."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from construct.clock import Clock
from construct.config import Settings
from construct.errors import UsageError
from construct.operations.new_reminder import parse_reminder

SUNDAY = Settings(
    Path("a.db"), Path("config"), clock=Clock(datetime(2026, 3, 1, 12, 10, tzinfo=UTC), UTC)
)


@pytest.mark.parametrize(
    ("argument", "moment", "text"),
    [
        ("tomorrow 9am call Ana", "2026-03-02 09:00", "call Ana"),
        ("tomorrow at 9 am call Ana", "2026-03-02 09:00", "call Ana"),
        ("tomorrow call Ana", "2026-03-02 08:00", "call Ana"),
        ("friday 18:30 take the cake", "2026-03-06 18:30", "take the cake"),
        ("on friday at 18:30 take the cake", "2026-03-06 18:30", "take the cake"),
        ("at 18:30 on friday take the cake", "2026-03-06 18:30", "take the cake"),
        ("18:30 take the cake", "2026-03-01 18:30", "take the cake"),
        ("9am take the cake", "2026-03-02 09:00", "take the cake"),
        ("2026-03-05 18h30 bins", "2026-03-05 18:30", "bins"),
        ("in 20 minutes stretch", "2026-03-01 12:30", "stretch"),
        ("in an hour stretch", "2026-03-01 13:10", "stretch"),
        ("in 2 hours stretch", "2026-03-01 14:10", "stretch"),
        ("in 3 days pay Rui", "2026-03-04 08:00", "pay Rui"),
        ("March 9th pay Rui 50 euros", "2026-03-09 08:00", "pay Rui 50 euros"),
        ("March 9 2027 at 10:00 renew it", "2027-03-09 10:00", "renew it"),
        ("next friday at noon lunch with Ana on monday's menu", "2026-03-06 12:00",
         "lunch with Ana on monday's menu"),
    ],
)  # fmt: skip
def test_when_and_of_what(argument: str, moment: str, text: str) -> None:
    """As many words as make a time are read as one."""
    found, words = parse_reminder(argument, SUNDAY)
    assert (found.isoformat(" ", "minutes"), words) == (moment, text)


@pytest.mark.parametrize(
    "argument",
    ["call Ana", "tomorrow", "18:30", "", "2026-02-01 9:30 pay", "today pay", "sometime pay"],
)
def test_what_is_no_time_to_come(argument: str) -> None:
    """The error says how to write one."""
    with pytest.raises(UsageError):
        parse_reminder(argument, SUNDAY)


def test_the_time_of_a_whole_day_is_the_users() -> None:
    """It is the one of CONSTRUCT_REMIND_AT."""
    early = replace(SUNDAY, remind_at=datetime(1, 1, 1, 6, 30).time())  # noqa: DTZ001
    assert parse_reminder("tomorrow call Ana", early)[0].hour == 6

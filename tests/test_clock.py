"""Now, and the user's days."""

from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from construct.clock import Clock, from_text, to_text

LISBON, KOLKATA = ZoneInfo("Europe/Lisbon"), ZoneInfo("Asia/Kolkata")


MOMENTS = st.datetimes(
    datetime(1000, 1, 1),  # noqa: DTZ001 - hypothesis wants naive bounds
    datetime(9000, 1, 1),  # noqa: DTZ001
    timezones=st.sampled_from([UTC, LISBON, KOLKATA]),
)


@settings(deadline=None)
@given(MOMENTS)
def test_a_stored_time_comes_back(moment: datetime) -> None:
    """A time is stored in UTC with its offset and all its microseconds.

    Stored times sort as text.
    """
    text = to_text(moment)
    assert from_text(text) == moment.astimezone(UTC)
    assert text.endswith("+00:00")
    assert len(text) == 32
    assert text < to_text(moment.astimezone(UTC) + timedelta(microseconds=1))


def test_a_time_without_offset_is_utc() -> None:
    """What other programs wrote without an offset is taken as UTC.

    What is no time is refused.
    """
    assert from_text("2026-03-01T14:30:00") == datetime(2026, 3, 1, 14, 30, tzinfo=UTC)
    with pytest.raises(ValueError):
        from_text("yesterday")


@pytest.mark.parametrize(
    ("moment", "zone", "wall"),
    [
        ("2026-03-29T00:59:00+00:00", LISBON, "2026-03-29 00:59"),
        ("9999-12-31T23:59:00+00:00", KOLKATA, "9999-12-31 23:59"),
        ("2026-03-29T01:00:00+00:00", LISBON, "2026-03-29 02:00"),
        ("2026-10-25T00:30:00+00:00", LISBON, "2026-10-25 01:30"),
        ("2026-10-25T01:30:00+00:00", LISBON, "2026-10-25 01:30"),
        ("2026-12-31T23:30:00+00:00", KOLKATA, "2027-01-01 05:00"),
        ("2026-01-01T04:00:00+00:00", ZoneInfo("America/New_York"), "2025-12-31 23:00"),
        ("2026-01-01T00:00:00+00:00", timezone(timedelta(hours=-12)), "2025-12-31 12:00"),
    ],
)
def test_the_users_day(moment: str, zone: ZoneInfo, wall: str) -> None:
    """Time and date are the user's, across midnight and daylight saving."""
    clock = Clock(from_text(moment), zone)
    assert clock.local(clock.now()).strftime("%Y-%m-%d %H:%M") == wall
    assert clock.today() == date.fromisoformat(wall[:10])


def test_without_a_fixed_time_it_runs() -> None:
    """Now is the real time, in UTC."""
    before = datetime.now(UTC)
    assert before <= Clock().now() <= datetime.now(UTC)
    assert Clock(datetime(2026, 3, 1, 14, 30, tzinfo=LISBON)).now().tzinfo is UTC

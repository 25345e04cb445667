"""The days on which something comes again."""

from datetime import date, timedelta
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from construct.language.recurrence import next_occurrence, occurrences
from construct.vocabulary import Recurrence

DAYS = st.dates(date(1900, 1, 1), date(2100, 12, 31))


@pytest.mark.parametrize(
    ("first", "every", "since", "days"),
    [
        ("2026-03-10", "daily", "2026-03-31", ["2026-03-31", "2026-04-01"]),
        ("2026-03-10", "weekly", "2026-03-01", ["2026-03-10", "2026-03-17"]),
        ("2026-03-10", "weekly", "2026-03-11", ["2026-03-17", "2026-03-24"]),
        ("2026-01-31", "monthly", "2026-02-01", ["2026-03-31", "2026-05-31"]),
        ("2026-01-30", "monthly", "2028-01-31", ["2028-03-30", "2028-04-30"]),
        ("1990-05-05", "yearly", "2026-05-05", ["2026-05-05", "2027-05-05"]),
        ("2024-02-29", "yearly", "2026-02-01", ["2026-02-28", "2027-02-28"]),
        ("2024-02-29", "yearly", "2027-03-01", ["2028-02-29", "2029-02-28"]),
        ("9998-05-05", "yearly", "9998-05-06", ["9999-05-05"]),
        ("9999-12-30", "weekly", "9999-12-31", []),
    ],
)
def test_days_on_which_it_comes_again(first: str, every: str, since: str, days: list[str]) -> None:
    """A day that a month lacks is skipped; 29 February becomes the last of February."""
    found = occurrences(date.fromisoformat(first), Recurrence(every), date.fromisoformat(since))
    assert [day.isoformat() for day in islice(found, 2)] == days


@given(DAYS, st.sampled_from(Recurrence), DAYS)
def test_the_next_day_is_none_that_is_skipped(first: date, every: Recurrence, since: date) -> None:
    """It is not before the beginning nor before the day that is asked for."""
    day = next_occurrence(first, every, since)
    assert day is not None
    assert day >= max(first, since)
    after = next_occurrence(first, every, since, {day})
    assert after == next_occurrence(first, every, day + timedelta(1))

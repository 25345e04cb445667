"""The little language that narrows what is remembered."""

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest

from construct.clock import Clock
from construct.errors import UsageError
from construct.operations.memory_filter import MemoryFilter, parse_filter
from tests.chat.test_views import observation

CLOCK = Clock(datetime(2026, 3, 10, 23, 30, tzinfo=UTC), timezone(timedelta(hours=1)))
"""The 11th already, by the user's clock."""
TODAY = date(2026, 3, 11)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("", MemoryFilter()),
        ("all", MemoryFilter(everything=True)),
        ("HIGH low", MemoryFilter(priorities=("high", "low"))),
        ("planned pending  planned", MemoryFilter(stances=("planned",), marks=("pending",))),
        ("since 2026-03", MemoryFilter(first_day="2026-03-01")),
        ("until 2026-02", MemoryFilter(last_day="2026-02-28")),
        ("on 2024-12", MemoryFilter(first_day="2024-12-01", last_day="2024-12-31")),
        ("on 2026", MemoryFilter(first_day="2026-01-01", last_day="2026-12-31")),
        (
            "since 2026-01-05 until yesterday",
            MemoryFilter(first_day="2026-01-05", last_day="2026-03-10"),
        ),
        ("on today", MemoryFilter(first_day="2026-03-11", last_day="2026-03-11")),
        ("since 7d", MemoryFilter(first_day="2026-03-04")),
        ("since Marta", MemoryFilter(words=("since", "marta"))),
        ("on", MemoryFilter(words=("on",))),
        ('"high tea" "planned', MemoryFilter(words=("high tea", "planned"))),
        ('high"tea"""', MemoryFilter(priorities=("high",), words=("tea",))),
        ("Straße 42 42", MemoryFilter(words=("strasse", "42"))),
    ],
)
def test_words_are_read(text: str, meant: MemoryFilter) -> None:
    """Known names narrow the list, `since` and the like take a day.

    All other words are searched for.
    """
    assert parse_filter(text, CLOCK) == meant


@pytest.mark.parametrize(
    "text", ["since 2026-13", "until 0000", "on 2026-02-30", "high since 3x", "since 99999999w"]
)
def test_a_wrong_day_is_refused(text: str) -> None:
    """What looks like a day and is none is not looked for as a word."""
    with pytest.raises(UsageError, match="Not a date"):
        parse_filter(text, CLOCK)


@pytest.mark.parametrize(
    ("text", "more", "holds"),
    [
        ("high", {"priority": "high"}, True),
        ("high", {"priority": "low", "content": "high tea"}, False),
        ("high medium", {"priority": "medium"}, True),
        ("high planned", {"priority": "high", "stance": "asked"}, False),
        ("pending", {"committed_at": None}, True),
        ("pending", {}, False),
        ("pinned yours", {"pinned": 1}, False),
        ("pinned yours", {"pinned": 1, "origin": "user"}, True),
        ("reflections", {"generation": 2}, True),
        ("kept", {"kept": 1}, True),
        ("kept", {}, False),
        ("unknown", {"stance": "planned", "referenced_date": "2026-03-10"}, True),
        ("unknown", {"stance": "planned", "referenced_date": "2026-03-11"}, False),
        ("since 2026-03-09 until 2026-03-09 TEA", {}, True),
        ("since 2026-03-10", {}, False),
        ("until 2026-03-08", {}, False),
        ("tea likes", {}, True),
        ('"tea likes"', {}, False),
    ],
)
def test_what_is_wanted(text: str, more: dict[str, Any], holds: bool) -> None:
    """Words of one list widen each other, everything else narrows."""
    assert parse_filter(text, CLOCK).matches(observation(1, **more), TODAY) is holds


def test_it_is_said_as_people_read_it() -> None:
    """What narrows is told part by part."""
    wanted = parse_filter('high low planned unknown since 2026-03 "the sea"', CLOCK)
    assert list(wanted.parts()) == [
        "high or low",
        "planned",
        "outcome unknown",
        "since 2026-03-01",
        "“the sea”",
    ]
    assert list(parse_filter("on 2026-03-01", CLOCK).parts()) == ["on 2026-03-01"]
    assert wanted.narrows
    assert not parse_filter("all", CLOCK).narrows

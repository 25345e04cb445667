"""How an observation reads."""

from itertools import product

import pytest

from construct.memory.learning.proposals import PRIORITIES, STANCES
from construct.memory.shown.lines import line, line_tokens
from tests.memory.making import observation


@pytest.mark.parametrize(
    ("priority", "stance", "ahead", "expected"),
    [
        ("high", "stated", None, "! [2026-03-01] User sees Ana"),
        ("medium", "stated", None, "- [2026-03-01] User sees Ana"),
        ("low", "stated", None, "~ [2026-03-01] User sees Ana"),
        ("high", "planned", "2026-03-05", "! [2026-03-01] User sees Ana (planned; for 2026-03-05)"),
        ("high", "stated", "2026-03-05", "! [2026-03-01] User sees Ana (for 2026-03-05)"),
        ("high", "stated", "2026-03-01", "! [2026-03-01] User sees Ana"),
        ("low", "asked", None, "~ [2026-03-01] User sees Ana (asked)"),
        ("low", "hypothetical", None, "~ [2026-03-01] User sees Ana (hypothetical)"),
        ("low", "inferred", None, "~ [2026-03-01] User sees Ana (inferred)"),
        ("low", "assistant", None, "~ [2026-03-01] User sees Ana (the assistant's words)"),
        ("low", "quoted", None, "~ [2026-03-01] User sees Ana (quoted, not the user's words)"),
    ],
)
def test_a_line(priority: str, stance: str, ahead: str | None, expected: str) -> None:
    """A line shows priority, date and words, and behind them what is not the user's own word and the day ahead."""
    assert line(observation(1, "User sees Ana", priority=priority, stance=stance, ahead=ahead)) == expected


def test_a_day_in_the_words_is_not_said_twice() -> None:
    """The day ahead stands behind the line only when the words do not name it."""
    due = observation(1, "Due 2026-03-05", priority="high", ahead="2026-03-05")
    assert line(due) == "! [2026-03-01] Due 2026-03-05"


def test_every_stance_but_stated_shows() -> None:
    """No two stances read alike, so nobody takes a question for a fact."""
    lines = {line(observation(1, "x", priority=p, stance=s)) for p, s in product(PRIORITIES, STANCES)}
    assert len(lines) == len(PRIORITIES) * len(STANCES)


def test_the_tokens_are_those_of_the_line() -> None:
    """Observation tokens count the line as shown, notes included."""
    bare = line_tokens(observation(1, "User sees Ana"))
    assert 0 < bare < line_tokens(observation(1, "User sees Ana", stance="quoted", ahead="2026-03-05"))

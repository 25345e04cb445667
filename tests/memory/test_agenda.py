"""What is on the agenda on a given day, and what is worth bringing up."""

from datetime import date

import pytest

from construct.memory.agenda import (
    agenda_items,
    due_words,
    outcome_unknown,
    state_on,
    when_on,
    worth_mentioning,
)
from construct.store.agenda import DatedNote
from tests.memory.making import observation

TODAY = date(2026, 3, 1)


@pytest.mark.parametrize(
    ("stance", "when", "state"),
    [
        ("planned", "2026-03-02", "ahead"),
        ("planned", "2026-03-01", "today"),
        ("planned", "2026-02-28", "outcome unknown"),
        ("planned", "2026-03", "ahead"),
        ("planned", "2026-02", "outcome unknown"),
        ("planned", "2026", "ahead"),
        ("planned", "2025", "outcome unknown"),
        ("stated", "2026-03-01", "today"),
        ("stated", "2026-02-28", None),
        ("stated", "2026-03", "ahead"),
        ("planned", None, None),
        ("asked", "2026-03-02", None),
        ("hypothetical", "2026-03-02", None),
        ("inferred", "2026-03-02", None),
        ("assistant", "2026-03-02", None),
        ("quoted", "2026-03-02", "ahead"),
        ("quoted", "2026-02-28", None),
    ],
)
def test_the_state_of_a_note(stance: str, when: str | None, state: str | None) -> None:
    """A month or a year is ahead through its last day; then only a plan stays."""
    assert state_on(TODAY, stance, when) == state


@pytest.mark.parametrize(
    ("when", "recurs", "skipped", "meant"),
    [
        (None, None, None, None),
        ("2026-02-30", None, None, None),
        ("2026-03", None, None, "2026-03"),
        ("2026-02-10", None, None, "2026-02-10"),
        ("2026-02-10", "weekly", None, "2026-03-03"),
        ("2026-02-10", "weekly", '["2026-03-03"]', "2026-03-10"),
        ("2026-03-01", "weekly", None, "2026-03-01"),
        ("2026-04-01", "daily", None, "2026-04-01"),
        ("1990-02-28", "yearly", None, "2027-02-28"),
    ],
)
def test_the_day_that_a_note_refers_to(
    when: str | None, recurs: str | None, skipped: str | None, meant: str | None
) -> None:
    """What comes again refers to its next day that is not skipped, today among them."""
    note = DatedNote(1, "x", "planned", when, recurs=recurs, recurs_except=skipped)
    assert when_on(TODAY, note) == meant


def test_what_comes_again_has_no_unknown_outcome() -> None:
    """Its next day is ahead."""
    choir = observation(1, "x", stance="planned", ahead="2026-02-10")
    assert outcome_unknown(choir, TODAY)
    assert not outcome_unknown(choir._replace(recurs="weekly"), TODAY)


def test_outcome_unknown() -> None:
    """Only a past plan that nothing superseded has an unknown outcome."""
    passed = observation(1, "x", stance="planned", ahead="2026-02-28")
    assert outcome_unknown(passed, TODAY)
    assert not outcome_unknown(passed._replace(stance="stated"), TODAY)
    assert not outcome_unknown(passed._replace(superseded_at="2026-03-01"), TODAY)


def test_what_is_worth_mentioning() -> None:
    """What is ahead comes first, the nearest first; then what has passed, the newest first."""
    days = (
        "2026-02-14", "2026-02-15", "2026-02-28", "2026-03-01", "2026-03-03", "2026-03-04", "2026",
    )  # fmt: skip
    notes = [DatedNote(number, "x", "planned", day) for number, day in enumerate(days)]
    items = agenda_items(notes, TODAY)
    assert [item.when for item in worth_mentioning(items, TODAY)] == [
        "2026-03-01", "2026-03-03", "2026-02-28", "2026-02-15",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("when", "words"),
    [
        ("2026-02-28", "Outcome unknown (yesterday)"),
        ("2026-03-01", "Due today"),
        ("2026-03-02", "Due tomorrow"),
        ("2026-03-04", "Due in 3 days"),
        ("2026-03", "Due within 4 weeks"),
        ("2026-02", "Outcome unknown (yesterday)"),
    ],
)
def test_when_an_item_is_due(when: str, words: str) -> None:
    """A plan is due on its day still; the day after, its outcome is unknown."""
    (item,) = agenda_items([DatedNote(1, "x", "planned", when)], TODAY)
    assert due_words(item, TODAY) == words

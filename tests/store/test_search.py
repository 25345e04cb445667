"""What plain queries over the indexes find, and what they never find."""

import sqlite3
from datetime import date
from pathlib import Path

import pytest

from construct.store import search
from construct.store.search import Filters
from tests.store.transfer_world import World
from tests.support.database import new_database

EVERYTHING = Filters(all=True)


@pytest.fixture
def db(tmp_path: Path) -> sqlite3.Connection:
    """Return a database with a fact about quinces, and a note of the user's own."""
    db = new_database(tmp_path / "a.db")
    w = World(db)
    talk = w.conversation()
    w.observe(talk, w.say(talk, "I like quinces", "Noted"), "Likes quinces")
    w.keep("Buys quinces")
    return db


def found(db: sqlite3.Connection, kind: str, filters: Filters) -> list[list[int]]:
    """Return what each way of searching finds."""
    return [
        search.match(db, kind, "quinces", filters, 9),
        sorted(search.containing(db, kind, ["quince"], filters, 9)),
        [entry.id for entry in search.results(db, kind, [1, 2], filters)],
    ]


@pytest.mark.parametrize(
    "filters", [Filters(), EVERYTHING, Filters(since=date(2020, 1, 1)), Filters(descent=((1, 9),))]
)
def test_what_is_withheld_is_never_found(db: sqlite3.Connection, filters: Filters) -> None:
    """An observation that the user asked to forget is in no result; others are."""
    assert found(db, "observation", filters) == [[1, 2]] * 3
    assert search.observations_by_message(db, [1]) == {1: [(1, "Likes quinces")]}
    db.execute("UPDATE observations SET withheld = 1 WHERE id = 1")
    assert found(db, "observation", filters) == [[2]] * 3
    assert search.observations_by_message(db, [1]) == {}
    db.execute("UPDATE observations SET withheld = 0")
    assert found(db, "observation", filters) == [[1, 2]] * 3


def test_what_was_undone_is_found_only_as_it_was_said(db: sqlite3.Connection) -> None:
    """What was noted of it is not found, not even among what was superseded."""
    db.execute("UPDATE observations SET superseded_at = created_at WHERE id = 1")
    assert found(db, "observation", EVERYTHING) == [[1, 2]] * 3
    db.execute("UPDATE cycles SET status = 'reverted' WHERE kind = 'observer'")
    assert found(db, "observation", EVERYTHING) == [[2]] * 3


def test_the_most_pieces_come_first_and_then_the_newest(db: sqlite3.Connection) -> None:
    """Names of attachments are searched too."""
    w = World(db, "b")
    here = w.conversation()
    old, cat, new, other = w.say(here, "カフェで仕事", "猫カフェ", "カフェで休憩", "見て")
    w.attach(other, "家族写真旅行.txt", b"x")
    pieces = ["猫カ", "カフ", "フェ", "写真"]
    assert search.containing(db, "message", pieces, Filters(), 9) == [cat, new, old, other]


@pytest.mark.parametrize(
    ("when", "about"),
    [
        (None, (None, None)),
        ("2026-03-05", ("2026-03-05", "2026-03-05")),
        ("2026-03", ("2026-03-01", "2026-03-31")),
        ("2028-02", ("2028-02-01", "2028-02-29")),
        ("2026-12", ("2026-12-01", "2026-12-31")),
        ("2026", ("2026-01-01", "2026-12-31")),
        ("9999", ("9999-01-01", "9999-12-31")),
        ("9999-12", ("9999-12-01", "9999-12-31")),
    ],
)
def test_what_a_fact_refers_to_has_a_first_and_a_last_day(
    db: sqlite3.Connection, when: str | None, about: tuple[str | None, str | None]
) -> None:
    """A day, a month and a year are given as first and last day.

    Whoever reads them can compute with these.
    """
    db.execute("UPDATE observations SET referenced_date = ?", (when,))
    (entry,) = search.results(db, "observation", [1], EVERYTHING)
    assert (entry.about, entry.about_until) == about
    for narrowed in (Filters(since=date(2026, 3, 2)), Filters(until=date(2026, 2, 28))):
        assert search.match(db, "observation", "quinces", narrowed, 9) == []
    day = date(2026, 3, 1)
    assert search.match(db, "observation", "quinces", Filters(since=day, until=day), 9) == [1, 2]

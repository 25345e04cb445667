"""Transactions that fail, and sums that a transaction adds to."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from construct.store.database import transaction
from construct.store.usage import Call, record_private_usage, usage_lines
from construct.tokens import Usage
from tests.support.database import new_database


@pytest.fixture
def db(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """Return an empty database."""
    with closing(new_database(tmp_path / "x.db")) as db:
        yield db


def break_a_link(db: sqlite3.Connection) -> None:
    """Write a row that only COMMIT refuses, as a full disk would."""
    with transaction(db):
        db.execute("PRAGMA defer_foreign_keys = ON")
        db.execute("INSERT INTO observation_sources VALUES (98, 99)")


def test_a_commit_that_fails_is_rolled_back(db: sqlite3.Connection) -> None:
    """The connection can be used again."""
    with pytest.raises(sqlite3.IntegrityError):
        break_a_link(db)
    with transaction(db):
        assert db.execute("SELECT count(*) FROM observation_sources").fetchone() == (0,)


def test_a_call_without_a_price_leaves_the_sum(db: sqlite3.Connection) -> None:
    """In private talk, calls of a day are one row: what is known to be spent stays known."""
    for cost in (0.5, None, 0.25):
        record_private_usage(db, Call("chat", "m", Usage(1), cost), "2026-03-01T00:00")
    (line,) = usage_lines(db)
    assert (line.input_tokens, line.cost_usd) == (3, 0.75)

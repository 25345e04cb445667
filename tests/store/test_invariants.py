import sqlite3
import time
from pathlib import Path

import pytest

from construct.store.invariants import (
    file_violations,
    index_violations,
    take_in_violations,
    violations,
)
from tests.store.transfer_world import World, furnish
from tests.support.database import new_database


@pytest.fixture
def db(tmp_path: Path) -> sqlite3.Connection:
    """Return a database with everything in it."""
    db = new_database(tmp_path / "a.db")
    furnish(db)
    return db


def test_sound_database(db: sqlite3.Connection) -> None:
    """A database with everything in it breaks nothing."""
    assert violations(db) == violations(db, [1, 2, 3]) == violations(db, []) == []
    assert index_violations(db) == file_violations(db) == []


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("UPDATE cycles SET status = 'failed' WHERE id = 1",
        "lie in no successful observer cycle (count: 4,"),
        ("UPDATE cycles SET first_message_id = 8 WHERE id = 2",
         "lie in no successful observer cycle (count: 1,"),
        ("UPDATE cycles SET last_message_id = 7 WHERE id = 2",
         "lie in no successful observer cycle (count: 1,"),
        ("UPDATE cycles SET first_message_id = NULL WHERE id = 2",
         "lie in no successful observer cycle (count: 2,"),
        ("UPDATE cycles SET conversation_id = 2 WHERE id = 2",
         "lie in no successful observer cycle (count: 2,"),
        ("UPDATE cycles SET first_message_id = 5 WHERE id = 2",
         "lie in more than one successful observer cycle (count: 2,"),
        ("UPDATE cycles SET status = 'succeeded', conversation_id = 1, "
         "first_message_id = 3, last_message_id = 8 WHERE id = 6",
         "lie in more than one successful observer cycle (count: 6,"),
        ("UPDATE watermarks SET message_id = 7 WHERE name = 'observed'",
         "above `observed` lie in a successful observer cycle (count: 1, first: 8)"),
        ("DELETE FROM watermarks",
         "above `observed` lie in a successful observer cycle (count: 6,"),
        ("INSERT INTO watermarks VALUES (2, 'observed', 14, 't')",
         "lie in no successful observer cycle (count: 2,"),
        ("UPDATE watermarks SET message_id = 7 WHERE name = 'window'",
        "out of order: window 7, compacted 6, observed 8"),
        ("DELETE FROM watermarks WHERE name = 'compacted'", "out of order: window 6, compacted 0"),
        ("UPDATE watermarks SET message_id = 999 WHERE name = 'observed'",
         "`observed` points at 999"),
        ("UPDATE watermarks SET message_id = 2 WHERE name = 'window'",
        "`window` points at 2, which is not one of its messages"),
        ("UPDATE observations SET committed_at = NULL WHERE id = 6",
         "Observation 6 is pending, though its message 3"),
        ("UPDATE observations SET committed_at = NULL WHERE id = 6",
        "Observation 6 is pending, though it is shown in conversation 1"),
        ("DELETE FROM observation_messages WHERE observation_id = 4",
        "Observation 4 is of generation 0, but no message is linked to it"),
        ("DELETE FROM observation_messages WHERE observation_id = 5",
        "Observation 5 lacks a message that its source 1 rests on"),
        ("UPDATE observation_messages SET direct = 0 WHERE observation_id = 4",
        "Observation 4 is of generation 0, but no message is linked to it"),
        ("DELETE FROM observation_sources",
        "Observation 5 is of generation 1, but the highest among its sources is none"),
        ("UPDATE observations SET generation = 3 WHERE id = 5",
         "generation 3, but the highest among its sources is 0"),
        ("UPDATE observations SET generation = -1 WHERE id = 5", "generation -1"),
        ("UPDATE observations SET generation = 1 WHERE id = 1",
        "Observation 5 is of generation 1, but the highest among its sources is 1"),
        ("UPDATE observations SET superseded_by = NULL WHERE id = 1",
         "Observation 1 is superseded, but not by a cycle"),
        ("UPDATE observations SET superseded_by = 77 WHERE id = 1",
         "Observation 1 is superseded, but not by a cycle"),
        ("UPDATE observation_replaced SET replaced_id = observation_id",
         "Observation 5 replaces itself"),
        ("PRAGMA ignore_check_constraints = ON; UPDATE observation_replaced SET relation = 'like'",
        "Observation 5 replaces 2 with an unknown relation: like"),
        ("DELETE FROM questions",
         "Observation 3 is withheld, but no request to forget it was applied"),
        ("UPDATE questions SET withheld_at = NULL",
         "Observation 3 is withheld, but no request"),
        ("UPDATE observations SET withheld = 1 WHERE id = 1",
         "Observation 1 is withheld, but no request"),
        ("DROP INDEX one_running_cycle; UPDATE cycles SET status = 'running' WHERE id IN (7, 8)",
        "2 cycles of the kind graph"),
        ("DELETE FROM messages WHERE id = 7",
         "Cycle 2 has observed messages that conversation 1 does not have"),
        ("UPDATE cycles SET first_message_id = 8, last_message_id = 7 WHERE id = 2",
         "Cycle 2 has observed"),
        ("UPDATE cycles SET first_message_id = 2 WHERE id = 1", "Cycle 1 has observed"),
    ],
)  # fmt: skip
def test_each_breach_is_found(db: sqlite3.Connection, change: str, sentence: str) -> None:
    """Each promise that is broken is named with the place."""
    db.execute("PRAGMA foreign_keys = OFF")
    db.executescript(change)
    assert any(sentence in found for found in violations(db)), violations(db)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("DELETE FROM active_spans WHERE observation_id = 6",
         "Observation 6: active_spans and its state disagree"),
        ("INSERT INTO active_spans (observation_id, since) VALUES (1, -1)",
         "Observation 1: active_spans and its state"),
        ("INSERT INTO last_take_ins VALUES (1, 5, 'user')",
         "take_in_count is 0, but the number 5 is already in use"),
        ("UPDATE active_spans SET since = 3 WHERE observation_id = 6",
         "take_in_count is 0, but the number 3 is already in use"),
        ("UPDATE active_spans SET until = 2 WHERE observation_id = 6",
         "take_in_count is 0, but the number 2 is already in use"),
    ],
)  # fmt: skip
def test_each_breach_of_the_take_ins_is_found(
    db: sqlite3.Connection, change: str, sentence: str
) -> None:
    """What triggers keep is what stands."""
    assert take_in_violations(db) == []
    db.execute(change)
    assert any(sentence in found for found in take_in_violations(db)), take_in_violations(db)


def test_archived_messages_stand_apart(db: sqlite3.Connection) -> None:
    """Archived messages may lie below and above the watermarks.

    A cycle's range may hold them or not.
    """
    w = World(db, "z")
    talk = w.conversation()
    w.say(talk, "old", archived=1)
    said = w.say(talk, "one", "two") + w.say(talk, "imported", archived=1) + w.say(talk, "three")
    w.observe(talk, said, "fact")
    w.say(talk, "newer", archived=1)
    assert violations(db) == []


def test_only_the_conversations_asked_for(db: sqlite3.Connection) -> None:
    """A breach elsewhere is passed over.

    Observations over several conversations are always looked at.
    """
    db.execute("DELETE FROM watermarks")
    assert violations(db, [2, 3]) == []
    assert len(violations(db, [1])) == len(violations(db)) == 1
    db.execute("DELETE FROM observation_sources")
    assert len(violations(db, [2])) == 1


def test_an_index_out_of_step(db: sqlite3.Connection) -> None:
    """An index that does not say what its table says is named, and only it."""
    assert index_violations(db) == []
    db.execute("DROP TRIGGER observations_fts_insert")
    World(db, "z").keep("unseen")
    assert index_violations(db) == ["The full-text index of observations disagrees with the table."]


def test_a_row_that_refers_to_nothing(db: sqlite3.Connection) -> None:
    """A dangling reference is named by row and table."""
    db.execute("PRAGMA foreign_keys = OFF")
    db.execute("DELETE FROM entities WHERE id = 2")
    assert file_violations(db) == [
        f"Row {row} of relations refers to a row of entities that does not exist." for row in (1, 2)
    ]


def test_fast_on_a_long_history(tmp_path: Path) -> None:
    """Twenty thousand messages with a thousand cycles take less than a second."""
    db = new_database(tmp_path / "long.db")
    db.execute("BEGIN")
    for table in ("messages", "observations"):
        db.execute(f"DROP TRIGGER {table}_fts_insert")
    w = World(db)
    talk = w.conversation()
    said = w.say(talk, *["word"] * 20_000)
    for start in range(0, 20_000, 20):
        w.observe(talk, said[start : start + 20], "fact")
    db.execute("COMMIT")
    started = time.process_time()
    assert violations(db) == violations(db, [talk]) == []
    assert time.process_time() - started < 1

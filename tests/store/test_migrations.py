"""A file that an earlier version wrote is brought to this one with nothing lost."""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlite_utils import Database

from construct.store.database import open_database, transaction
from construct.store.doors import DoorCalls, calls_by_client, record_call
from construct.store.invariants import (
    file_violations,
    index_violations,
    take_in_violations,
    violations,
)
from construct.store.observations import ACTIVE
from construct.store.purge import finish_erasure
from construct.store.schema import migrations
from construct.store.shown import not_taken_in, shown
from construct.store.version import SCHEMA_VERSION
from tests.store.old_versions import LAST_WITH_MEMORIES, make_version_7, set_version
from tests.store.transfer_world import World, bring, exported, furnish
from tests.support.database import new_database

VERSION_6 = Path(__file__).with_name("version_6.sql")
VERSION_7_EXPORT = Path(__file__).with_name("version_7.jsonl")
FIRST_VERSION = 4
"""The first that was ever written to a disk: the steps up to it came together."""
_MADE_AGAIN = re.compile(
    "_fts|^sqlite_|^_sqlite|^vector|^meta$|^outdated$|^memories$|^relations$|^briefed$"
    "|^forget_requests$"
)

_BLOCKS = """SELECT shown.conversation_id, dense_rank() OVER (
        PARTITION BY shown.conversation_id ORDER BY block),
    observation_id FROM shown JOIN observations ON id = observation_id WHERE block > 0
    ORDER BY shown.conversation_id, block, observation_id"""

Rows = dict[str, list[dict[str, object]]]


@pytest.fixture
def old(place: Path) -> Iterator[sqlite3.Connection]:
    """Return a connection to a database of version 6, with everything in it."""
    with closing(sqlite3.connect(place / "x.db", isolation_level=None)) as db:
        migrations.apply(Database(db), stop_before="m007_own_words")
        db.executescript(VERSION_6.read_text("utf-8"))
        set_version(db, 6)
        furnish(db)
        World(db, "z").say(1, *[f"{'filler ' * 40} number {n}" for n in range(400)])
        World(db, "y").say(1, "the quince in the cellar", withheld=1)
        yield db


def stored(db: sqlite3.Connection) -> Rows:
    """Return the rows of every table that is not rebuilt or renamed, by column."""
    tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    found = {}
    for table in tables:
        if not _MADE_AGAIN.search(table):
            cursor = db.execute(f"SELECT * FROM {table}")
            names = [column[0] for column in cursor.description]
            rows = [dict(zip(names, row, strict=True)) for row in cursor]
            found[table] = sorted(rows, key=lambda row: str(list(row.values())[:2]))
    return found


def without_new_columns(now: Rows, before: Rows) -> Rows:
    """Return those of today's rows that were there before, with the columns of then."""
    found: Rows = {}
    for table, rows in before.items():
        columns = rows[0] if rows else {}
        as_then = [{name: row[name] for name in columns} for row in now[table]]
        found[table] = [row for row in as_then if row in rows]
    return found


def found(db: sqlite3.Connection, words: str) -> int:
    """Return how many messages the index finds."""
    (count,) = db.execute(
        "SELECT count(*) FROM messages_fts WHERE messages_fts MATCH ?", (words,)
    ).fetchone()
    return int(count)


def kept(db: sqlite3.Connection, memory: tuple[object, ...]) -> tuple[object, ...] | None:
    """Return what became of a memory that was kept on request."""
    query = """SELECT uid, content, category, origin, created_at FROM observations
               WHERE kept AND uid = ? AND generation = 0 AND cycle_id IN (
                   SELECT id FROM cycles WHERE kind = 'edit')"""
    row: tuple[object, ...] | None = db.execute(query, memory[:1]).fetchone()
    return row


NEW_TABLES = 40 * 4096
"""What tables and indexes that version 6 did not have take."""


def sound(db: sqlite3.Connection) -> list[str]:
    """Return all that is wrong with a database."""
    return index_violations(db) + violations(db) + take_in_violations(db) + file_violations(db)


def test_a_new_file_is_as_one_that_was_brought_to_this_version(
    place: Path, old: sqlite3.Connection
) -> None:
    """Whichever way it came there."""

    def made(db: sqlite3.Connection) -> set[tuple[str, str]]:
        rows = db.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL")
        return {(name, " ".join(sql.split())) for name, sql in rows}

    with (
        closing(open_database(place / "x.db")) as grown,
        closing(open_database(place / "new.db")) as new,
    ):
        assert made(grown) == made(new)


def test_from_version_6(place: Path, old: sqlite3.Connection) -> None:
    """Text is indexed once, withheld text is not, and the file gets smaller.

    Every row and uid is as it was.
    """
    before, filed = stored(old), found(old, "{text} : filler")
    assert found(old, "filler") > filed == 400
    old.close()
    with closing(open_database(place / "x.db")) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,)
        assert without_new_columns(stored(db), before) == before
        assert (found(db, "filler"), found(db, "{text} : number"), found(db, "quince")) == (
            filed,
            filed,
            0,
        )
        size = (place / "x.db").stat().st_size
        assert finish_erasure(db, 1)
        assert db.execute("PRAGMA freelist_count").fetchone() == (0,)
        assert (place / "x.db").stat().st_size <= size + NEW_TABLES
        with transaction(db):
            assert sound(db) == []


@pytest.mark.parametrize("version", range(LAST_WITH_MEMORIES + 1, SCHEMA_VERSION))
def test_from_a_version_without_memories(place: Path, version: int) -> None:
    """Every row is as it was."""
    with closing(make_version_7(place / "x.db", brought_to=version)) as old:
        before = stored(old)
    with closing(open_database(place / "x.db")) as db:
        assert without_new_columns(stored(db), before) == before
        with transaction(db):
            assert sound(db) == []


@pytest.mark.parametrize("version", range(FIRST_VERSION, LAST_WITH_MEMORIES + 1))
def test_from_every_version(place: Path, version: int) -> None:
    """Every row is as it was, the same is shown, and the export has the same words."""
    with closing(make_version_7(place / "x.db", brought_to=version)) as old:
        if version < 7:
            old.executescript(VERSION_6.read_text("utf-8"))
        before = stored(old)
        memories = old.execute(
            """SELECT uid, content, category, origin, created_at FROM memories
               WHERE origin <> 'observation'"""
        ).fetchall()
        blocks = old.execute(_BLOCKS).fetchall()
    with closing(open_database(place / "x.db")) as db:
        assert without_new_columns(stored(db), before) == before
        text = exported(db)
        for table in before.keys() & {"messages", "observations"}:
            assert all(f'"uid": "{row["uid"]}"' in text for row in before[table])
        assert [kept(db, memory) for memory in memories] == memories
        now = [
            (c, n, o.id)
            for c in sorted({conversation for conversation, _, _ in blocks})
            for n, block in enumerate(shown(db, c).blocks, 1)
            for o in block
        ]
        assert now == blocks
        with transaction(db):
            assert sound(db) == []


_CALL = "INSERT INTO door_calls(created_at, client, tool, results) VALUES (?, ?, ?, ?)"


def test_calls_of_other_programs_are_counted(place: Path) -> None:
    """Version 10 stored each call in a row of its own."""
    with closing(make_version_7(place / "x.db", brought_to=10)) as old:
        old.execute(_CALL, ("2026-11-22T10:00", "zed", "recall", 3))
        old.execute(_CALL, ("2026-11-22T11:00", "zed", "recall", 2))
    with closing(open_database(place / "x.db")) as db:
        record_call(db, "zed", "recall", 1, "2026-11-23T09:00")
        counted = DoorCalls("zed", "recall", 3, 6, "2026-11-22T10:00", "2026-11-23T09:00")
        assert calls_by_client(db) == [counted]


def test_calls_that_are_counted_already_stay(place: Path) -> None:
    """Some files of version 11 had the new table before its migration."""
    counted = DoorCalls("zed", "recall", 3, 6, "2026-11-22T10:00", "2026-11-23T09:00")
    with closing(make_version_7(place / "x.db", brought_to=11)) as old:
        old.execute("DROP TABLE door_calls")
        old.execute(f"CREATE TABLE door_calls ({', '.join(DoorCalls._fields)})")
        old.execute("INSERT INTO door_calls VALUES (?, ?, ?, ?, ?, ?)", counted)
    with closing(open_database(place / "x.db")) as db:
        assert calls_by_client(db) == [counted]


def test_from_version_7(place: Path) -> None:
    """Every link between notes is kept, and reflections know their first day.

    Text stays as it was. Brought to this version, the file has the same content as the
    export that version 7 made of it.
    """
    make_version_7(place / "x.db").close()
    with (
        closing(open_database(place / "x.db")) as db,
        closing(new_database(place / "y.db")) as other,
    ):
        links = (
            "SELECT observation_id, replaced_id, cycle_id, relation "
            "FROM observation_replaced ORDER BY 3"
        )
        assert db.execute(links).fetchall() == [
            (3, 1, 4, "outdated"),
            (8, 6, 8, "edit"),
            (12, 11, 12, "edit"),
        ]
        first_dates = (
            "SELECT id, first_date FROM observations WHERE generation > 0 OR first_date NOT NULL"
        )
        assert db.execute(first_dates).fetchall() == [(9, "2026-03-01"), (10, "2026-03-01")]
        assert db.execute("SELECT content FROM observations WHERE pinned").fetchall() == [
            ("User's sister Ana is a nurse",)
        ]
        assert db.execute("SELECT count(*) FROM observations WHERE withheld").fetchone() == (0,)
        bring(other, place, VERSION_7_EXPORT.read_bytes())
        assert exported(other) == exported(db)
        for query in (links, first_dates):
            assert other.execute(query).fetchall() == db.execute(query).fetchall()
        assert violations(other) == []


def test_what_fell_off_before_version_9_has_no_rows_and_stays_off(place: Path) -> None:
    """A conversation takes in what it had no row of, and that only."""
    with closing(make_version_7(place / "x.db", brought_to=8)) as old:
        active = [i for (i,) in old.execute(f"SELECT id FROM observations WHERE {ACTIVE}")]
        old.executemany(
            "INSERT OR IGNORE INTO shown (conversation_id, observation_id, block) VALUES (?, ?, 0)",
            [(1, i) for i in active[:-1]] + [(2, i) for i in active],
        )
        rows = "SELECT * FROM shown WHERE block > 0 ORDER BY conversation_id, observation_id"
        lines = old.execute(rows).fetchall()
    with closing(open_database(place / "x.db")) as db:
        assert db.execute(f"SELECT * FROM ({rows})").fetchall() == lines
        assert db.execute("SELECT min(block) FROM shown").fetchone() == (1,)
        kept_since = [i for (i,) in db.execute("SELECT id FROM observations WHERE kept")]
        assert set(not_taken_in(db, 1, "user", None)) == {*active[-1:], *kept_since}
        assert set(not_taken_in(db, 2, "user", None)) == set(kept_since)
        db.execute("INSERT INTO shown VALUES (1, ?, 0)", (active[-1],))
        assert db.execute("SELECT min(block) FROM shown").fetchone() == (1,)


def test_while_another_process_reads(place: Path, old: sqlite3.Connection) -> None:
    """Who has the file open goes on with it.

    What the new index needs is written by it too.
    """
    old.execute("BEGIN")
    assert old.execute("SELECT count(*) FROM messages").fetchone()[0] > 200
    with closing(open_database(place / "x.db")) as db:
        assert not finish_erasure(db, 0.01)
        old.execute("ROLLBACK")
        World(old, "w").say(1, "a medlar tree")
        assert found(db, "medlar") == 1
        assert finish_erasure(db, 1)

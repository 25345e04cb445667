"""A file that an earlier version wrote is brought to this one with nothing lost."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlite_utils import Database

from construct.store.database import open_database, transaction
from construct.store.erase import finish_erasure
from construct.store.invariants import file_violations, index_violations, violations
from construct.store.schema import migrations
from construct.store.transfer.jsonl import export_jsonl
from construct.store.version import APPLICATION_ID, SCHEMA_VERSION
from tests.store.transfer_world import World, furnish

VERSION_6 = Path(__file__).with_name("version_6.sql")


@pytest.fixture
def old(place: Path) -> Iterator[sqlite3.Connection]:
    """Return a connection to a database of version 6, with everything in it."""
    with closing(sqlite3.connect(place / "x.db", isolation_level=None)) as db:
        migrations.apply(Database(db), stop_before="m007_own_words")
        db.executescript(VERSION_6.read_text("utf-8"))
        db.executescript(f"""PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = 6;
                             PRAGMA foreign_keys = ON; PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF""")
        furnish(db)
        World(db, "z").say(1, *[f"{'filler ' * 40} number {n}" for n in range(200)])
        World(db, "y").say(1, "the quince in the cellar", withheld=1)
        yield db


def exported(db: sqlite3.Connection) -> str:
    """Return the export."""
    lines: list[str] = []
    export_jsonl(db, lines.append)
    return "".join(lines)


def found(db: sqlite3.Connection, words: str) -> int:
    """Return how many messages the index finds."""
    (count,) = db.execute("SELECT count(*) FROM messages_fts WHERE messages_fts MATCH ?", (words,)).fetchone()
    return int(count)


def test_a_new_file_is_as_one_that_was_brought_to_this_version(place: Path, old: sqlite3.Connection) -> None:
    """Whichever way it came there."""

    def made(db: sqlite3.Connection) -> set[tuple[str, str]]:
        rows = db.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL")
        return {(name, " ".join(sql.split())) for name, sql in rows}

    with closing(open_database(place / "x.db")) as grown, closing(open_database(place / "new.db")) as new:
        assert made(grown) == made(new)


def test_from_version_6(place: Path, old: sqlite3.Connection) -> None:
    """Words are filed once, what is withheld is not, every row and uid is as it was, and the file gets smaller."""
    before, filed = exported(old), found(old, "{text} : filler")
    assert found(old, "filler") > filed == 200
    old.close()
    with closing(open_database(place / "x.db")) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,)
        assert exported(db) == before
        assert (found(db, "filler"), found(db, "{text} : number"), found(db, "quince")) == (filed, filed, 0)
        size = (place / "x.db").stat().st_size
        assert finish_erasure(db, 1)
        assert (place / "x.db").stat().st_size < size
        with transaction(db):
            assert index_violations(db) + violations(db) + file_violations(db) == []


def test_while_another_process_reads(place: Path, old: sqlite3.Connection) -> None:
    """Who has the file open goes on with it; what the new index needs is written by it too."""
    old.execute("BEGIN")
    assert old.execute("SELECT count(*) FROM messages").fetchone()[0] > 200
    with closing(open_database(place / "x.db")) as db:
        assert not finish_erasure(db, 0.01)
        old.execute("ROLLBACK")
        World(old, "w").say(1, "a medlar tree")
        assert found(db, "medlar") == 1
        assert finish_erasure(db, 1)

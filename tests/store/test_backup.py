import shutil
import sqlite3
from pathlib import Path

import pytest

from construct.errors import ConstructError
from construct.store.backup import read_into
from construct.store.invariants import file_violations, index_violations, violations
from construct.store.output_file import replacing
from construct.store.transfer.exporting import write_export
from tests.store.transfer_world import World, exported, furnish, run_something
from tests.support.database import new_database


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return a folder in which there is nothing."""
    (tmp_path / "place").mkdir()
    return tmp_path / "place"


@pytest.fixture
def db(place: Path) -> sqlite3.Connection:
    """Return a database with everything in it and a cycle at work."""
    db = new_database(place / "a.db")
    run_something(furnish(db), 2)
    return db


def save(db: sqlite3.Connection, folder: Path, name: str = "copy.db") -> Path:
    """Write an sqlite export."""
    write_export(db, folder / "a.db", "sqlite", folder / name)
    return folder / name


def test_one_file_that_any_tool_reads(db: sqlite3.Connection, place: Path) -> None:
    """The copy is one file in the rollback mode, sound, with the same rows."""
    copy = save(db, place)
    other = sqlite3.connect(f"{copy.as_uri()}?mode=ro&immutable=1", uri=True)
    assert other.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    assert file_violations(other) == []
    assert exported(other) == exported(db)
    assert sorted(path.name for path in place.glob("copy*")) == ["copy.db"]


def test_nothing_of_this_moment_is_in_it(db: sqlite3.Connection, place: Path) -> None:
    """A backup has no running cycles, owners or open chats, down to the bytes.

    What running cycles wrote is not in it either.
    """
    copy = save(db, place)
    raw = copy.read_bytes()
    for trace in (b"changeling", b"hippopotamus", b"half-finished"):
        assert trace in (place / "a.db").read_bytes() + (place / "a.db-wal").read_bytes()
        assert trace not in raw
    other = new_database(copy)
    assert other.execute(
        "SELECT count(*) FROM cycles WHERE status = 'running' OR owner NOT NULL"
    ).fetchone() == (0,)
    assert other.execute("SELECT count(*) FROM cycles WHERE phase NOT NULL").fetchone() == (0,)
    for table in ("sessions", "vectors"):
        assert other.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)
    for table, rows in (("observation_replaced", 2), ("questions", 3)):
        assert other.execute(f"SELECT count(*) FROM {table}").fetchone() == (rows,)
        assert db.execute(f"SELECT count(*) FROM {table}").fetchone() == (rows + 1,)
    assert violations(other) == index_violations(other) == []


def test_nothing_deleted_is_in_it(db: sqlite3.Connection, place: Path) -> None:
    """What was deleted here does not lie about in free pages of the copy."""
    db.execute("PRAGMA secure_delete = OFF")
    w = World(db, "z")
    talk = w.conversation()
    w.say(talk, *["rhinoceros " * 50] * 50)
    db.execute("DELETE FROM conversations WHERE id = ?", (talk,))
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert b"rhinoceros rhinoceros" in (place / "a.db").read_bytes()
    assert b"rhinoceros rhinoceros" not in save(db, place).read_bytes()


def test_nothing_forgotten_is_in_it(db: sqlite3.Connection, place: Path) -> None:
    """What waits to be cleared out of the indexes here is cleared out of the copy's."""
    w = World(db, "z")
    (message,) = w.say(w.conversation(), "rhinoceros")
    db.execute("UPDATE messages SET content = '[removed]' WHERE id = ?", (message,))
    db.execute("INSERT INTO meta VALUES ('pruning', 'rewrite')")
    copy = save(db, place)
    assert b"rhinocero" not in copy.read_bytes()
    assert new_database(copy).execute("SELECT count(*) FROM meta").fetchone() == (0,)


def test_same_rows_same_bytes(db: sqlite3.Connection, place: Path) -> None:
    """Two copies of the same rows are the same."""
    assert save(db, place, "one.db").read_bytes() == save(db, place, "two.db").read_bytes()


def test_a_copy_put_in_place_is_used_like_the_original(db: sqlite3.Connection, place: Path) -> None:
    """Opened by the program, a copy is 0600, writable and has a write-ahead log."""
    copy = save(db, place)
    shutil.copy(copy, place / "restored.db")
    (place / "restored.db").chmod(0o644)
    other = new_database(place / "restored.db")
    assert other.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    World(other, "z").conversation()
    assert (place / "restored.db").stat().st_mode & 0o777 == 0o600
    assert other.execute("SELECT count(*) FROM conversations").fetchone() == (4,)


def test_the_database_goes_on_while_it_is_copied(db: sqlite3.Connection, place: Path) -> None:
    """A backup does not make a writer in another connection wait.

    What that writer has not committed is not in the copy.
    """
    writer = new_database(place / "a.db")
    writer.execute("BEGIN IMMEDIATE")
    World(writer, "z").conversation("uncommitted")
    copy = save(db, place)
    writer.execute("COMMIT")
    assert b"uncommitted" not in copy.read_bytes()
    assert db.execute("SELECT count(*) FROM conversations").fetchone() == (4,)


def test_a_damaged_database_makes_no_copy(db: sqlite3.Connection, place: Path) -> None:
    """A copy of a damaged database fails in plain words and leaves no half."""
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    raw = bytearray((place / "a.db").read_bytes())
    raw[4096 * 3 : -4096] = b"\xaa" * (len(raw) - 4096 * 4)
    (place / "a.db").write_bytes(raw)
    broken = sqlite3.connect(place / "a.db")
    with pytest.raises(ConstructError, match=r"a\.db is damaged"):
        save(broken, place)
    broken.close()
    assert sorted(path.name for path in place.iterdir()) == ["a.db"]


def test_replacing_leaves_nothing_when_stopped(place: Path) -> None:
    """An interruption leaves the old file and nothing else."""
    (place / "x").write_text("old")

    def stopped() -> None:
        with replacing(place / "x") as new:
            new.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
    assert [path.read_text() for path in place.iterdir()] == ["old"]


def test_reading_another_database_leaves_it_alone(db: sqlite3.Connection, place: Path) -> None:
    """A copy for reading changes no byte and no file of the database.

    That holds whether the database is in use or not.
    """
    rest = save(db, place)
    for source in (rest, place / "a.db"):
        before = {
            path: path.read_bytes() for path in place.iterdir() if not path.name.endswith("-shm")
        }
        copy = sqlite3.connect("")
        read_into(source, copy)
        assert copy.execute("SELECT count(*) FROM messages").fetchone() == (15,)
        copy.close()
        after = {path: path.read_bytes() for path in before}
        assert after == before

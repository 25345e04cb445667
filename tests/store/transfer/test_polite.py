"""An import does not make other processes wait for its reading.

An interrupted one goes on where it stopped.
"""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from construct.clock import Clock
from construct.errors import ConstructError
from construct.store import purge, search_index
from construct.store.backup import backup
from construct.store.database import transaction
from construct.store.invariants import index_violations
from construct.store.transfer import scratch
from construct.store.transfer.importing import INDEXING, READING, STORING, import_file
from construct.store.transfer.scratch import attached
from construct.views.transfer import left_off_text
from tests.store.transfer_world import exported, message
from tests.support.database import new_database

COUNT = 60


@pytest.fixture
def db(place: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[sqlite3.Connection]:
    """Return a new database whose index is made a few messages at a time."""
    monkeypatch.setattr(search_index, "_BATCH_TOKENS", 40)
    monkeypatch.setattr(search_index, "_PAUSE_SECONDS", 0)
    with closing(new_database(place / "a.db")) as opened:
        yield opened


def file_of(folder: Path, form: str) -> Path:
    """Return a file of COUNT messages in three conversations."""
    path = folder / f"import.{form}"
    if form == "lines":
        path.write_text(
            "".join(message(f"word number{i}", conversation=f"T{i % 3}") for i in range(COUNT))
        )
    elif form == "claude":
        said = [
            {"uuid": str(i), "sender": "human", "text": f"word number{i}"} for i in range(COUNT)
        ]
        said[0]["created_at"] = said[1]["created_at"] = said[2]["created_at"] = "2026-03-01"
        path.write_text(
            json.dumps([{"uuid": str(n), "chat_messages": said[n::3]} for n in range(3)])
        )
    else:
        with closing(new_database(folder / "other.db")) as other:
            import_file(other, file_of(folder, "lines"), Clock())
            path.write_text(exported(other))
    return path


def interrupted(db: sqlite3.Connection, path: Path, phase: str) -> None:
    """Import as far as the first step of a phase."""

    def stop(doing: str, done: int, total: int) -> None:
        if doing == phase:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_file(db, path, Clock(), stop)
    assert not db.in_transaction


def found(db: sqlite3.Connection, word: str) -> int:
    """Return how many messages the index files a word under, as text."""
    query = "SELECT count(*) FROM messages_fts WHERE messages_fts MATCH ?"
    return int(db.execute(query, (f'text : "{word}"',)).fetchone()[0])


@pytest.mark.parametrize("form", ["lines", "claude", "export"])
def test_what_is_interrupted_goes_on(db: sqlite3.Connection, tmp_path: Path, form: str) -> None:
    """What is stored stays, and the next run completes the index."""
    path = file_of(tmp_path, form)
    interrupted(db, path, READING)
    assert db.execute("SELECT count(*) FROM messages").fetchone() == (0,)
    interrupted(db, path, INDEXING)
    assert db.execute("SELECT count(*) FROM messages").fetchone() == (COUNT,)
    assert 0 < search_index.count_missing(db) < COUNT
    assert 0 < found(db, "word") < COUNT
    steps: list[str] = []
    report = import_file(db, path, Clock(), lambda doing, done, total: steps.append(doing))
    assert (report.messages, steps[0], search_index.count_missing(db)) == (0, INDEXING, 0)
    assert db.execute("PRAGMA foreign_keys").fetchone() == (1,)
    assert found(db, "word") == COUNT
    with transaction(db):
        assert index_violations(db) == []


@pytest.mark.parametrize("form", ["lines", "database"])
def test_it_says_what_an_interrupted_import_left(
    db: sqlite3.Connection, tmp_path: Path, form: str
) -> None:
    """Once it has been stored, not that nothing was added."""
    started: set[str] = set()
    path = file_of(tmp_path, "lines")
    if form == "database":
        with closing(new_database(tmp_path / "b.db")) as other:
            import_file(other, path, Clock())
            path = tmp_path / "copy.db"
            backup(other, path)
    import_file(db, path, Clock(), lambda step, done, total: started.add(step))
    assert "Everything is stored" in left_off_text(COUNT, started)
    assert "Nothing was added" in left_off_text(COUNT, {READING})


@pytest.mark.parametrize("form", ["lines", "claude", "export"])
def test_others_write_while_it_reads_and_while_it_indexes(
    db: sqlite3.Connection, place: Path, tmp_path: Path, form: str
) -> None:
    """Between two steps another connection never finds the database locked."""
    phases: set[str] = set()
    with closing(sqlite3.connect(place / "a.db", timeout=0, isolation_level=None)) as other:

        def write(doing: str, done: int, total: int) -> None:
            phases.add(doing)
            other.execute(
                "INSERT INTO conversations (uid, created_at) VALUES (hex(randomblob(8)), '2026')"
            )

        import_file(db, file_of(tmp_path, form), Clock(), write)
    assert {READING, INDEXING} <= phases


@pytest.mark.parametrize("deed", ["withhold", "empty", "delete", "say", "import"])
def test_the_index_stays_in_step_whatever_is_done_meanwhile(
    db: sqlite3.Connection, place: Path, tmp_path: Path, deed: str
) -> None:
    """Changes before the index is complete leave it sound.

    Nothing that was forgotten or deleted stays in it.
    """
    interrupted(db, file_of(tmp_path, "lines"), INDEXING)
    (last,) = db.execute("SELECT max(id) FROM messages").fetchone()
    with transaction(db):
        if deed == "delete":
            purge.delete_conversation(db, 3, "2026")
        elif deed in ("withhold", "empty"):
            purge.withhold(db, [last], "2026", words=deed == "empty")
        elif deed == "say":
            db.execute(
                """INSERT INTO messages
                       (uid, conversation_id, role, content, token_count, created_at)
                   VALUES ('new', 3, 'user', 'heliotrope', 1, '2027')"""
            )
    if deed == "import":
        (tmp_path / "more").write_text(message("heliotrope"))
        import_file(db, tmp_path / "more", Clock())
    search_index.complete(db)
    with transaction(db):
        assert index_violations(db) == []
    gone = {"withhold": 1, "empty": 1, "delete": COUNT // 3}.get(deed, 0)
    assert found(db, "word") == COUNT - gone
    assert found(db, f"number{COUNT - 1}") == (0 if gone else 1)
    assert found(db, "heliotrope") == (1 if deed in ("say", "import") else 0)


@pytest.mark.parametrize("form", ["lines", "claude", "export"])
def test_no_room_for_what_is_read_is_said(
    db: sqlite3.Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """When there is no room for temporary files, the error names SQLITE_TMPDIR.

    Making room beside the database would not help.
    """
    path = file_of(tmp_path, form)

    @contextmanager
    def small(db: sqlite3.Connection) -> Iterator[None]:
        with attached(db):
            db.execute("PRAGMA scratch.max_page_count = 1")  # SQLite takes as many as there are
            yield

    monkeypatch.setattr(scratch, "attached", small)
    with pytest.raises(ConstructError, match="SQLITE_TMPDIR"):
        import_file(db, path, Clock())
    assert db.execute("SELECT count(*) FROM messages").fetchone() == (0,)


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="open files are looked up in /proc")
def test_what_is_read_is_kept_in_a_file_without_a_name(
    db: sqlite3.Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody else may read it, and it is gone whatever becomes of the import."""
    monkeypatch.setattr(scratch, "CACHE_KB", 100)
    (tmp_path / "long").write_text("".join(message(f"{n} {'x' * 2_000}") for n in range(500)))
    modes: list[int] = []

    def look(doing: str, done: int, total: int) -> None:
        if doing == STORING:
            modes.extend(path.stat().st_mode & 0o777 for path in temporary_files())
            assert all(str(path.readlink()).endswith("(deleted)") for path in temporary_files())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_file(db, tmp_path / "long", Clock(), look)
    assert set(modes) == {0o600}
    assert temporary_files() == []


def temporary_files() -> list[Path]:
    """Return this process's open files that SQLite has made for itself."""
    links = [path for path in Path("/proc/self/fd").iterdir() if path.is_symlink()]
    return [path for path in links if "etilqs_" in str(path.readlink())]


def test_a_small_import_is_searchable_at_once(place: Path, tmp_path: Path) -> None:
    """What fits into one step is indexed in the transaction that stores it."""
    with closing(new_database(place / "a.db")) as db:
        steps: list[str] = []
        import_file(
            db, file_of(tmp_path, "lines"), Clock(), lambda doing, done, total: steps.append(doing)
        )
        assert INDEXING not in steps
        assert found(db, "word") == COUNT


def test_an_import_that_is_stored_is_not_called_failed(db: sqlite3.Connection) -> None:
    """An error while the scratch database is closed does not fail the import."""
    with attached(db):
        unread = db.execute("SELECT name FROM scratch.sqlite_master")
        assert unread.fetchone()  # while it is read, SQLite cannot detach it
    unread.close()

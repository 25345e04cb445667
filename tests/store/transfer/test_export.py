import io
import json
import os
import re
import sqlite3
import stat
import threading
from pathlib import Path

import pytest

from construct.clock import Clock
from construct.errors import ConstructError, UsageError
from construct.store.transfer.exporting import write_export
from construct.store.transfer.format import KINDS
from construct.store.transfer.importing import import_file
from construct.store.transfer.jsonl import export_jsonl
from tests.store.transfer_world import World, exported, furnish, run_something
from tests.support.database import new_database

LEFT_OUT_TABLES = frozenset(
    {
        "sessions",
        "meta",
        "passage_numbers",
        "token_factors",
        "briefings",
        "briefed",
        "vectors",
        "vector_models",
        "active_spans",
        "last_take_ins",
        "take_in_count",
        "door_calls",
        "deliveries",
        "sync_machines",
        "sync_segments",
        "sync_rows",
        "sync_claims",
        "sync_overruled",
        "sync_files",
    }
)
LEFT_OUT_COLUMNS = frozenset(
    {
        ("cycles", "owner"),
        ("cycles", "heartbeat"),
        ("cycles", "phase"),
        ("observations", "first_date"),
        ("observations", "shelved"),
        ("messages", "attached"),
    }
)
"""Of a machine or a moment, or made again."""


@pytest.fixture
def db(tmp_path: Path) -> sqlite3.Connection:
    """Return an empty database."""
    return new_database(tmp_path / "a.db")


def mode(path: Path) -> int:
    """Return a file's permissions."""
    return stat.S_IMODE(path.stat().st_mode)


def test_every_column_is_decided_about(db: sqlite3.Connection) -> None:
    """Each column of each table is exported, or left out by name."""
    links = {("observation_messages", "observation_id"), ("observation_messages", "message_id"),
             ("observation_messages", "direct"),
             ("observation_sources", "observation_id"),
             ("observation_sources", "source_id")}  # fmt: skip
    told = (
        LEFT_OUT_COLUMNS
        | links
        | {(kind.table, field.column) for kind in KINDS.values() for field in kind.fields}
    )
    told |= {(kind.table, name) for kind in KINDS.values() if kind.keyed for name in ("id", "uid")}
    tables = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    ours = [name for name in tables if not re.match("_|sqlite_", name) and "_fts" not in name]
    there = {
        (table, row[1])
        for table in ours
        if table not in LEFT_OUT_TABLES
        for row in db.execute(f"PRAGMA table_info({table})")
    }
    assert there == told


def test_lines(db: sqlite3.Connection) -> None:
    """The first line says what it is.

    Then come objects with a type, in plain ASCII without controls.
    """
    furnish(db).attach(1, "teeth.txt", b"Two on the left.\n")
    text = exported(db)
    records = [json.loads(line) for line in text.splitlines()]
    assert records[0]["type"] == "construct-export"
    assert records[0]["version"] == 3
    assert {record["type"] for record in records[1:]} == set(KINDS)
    assert re.fullmatch(r"[\n -~]*", text)
    assert text.endswith("}\n")


def test_same_rows_same_bytes(db: sqlite3.Connection, tmp_path: Path) -> None:
    """Exporting again gives the same bytes, without folder or owner in them."""
    furnish(db)
    text = exported(db)
    assert exported(db) == text
    assert str(tmp_path) not in text
    assert "changeling" not in text
    assert "token_factors" not in text


def test_running_cycles_are_not_exported(db: sqlite3.Connection) -> None:
    """A cycle at work leaves no trace in an export."""
    w = furnish(db)
    run_something(w, 1)
    text = exported(db)
    assert '"running"' not in text
    assert "half-finished" not in text
    (running,) = db.execute("SELECT uid FROM cycles WHERE status = 'running'").fetchone()
    assert running not in text


def test_one_moment(db: sqlite3.Connection, tmp_path: Path) -> None:
    """What another connection writes meanwhile is not in the export."""
    w = World(db)
    w.say(w.conversation(), *["word"] * 50)
    second = new_database(tmp_path / "a.db")
    lines: list[str] = []

    def write(line: str) -> None:
        if not lines:
            World(second, "b").conversation()
        lines.append(line)

    export_jsonl(db, write)
    assert len(lines) == 52
    assert not db.in_transaction
    assert len(exported(db).splitlines()) == 53


def test_blob_in_a_text_column(db: sqlite3.Connection) -> None:
    """A row that cannot be written as JSON is named."""
    World(db).conversation(title=b"\xff")  # type: ignore[arg-type]
    with pytest.raises(ConstructError, match="conversation 1"):
        exported(db)


def test_text_in_a_blob_column(db: sqlite3.Connection, tmp_path: Path) -> None:
    """An attachment whose bytes another program made text is named, in an import too."""
    w = World(db)
    (message,) = w.say(w.conversation(), "look")
    w.attach(message, "a.txt", b"abc")
    db.execute("UPDATE attachments SET data = 'text'")
    with pytest.raises(ConstructError, match="attachment 1"):
        exported(db)
    write_export(db, tmp_path / "a.db", "sqlite", tmp_path / "copy.db")
    with pytest.raises(ConstructError, match='"data" does not match'):
        import_file(new_database(tmp_path / "b.db"), tmp_path / "copy.db", Clock())


@pytest.mark.parametrize("form", ["jsonl", "markdown", "sqlite"])
def test_file_is_private_and_replaced(db: sqlite3.Connection, tmp_path: Path, form: str) -> None:
    """An export is 0600, in folders made 0700.

    It replaces what was there and leaves nothing beside it.
    """
    furnish(db)
    target = tmp_path / "new" / "deep" / "x"
    write_export(db, tmp_path / "a.db", form, target)
    first = target.read_bytes()
    assert mode(target) == 0o600
    assert mode(target.parent) == mode(target.parent.parent) == 0o700
    target.write_text("old")
    target.chmod(0o644)
    write_export(db, tmp_path / "a.db", form, target)
    assert target.read_bytes() == first
    assert mode(target) == 0o600
    assert list(target.parent.iterdir()) == [target]


@pytest.mark.parametrize("form", ["jsonl", "markdown"])
@pytest.mark.parametrize("target", [None, Path("-")])
def test_standard_output(
    db: sqlite3.Connection, tmp_path: Path, form: str, target: Path | None
) -> None:
    """Without a file, and with `-`, the export goes to standard output.

    The encoding of that makes no difference.
    """
    furnish(db)
    raw = io.BytesIO()
    stdout = io.TextIOWrapper(raw, encoding="ascii")
    write_export(db, tmp_path / "a.db", form, target, stdout)
    assert b"Dentist" in raw.getvalue()
    with pytest.raises(UsageError):
        write_export(db, tmp_path / "a.db", "sqlite", target, io.StringIO())


def test_unknown_format(db: sqlite3.Connection, tmp_path: Path) -> None:
    """A format that is none is wrong usage."""
    with pytest.raises(UsageError, match="jsonl, sqlite, markdown"):
        write_export(db, tmp_path / "a.db", "xml", None)


@pytest.mark.parametrize("form", ["jsonl", "markdown", "sqlite"])
@pytest.mark.parametrize(
    "way", ["itself", "dots", "symbolic", "hard", "linked folder", "-wal", "-shm", "via link"]
)
def test_database_itself_is_refused(
    db: sqlite3.Connection, tmp_path: Path, form: str, way: str
) -> None:
    """The database, by any path or link, and what belongs to it, is no target."""
    furnish(db)
    home, link = tmp_path / "a.db", tmp_path / "link"
    targets = {
        "dots": tmp_path / "x" / ".." / "a.db",
        "symbolic": link,
        "hard": link,
        "linked folder": link / "a.db",
    }
    target = tmp_path / f"a.db{way}" if way.startswith("-") else targets.get(way, home)
    (tmp_path / "x").mkdir()
    if way in ("symbolic", "via link"):
        link.symlink_to(home)
    elif way == "hard":
        link.hardlink_to(home)
    elif way == "linked folder":
        link.symlink_to(tmp_path)
    before = exported(db)
    with pytest.raises(UsageError, match="the database itself"):
        write_export(db, link if way == "via link" else home, form, target)
    assert exported(db) == before
    assert sqlite3.connect(home).execute("PRAGMA quick_check").fetchall() == [("ok",)]


def test_another_database_in_use_is_refused(db: sqlite3.Connection, tmp_path: Path) -> None:
    """A file with a write-ahead log beside it would be spoilt by being replaced."""
    other = new_database(tmp_path / "other.db")
    World(other).conversation()
    with pytest.raises(UsageError, match="in use"):
        write_export(db, tmp_path / "a.db", "sqlite", tmp_path / "other.db")


def test_folder_is_refused(db: sqlite3.Connection, tmp_path: Path) -> None:
    """A folder is no file."""
    for form in ("jsonl", "sqlite"):
        with pytest.raises(UsageError, match="is a folder"):
            write_export(db, tmp_path / "a.db", form, tmp_path)


def test_link_to_a_file_stays(db: sqlite3.Connection, tmp_path: Path) -> None:
    """An export through a link replaces the file that it leads to.

    The file need not exist yet.
    """
    (tmp_path / "sub").mkdir()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "sub" / "x")
    for _ in range(2):
        write_export(db, tmp_path / "a.db", "jsonl", link)
        assert link.is_symlink()
        assert mode(tmp_path / "sub" / "x") == 0o600


def test_devices_and_pipes(db: sqlite3.Connection, tmp_path: Path) -> None:
    """A device or pipe is written to and never replaced; a full one is said."""
    write_export(db, tmp_path / "a.db", "jsonl", Path("/dev/null"))
    assert Path("/dev/null").is_char_device()
    with pytest.raises(ConstructError, match="No space left"):
        write_export(db, tmp_path / "a.db", "jsonl", Path("/dev/full"))
    with pytest.raises(UsageError):
        write_export(db, tmp_path / "a.db", "sqlite", Path("/dev/null"))
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    write_export(db, tmp_path / "a.db", "jsonl", pipe)
    reader.join()
    assert read == [exported(db)]


@pytest.mark.parametrize("target", ["/proc/none/x", "/dev/null/x", "x" * 300])
def test_unwritable_target(db: sqlite3.Connection, tmp_path: Path, target: str) -> None:
    """Where nothing can be written that is said in plain words."""
    with pytest.raises(ConstructError, match=r"Cannot write to|is not a regular file"):
        write_export(db, tmp_path / "a.db", "jsonl", tmp_path / target)


def test_failed_export_keeps_the_old_file(db: sqlite3.Connection, tmp_path: Path) -> None:
    """An export that breaks off leaves the old file whole and nothing beside it."""
    World(db).conversation(title=b"\xff")  # type: ignore[arg-type]
    target = tmp_path / "out" / "x"
    target.parent.mkdir()
    target.write_text("old")
    with pytest.raises(ConstructError):
        write_export(db, tmp_path / "a.db", "jsonl", target)
    assert target.read_text() == "old"
    assert list(target.parent.iterdir()) == [target]


def test_broken_pipe_is_passed_on(db: sqlite3.Connection, tmp_path: Path) -> None:
    """A broken pipe is raised for the command line to handle."""

    class Closed(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        write_export(db, tmp_path / "a.db", "jsonl", None, Closed(), Clock())
    assert not db.in_transaction

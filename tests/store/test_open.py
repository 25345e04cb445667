import json
import os
import shutil
import sqlite3
import stat
import struct
import subprocess
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from construct.errors import DatabaseUnusableError, ExitStatus
from construct.store import database, faults
from construct.store.database import make_folder, open_database, transaction
from construct.store.version import APPLICATION_ID, SCHEMA_VERSION, has_side_file
from tests.store.transfer_world import World
from tests.support.program import Program


def picture(folder: Path) -> dict[str, tuple[bytes, int, int]]:
    """Return every file's bytes, time of change and permissions."""
    return {
        path.name: (path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_mode)
        for path in folder.iterdir()
        if path.is_file()
    }


def refused(path: Path) -> str:
    """Open a file that must be refused unchanged, and return the error's sentence.

    Nothing beside it may change either.
    """
    before = picture(path.parent)
    with pytest.raises(DatabaseUnusableError) as caught:
        open_database(path)
    assert caught.value.status == ExitStatus.DATABASE_UNUSABLE
    assert picture(path.parent) == before
    lines = str(caught.value).splitlines()
    assert len(lines) == 2
    return lines[0]


def mode(path: Path) -> int:
    """Return a file's permissions."""
    return stat.S_IMODE(path.stat().st_mode)


def test_new_database(place: Path) -> None:
    """A new database has our id and version, is private and in WAL mode.

    So are its folders.
    """
    path = place / "a" / "b" / "x.db"
    old = os.umask(0)
    try:
        db = open_database(path)
        db.execute("INSERT INTO meta VALUES ('x', 'y')")
        assert {mode(file) for file in path.parent.iterdir()} == {0o600}
        assert sorted(file.name for file in path.parent.iterdir()) == [
            "x.db",
            "x.db-shm",
            "x.db-wal",
        ]
    finally:
        os.umask(old)
    assert mode(place / "a") == mode(place / "a" / "b") == 0o700
    for pragma, value in (("application_id", APPLICATION_ID), ("user_version", SCHEMA_VERSION),
                          ("journal_mode", "wal"),
                          ("foreign_keys", 1), ("secure_delete", 1)):  # fmt: skip
        assert db.execute(f"PRAGMA {pragma}").fetchone() == (value,)
    db.close()
    assert [file.name for file in path.parent.iterdir()] == ["x.db"]


def test_opening_changes_nothing(place: Path, sound: bytes) -> None:
    """Opening and reading a sound database changes neither its bytes nor its time."""
    (place / "x.db").write_bytes(sound)
    (place / "x.db").chmod(0o600)
    before = picture(place)
    db = open_database(place / "x.db")
    assert db.execute("SELECT count(*) FROM messages").fetchone() == (65,)
    db.close()
    assert picture(place) == before


@pytest.mark.parametrize("how", ["empty", "blank", "blank wal"])
def test_file_without_anything_is_new(place: Path, how: str) -> None:
    """An empty file and an empty SQLite database are made ours, and private."""
    path = place / "x.db"
    path.touch(mode=0o644)
    if how != "empty":
        made = sqlite3.connect(path)
        made.executescript("VACUUM; PRAGMA journal_mode = WAL" if how == "blank wal" else "VACUUM")
        made.close()
    db = open_database(path)
    assert db.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,)
    assert mode(path) == 0o600


@pytest.mark.parametrize("name", [":memory:", "x?mode=memory", "a b%20#ü.db", "file:x.db", "-x"])
def test_odd_names(place: Path, name: str) -> None:
    """A name is a file's name, whatever SQLite might make of it."""
    db = open_database(place / name)
    World(db).conversation()
    db.close()
    assert open_database(place / name).execute("SELECT count(*) FROM conversations").fetchone() == (
        1,
    )
    os.chdir(place)
    assert open_database(Path(name)).execute("SELECT count(*) FROM conversations").fetchone() == (
        1,
    )


def test_link_to_the_database(place: Path, sound: bytes) -> None:
    """Through a symbolic link the file it leads to is opened."""
    (place / "x.db").write_bytes(sound)
    (place / "link").symlink_to(place / "x.db")
    assert open_database(place / "link").execute(
        "SELECT count(*) FROM conversations"
    ).fetchone() == (3,)


def test_wider_permissions_are_narrowed(place: Path) -> None:
    """A database that others could read is made private, and what stands beside it."""
    first = open_database(place / "x.db")
    first.execute("INSERT INTO meta VALUES ('x', 'y')")
    for file in place.iterdir():
        file.chmod(0o666)
    open_database(place / "x.db")
    assert {mode(file) for file in place.iterdir()} == {0o600}


@pytest.mark.parametrize("kind", ["folder", "pipe", "device"])
def test_no_file(place: Path, kind: str) -> None:
    """A folder, a pipe and a device are refused without waiting."""
    path = {"folder": place / "sub", "pipe": place / "pipe", "device": Path("/dev/null")}[kind]
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    with pytest.raises(DatabaseUnusableError, match="not a database"):
        open_database(path)


@pytest.mark.parametrize("path", ["/proc/none/x.db", "/dev/null/x.db", "y" * 300, "missing-link"])
def test_path_that_leads_nowhere(place: Path, path: str) -> None:
    """Where no file can be made that is said."""
    if path == "missing-link":
        (place / path).symlink_to("/proc/none/x")
    with pytest.raises(DatabaseUnusableError):
        open_database(place / path)


@pytest.mark.parametrize(
    "raw",
    [
        b"hello",
        b"x" * 100_000,
        b"SQLite format 3",
        b"\x00" * 4096,
        b"SQLite format 2\x00" + b"\x00" * 200,
        b"\n",
    ],
)
def test_random_bytes(place: Path, raw: bytes) -> None:
    """A file that is no database is named as that."""
    (place / "x.db").write_bytes(raw)
    assert "is not a Construct database" in refused(place / "x.db")


@pytest.mark.parametrize("journal", ["delete", "wal"])
@pytest.mark.parametrize("mark", [0, 7])
def test_foreign_database(place: Path, journal: str, mark: int) -> None:
    """Another program's database, marked or not, in either mode, is left alone."""
    path = place / "x.db"
    other = sqlite3.connect(path)
    other.executescript(
        f"PRAGMA journal_mode = {journal}; PRAGMA application_id = {mark}; CREATE TABLE t (x);"
    )
    other.close()
    path.chmod(0o644)
    assert "belongs to another program" in refused(path)


def test_foreign_database_in_use(place: Path) -> None:
    """Another program's database is recognised by its log and left alone.

    That log is not in the file yet.
    """
    path = place / "x.db"
    other = sqlite3.connect(path)
    other.executescript("PRAGMA journal_mode = WAL; CREATE TABLE t (x); INSERT INTO t VALUES (1)")
    shm = (place / "x.db-shm").read_bytes()
    before = {name: value[0] for name, value in picture(place).items() if not name.endswith("-shm")}
    with pytest.raises(DatabaseUnusableError, match="another program"):
        open_database(path)
    assert {
        name: value[0] for name, value in picture(place).items() if not name.endswith("-shm")
    } == before
    assert len((place / "x.db-shm").read_bytes()) == len(shm)


@pytest.mark.parametrize("in_log", [False, True])
def test_newer_database(place: Path, in_log: bool) -> None:
    """A database of a newer version is left alone, also when only its log says so."""
    path = place / "x.db"
    db = open_database(path)
    db.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    if in_log:
        path = killed(place, "x.db")
        before = path.read_bytes(), (place / "killed" / "x.db-wal").read_bytes()
        with pytest.raises(DatabaseUnusableError, match="newer Construct"):
            open_database(path)
        assert (path.read_bytes(), (place / "killed" / "x.db-wal").read_bytes()) == before
        return
    db.close()
    assert "newer Construct" in refused(path)


def killed(place: Path, name: str) -> Path:
    """Return a copy of an open database as a process that was killed leaves it."""
    (place / "killed").mkdir()
    for suffix in ("", "-wal", "-shm"):
        shutil.copy(place / f"{name}{suffix}", place / "killed" / f"{name}{suffix}")
    return place / "killed" / name


def test_a_log_that_another_process_deletes_meanwhile(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is no log, and no error."""
    monkeypatch.setattr(Path, "exists", lambda _: True)
    assert not has_side_file(place / "x.db", "-wal")


@pytest.mark.parametrize("linked", [False, True])
def test_damaged_database_with_a_log(place: Path, sound: bytes, linked: bool) -> None:
    """Damage is found before a killed process's log is moved into the file."""
    (place / "x.db").write_bytes(sound)
    db = open_database(place / "x.db")
    World(db, "q").conversation()
    path = killed(place, "x.db")
    for raw in (sound[: len(sound) // 2], sound[:8192] + b"\xaa" * (len(sound) - 8192)):
        path.write_bytes(raw)
        before = raw, (place / "killed" / "x.db-wal").read_bytes()
        target = path
        if linked:
            target = place / "link"
            target.unlink(missing_ok=True)
            target.symlink_to(path)
        with pytest.raises(DatabaseUnusableError, match="damaged"):
            open_database(target)
        assert (path.read_bytes(), (place / "killed" / "x.db-wal").read_bytes()) == before


@pytest.mark.parametrize("keep", [1, 16, 99, 100, 512, 4095, 4096, 4097, 40_000, -4096, -1])
def test_truncated_database(place: Path, sound: bytes, keep: int) -> None:
    """A database that was cut off anywhere is damaged, and left alone."""
    (place / "x.db").write_bytes(sound[:keep])
    assert refused(place / "x.db")


@pytest.mark.parametrize("value", [0x00, 0x01, 0xFF])
def test_any_byte_of_the_header(place: Path, sound: bytes, value: int) -> None:
    """With any header byte changed the database works or is refused unchanged."""
    path = place / "x.db"
    ours = range(60, 64)  # the version: a lower one is a database to migrate
    for at in (at for at in range(100) if at not in ours and sound[at] != value):
        raw = bytearray(sound)
        raw[at] = value
        path.write_bytes(raw)
        path.chmod(0o600)
        before = picture(place)
        try:
            db = open_database(path)
        except DatabaseUnusableError:
            assert picture(place) == before, at
        else:
            assert db.execute("SELECT count(*) FROM messages").fetchone() == (65,), at
            db.close()


@pytest.mark.parametrize("fill", [b"\x00", b"\xff", b"\xaa", b"text"])
def test_any_page_in_the_middle(place: Path, sound: bytes, fill: bytes) -> None:
    """A page of rubbish is noticed before anything is written."""
    path, size = place / "x.db", 4096
    missed = 0
    for page in range(1, len(sound) // size):
        raw = bytearray(sound)
        raw[page * size : (page + 1) * size] = (fill * size)[:size]
        path.write_bytes(raw)
        path.chmod(0o600)
        before = picture(place)
        said = ""
        try:
            open_database(path).close()
        except DatabaseUnusableError as error:
            said = str(error)
        missed += not said  # a page whose content has no form: the rest of a long text
        assert not said or "is damaged; it was not touched" in said
        assert picture(place) == before
    assert missed <= 2


def test_a_large_damaged_database(
    place: Path, sound: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file too large to check on opening reports damage when it is read.

    Before anything is written to it all of it is checked.
    """
    monkeypatch.setattr(database, "_MAX_CHECKED_BYTES", 0)
    raw = bytearray(sound)
    for page in range(4096, len(raw), 4096):
        if b"filler filler" in raw[page : page + 4096]:
            raw[page : page + 4096] = b"\xaa" * 4096
    (place / "x.db").write_bytes(raw)
    db = open_database(place / "x.db")
    with pytest.raises(sqlite3.DatabaseError) as caught:
        db.execute("SELECT * FROM messages, observations").fetchall()
    error = faults.explain(caught.value, "x.db")
    assert error.status == ExitStatus.DATABASE_UNUSABLE
    assert "damaged" in str(error)
    before = picture(place)
    with pytest.raises(DatabaseUnusableError, match="it was not touched"), transaction(db):
        db.execute("INSERT INTO meta (name) VALUES ('written')")
    assert picture(place) == before
    db.close()


@pytest.mark.parametrize("arguments", [("memory", "add", "New"), ("ask", "--no-wait", "Hi")])
def test_a_large_damaged_database_is_not_written_to(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    """Wherever the damage is: each command that writes is refused, with not a byte changed."""
    program = Program(tmp_path, {"CONSTRUCT_LOOK_FOR": ""})
    lines = [
        {"type": "message", "conversation": "Long", "role": "user",
         "content": f"Line {number} " + "filler " * 300, "created_at": "2026-03-01T14:30:00Z"}
        for number in range(1500)
    ]  # fmt: skip
    (tmp_path / "long.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert program.run("import", "long.jsonl").returncode == 0
    raw = bytearray(program.db.read_bytes())
    assert len(raw) > database._MAX_CHECKED_BYTES
    middle = next(
        page for page in range(len(raw) // 2 & ~4095, len(raw), 4096) if raw[page] == 13
    )  # a leaf of a table
    raw[middle : middle + 64] = b"\xaa" * 64
    program.db.write_bytes(raw)
    done = program.run(*arguments)
    assert (done.returncode, done.stdout) == (4, "")
    assert "is damaged; it was not touched" in done.stderr
    assert program.db.read_bytes() == raw


@pytest.mark.parametrize(("free", "said"), [(0, "The disk is full"), (1 << 30, "Check the disk")])
def test_an_io_error_on_a_full_disk_says_that_it_is_full(
    place: Path, monkeypatch: pytest.MonkeyPatch, free: int, said: str
) -> None:
    """An I/O error on a full disk says that the disk is full.

    SQLite raises it when there is no room for the index of its log.
    """
    monkeypatch.setattr("shutil.disk_usage", lambda folder: SimpleNamespace(free=free))
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorname = "SQLITE_IOERR_SHMSIZE"
    assert said in str(faults.explain(error, place / "x.db"))


def test_read_only_by_mode(place: Path, sound: bytes) -> None:
    """A file that nobody may write is refused, for root too."""
    (place / "x.db").write_bytes(sound)
    (place / "x.db").chmod(0o444)
    assert "is read-only" in refused(place / "x.db")


@pytest.mark.skipif(os.getuid() != 0 or not shutil.which("chattr"), reason="needs root and chattr")
@pytest.mark.parametrize("what", ["x.db", "."])
def test_immutable(sound: bytes, what: str, request: pytest.FixtureRequest) -> None:
    """A file that the file system protects is refused as read-only, for root too."""
    place = Path(tempfile.mkdtemp())  # on the disk: memory knows no immutable files
    request.addfinalizer(lambda: shutil.rmtree(place))
    (place / "x.db").write_bytes(sound)
    if subprocess.run(["chattr", "+i", place / what], capture_output=True).returncode:
        pytest.skip("this file system knows no immutable files")
    try:
        assert "read-only" in refused(place / "x.db")
    finally:
        subprocess.run(["chattr", "-i", place / what], check=True)


def test_backup_cut_off_is_told_by_the_header(place: Path, sound: bytes) -> None:
    """The header's number of pages is believed over what the file holds."""
    (pages,) = struct.unpack_from(">I", sound, 28)
    assert pages * 4096 == len(sound)
    (place / "x.db").write_bytes(sound + b"\x00" * 4096)
    assert open_database(place / "x.db").execute("SELECT count(*) FROM messages").fetchone() == (
        65,
    )


def test_make_folder(place: Path) -> None:
    """Folders that are made are private; those that were there stay as they are."""
    place.chmod(0o755)
    make_folder(place / "a" / "b")
    make_folder(place / "a" / "b")
    assert [mode(place), mode(place / "a"), mode(place / "a" / "b")] == [0o755, 0o700, 0o700]

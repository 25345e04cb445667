import os
import shutil
import stat
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from construct.errors import DatabaseUnusableError
from construct.store import database
from construct.store.database import open_database
from construct.store.output_file import explaining, text_file
from construct.store.version import SCHEMA_VERSION
from tests.store.transfer_world import World


def run(script: str, *arguments: object) -> subprocess.Popen[str]:
    """Start another process that runs a script."""
    command = [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )


def mode(path: Path) -> int:
    """Return a file's permissions."""
    return stat.S_IMODE(path.stat().st_mode)


def as_nobody(work: Callable[[], object]) -> str:
    """Run in a child process without root's rights.

    Return the class of what was raised, and the sentence.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgid(65534)
            os.setuid(65534)
            work()
            os.write(writing, b"nothing")
        except BaseException as error:  # noqa: BLE001 (nothing may leave the child)
            os.write(writing, f"{type(error).__name__}: {error}".encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        return answer.read()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become nobody")
@pytest.mark.parametrize("what", ["file", "folder", "unreadable", "no folder may be made"])
def test_without_rights(
    place: Path, sound: bytes, what: str, request: pytest.FixtureRequest
) -> None:
    """Without the right to write or read the user is told so, and nothing changes."""
    open_database(place / "warm.db").close()  # so that the child imports nothing
    home = Path(tempfile.mkdtemp())  # pytest's own folders are closed to others
    request.addfinalizer(lambda: shutil.rmtree(home))
    home.chmod(0o755)
    (home / "x.db").write_bytes(sound)
    (home / "x.db").chmod({"file": 0o644, "folder": 0o666, "unreadable": 0o600}.get(what, 0o644))
    before = (home / "x.db").read_bytes(), sorted(home.iterdir())
    path = home / ("sub/x.db" if what.startswith("no") else "x.db")
    said = as_nobody(lambda: open_database(path))
    assert said.startswith("DatabaseUnusableError")
    assert ("cannot be opened" if what.startswith("no") else "read-only") in said
    assert ((home / "x.db").read_bytes(), sorted(home.iterdir())) == before


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become nobody")
def test_text_never_replaces_a_file_that_cannot_be_read(
    sound: bytes, request: pytest.FixtureRequest
) -> None:
    """It may be a database, even where the folder lets anyone replace its files."""
    home = Path(tempfile.mkdtemp())
    request.addfinalizer(lambda: shutil.rmtree(home))
    home.chmod(0o777)
    (home / "x.db").write_bytes(sound)
    (home / "x.db").chmod(0o600)

    def write() -> None:
        with explaining(home / "x.db"), text_file(home / "x.db") as file:
            file.write("words")

    assert "Permission denied" in as_nobody(write)
    assert (home / "x.db").read_bytes() == sound


@pytest.mark.parametrize("new", [False, True])
def test_locked_by_another_process(
    place: Path, sound: bytes, monkeypatch: pytest.MonkeyPatch, new: bool
) -> None:
    """While another process holds the database alone it is said to be locked."""
    monkeypatch.setattr(database, "_BUSY_SECONDS", 0.2)
    path = place / "x.db"
    path.write_bytes(b"" if new else sound)
    path.chmod(0o600)
    holder = run(
        """
        import sqlite3, sys
        db = sqlite3.connect(sys.argv[1], isolation_level=None)
        db.executescript("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; CREATE TABLE held (x)")
        print("held", flush=True)
        input()
        """,
        path,
    )
    assert holder.stdout
    assert holder.stdin
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(DatabaseUnusableError, match="locked by another program"):
        open_database(path)
    holder.kill()
    holder.communicate()
    assert open_database(path).execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,)


def test_a_writer_is_waited_for(place: Path) -> None:
    """A short write transaction of another process only delays."""
    path = place / "x.db"
    open_database(path).close()
    holder = run(
        """
        import sqlite3, sys, time
        db = sqlite3.connect(sys.argv[1], isolation_level=None)
        db.execute("BEGIN IMMEDIATE")
        print("held", flush=True)
        time.sleep(0.3)
        db.execute("COMMIT")
        """,
        path,
    )
    assert holder.stdout
    assert holder.stdout.readline() == "held\n"
    World(open_database(path)).conversation()
    holder.communicate()


def test_five_processes_make_it_at_once(place: Path) -> None:
    """Processes that start on a new file together all find a whole database.

    All of them can write to it.
    """
    script = """
        import sys
        from pathlib import Path
        import sqlite_utils, construct.store.schema
        from construct.store.database import open_database, transaction
        print("ready", flush=True)
        input()
        db = open_database(Path(sys.argv[1]))
        with transaction(db):
            db.execute(
                "INSERT INTO conversations (uid, created_at) VALUES (?, 'now')", (sys.argv[2],)
            )
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        """
    path = place / "sub" / "x.db"
    processes = [run(script, path, number) for number in range(5)]
    for process in processes:
        assert process.stdout
        assert process.stdout.readline() == "ready\n", process.communicate()[1]
    for process in processes:
        assert process.stdin
        process.stdin.write("\n")
        process.stdin.flush()
    errors = [process.communicate()[1] for process in processes]
    assert errors == [""] * 5
    db = open_database(path)
    assert db.execute("SELECT count(*) FROM conversations").fetchone() == (5,)
    assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert db.execute("SELECT count(*) FROM _sqlite_migrations").fetchone() == (SCHEMA_VERSION,)
    assert mode(path) == 0o600


def test_killed_while_being_made(place: Path, sound: bytes) -> None:
    """A file left half-made by a killed process is made again."""
    path = place / "x.db"
    maker = run(
        """
        import os, sqlite3, sys
        from sqlite_utils import Database
        from construct.store.schema import migrate
        db = sqlite3.connect(sys.argv[1], isolation_level=None)
        db.execute("PRAGMA cache_size = 1")  # so that the journal is on the disk before the end
        db.execute("BEGIN IMMEDIATE")
        migrate(Database(db))
        os.kill(os.getpid(), 9)
        """,
        path,
    )
    maker.communicate()
    assert (place / "x.db-journal").stat().st_size > 0
    path.write_bytes(sound[: 4096 * 3])
    db = open_database(path)
    assert db.execute("SELECT count(*) FROM conversations").fetchone() == (0,)
    assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)

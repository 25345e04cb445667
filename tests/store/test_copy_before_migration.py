"""The copy that stands beside a database after an update."""

import shlex
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from construct.clock import Clock
from construct.config import Settings
from construct.errors import ConstructError, ExitStatus, UsageError
from construct.operations.doctor import _copy_before_migration
from construct.store import copy_before_migration
from construct.store.copy_before_migration import find_copy_before_migration
from construct.store.database import open_database, open_without_creating, transaction
from construct.store.purge import begin_erasure, finish_erasure
from construct.store.transfer.exporting import write_export
from construct.store.transfer.importing import import_file
from construct.store.version import SCHEMA_VERSION
from tests.store.old_versions import make_version_7
from tests.store.test_open_processes import run
from tests.store.transfer_world import World
from tests.support.database import new_database

NAME = f"x.db.before-{SCHEMA_VERSION}"
WORDS = "SELECT group_concat(content, '|') FROM (SELECT content FROM messages ORDER BY id)"


def names(folder: Path) -> list[str]:
    """Return the names of the files in a folder."""
    return sorted(file.name for file in folder.iterdir())


def one(db: sqlite3.Connection, query: str) -> object:
    """Return a query's one value."""
    return db.execute(query).fetchone()[0]


def read(copy: Path, query: str) -> object:
    """Return a query's one value from a copy, which nothing is written to."""
    with closing(sqlite3.connect(f"{copy.as_uri()}?mode=ro&immutable=1", uri=True)) as db:
        return one(db, query)


def test_a_whole_private_copy(place: Path) -> None:
    """The copy is one sound file, 0600, of the earlier version.

    It holds what stood only in the log.
    """
    with closing(make_version_7(place / "x.db")) as old:
        old.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        World(old, "z").say(1, "only in the log")
        assert b"only in the log" not in (place / "x.db").read_bytes()
        words = one(old, WORDS)
        open_database(place / "x.db").close()
    copy = place / NAME
    assert names(place) == ["x.db", NAME]
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert read(copy, WORDS) == words
    assert str(words).endswith("only in the log")
    assert read(copy, "PRAGMA user_version") == 7
    assert read(copy, "PRAGMA journal_mode") == "delete"
    assert read(copy, "PRAGMA integrity_check") == "ok"
    assert read(copy, "SELECT count(*) FROM outdated") == 3
    assert find_copy_before_migration(place / "x.db") == copy


def test_put_back_it_is_the_database_again(place: Path) -> None:
    """The copy, put in the file's place, is updated like that and copied again."""
    make_version_7(place / "x.db").close()
    open_database(place / "x.db").close()
    (place / NAME).replace(place / "x.db")
    with closing(open_database(place / "x.db")) as db:
        assert one(db, "PRAGMA user_version") == SCHEMA_VERSION
        assert one(db, WORDS) == read(place / NAME, WORDS)


def test_one_copy_is_kept(place: Path) -> None:
    """A complete new copy replaces the earlier ones and unfinished ones."""
    make_version_7(place / "x.db").close()
    others = ["x.db.before-6", "x.db.before-5-wal", f"{NAME}.partial", f"{NAME}.partial-journal"]
    mine = ["x.db.before-the-flood", "y.db.before-6", "x.db.before-6.gz"]
    for name in others + mine:
        (place / name).write_text("earlier")
    open_database(place / "x.db").close()
    assert names(place) == sorted(["x.db", NAME, *mine])
    assert read(place / NAME, "PRAGMA user_version") == 7


def test_no_copy_where_there_is_nothing_to_lose(place: Path) -> None:
    """A new, empty or current file makes no copy, nor one that is only imported."""
    (place / "x.db").touch()
    for _ in range(2):
        open_database(place / "x.db").close()
    open_without_creating(place / "nowhere.db").close()
    assert names(place) == ["x.db"]
    make_version_7(place / "old.db").close()
    with closing(new_database(place / "x.db")) as db:
        assert import_file(db, place / "old.db", Clock()).messages == 20
    assert names(place) == ["old.db", "x.db"]


def test_beside_the_file_that_a_link_leads_to(place: Path) -> None:
    """Where a link leads to the database the copy stands beside the file itself."""
    (place / "sub").mkdir()
    make_version_7(place / "sub" / "x.db").close()
    (place / "link").symlink_to(place / "sub" / "x.db")
    open_database(place / "link").close()
    assert names(place / "sub") == ["x.db", NAME]
    assert find_copy_before_migration(place / "link") == place / "sub" / NAME


@pytest.mark.parametrize("where", ["at the first byte", "half-way"])
def test_on_a_full_disk_nothing_is_updated(place: Path, where: str) -> None:
    """One plain error, the file as it was, nothing beside it.

    With room again all goes well.
    """
    with closing(make_version_7(place / "x.db")) as old:
        World(old, "z").say(1, *["filler " * 200] * 200)
    (place / "x.db").chmod(0o600)
    before = (place / "x.db").read_bytes()
    full = run(
        """
        import resource, signal, sys
        from pathlib import Path
        import sqlite_utils, construct.store.schema
        from construct.errors import ConstructError
        from construct.store.database import open_database
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
        try:
            open_database(Path(sys.argv[1]))
        except ConstructError as error:
            print(int(error.status), error)
        """,
        place / "x.db",
        40_000 if where == "at the first byte" else len(before) // 2,
    )
    said, trouble = full.communicate()
    assert (trouble, len(said.splitlines())) == ("", 2)
    assert said.startswith(
        f"{int(ExitStatus.FAILED)} The database {place / 'x.db'} was not updated"
    )
    assert names(place) == ["x.db"]
    assert (place / "x.db").read_bytes() == before
    open_database(place / "x.db").close()
    assert names(place) == ["x.db", NAME]


def test_interrupted_while_it_is_made(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C leaves no half of a copy, and the file as it was."""
    make_version_7(place / "x.db").close()

    def interrupt(copy: sqlite3.Connection) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(copy_before_migration, "_clear_deleted", interrupt)
    with pytest.raises(KeyboardInterrupt):
        open_database(place / "x.db")
    assert names(place) == ["x.db"]
    assert read(place / "x.db", "PRAGMA user_version") == 7


def test_a_folder_in_its_place(place: Path) -> None:
    """What cannot be replaced keeps the update from happening, in plain words."""
    make_version_7(place / "x.db").close()
    (place / NAME).mkdir()
    with pytest.raises(ConstructError, match="was not updated"):
        open_database(place / "x.db")
    assert names(place) == ["x.db", NAME]
    assert read(place / "x.db", "PRAGMA user_version") == 7


def test_five_processes_start_at_once(place: Path) -> None:
    """One of them makes the copy and updates the file; the others find it done."""
    with closing(make_version_7(place / "x.db")) as old:
        World(old, "z").say(1, *["filler " * 200] * 200)
        words = one(old, WORDS)
    script = """
        import sys
        from pathlib import Path
        import sqlite_utils, construct.store.schema, construct.store.copy_before_migration
        from construct.store.database import open_database
        print("ready", flush=True)
        input()
        db = open_database(Path(sys.argv[1]))
        assert db.execute("SELECT count(*) FROM observation_replaced").fetchone() == (3,)
        """
    processes = [run(script, place / "x.db") for _ in range(5)]
    for process in processes:
        assert process.stdout
        assert process.stdout.readline() == "ready\n", process.communicate()[1]
    for process in processes:
        assert process.stdin
        process.stdin.write("\n")
        process.stdin.flush()
    assert [process.communicate()[1] for process in processes] == [""] * 5
    open_database(place / "x.db").close()  # SQLite leaves its log when several close at once
    assert names(place) == ["x.db", NAME]
    assert (read(place / NAME, WORDS), read(place / NAME, "PRAGMA user_version")) == (words, 7)


def test_forgetting_removes_it(place: Path) -> None:
    """Text deleted from the database is in no copy and no unfinished copy."""
    make_version_7(place / "x.db").close()
    (place / "x.db.before-9.partial").write_text("left behind")
    with closing(open_database(place / "x.db")) as db:
        (place / "x.db.before-9.partial").write_text("left behind")
        assert finish_erasure(db)
        assert (place / NAME).exists()
        with transaction(db):
            begin_erasure(db)
        assert (place / NAME).exists()
        assert finish_erasure(db)
        assert one(db, "SELECT count(*) FROM meta") == 0
    assert names(place) == ["x.db"]


def test_a_copy_that_cannot_be_removed_is_left_to_do(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The erasure is not finished before the copy is gone."""
    make_version_7(place / "x.db").close()
    with closing(open_database(place / "x.db")) as db:
        with transaction(db):
            begin_erasure(db)
        with monkeypatch.context() as patched:
            patched.setattr(Path, "unlink", _refuse)
            assert not finish_erasure(db)
        assert one(db, "SELECT count(*) FROM meta") == 1
        assert finish_erasure(db)
    assert names(place) == ["x.db"]


def _refuse(path: Path, missing_ok: bool = False) -> None:
    raise PermissionError(13, "Permission denied")


def test_giving_back_room_does_not_remove_it(place: Path) -> None:
    """The rewrite after migrating to schema 7 does not remove the copy.

    The user has not forgotten anything.
    """
    make_version_7(place / "x.db", brought_to=6).close()
    with closing(open_database(place / "x.db")) as db:
        db.execute("INSERT OR REPLACE INTO meta VALUES ('pruning', 'rewrite')")
        assert finish_erasure(db)
    assert names(place) == ["x.db", NAME]


def test_what_was_left_to_clear_out_is_not_in_it(place: Path) -> None:
    """Text that an earlier version deleted but did not clear is not copied."""
    with closing(make_version_7(place / "x.db")) as old:
        old.execute("PRAGMA secure_delete = OFF")
        World(old, "z").say(1, *["rhinoceros " * 200] * 20)
        old.execute("DELETE FROM messages WHERE content LIKE 'rhino%'")
        old.execute("INSERT OR REPLACE INTO meta VALUES ('pruning', 'rewrite')")
    assert b"rhinoceros" in (place / "x.db").read_bytes()
    open_database(place / "x.db").close()
    assert b"rhinocero" not in (place / NAME).read_bytes()


@pytest.mark.parametrize("form", ["jsonl", "markdown", "sqlite"])
@pytest.mark.parametrize("target", [NAME, "x.db.before-9", "link"])
def test_no_export_takes_its_place(place: Path, form: str, target: str) -> None:
    """An export to the copy's place is refused, through a link too.

    The next thing forgotten would delete it.
    """
    make_version_7(place / "x.db").close()
    with closing(open_database(place / "x.db")) as db:
        (place / "link").symlink_to(place / NAME)
        before = (place / NAME).read_bytes()
        with pytest.raises(UsageError, match="copy of the database from before an update"):
            write_export(db, place / "x.db", form, place / target)
        assert (place / NAME).read_bytes() == before


def test_doctor_names_it(place: Path) -> None:
    """`doctor` says where the copy is and how to remove it.

    Without a copy it says nothing.
    """
    settings = Settings(place / "x.db", place)
    assert _copy_before_migration(settings) == []
    make_version_7(place / "x.db").close()
    open_database(place / "x.db").close()
    (check,) = _copy_before_migration(settings)
    assert check.ok
    assert f"`rm {shlex.quote(str(place / NAME))}`" in check.detail

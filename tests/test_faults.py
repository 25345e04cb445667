"""What a full or failing disk leaves behind, whichever write or sync it strikes."""

import errno
import re
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from construct.store.database import open_database
from construct.store.invariants import index_violations, violations
from tests.support.disk_faults import COMPILER, FailingDisk, Fault, Mode
from tests.support.fake_api import FakeApi, Reply
from tests.support.fake_types import Json, last_user_text
from tests.support.program import Done, Program
from tests.support.talks import LOW, facts

pytestmark = [
    pytest.mark.skipif(
        COMPILER is None, reason="there is no C compiler to build the failing disk with"
    ),
    pytest.mark.skipif(sys.platform != "linux", reason="LD_PRELOAD and /proc are Linux's"),
]

FAULTS = (
    (errno.ENOSPC, Mode.ONCE),
    (errno.EIO, Mode.FROM_THEN_ON),
    (errno.ENOSPC, Mode.HALF_WRITTEN),
    (errno.EIO, Mode.ONCE),
    (errno.ENOSPC, Mode.FROM_THEN_ON),
)
CHAT = "".join(f"{text}\n" for text in facts(3, start=100))
COMMANDS = (
    (("chat",), CHAT, 67),
    (("compact",), "", 53),
    (("memory", "forget", "message:5", "--words", "--yes"), "", 61),
    (("conversations", "delete", "1", "--yes"), "", 97),
    (("export", "-o", "export.jsonl"), "", 3),
    (("export", "--format", "sqlite", "-o", "export.db"), "", 89),
)
"""The command, its input, and the number of calls between two that fail in turn."""


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FailingDisk]:
    """A disk that fails when told to; starting it takes two seconds."""
    with FailingDisk(tmp_path_factory.mktemp("disk")) as failing:
        yield failing


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory, disk: FailingDisk) -> Iterator[Program]:
    """The program with an observed talk and some more that is not observed."""
    with FakeApi() as api:
        api.chat = acknowledge
        home = str(tmp_path_factory.mktemp("home"))
        program = Program(tmp_path_factory.mktemp("lived"), {**api.env(), **LOW, "HOME": home})
        done, _ = disk.run(
            program, "chat", stdin="".join(f"{text}\n" for text in facts(10)), fault=Fault()
        )
        assert done.returncode == 0
        for said in facts(4, start=20):
            done, _ = disk.run(program, "ask", "--no-wait", said, fault=Fault())
            assert done.returncode == 0
        yield program


def acknowledge(body: Json) -> Reply:
    """Reply with the number in the user's words."""
    return Reply(f"Acknowledged {re.findall(r'number ([0-9]+) ', last_user_text(body))[-1]}.")


def copied(program: Program, folder: Path) -> Program:
    """Return a program with a copy of the database in a new folder."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(program.folder, folder)
    return Program(folder, program.env)


def check_outcome(done: Done, said: int) -> None:
    """Assert that the program ended by itself.

    A failure takes at most two lines for each message.
    """
    assert done.returncode in {0, 1}
    assert "Traceback" not in done.stderr
    assert "went wrong" not in done.stderr
    assert len(done.stderr.splitlines()) <= 2 * max(said, 1)
    assert done.returncode == 0 or done.stderr


def check_file(program: Program, done: Done) -> None:
    """Assert that the file is sound, and holds every message whose reply was shown."""
    assert program.run("status").returncode == 0
    with closing(open_database(program.db)) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert violations(db) == []
        assert index_violations(db) == []
        assert db.execute("SELECT count(*) FROM cycles WHERE status = 'running'").fetchone() == (0,)
        assert db.execute("SELECT count(*) FROM meta WHERE name = 'pruning'").fetchone() == (0,)
        said = {row[0] for row in db.execute("SELECT content FROM messages WHERE role = 'user'")}
    for number in re.findall(r"Acknowledged (\d+)\.", done.stdout):
        assert facts(1, start=int(number))[0] in said


@pytest.mark.parametrize(
    ("command", "stdin", "stride"),
    COMMANDS,
    ids=[" ".join(command[:3]) for command, *_ in COMMANDS],
)
def test_a_failing_disk_harms_nothing(
    tmp_path: Path,
    lived: Program,
    disk: FailingDisk,
    command: tuple[str, ...],
    stdin: str,
    stride: int,
) -> None:
    """Whichever call fails, the file stays sound and keeps what was acknowledged."""
    at, failed = 1, True
    while failed:
        number, mode = FAULTS[at % len(FAULTS)]
        program = copied(lived, tmp_path / "struck")
        done, calls = disk.run(program, *command, stdin=stdin, fault=Fault(at, number, mode))
        failed = any(call.failed for call in calls)
        check_outcome(done, said=len(stdin.splitlines()))
        check_file(program, done)
        at += stride
    assert at > 2 * stride
    assert done.returncode == 0


def test_words_that_a_full_disk_kept_in_the_file_are_not_blamed_on_another_program(
    tmp_path: Path, lived: Program, disk: FailingDisk
) -> None:
    """`forget` says that the bytes are still there and to make room.

    A later command clears them out.
    """
    forget = ("memory", "forget", "message:5", "--words", "--yes")
    _, calls = disk.run(copied(lived, tmp_path / "whole"), *forget, fault=Fault())
    rewriting = (
        len(calls) // 2
    )  # the words go first, in a fifth of the calls; then the file is rewritten
    program = copied(lived, tmp_path / "struck")
    done, _ = disk.run(program, *forget, fault=Fault(rewriting, mode=Mode.FROM_THEN_ON))
    assert done.returncode == 0
    assert "disk is full" in done.stdout
    assert "make room" in done.stdout
    with closing(sqlite3.connect(program.db)) as db:
        assert db.execute("SELECT count(*) FROM meta WHERE name = 'pruning'").fetchone() == (1,)
    assert program.run("status").returncode == 0
    assert not any(
        b"locker number 2 has" in file.read_bytes()
        for file in program.folder.iterdir()
        if file.is_file()
    )

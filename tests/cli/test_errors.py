"""What cannot work: unusable databases, full disks and closed streams."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.fake_api import FakeApi, faults
from tests.support.program import Done, Program

COMMANDS = [
    ("status", "--json"), ("ask", "--no-wait", "Hello"), ("chat",), ("memory", "list"), ("export",),
    ("compact",), ("undo",), ("usage",), ("doctor",), ("conversations", "list"),
    ("import", "talk.jsonl"), ("memory", "add", "x"),
]  # fmt: skip


def newer(path: Path) -> None:
    """Mark a database as one of a later version, in another journal mode."""
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 999")
        db.execute("PRAGMA journal_mode = DELETE")


def foreign(path: Path) -> None:
    """Put another program's database there."""
    path.unlink()
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE notes (words)")


def no_database(path: Path) -> None:
    """Put a text there."""
    path.write_text("These are my notes.\n")


def damaged(path: Path) -> None:
    """Overwrite pages in the middle."""
    content = bytearray(path.read_bytes())
    content[4096 * 3 : 4096 * 8] = b"\xa5" * 4096 * 5
    path.write_bytes(content)


def cut_off(path: Path) -> None:
    """Lose the second half."""
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def read_only(path: Path) -> None:
    """Forbid writing."""
    path.chmod(0o400)


@pytest.mark.parametrize("spoil", [newer, foreign, no_database, damaged, cut_off, read_only])
def test_an_unusable_database_is_left_alone(lived: Program, spoil: Callable[[Path], None]) -> None:
    """Every command exits 4 with two lines that name the file.

    Not a byte changes, and no file appears beside it.
    """
    spoil(lived.db)
    before = {file.name: file.read_bytes() for file in lived.folder.iterdir() if file.is_file()}
    for command in COMMANDS:
        done = lived.run(*command, stdin="Hello\n")
        assert (done.returncode, done.stdout) == (4, ""), command
        assert str(lived.db) in done.stderr
        assert len(done.stderr.splitlines()) == 2
    assert {
        file.name: file.read_bytes() for file in lived.folder.iterdir() if file.is_file()
    } == before


def test_a_folder_is_no_database(program: Program) -> None:
    """It exits 4."""
    assert program.run("--db", str(program.folder), "status").returncode == 4


def test_a_locked_database_is_unusable(lived: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    """While another program holds it, writing exits 4 and says so."""
    monkeypatch.setattr("construct.store.database._BUSY_SECONDS", 0.2)
    with closing(sqlite3.connect(lived.db)) as db:
        db.execute("BEGIN IMMEDIATE")
        done = lived.run("memory", "add", "Something")
    assert done.returncode == 4
    assert "locked" in done.stderr


def test_a_full_disk_is_a_failure(lived: Program) -> None:
    """Under a sound file it exits 1, and what was stored stays."""
    code = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000));"
        "from construct.cli.run import run; sys.exit(run(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", code, "ask", "--no-wait", "-"]
    done = subprocess.run(
        command,
        env=lived.environment(),
        cwd=lived.folder,
        input="word " * 70_000,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) <= 2
    assert lived.json("doctor")["ok"] is True
    assert lived.json("status")["messages"]["total"] == 2


@pytest.mark.parametrize(
    ("fault", "hint"),
    [
        (faults.http(401), "ANTHROPIC_API_KEY"),
        (faults.http(400), ""),
        (faults.refusal("No."), "declined"),
        (faults.drop_during(2), ""),
    ],
    ids=["key", "request", "refused", "broken"],
)
def test_a_failing_model_is_a_failure(
    program: Program, api: FakeApi, fault: faults.Fault, hint: str
) -> None:
    """It exits 1 in a line or two.

    With `--json` what came is still printed, as JSON alone.
    """
    api.fail("chat", fault, times=None)
    done = program.run("ask", "--no-wait", "Hello.")
    assert done.returncode == 1
    assert hint in done.stderr
    assert 1 <= len(done.stderr.splitlines()) <= 2
    assert "Traceback" not in done.stderr


def test_an_unreachable_server_is_a_failure(program: Program) -> None:
    """It exits 1 and names the server."""
    done = program.run("ask", "Hello.", more={"ANTHROPIC_BASE_URL": "http://127.0.0.1:9"})
    assert done.returncode == 1
    assert "127.0.0.1:9" in done.stderr


@pytest.mark.parametrize(
    "command", [("ask", "Hello."), ("chat",), ("compact",)], ids=lambda c: c[0]
)
def test_without_a_model_it_is_not_configured(tmp_path: Path, command: tuple[str, ...]) -> None:
    """Exit 3 says what to set."""
    done = Program(tmp_path, {"CONSTRUCT_PROVIDER": "anthropic"}).run(*command, stdin="")
    assert (done.returncode, done.stdout) == (3, "")
    assert "ANTHROPIC_API_KEY" in done.stderr


def shell(program: Program, line: str, **env: str) -> "subprocess.CompletedProcess[str]":
    """Run a line in a shell in which `construct` is the program."""
    script = f'construct() {{ {sys.executable} -m construct "$@"; }}; {line}'
    return subprocess.run(
        ["bash", "-c", script],
        env=program.environment(env),
        cwd=program.folder,
        capture_output=True,
        text=True,
    )


def test_streams_may_be_closed_or_full(lived: Program) -> None:
    """No closed or full stream brings a traceback.

    Output that could not be written exits 1.
    """
    closed = shell(lived, "construct chat <&- && construct ask --no-wait Hello <&- >&- 2>&-")
    assert (closed.returncode, closed.stderr) == (0, "")
    full = shell(
        lived,
        "construct memory show 99 2>/dev/full; echo $? >&2; "
        "construct memory list --json >/dev/full",
    )
    assert full.returncode == 1
    first, *rest = full.stderr.splitlines()
    assert first == "1"
    assert rest[0].startswith("Cannot write to standard output")
    assert len(rest) == 2


def test_a_reader_that_goes_away_is_no_error_message(lived: Program) -> None:
    """`construct export | head -c 1` says nothing on standard error."""
    done = shell(lived, "construct export | head -c 1")
    assert (done.stdout, done.stderr) == ("{", "")


def test_output_that_has_no_code_for_a_character(lived: Program) -> None:
    """Where standard output is ASCII, what has no code there is replaced.

    An export loses nothing.
    """
    lived.run("memory", "add", "naïve café 日本")
    done = shell(lived, "construct memory list", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    assert "na?ve caf?" in done.stdout
    assert (
        shell(lived, "construct export", PYTHONIOENCODING="ascii").stdout
        == lived.run("export").stdout
    )


@pytest.mark.parametrize(
    "command",
    [
        ("ask", "--no-wait", "x\udcff"), ("memory", "add", "x\udcff"),
        ("memory", "search", "x\udcff"), ("memory", "edit", "3", "x\udcff"),
        ("memory", "show", "x\udcff"), ("conversations", "rename", "1", "x\udcff"),
        ("import", "x\udcff"), ("export", "-o", "x\udcff"), ("ask", "--model", "x\udcff", "Hi"),
        ("memory", "list", "--as-of", "x\udcff"), ("export", "--format", "x\udcff"), ("x\udcff",),
        ("--log-file", "l\udcff", "status"), ("--db", "d\udcff", "status"),
    ],
    ids=ascii,
)  # fmt: skip
def test_bytes_that_are_no_text_are_no_defect(lived: Program, command: tuple[str, ...]) -> None:
    """An argument that is not UTF-8 is taken or refused in plain words."""
    done = lived.run(*command)
    assert done.returncode in {0, 1, 2}
    assert "went wrong" not in done.stderr
    assert "Traceback" not in done.stderr


def test_an_interrupt_while_it_works_exits_130(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is interrupted, nothing is said of it."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("construct.operations.status.status", interrupted)
    assert program.run("status") == Done(130, "", "")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ("memory", "list", "--db", "x"),
            "--db goes before the command: construct --db PATH memory",
        ),
        (("--json", "status"), "--json goes after the command: construct status --json"),
        (("--model", "x", "ask", "hi"), "--model goes after the command: construct ask --model M"),
        (("chat", "--json"), "No such option: --json"),
        (("graph",), "Did you mean 'construct memory graph'?"),
        (("zebra",), "`construct --help` lists the commands."),
    ],
)
def test_an_option_on_the_wrong_side_of_the_command(
    program: Program, arguments: tuple[str, ...], words: str
) -> None:
    """The error says where it belongs. An option that the command lacks is only refused."""
    done = program.run(*arguments)
    assert done.returncode == 2
    assert words in done.stderr


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        (("ask", "Who", "is", "Anna?"), "Text of several words must be in quotes."),
        (("conversations", "rename", "1", "Where", "we", "live"), "must be in quotes."),
        (("memory", "graph", "Ana", "Reis"), "Text of several words must be in quotes."),
        (("undo", "a"), ": a."),
        (("memory", "forget", "1", "2"), ": 2."),
        (("memory", "diff", "7d", "2d", "today"), ": today."),
    ],
)
def test_too_many_arguments(program: Program, arguments: tuple[str, ...], advice: str) -> None:
    """The error advises only what helps."""
    done = program.run(*arguments)
    assert done.returncode == 2
    message = done.stderr.splitlines()[0]
    assert message.startswith("Too many arguments: ")
    assert message.endswith(advice)


def test_help_says_where_everything_is(program: Program) -> None:
    """In plain words, without the names of Python types."""
    assert "Everything is kept in one SQLite file." in program.run("--help").stdout
    printed = program.run("memory", "list", "--help").stdout
    assert "construct memory list [OPTIONS] [FILTER]...\n" in printed
    assert "<" not in printed


def test_no_pager_is_started(lived: Program) -> None:
    """Neither PAGER nor a terminal's width changes what is printed."""
    marker = lived.folder / "paged"
    pager = {
        "PAGER": f"touch {marker}",
        "MANPAGER": f"touch {marker}",
        "COLUMNS": "20",
        "LINES": "2",
    }
    assert os.linesep in lived.run("memory", "list", more=pager).stdout
    assert lived.run("--help", more=pager).returncode == 0
    assert not marker.exists()

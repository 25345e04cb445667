"""`construct report`, and how it and `export` treat an existing file."""

import io
import os
import sqlite3
from contextlib import closing, redirect_stdout
from pathlib import Path
from unittest import mock

import pytest

from construct.cli.run import run as construct
from tests.support.emulator import PseudoTerminal, python
from tests.support.program import Program

COMMANDS = [("report",), ("export", "--format", "sqlite")]


def test_a_report_is_a_private_file(lived: Program, tmp_path: Path) -> None:
    """0600 in folders made 0700; standard output gives the same.

    Nothing is left beside it.
    """
    done = lived.run("report", "-o", "pages/memory.html")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "Written: pages/memory.html\n")
    file = tmp_path / "pages" / "memory.html"
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert [one.name for one in file.parent.iterdir()] == ["memory.html"]
    page = file.read_text("utf-8")
    assert "Which chain fits" not in page
    assert "birthday is on May 5th" in page
    for arguments in ((), ("-o", "-")):
        assert lived.run("report", *arguments).stdout == page


def test_an_encoding_that_lacks_characters_loses_none(lived: Program) -> None:
    """What standard output has no code for stands as a reference."""
    lived.run("memory", "add", "Zoë keeps 猫")
    out = io.TextIOWrapper(io.BytesIO(), "latin-1")
    with mock.patch.dict(os.environ, lived.environment(), clear=True), redirect_stdout(out):
        assert construct(["report"]) == 0
    out.seek(0)
    assert "Zo&#235; keeps &#29483;" in out.read()


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_what_construct_wrote_is_replaced(
    lived: Program, tmp_path: Path, command: tuple[str, ...]
) -> None:
    """An export, another report or an empty file is replaced, the database never.

    So a nightly copy can keep one name.
    """
    lived.run("memory", "add", "Something more")
    for before in ("export", "export --format markdown", "report"):
        assert lived.run(*before.split(), "-o", "out").returncode == 0
        assert lived.run(*command, "-o", "out").returncode == 0
        (tmp_path / "out").unlink()
    (tmp_path / "empty").touch()
    assert lived.run(*command, "-o", "empty").returncode == 0
    assert lived.run(*command, "-o", "construct.db", "--force").returncode == 2


def database_of(path: Path, application_id: int) -> bytes:
    """Return another program's database."""
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA application_id = {application_id}")
        db.execute("CREATE TABLE theirs (x)")
    return path.read_bytes()


@pytest.mark.parametrize("command", [*COMMANDS, ("export",)], ids=" ".join)
def test_any_other_file_needs_force(
    lived: Program, tmp_path: Path, command: tuple[str, ...]
) -> None:
    """One line says what to do, not a byte is changed.

    A page, a list or a database of others is no file of ours. Text never replaces a
    database, so there --force is not named.
    """
    target = tmp_path / "out"
    for mine in (
        b"mine", b"\xff\xfe", b"<!doctype html>\n<title>Mine</title>",
        b"# Conversations\n\n## 2026-03-01 With Ana\n",
        b'{"type": "construct"}\n', b'{"mapping": {}}', b"[" * 9000,
    ):  # fmt: skip
        target.write_bytes(mine)
        done = lived.run(*command, "-o", "out")
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == (
            "out exists, and is not an export or a report of Construct.\n"
            "Pass --force to replace it, or name another file.\n"
        )
        assert target.read_bytes() == mine
    theirs = database_of(tmp_path / "theirs", 7)
    target.write_bytes(theirs)
    refused = lived.run(*command, "-o", "out").stderr
    assert refused.startswith("out exists, and is not an export or a report of Construct.\n")
    assert refused.endswith("Name another file.\n")
    assert target.read_bytes() == theirs
    target.write_text("mine")
    assert lived.run(*command, "-o", "out", "--force").returncode == 0
    assert b"mine" not in target.read_bytes()[:10]


def test_a_link_leads_to_no_other_file(lived: Program, tmp_path: Path) -> None:
    """What a link leads to is what would be replaced."""
    (tmp_path / "notes").write_text("mine")
    (tmp_path / "out").symlink_to(tmp_path / "notes")
    assert lived.run("export", "-o", "out").returncode == 2
    assert (tmp_path / "notes").read_text() == "mine"


def test_a_terminal_is_told_too(lived: Program, tmp_path: Path) -> None:
    """Nothing is asked there: one line says what to do.

    The terminal itself is no place for a page.
    """
    target = tmp_path / "out"
    target.write_text("mine")
    code = (
        "from construct.cli.run import run; "
        "print([run(a) for a in (['report'], ['report', '-o', 'out'])])"
    )
    terminal = PseudoTerminal(
        python(f"import os; os.chdir({str(tmp_path)!r}); {code}"), lived.environment(), 200
    )
    try:
        assert terminal.wait() == 0
    finally:
        terminal.close()
    assert "Name a file with -o" in terminal.screen.text
    assert "Pass --force" in terminal.screen.text
    assert terminal.screen.lines[-1].endswith("2>]")
    assert target.read_text() == "mine"


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_what_cannot_be_written_is_a_failure(lived: Program, command: tuple[str, ...]) -> None:
    """It exits 1 in two lines."""
    done = lived.run(*command, "-o", "/proc/none/out")
    assert (done.returncode, done.stdout) == (1, "")
    assert len(done.stderr.splitlines()) == 2

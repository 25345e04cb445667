"""`construct report`, and how it and `export` treat a file that is there already, from outside."""

import io
import os
from contextlib import redirect_stdout
from pathlib import Path
from unittest import mock

import pytest

from construct.cli.run import run as construct
from tests.support.emulator import PseudoTerminal, python
from tests.support.program import Program

COMMANDS = [("report",), ("export", "--format", "sqlite")]


def test_a_report_is_a_private_file(lived: Program, tmp_path: Path) -> None:
    """0600 in folders made 0700; standard output gives the same; nothing is left beside it."""
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
def test_a_script_replaces_what_it_wrote_before(lived: Program, tmp_path: Path, command: tuple[str, ...]) -> None:
    """Where nobody sits there nobody is asked, as for a nightly copy; the database is never replaced."""
    target = tmp_path / "out"
    target.write_text("mine")
    assert lived.run(*command, "-o", "out").returncode == 0
    assert b"mine" not in target.read_bytes()[:100]
    assert lived.run(*command, "-o", "construct.db", "--force").returncode == 2


def test_on_a_terminal_it_asks(lived: Program, tmp_path: Path) -> None:
    """Anything but yes leaves the file as it is. The terminal itself is no place for a page."""
    target = tmp_path / "out"
    target.write_text("mine")
    code = "from construct.cli.run import run; f = ['report', '-o', 'out']; print([run(a) for a in (['report'], f, f)])"
    terminal = PseudoTerminal(python(f"import os; os.chdir({str(tmp_path)!r}); {code}"), lived.environment(), 200)
    try:
        terminal.see("Name a file with -o")
        terminal.see("Type yes to do it")
        terminal.type("no\n")
        terminal.see("Nothing was written.")
        assert target.read_text() == "mine"
        terminal.type("yes\n")
        terminal.see("Written: out")
        assert terminal.wait() == 0
    finally:
        terminal.close()
    assert terminal.screen.lines[-1].endswith("2>, 0, 0]")
    assert target.read_text("utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_what_cannot_be_written_is_a_failure(lived: Program, command: tuple[str, ...]) -> None:
    """It exits 1 in two lines."""
    done = lived.run(*command, "-o", "/proc/none/out")
    assert (done.returncode, done.stdout) == (1, "")
    assert len(done.stderr.splitlines()) == 2

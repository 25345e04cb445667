"""`demo`: a chat over an invented life that reaches nobody's own file."""

from datetime import date, timedelta
from pathlib import Path

import pytest

from tests.support.program import Program


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """Return a program that nobody has configured, in the middle of some year."""
    more = {
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "CONSTRUCT_LOOK_FOR": "",
        "CONSTRUCT_NOW": "2027-02-10T12:00:00+00:00",
        "CONSTRUCT_TZ": "Europe/Lisbon",
    }
    return Program(tmp_path, more)


def test_the_life_goes_up_to_today(program: Program) -> None:
    """What is ahead in it lies ahead of the user's own today, in the words too."""
    done = program.run("demo", stdin="When does my sister get married?\n")
    assert (done.returncode, done.stderr) == (0, "")
    wedding = date(2027, 2, 10) + (date(2026, 7, 25) - date(2026, 6, 22))
    assert f"getting married on {wedding} in Setúbal" in done.stdout
    assert str(date(2027, 2, 10) - timedelta(days=40)) in done.stdout


def test_nothing_reaches_the_users_own_file(program: Program) -> None:
    """Neither the life nor what is said in the demo."""
    program.run("demo", stdin="I keep bees.\n")
    assert not program.db.exists()
    assert not (program.folder / "config").exists()


def test_a_database_of_ones_own_is_refused(program: Program) -> None:
    """`--db` would be where the words of an invented life land."""
    done = program.run("--db", "mine.db", "demo")
    assert done.returncode == 2
    assert "--db" in done.stderr

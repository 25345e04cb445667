"""`demo`: a chat over an invented life that reaches nobody's own file."""

import os
import re
import sys
from datetime import date, timedelta
from pathlib import Path
from unittest import mock

import pytest

from construct.load_settings import load_settings
from construct.operations.demo import fill
from tests.support.emulator import PseudoTerminal
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
    """The demo's days move with the clock.

    That includes what is due, and the weekdays in the text.
    """
    done = program.run("demo", stdin="When is Mum's party?\n")
    assert done.returncode == 0
    assert done.stderr.count("the notebook answers") == done.stderr.count("\n") == 1
    party = date(2026, 7, 18) + (date(2027, 2, 10) - date(2026, 6, 22))
    assert f"{party:%A} {party.day} {party:%B} at three now" in done.stdout
    assert str(date(2027, 2, 10) - timedelta(days=42)) in done.stdout


def test_what_the_first_screen_suggests_works_word_for_word(program: Program) -> None:
    """Without a model, each of the five answers with what it promises."""
    shown = program.run("demo", stdin="Hello.\n").stdout
    tries = dict(re.findall(r"^  (\S.*?)  +(\S.*)$", shown, re.MULTILINE))
    assert len(tries) == 5
    with mock.patch.dict(os.environ, program.environment(), clear=True):
        fill(load_settings(os.environ))
    answers = [program.run("chat", "--commands", stdin=f"{line}\n").stdout for line in tries]
    expected = (
        "allergic to walnuts",
        "8 March at three",
        "is allergic to walnuts; a walnut cake",
        "Biscuit",
        "Today",
    )
    for words, answer in zip(expected, answers, strict=True):
        assert words in answer
    assert "10 February at six" in answers[-1]


def test_the_life_keeps_the_invariants(program: Program) -> None:
    """Doctor finds nothing wrong, and something is due today and tomorrow."""
    with mock.patch.dict(os.environ, program.environment(), clear=True):
        fill(load_settings(os.environ))
    assert program.json("doctor")["ok"]
    days = [one["date"] for one in program.json("agenda")]
    assert {"2027-02-10", "2027-02-11"} <= set(days)


def test_nothing_reaches_the_users_own_file(program: Program) -> None:
    """Neither the life nor what is said in the demo."""
    program.run("demo", stdin="I keep bees.\n")
    assert not program.db.exists()
    assert not (program.folder / "config").exists()


def test_the_rules_and_the_persona_of_the_demo_go_with_it(program: Program) -> None:
    """What is written there to try it out does not apply to the user's own life."""
    editor = program.folder / "editor"
    editor.write_text('#!/bin/sh\necho "$1" >> "$0.opened"\n', "utf-8")
    editor.chmod(0o700)
    command = [sys.executable, "-m", "construct", "demo"]
    terminal = PseudoTerminal(command, program.environment({"EDITOR": str(editor)}))
    terminal.see("notebook")
    terminal.type("/rules\r")
    terminal.see("construct-demo-")
    terminal.type("/persona\r")
    terminal.see("The original persona is in use.")
    terminal.type("/quit\r")
    assert terminal.wait() == 0
    opened = Path(f"{editor}.opened").read_text("utf-8").split()
    assert len(opened) == 2
    assert not any(Path(path).exists() for path in opened)
    assert not (program.folder / "config").exists()


def test_a_database_of_ones_own_is_refused(program: Program) -> None:
    """`--db` would be where the words of an invented life land."""
    done = program.run("--db", "mine.db", "demo")
    assert done.returncode == 2
    assert "--db" in done.stderr

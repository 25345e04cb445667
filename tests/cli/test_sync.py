"""`construct sync` as the user types it, on machines with folders of their own."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.fake_api import FakeApi
from tests.support.program import Program

NewMachine = Callable[[str], Program]


@pytest.fixture
def machine(tmp_path: Path, api: FakeApi) -> NewMachine:
    """Makes a machine with a folder of its own; all share the folder `shared`."""
    (tmp_path / "shared").mkdir()

    def make(name: str) -> Program:
        (tmp_path / name / "construct").mkdir(parents=True)
        env = {**api.env(), "XDG_CONFIG_HOME": str(tmp_path / name)}
        return Program(tmp_path / name, env)

    return make


def shared(program: Program) -> str:
    """Return the shared folder."""
    return str(program.folder.parent / "shared")


def key_of(text: str) -> str:
    """Return the key that a first run printed."""
    (line,) = (line for line in text.splitlines() if line.strip().startswith("AGE-SECRET-KEY-1"))
    return line.strip()


def test_two_machines_from_the_first_run_to_a_fork(
    machine: NewMachine, api: FakeApi, tmp_path: Path
) -> None:
    """The key is printed once; the folder is remembered; `ask` exchanges by itself."""
    laptop, desktop = machine("laptop"), machine("desktop")
    Path(shared(laptop)).rmdir()  # the first run makes it
    api.enqueue("chat", "Noted.")
    laptop.run("ask", "I live in Porto.")
    first = laptop.run("sync", shared(laptop))
    assert first.returncode == 0
    key = key_of(first.stdout)
    assert "AGE-SECRET" not in laptop.run("sync").stdout  # the folder is remembered, the key told
    refused = desktop.run("sync", shared(desktop))
    assert (refused.returncode, "--key -" in refused.stderr) == (2, True)
    wrong = desktop.run("sync", shared(desktop), "--key", "-", stdin=key[:-1] + "x\n")
    assert wrong.returncode == 2
    joined = desktop.run("sync", shared(desktop), "--key", "-", "--json", stdin=key + "\n")
    assert json.loads(joined.stdout)["in"]["messages"] == 2
    api.enqueue("chat", "In Porto.")
    asked = desktop.run("ask", "--conversation", "1", "Where do I live?")
    assert asked.stdout == "In Porto.\n"
    assert "writes conversation 1. Forked it into 2" in asked.stderr
    came = json.loads(laptop.run("sync", "--json").stdout)["in"]
    assert (came["conversations"], came["messages"]) == (1, 2)
    found = json.loads(laptop.run("sync", "status", "--json").stdout)
    assert [m["not_followed"] for m in found["machines"]] == [[], []]
    for program in (laptop, desktop):
        assert program.run("doctor").returncode in (0, 1)
        for file in program.folder.rglob("*"):
            if file.is_file() and not file.name.endswith(".sync-key"):
                assert key.encode() not in file.read_bytes()
    assert all(
        key.encode() not in file.read_bytes() for file in Path(shared(laptop)).rglob("*.age")
    )


def test_a_chat_exchanges_when_it_ends(machine: NewMachine, api: FakeApi) -> None:
    """Piped too; and one that is offline says nothing."""
    laptop, desktop = machine("laptop"), machine("desktop")
    key = key_of(laptop.run("sync", shared(laptop)).stdout)
    desktop.run("sync", shared(desktop), "--key", "-", stdin=key)
    api.enqueue("chat", "Noted.")
    laptop.run("chat", stdin="I live in Porto.\n")
    done = desktop.run("chat", stdin="")
    assert "From your other machines: 1 conversation and 2 messages" in done.stderr
    Path(shared(laptop)).rename(Path(shared(laptop)).with_name("away"))
    assert laptop.run("chat", stdin="").stderr == ""
    missing = laptop.run("sync")
    assert (missing.returncode, "is not there" in missing.stderr) == (1, True)


def test_persona_and_rules_go_along_on_request(machine: NewMachine) -> None:
    """Only then, and whichever changed last."""
    laptop, desktop = machine("laptop"), machine("desktop")
    key = key_of(laptop.run("sync", shared(laptop)).stdout)
    desktop.run("sync", shared(desktop), "--key", "-", stdin=key)
    mine, theirs = (m.folder / "construct" / "persona.md" for m in (laptop, desktop))
    mine.write_text("You are Mara.")
    laptop.run("sync", "--persona")
    desktop.run("sync")
    assert not theirs.exists()
    desktop.run("sync", "--persona")
    assert theirs.read_text() == "You are Mara."
    theirs.write_text("You are Rui.")
    desktop.run("sync", "--persona")
    laptop.run("sync", "--persona")
    assert mine.read_text() == "You are Rui."


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (("sync",), 2),
        (("sync", "status", "extra"), 2),
        (("sync", "retire"), 2),
        (("sync", "/nowhere/at/all"), 1),
    ],
)
def test_wrong_usage_is_said(machine: NewMachine, arguments: tuple[str, ...], status: int) -> None:
    """In one or two lines."""
    done = machine("laptop").run(*arguments)
    assert done.returncode == status
    assert 1 <= len(done.stderr.splitlines()) <= 2

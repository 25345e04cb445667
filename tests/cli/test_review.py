"""`construct review`: on a terminal it asks, elsewhere it lists."""

from unittest import mock

import pytest

from construct.store.sql import insert
from tests.memory.builders import Life
from tests.memory.cycles.scripted import observes_only
from tests.support.fake_api import FakeApi
from tests.support.fake_types import last_user_text
from tests.support.fake_worker import observer_answer
from tests.support.program import Program


@pytest.fixture
def waiting(program: Program, life: Life) -> Program:
    """The program with two proposals that wait."""
    life.learn(life.talk(), "Ana lives in Porto")
    for number, text in enumerate(("User prefers tabs", "User owns \x1b[31mfigs\x1b[0m")):
        row = {"uid": f"q{number}", "kind": "proposal", "text": text, "source": "zed",
               "created_at": life.tick()}  # fmt: skip
        insert(life.db, "questions", row)
    return program


def test_json_lists_what_waits(waiting: Program) -> None:
    """With the keys of the contract, and without control characters; status counts the same."""
    listed = waiting.json("review", "--json")
    assert [one["text"] for one in listed] == ["User prefers tabs", "User owns figs"]
    assert all({"kind", "id", "text", "why", "since"} <= one.keys() for one in listed)
    assert listed[0]["why"] == "zed proposes to remember this."
    assert waiting.json("status")["waiting"] == 2
    assert waiting.run("brief").stdout == "2 questions wait for you: construct review\n"


def test_without_a_terminal_it_lists(waiting: Program) -> None:
    """Nothing is decided."""
    done = waiting.run("review", stdin="k\nk\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Proposed by another program: User prefers tabs" in done.stdout
    assert waiting.json("status")["waiting"] == 2


@pytest.mark.parametrize(
    ("typed", "waits", "notes"),
    [
        ("k\nx\nn\nn\n", 0, ["Ana lives in Porto", "User prefers tabs"]),
        ("e\nI like tabs\nq\n", 1, ["Ana lives in Porto", "I like tabs"]),
        ("f\nl\ny\nk\n", 1, ["Ana lives in Porto"]),
        ("", 2, ["Ana lives in Porto"]),
    ],
)
def test_on_a_terminal_letters_answer(
    waiting: Program, typed: str, waits: int, notes: list[str]
) -> None:
    """One a line; nothing leaves, and so does the end of input."""
    lines = iter(typed.splitlines())

    def answer() -> str:
        try:
            return next(lines)
        except StopIteration:
            raise EOFError from None

    with (
        mock.patch("construct.cli.review.is_on_terminal", return_value=True),
        mock.patch("builtins.input", answer),
    ):
        done = waiting.run("review")
    assert done.returncode == 0, done.stderr
    assert waiting.json("status")["waiting"] == waits
    assert [one["text"] for one in waiting.json("memory", "list", "--json")] == notes


def test_an_empty_review(program: Program) -> None:
    """It says so; no file is made."""
    assert program.run("review").stdout == "Nothing waits for your decision.\n"
    assert program.json("review", "--json") == []
    assert not program.db.exists()


def test_new_notes_are_asked_about(program: Program, api: FakeApi) -> None:
    """The setting alone does it: another conversation's request lacks the note until it is kept."""
    observes_only(api)
    api.observer = lambda _body: observer_answer(["! 2026-03-10 M1 User lives in Porto"])
    program.env["CONSTRUCT_LEARN"] = "ask"
    program.run("ask", "--no-wait", "I live in Porto.")
    program.run("compact")

    def asked_elsewhere() -> str:
        program.run("ask", "--no-wait", "--new", "Where is my home?")
        return str(api.of("chat")[-1].body)

    assert "User lives in Porto" not in asked_elsewhere()
    (waiting,) = program.json("review", "--json")
    assert (waiting["kind"], waiting["text"]) == ("new", "User lives in Porto")
    assert program.json("status")["waiting"] == 1
    program.run("ask", "--no-wait", "--new", "I live in Porto.")
    program.run("compact")  # its observer does not know the note either
    assert "<known>" not in last_user_text(api.of("observer")[-1].body)
    assert len(program.json("review", "--json")) == 2
    program.run(
        "memory", "forget", str(program.json("review", "--json")[1]["observation"]), "--yes"
    )
    program.run("memory", "edit", str(waiting["observation"]), "User lives in Porto, by the river")
    assert "by the river" in asked_elsewhere()
    assert program.json("review", "--json") == []

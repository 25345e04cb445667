"""`construct conversations …`, and `chat` over a pipe."""

import sqlite3

import pytest

from construct.views.shapes import TranscriptMessageJson
from tests.support.fake_api import FakeApi, faults
from tests.support.program import Program

KEYS = {"id", "title", "created_at", "parent", "forked_at_message", "current_task"}


def test_without_a_command_it_lists(lived: Program) -> None:
    """`construct conversations` is `construct conversations list`.

    `--json` is only accepted after a command.
    """
    assert lived.run("conversations").stdout == lived.run("conversations", "list").stdout != ""
    assert lived.json("conversations") == lived.json("conversations", "list")
    done = lived.run("conversations", "--json", "show", "1")
    assert (done.returncode, done.stdout) == (2, "")
    assert "construct conversations show --json" in done.stderr


def test_list_has_the_latest_first(lived: Program) -> None:
    """Each with its figures; `--limit` takes any number."""
    found = lived.json("conversations", "list")
    assert [(one["id"], one["title"], one["message_count"]) for one in found] == [
        (2, "Bicycles", 2),
        (1, "Where I live", 8),
    ]
    assert {frozenset(one) for one in found} == {frozenset(KEYS | {"message_count", "last_at"})}
    assert len(lived.json("conversations", "list", "--limit", "1")) == 1
    assert lived.json("conversations", "list", "--limit", "9" * 30) == found
    assert "Bicycles" in lived.run("conversations", "list").stdout


def test_show_prints_every_word(lived: Program) -> None:
    """With `--json` a list of messages that have plain numbers as ids."""
    talk = lived.json("conversations", "show", "2")
    assert set(talk) == KEYS | {"message_count", "last_at", "messages"}
    assert [(m["role"], m["content"]) for m in talk["messages"]] == [
        ("user", "Which chain fits a tandem?"),
        ("assistant", "A long one."),
    ]
    assert set(talk["messages"][0]) == set(TranscriptMessageJson.__annotations__)
    assert [m["id"] for m in talk["messages"]] == [9, 10]
    assert "A long one." in lived.run("conversations", "show", "2").stdout


def test_rename_gives_a_title(lived: Program) -> None:
    """A title is one line of printable characters; a blank one is wrong usage."""
    renamed = lived.json("conversations", "rename", "1", "\x1b[31mMy\nflat\u202e")
    assert set(renamed) == KEYS
    assert (renamed["id"], renamed["title"]) == (1, "My flat")
    assert lived.json("conversations", "show", "1")["title"] == "My flat"
    assert lived.run("conversations", "rename", "1", "\x1b[0m").returncode == 2


def test_a_fork_goes_its_own_way(lived: Program) -> None:
    """A fork begins where its parent stands.

    What is said in the fork is not in the parent.
    """
    new = lived.json("conversations", "fork", "2")
    assert set(new) == KEYS
    assert (new["id"], new["parent"]) == (3, 2)
    lived.run("ask", "--conversation", "3", "--no-wait", "And which brake?")
    assert lived.json("conversations", "show", "3")["parent"] == 2
    assert len(lived.json("conversations", "show", "2")["messages"]) == 2


def test_a_fork_counts_the_window_it_inherits(lived: Program) -> None:
    """Messages and tokens in the window are those that its model is shown."""
    parent = lived.json("status")
    new = lived.json("conversations", "fork", "2")
    here = lived.json("status")
    assert here["conversation"] == new["id"] != parent["conversation"]
    assert here["messages"]["window"] == parent["messages"]["window"] > 0
    assert here["messages"]["window_tokens"] == parent["messages"]["window_tokens"]


def test_delete_asks_unless_told(lived: Program) -> None:
    """Where nobody can answer it is refused without `--yes`.

    With it the words are gone.
    """
    asked = lived.run("conversations", "delete", "2")
    assert asked.returncode == 2
    assert "--yes" in asked.stderr
    assert len(lived.json("conversations", "list")) == 2
    assert lived.json("conversations", "delete", "2", "--yes")["deleted"]["messages"] == 2
    assert lived.json("memory", "search", "chain") == []
    assert lived.run("conversations", "delete", "2", "--yes").returncode == 1


@pytest.mark.parametrize("number", ["99", "0", "9" * 30])
@pytest.mark.parametrize(
    "command",
    [("show",), ("rename",), ("fork",), ("delete", "--yes"), ("ask",), ("chat",)],
    ids=lambda c: c[0],
)
def test_an_unknown_conversation_is_a_failure(
    lived: Program, command: tuple[str, ...], number: str
) -> None:
    """It exits 1 with a line or two, whatever is to be done with it."""
    if command[0] in {"ask", "chat"}:
        done = lived.run(
            *command, "--conversation", number, *(["Hi"] if command[0] == "ask" else []), stdin=""
        )
    else:
        done = lived.run(
            "conversations", *command, number, *(["Title"] if command[0] == "rename" else [])
        )
    assert (done.returncode, done.stdout) == (1, "")
    assert "There is no conversation" in done.stderr
    assert len(done.stderr.splitlines()) <= 2


def test_a_number_is_needed(lived: Program) -> None:
    """What is none is wrong usage."""
    assert lived.run("conversations", "show", "two").returncode == 2
    assert lived.run("conversations", "show").returncode == 2
    assert "must be in quotes" in lived.run("conversations", "rename", "1", "Two", "words").stderr


def test_piped_chat_is_a_message_a_line(program: Program, api: FakeApi) -> None:
    """Blank lines are skipped.

    With --commands `/` begins a command and `//` a message with a slash.
    """
    api.enqueue("chat", "One.", "Two.", "Three.")
    done = program.run("chat", "--commands", stdin="first\n\n   \n//second\n/conversations\nthird")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("One.\nTwo.\n")
    assert done.stdout.endswith("Three.\n")
    said = [
        m["content"]
        for m in program.json("conversations", "show", "1")["messages"]
        if m["role"] == "user"
    ]
    assert said == ["first", "/second", "third"]


def test_piped_commands_keep_their_confirmations(program: Program) -> None:
    """Without --commands nothing is run.

    With it, deleting something still takes --yes.
    """
    program.run("ask", "--no-wait", "--new", "Keep this.")
    program.run(stdin="x\n/conversations delete 1 --yes\n")
    assert program.json("conversations", "list")[0]["message_count"] == 6
    done = program.run("chat", "--commands", stdin="/conversations delete 1\n/forget message:1\n")
    assert done.returncode == 1
    assert "--yes" in done.stderr
    assert program.json("conversations", "list")[0]["message_count"] == 6
    assert (
        program.run("chat", "--commands", stdin="/conversations delete 1 --yes\n").returncode == 0
    )
    assert program.json("conversations", "list") == []


def test_piped_chat_goes_on_after_a_failed_line(program: Program, api: FakeApi) -> None:
    """The lines after it are answered, and the exit status is 1."""
    api.fail("chat", faults.http(401))
    api.enqueue("chat", "Answered.")
    done = program.run("chat", "--commands", stdin="one\n/bogus\ntwo\n")
    assert (done.returncode, done.stdout) == (1, "Answered.\n")
    assert "Unknown command" in done.stderr


def test_piped_chat_finishes_memory_at_the_end(program: Program, api: FakeApi) -> None:
    """At the end of input what is due has been observed."""
    more = {"CONSTRUCT_OBSERVER_THRESHOLD": "50"}
    assert (
        program.run("chat", stdin="My locker has the code 1234. " * 10 + "\n", more=more).returncode
        == 0
    )
    assert api.of("observer")
    assert program.json("status")["messages"]["unobserved"] == 0


def test_a_chat_that_nobody_reads_ends_quietly(program: Program, api: FakeApi) -> None:
    """A chat stops without a message when the reader of its output goes away."""
    with program.start("chat") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        process.stdin.write("one\ntwo\n")
        process.stdin.close()
        assert process.stderr.read() == ""
    assert process.returncode == 1
    assert len(api.of("chat")) == 1


def test_private_chat_stores_nothing(program: Program) -> None:
    """Not a word of it is in the database's files.

    What it cost is, and not when or how often was talked.
    """
    talk = "My password is Rumpelstilzchen.\nForget it.\n"
    assert program.run("chat", "--private", stdin=talk).returncode == 0
    with sqlite3.connect(program.db) as db:
        booked = db.execute(
            "SELECT created_at, purpose, conversation_id, cost_usd > 0 FROM usage"
        ).fetchall()
    assert booked == [("2026-03-10T00:00:00.000000+00:00", "chat", None, 1)]
    assert b"Rumpelstilzchen" not in b"".join(
        file.read_bytes() for file in program.folder.glob("construct.db*")
    )
    assert program.json("status")["messages"]["total"] == 0


def test_chat_takes_the_options_of_ask(program: Program, api: FakeApi) -> None:
    """`--new` begins a conversation, `--conversation` names one.

    `--model` names another model.
    """
    program.run("chat", stdin="a\n")
    program.run("chat", "--new", "--model", "claude-opus-5-5", stdin="b\n")
    assert api.of("chat")[-1].body["model"] == "claude-opus-5-5"
    program.run("chat", "--conversation", "1", stdin="c\n")
    assert [one["message_count"] for one in program.json("conversations", "list")] == [4, 2]
    assert program.run("chat", "--conversation", "1", "--new", stdin="d\n").returncode == 2

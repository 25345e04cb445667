"""`construct ask`, as a process, against the strict fake over HTTP."""

import io
import json
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.emulator import PseudoTerminal
from tests.support.fake_api import FakeApi, Reply, faults
from tests.support.program import Program
from tests.support.talks import LOW, facts


class Terminal(io.StringIO):
    """What is written to a terminal."""

    def isatty(self) -> bool:
        """It is one."""
        return True


@pytest.fixture
def program(tmp_path: Path, api: FakeApi) -> Program:
    """The program with the fake as its server."""
    return Program(tmp_path, api.env())


def test_the_reply_is_all_that_is_on_standard_output(program: Program, api: FakeApi) -> None:
    """`ask` prints the reply and nothing else, and exits 0."""
    api.enqueue("chat", "It is four.")
    done = program.process("ask", "Two and two?")
    assert (done.returncode, done.stdout, done.stderr) == (0, "It is four.\n", "")


def test_on_a_terminal_lines_are_broken_between_words(program: Program, api: FakeApi) -> None:
    """By pipe they are as long as the model made them."""
    api.enqueue("chat", "The quick brown fox jumps over the lazy dog.")
    done = program.run("ask", "Hello.", more={"COLUMNS": "20"}, stdout=Terminal())
    assert done.stdout == "The quick brown fox\njumps over the lazy\ndog.\n"
    api.enqueue("chat", "The quick brown fox jumps over the lazy dog.")
    assert program.run("ask", "Again.", more={"COLUMNS": "20"}).stdout.count("\n") == 1


def test_piped_input_is_pasted_material(program: Program, api: FakeApi) -> None:
    """Beside TEXT it is marked as pasted where it is stored.

    `-` reads standard input as the message itself.
    """
    program.run(
        "ask",
        "Summarise this:",
        stdin="\nA long text.\n\n  In parts.\f\u2028And more.\r\nThe end.\n",
    )
    program.run("ask", "-", stdin="Only this.\n")
    sent = [
        m["content"][0]["text"] for m in api.of("chat")[-1].body["messages"] if m["role"] == "user"
    ]
    pasted = "A long text.\n\n  In parts.\f\u2028And more.\r\nThe end."
    assert sent == [f"Summarise this:\n\n{pasted}", "Only this."]
    with closing(sqlite3.connect(program.db)) as db:
        marks = db.execute("SELECT pasted FROM messages WHERE role = 'user'").fetchall()
    assert marks == [(f"[[17, {17 + len(pasted)}]]",), (None,)]


def test_what_was_piped_in_is_learned_as_quoted(program: Program, api: FakeApi) -> None:
    """Whatever the observer claims.

    By rule, with no model, nothing is learned from it.
    """
    letter = "I live in Oslo.\rMy sister is called Berta.\nMy locker has the code 1234.\n"
    program.run("ask", "--no-wait", "Make this shorter, please.", stdin=letter)
    api.enqueue(
        "observer",
        "<observations>\n! 2026-03-10 M1 User lives in Oslo\n"
        "- 2026-03-10 M1 User's sister is called Berta | planned\n"
        "</observations>\n<task></task>\n<next></next>\n<title></title>\n<forget></forget>",
    )
    program.run("compact")
    assert {one["stance"] for one in program.json("memory", "list")} == {"quoted"}
    other = {
        "CONSTRUCT_DB": str(program.folder / "by-rule.db"),
        "MEMORY_WORKER_MODEL": "extractive",
    }
    program.run("ask", "--no-wait", "Make this shorter, please.", stdin=letter, more=other)
    program.run("compact", more=other)
    assert program.json("memory", "list", more=other) == []


@pytest.mark.parametrize("arguments", [("ask", "  "), ("ask", "-"), ("ask",)])
@pytest.mark.parametrize("piped", ["", "\0\0\0", " \0\n"])
def test_nothing_to_ask_is_wrong_usage(
    program: Program, arguments: tuple[str, ...], piped: str
) -> None:
    """A blank message exits 2 with a plain line, one of NULs too."""
    done = program.run(*arguments, stdin=piped)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "Nothing to send" in done.stderr


def test_json_has_the_shape_of_the_contract(program: Program) -> None:
    """`ask --json` prints one object with the contract's keys.

    They are reply, conversation, message_id, stop_reason and usage.
    """
    answer = program.json("ask", "Hello.")
    assert set(answer) == {"reply", "conversation", "message_id", "stop_reason", "usage"}
    assert (answer["conversation"], answer["message_id"], answer["stop_reason"]) == (
        1,
        2,
        "end_turn",
    )


def test_it_continues_the_latest_conversation_unless_told(program: Program) -> None:
    """`--new` begins another conversation, `--conversation` names one."""
    assert program.json("ask", "One.")["conversation"] == 1
    assert program.json("ask", "Two.", "--new")["conversation"] == 2
    assert program.json("ask", "Three.")["conversation"] == 2
    assert program.json("ask", "Four.", "--conversation", "1")["conversation"] == 1
    assert program.run("ask", "Five.", "--conversation", "9").returncode == 1
    assert program.run("ask", "Six.", "--conversation", "1", "--new").returncode == 2


@pytest.mark.parametrize(
    ("fault", "status"),
    [
        (faults.drop_during(3), 1),
        (faults.refusal("No."), 1),
        (faults.max_tokens(), 0),
        (faults.http(401), 1),
    ],
    ids=["broken", "refused", "cut off", "rejected"],
)
def test_the_exit_status_says_how_the_reply_ended(
    program: Program, api: FakeApi, fault: faults.Fault, status: int
) -> None:
    """A broken or refused reply is 1, one that reached its length 0.

    What came is printed, and each is said.
    """
    api.fail("chat", fault)
    done = program.run("ask", "Tell me.")
    assert done.returncode == status
    assert 1 <= len(done.stderr.splitlines()) <= 2
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("text", ["", " \n \t\n", "\u200b\u200b", "\x1b[31m \x1b[0m"])
@pytest.mark.parametrize("stop_reason", ["end_turn", "max_tokens"])
def test_a_blank_reply_is_said_to_be_blank(
    program: Program, api: FakeApi, text: str, stop_reason: str
) -> None:
    """It exits 1 with one line, and the next request has the message once more."""
    api.enqueue("chat", Reply(text, stop_reason=stop_reason))
    done = program.run("ask", "--no-wait", "Are you there?")
    assert (done.returncode, done.stdout.strip(" \n\t\u200b")) == (1, "")
    assert done.stderr.startswith("The reply is blank")
    assert done.stderr.count("\n") == 1
    rows = sqlite3.connect(program.db).execute("SELECT role FROM messages").fetchall()
    assert rows == [("user",)]


@pytest.mark.parametrize("stdin", [b"Meine Stra\xdfe\n", "Größe".encode("utf-16"), b"ok\xff"])
def test_input_that_is_not_utf8_is_refused_with_its_reason(program: Program, stdin: bytes) -> None:
    """Nothing is sent, and nothing stored."""
    done = subprocess.run(
        [sys.executable, "-m", "construct", "ask", "--no-wait", "Read this:"],
        env=program.environment(),
        input=stdin,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.startswith(b"Standard input is not UTF-8 text (byte 0x")
    assert not program.db.exists()


def test_ctrl_c_keeps_all_that_was_shown(tmp_path: Path, program: Program, api: FakeApi) -> None:
    """On a terminal, where a word is held back until its line is known, it is shown too."""
    words = " ".join(f"word{n}" for n in range(200))
    api.enqueue("chat", Reply(words, chunk_size=7, chunk_delay=0.02))
    terminal = PseudoTerminal(
        [sys.executable, "-m", "construct", "ask", "--no-wait", "Go on."],
        program.environment({"HOME": str(tmp_path)}),
        columns=40,
    )
    try:
        terminal.see("word20")
        terminal.type("\x03")
        assert terminal.wait() == 130
    finally:
        terminal.close()
    shown = " ".join(terminal.screen.text.replace("^C", "").split())
    with closing(sqlite3.connect(program.db)) as db:
        (kept,) = db.execute("SELECT content FROM messages WHERE role = 'assistant'").fetchone()
    assert shown == kept


def test_a_byte_order_mark_is_dropped(program: Program, api: FakeApi) -> None:
    """Windows writes one before UTF-8."""
    program.run("ask", "--no-wait", stdin="\ufeffHello.")
    assert api.of("chat")[-1].body["messages"][-1]["content"][0]["text"] == "Hello."


def test_what_becomes_of_a_message_without_a_reply_is_said(program: Program, api: FakeApi) -> None:
    """A refused one is left out of later requests, one that failed goes along.

    Both are stored, and shown as such.
    """
    api.fail("chat", faults.refusal("No."))
    assert "Later requests leave your message out.\n" in program.run("ask", "Poison.").stderr
    for fault in (faults.http(401), faults.drop_before(), faults.http(429, retry_after=3600)):
        api.fail("chat", fault, times=5)
        done = program.run("ask", "Wrongheaded.")
        assert done.stderr.endswith(
            "Your message will be sent with the next one; /drop in a chat takes it out.\n"
        )
        assert len(done.stderr.splitlines()) == 2
        api.heal()
    program.run("chat", "--commands", stdin="/drop\n")
    shown = program.json("conversations", "show", "1")["messages"]
    assert [m["left_out"] for m in shown] == ["refusal", "refusal", None, None, "dropped"]
    assert (
        "user (left out of requests: dropped):\nWrongheaded."
        in program.run("conversations", "show", "1").stdout
    )


def test_a_message_too_large_for_the_window_is_not_said_to_be_sent_again(
    program: Program, api: FakeApi
) -> None:
    """Later requests leave the message out, and everything before it.

    That lasts until the user drops it.
    """
    program.run("ask", "My cat is Tom.")
    api.context_window = 2_000
    done = program.run("ask", "very " * 20_000)
    assert done.returncode == 1
    assert done.stderr.endswith(
        "\nUntil you take this message out, earlier ones may be left out of requests; "
        "/drop in a chat takes it out.\n"
    )
    assert len(done.stderr.splitlines()) == 2


def test_without_any_model_it_is_not_configured(tmp_path: Path) -> None:
    """Exit 3 says what to do; `status` works all the same."""
    program = Program(tmp_path, {"CONSTRUCT_PROVIDER": "anthropic"})
    done = program.run("ask", "Hello?")
    assert done.returncode == 3
    assert "ANTHROPIC_API_KEY" in done.stderr
    assert program.run("status", "--json").returncode == 0


def test_memory_work_that_is_due_is_finished_after_the_reply(
    program: Program, api: FakeApi
) -> None:
    """The observer runs before `ask` ends.

    With `--no-wait` the next start runs it.
    """
    for text in facts(4):
        program.run("ask", "--no-wait", text, more=LOW)
    assert not api.of("observer")
    assert program.run("ask", facts(1, 9)[0], more=LOW).returncode == 0
    assert api.of("observer")
    assert program.json("status", more=LOW)["messages"]["unobserved"] == 0


def test_a_talk_that_went_cold_is_observed_when_it_goes_on(program: Program, api: FakeApi) -> None:
    """What was unobserved when the cache ran out is observed and compacted.

    That holds although the new turn makes the cache warm again.
    """
    at = "2026-03-01T{}Z".format
    program.run("ask", " ".join(facts(24)), more={"CONSTRUCT_NOW": at("10:00")})
    program.run("ask", "Still there?", more={"CONSTRUCT_NOW": at("10:04")})
    assert not api.of("observer")
    program.run("ask", "And now?", more={"CONSTRUCT_NOW": at("14:00")})
    assert program.json("status")["messages"]["unobserved"] == 0
    assert program.json("status")["observations"]["committed"]["count"]


def test_failing_memory_work_does_not_change_the_status(program: Program, api: FakeApi) -> None:
    """The reply is what counts: exit 0, nothing on standard error."""
    api.fail("observer", faults.http(401), times=None)
    done = program.run("ask", " ".join(facts(12)), more=LOW)
    assert (done.returncode, done.stderr) == (0, "")


def test_interrupting_the_memory_work_leaves_it_for_later(program: Program, api: FakeApi) -> None:
    """On a terminal it says what is waited for.

    Ctrl-C after the reply exits 0 and no cycle stays running.
    """
    api.fail("observer", faults.hang(20), times=None)
    arguments = [sys.executable, "-m", "construct", "ask", " ".join(facts(12))]
    terminal = PseudoTerminal(arguments, program.environment(LOW))
    try:
        terminal.see("finishing memory work… Ctrl-C leaves it")
        terminal.type("\x03")
        assert terminal.wait(10) == 0
        assert "finishing memory" not in terminal.screen.text
    finally:
        terminal.close()
    db = sqlite3.connect(program.db)
    assert db.execute("SELECT status FROM cycles").fetchall() == [("abandoned",)]
    db.close()


def test_interrupting_the_reply_keeps_what_came(program: Program, api: FakeApi) -> None:
    """Ctrl-C while the reply streams exits 130.

    Its words so far are stored and marked.
    """
    api.enqueue("chat", Reply("one two three four five six", chunk_size=4))
    api.fail("chat", faults.hang(20, after=2))
    done = program.signalled(signal.SIGINT, lambda printed: "one" in printed, "ask", "Count.")
    assert (done.returncode, done.stderr) == (130, "")
    db = sqlite3.connect(program.db)
    kept = db.execute("SELECT content, status FROM messages WHERE role = 'assistant'").fetchall()
    db.close()
    assert len(kept) == 1
    assert kept[0][0].startswith("one")
    assert kept[0][1] == "interrupted"


def test_replies_cannot_move_the_cursor(program: Program, api: FakeApi) -> None:
    """Escape sequences, control characters and bidi overrides are not printed."""
    api.enqueue("chat", "a\x1b[2Jb\x1b]0;title\x07c\x9b1Ad\u202ee\x00f")
    done = program.run("ask", "Attack me.")
    assert done.stdout == "abcdef\n"


def test_a_model_can_be_named_for_one_run(program: Program, api: FakeApi) -> None:
    """`--model` is the model that is asked."""
    program.run("ask", "--model", "claude-opus-5-5", "Hello.")
    assert api.of("chat")[-1].body["model"] == "claude-opus-5-5"


def test_the_key_is_nowhere(program: Program) -> None:
    """Neither database nor log holds the key or the words of the talk."""
    program.env["ANTHROPIC_API_KEY"] = "sk-secret-key-000"
    log = program.folder / "logs" / "construct.log"
    program.run("--log-file", str(log), "ask", "Zanzibar.")
    time.sleep(0.1)
    stored = b"".join(path.read_bytes() for path in program.folder.glob("construct.db*"))
    assert b"sk-secret-key-000" not in stored
    assert b"Zanzibar" in stored
    assert b"Zanzibar" not in log.read_bytes()
    assert log.stat().st_mode & 0o777 == 0o600
    assert json.loads(program.run("status", "--json").stdout)["messages"]["total"] == 2

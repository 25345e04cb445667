"""The chat over a pipe: lines in, replies out, nothing else."""

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from construct.chat.line_mode import TypedLines, run_piped
from construct.config import Settings
from construct.errors import NotConfiguredError, NotFoundError, UsageError
from construct.operations.opening import open_chat
from tests.support.emulator import python
from tests.support.fake_api import FakeApi, Reply, faults

CODE = """
import sys
from construct.load_settings import load_settings
from construct.chat.line_mode import run_piped
from construct.operations.opening import open_chat
sys.exit(run_piped(open_chat(load_settings(), None, new=False, model=None, private=False)))
"""


class Pipe:
    """Runs the piped chat in this process."""

    def __init__(self, settings: Settings, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.settings = settings
        self._input = folder / "input"
        self._monkeypatch = monkeypatch

    def run(
        self,
        text: str | bytes,
        *,
        conversation: int | None = None,
        new: bool = False,
        private: bool = False,
        commands: bool = False,
    ) -> int:
        """Pipe a text in; return the exit status."""
        self._input.write_bytes(text.encode() if isinstance(text, str) else text)
        with self._input.open() as file:
            self._monkeypatch.setattr("sys.stdin", file)
            opening = open_chat(self.settings, conversation, new=new, model=None, private=private)
            return run_piped(opening, runs_commands=commands)

    def rows(self, query: str) -> list[tuple[object, ...]]:
        """Return what a query finds."""
        with closing(sqlite3.connect(self.settings.db)) as db:
            return db.execute(query).fetchall()


@pytest.fixture
def pipe(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pipe:
    """Return a piped chat with the fake behind it."""
    return Pipe(settings, tmp_path, monkeypatch)


def test_prints_each_reply_and_nothing_else(
    api: FakeApi, pipe: Pipe, capfd: pytest.CaptureFixture[str]
) -> None:
    """Every line that is not blank is answered in order, each reply ending its line."""
    api.enqueue("chat", "**One**.\n\n- a", "Two.\n", "Three.")
    assert pipe.run("first\n\n   \nsecond\r\nthird without end") == 0
    assert capfd.readouterr() == ("**One**.\n\n- a\nTwo.\nThree.\n", "")
    words = [row[0] for row in pipe.rows("SELECT content FROM messages WHERE role = 'user'")]
    assert words == ["first", "second", "third without end"]


def test_piped_text_is_data(api: FakeApi, pipe: Pipe) -> None:
    """A line with a slash is a message like any other, and so is one with two."""
    pipe.run("one\n")
    lines = ["/conversations delete 1 --yes", "/quit", "//usr/bin is a folder"]
    assert pipe.run("\n".join(lines) + "\n") == 0
    assert pipe.rows("SELECT content FROM messages WHERE role = 'user'") == [
        ("one",),
        *((line,) for line in lines),
    ]


def test_a_line_of_nuls_is_blank(api: FakeApi, pipe: Pipe) -> None:
    """It is skipped as a blank one is: nothing of it would be left to send."""
    assert pipe.run(b"\0\0\n \0 \t\none\n") == 0
    assert pipe.rows("SELECT content FROM messages WHERE role = 'user'") == [("one",)]


def test_commands_on_request(api: FakeApi, pipe: Pipe, capfd: pytest.CaptureFixture[str]) -> None:
    """With --commands a line with a slash is a command.

    A line with two slashes is a message that begins with one.
    """
    api.enqueue("chat", "Yes.")
    assert pipe.run("//usr/bin is a folder\n/usage\n/quit\nnever said\n", commands=True) == 0
    out = capfd.readouterr().out
    assert out.startswith("Yes.\nThe same conversations")
    assert pipe.rows("SELECT content FROM messages WHERE role = 'user'") == [
        ("/usr/bin is a folder",)
    ]


def test_a_failed_line_does_not_end_it(
    api: FakeApi, pipe: Pipe, capfd: pytest.CaptureFixture[str]
) -> None:
    """After a failure the next lines are answered, and the status is 1.

    The failure is printed on standard error.
    """
    api.fail("chat", faults.http(401))
    api.enqueue("chat", "Second.", Reply("broken off here", chunk_size=4), "Fourth.")
    assert pipe.run("one\ntwo\n") == 1
    out, err = capfd.readouterr()
    assert out == "Second.\n"
    assert len(err.splitlines()) <= 2
    assert "Traceback" not in err
    api.fail("chat", faults.drop_during(2))
    assert pipe.run("three\nfour\n/nonsense\n", commands=True) == 1
    out, err = capfd.readouterr()
    assert out == "broken o\nFourth.\n"
    assert "Unknown command /nonsense." in err


def test_memory_is_finished_at_the_end(api: FakeApi, pipe: Pipe) -> None:
    """At the end of input everything is observed and compacted.

    No session is open any more.
    """
    said = "".join(
        f"In 200{n} I moved to {n}1 Elm Street in Porto with my brother Rui.\n" for n in range(6)
    )
    assert pipe.run(said) == 0
    assert pipe.rows("SELECT count(*) FROM observations WHERE committed_at IS NOT NULL") == [(6,)]
    assert pipe.rows("SELECT count(*) FROM sessions") == [(0,)]


def test_memory_works_between_the_lines(api: FakeApi, pipe: Pipe) -> None:
    """A long talk is observed while it goes on, as often as the thresholds ask."""
    pipe.settings = replace(
        pipe.settings, thresholds=replace(pipe.settings.thresholds, observer=300, compact=600)
    )
    said = [
        f"Number {n}: my neighbour {n} is called Ana{n}, and she was born in 19{n + 10}.\n"
        for n in range(20)
    ]
    assert pipe.run("".join(said)) == 0
    cycles = pipe.rows("SELECT status FROM cycles WHERE kind = 'observer'")
    assert len(cycles) >= 3
    assert set(cycles) == {("succeeded",)}
    assert len(str(api.of("chat")[-1].body)) < len(str(api.of("chat")[5].body)) * 4


def test_private_talk_leaves_nothing(
    api: FakeApi, pipe: Pipe, capfd: pytest.CaptureFixture[str]
) -> None:
    """In private lines are answered, and no word of them reaches the file."""
    assert pipe.run("Zanzibar is my password\nsay it again\n", private=True) == 0
    assert capfd.readouterr().out.count("You said") == 2
    assert "Zanzibar" in str(api.of("chat")[1].body)
    assert pipe.rows("SELECT count(*) FROM messages") == [(0,)]
    assert pipe.rows("SELECT count(*) FROM conversations") == [(0,)]
    assert b"Zanzibar" not in b"".join(
        f.read_bytes() for f in pipe.settings.db.parent.glob("construct.db*")
    )


def test_goes_on_where_it_is_told(api: FakeApi, pipe: Pipe) -> None:
    """Without a word the latest conversation goes on; with --new another begins.

    An id leads back.
    """
    pipe.run("one\n")
    pipe.run("two\n")
    pipe.run("three\n", new=True)
    pipe.run("four\n", conversation=1)
    said = pipe.rows(
        "SELECT conversation_id, content FROM messages WHERE role = 'user' ORDER BY id"
    )
    assert said == [(1, "one"), (1, "two"), (2, "three"), (1, "four")]
    with pytest.raises(NotFoundError):
        pipe.run("", conversation=9)
    with pytest.raises(UsageError):
        pipe.run("", conversation=1, new=True)


def test_without_a_model(pipe: Pipe) -> None:
    """Where no model is configured nothing is read, and no database is made."""
    pipe.settings = replace(pipe.settings, api_key=None, base_url=None, provider="anthropic")
    with pytest.raises(NotConfiguredError):
        pipe.run("hello\n")
    assert not pipe.settings.db.exists()


def test_bytes_that_are_no_text(
    api: FakeApi, pipe: Pipe, capfd: pytest.CaptureFixture[str]
) -> None:
    """A line that is not UTF-8 is refused with its reason, and the next is answered.

    A reply's escape sequences are not printed.
    """
    api.enqueue("chat", "a\x1b[31mb\x1b]0;t\x07c")
    assert pipe.run(b"\xef\xbb\xbf\ncaf\xe9\ntea\n") == 1
    out, error = capfd.readouterr()
    assert out == "abc\n"
    assert error.startswith("Line 2 of standard input is not UTF-8 text (byte 0xe9")
    assert pipe.rows("SELECT content FROM messages WHERE role = 'user'") == [("tea",)]


def test_ctrl_c_ends_it(api: FakeApi, settings: Settings) -> None:
    """An interrupt ends the chat with 130, without a traceback.

    What has arrived is kept.
    """
    api.enqueue("chat", Reply("slow " * 200, chunk_delay=0.05, chunk_size=5))
    env = {
        "PATH": os.environ["PATH"],
        "CONSTRUCT_DB": str(settings.db),
        "XDG_CONFIG_HOME": str(settings.config_dir),
    }
    with subprocess.Popen(
        python(CODE),
        env=env | api.env(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"talk\n")
        process.stdin.flush()
        assert process.stdout.read(4) == b"slow"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=10)
    assert (process.returncode, err) == (130, b"")
    with closing(sqlite3.connect(settings.db)) as db:
        assert db.execute("SELECT status FROM messages WHERE role = 'assistant'").fetchall() == [
            ("interrupted",)
        ]


def test_ctrl_c_while_another_program_holds_the_file(api: FakeApi, settings: Settings) -> None:
    """An interrupt does not wait for a thread that waits for the file.

    It prints no traceback.
    """
    env = {
        "PATH": os.environ["PATH"],
        "CONSTRUCT_DB": str(settings.db),
        "XDG_CONFIG_HOME": str(settings.config_dir),
    }
    with subprocess.Popen(
        [sys.executable, "-m", "construct"],
        env=env | api.env(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"hello\n")
        process.stdin.flush()
        assert process.stdout.readline()
        with closing(sqlite3.connect(settings.db, isolation_level=None)) as db:
            db.execute("BEGIN IMMEDIATE")
            process.stdin.write(b"hello again\n")
            process.stdin.flush()
            for _ in range(40):
                with suppress(subprocess.TimeoutExpired):
                    process.wait(0.25)
                    break
                process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=10)
    assert (process.returncode, err) == (130, b"")


async def test_lines_of_any_length_and_in_pieces() -> None:
    """Lines are given as soon as they are whole, however their bytes are cut."""
    reading, writing = os.pipe()
    lines = TypedLines(reading)
    os.write(writing, "é".encode()[:1])
    os.write(writing, "é".encode()[1:] + b"a\nb")
    assert await anext(lines) == "éa".encode()
    os.write(writing, b"c\r\n" + b"x" * 70)
    assert await anext(lines) == b"bc"
    os.close(writing)
    assert await anext(lines) == b"x" * 70
    with pytest.raises(StopAsyncIteration):
        await anext(lines)
    os.close(reading)


async def test_what_cannot_be_read_ends_the_lines(tmp_path: Path) -> None:
    """Such as a folder, or a terminal that is gone."""
    reading = os.open(tmp_path, os.O_RDONLY)
    assert [line async for line in TypedLines(reading)] == []
    os.close(reading)


async def test_reading_does_not_run_away() -> None:
    """No more than a few lines are read before they are wanted."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    lines = TypedLines(reading)
    os.write(writing, b"x\n")
    await anext(lines)
    written = 0
    for _ in range(200):
        try:
            written += os.write(writing, b"0123456789\n" * 2000)
        except BlockingIOError:
            await asyncio.sleep(0.005)
    assert written < 400_000
    os.close(writing)
    async for _ in lines:
        pass
    os.close(reading)

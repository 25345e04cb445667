"""What a process that is killed, or that shares its file with others, leaves behind."""

import random
import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from construct.store.database import open_database
from construct.store.invariants import index_violations, violations
from tests.support.fake_api import FakeApi, faults
from tests.support.program import Program
from tests.support.talks import LOW, facts


@pytest.fixture
def program(tmp_path: Path, api: FakeApi) -> Program:
    """The program with low thresholds and the fake as its server."""
    return Program(tmp_path, {**api.env(), **LOW})


def sound(program: Program) -> None:
    """Assert that no cycle is left running, and that invariants and indexes hold."""
    assert program.run("status", "--json").returncode == 0
    with closing(open_database(program.db)) as db:
        assert db.execute("SELECT count(*) FROM cycles WHERE status = 'running'").fetchone() == (0,)
        assert violations(db) == []
        assert index_violations(db) == []


def reached_the_model(api: FakeApi) -> set[str]:
    """Return the user's words that were in a request."""
    texts: set[str] = set()
    for request in api.of("chat"):
        texts.update(text for text in request.texts if text.startswith("My locker"))
    return texts


def stored_words(program: Program) -> set[str]:
    """Return the user's words that are in the database."""
    with closing(sqlite3.connect(program.db)) as db:
        return {row[0] for row in db.execute("SELECT content FROM messages WHERE role = 'user'")}


def test_killed_at_any_moment_nothing_that_was_sent_is_missing(program: Program, api: FakeApi) -> None:
    """SIGKILL at random moments of `ask` with slow worker calls loses no message that reached the model."""
    chance = random.Random(11)
    api.fail("observer", faults.hang(0.6), times=5)
    for text in facts(5):
        with program.start("ask", text) as process:
            assert process.stdin is not None
            process.stdin.close()
            before = len(api.requests)
            deadline = time.monotonic() + 20
            while len(api.requests) == before and process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.01)
            time.sleep(chance.uniform(0, 0.5))
            process.kill()
    api.heal()
    sound(program)
    assert reached_the_model(api) <= stored_words(program)
    assert program.run("compact").returncode == 0
    sound(program)
    assert program.json("status")["messages"]["unobserved"] == 0


def test_several_processes_on_one_file_lose_nothing(program: Program, api: FakeApi) -> None:
    """Two piped chats and a loop of `ask` at the same time store every message, and show no lock error."""
    done = {}

    def chat(number: int) -> None:
        lines = "\n".join(facts(6, start=100 * number)) + "\n"
        done[number] = program.process("chat", "--new", stdin=lines)

    chats = [threading.Thread(target=chat, args=(number,)) for number in (1, 2)]
    for thread in chats:
        thread.start()
    asked = [program.process("ask", text) for text in facts(4)]
    for thread in chats:
        thread.join()
    for result in [*asked, *done.values()]:
        assert (result.returncode, result.stderr) == (0, "")
    expected = {*facts(4), *facts(6, start=100), *facts(6, start=200)}
    assert expected <= stored_words(program)
    with closing(sqlite3.connect(program.db)) as db:
        assert db.execute("SELECT count(*) FROM messages WHERE role = 'assistant'").fetchone() == (16,)
    sound(program)

"""What a process that is killed, or that shares its file with others, leaves behind."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from construct.store.database import open_database
from construct.store.invariants import index_violations, violations
from tests.support.fake_api import FakeApi, Reply, faults
from tests.support.fake_types import Purpose
from tests.support.program import Done, Program
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
        texts.update(line for line in request.texts.splitlines() if line.startswith("My locker"))
    return texts


def stored_words(program: Program) -> set[str]:
    """Return the user's words that are in the database."""
    with closing(sqlite3.connect(program.db)) as db:
        return {row[0] for row in db.execute("SELECT content FROM messages WHERE role = 'user'")}


def test_killed_whenever_nothing_that_was_sent_is_missing(program: Program, api: FakeApi) -> None:
    """`ask`, killed during its reply or its memory work, loses no sent message.

    The earlier messages make memory work due.
    """
    said = facts(12)
    for text in said[:-2]:
        program.run("ask", "--no-wait", text)
    moments: tuple[Purpose, ...] = ("chat", "observer")
    for text, purpose in zip(said[-2:], moments, strict=True):
        api.chat = lambda _: Reply("I shall remember it, word for word.", chunk_delay=0.05)
        api.fail("observer", faults.hang(10))
        with program.start("ask", text) as process:
            assert process.stdin is not None
            process.stdin.close()
            api.wait_for(len(api.of(purpose)) + 1, purpose, timeout=30)
            process.kill()
        api.heal()
    assert reached_the_model(api) == set(said)
    sound(program)
    assert stored_words(program) == set(said)
    assert program.run("compact").returncode == 0
    sound(program)
    assert program.json("status")["messages"]["unobserved"] == 0


def test_several_processes_on_one_file_lose_nothing(program: Program, api: FakeApi) -> None:
    """Concurrent chats and `ask` calls store every message.

    They show no lock error.
    """
    api.chat = lambda _: Reply("So be it.", delay=0.05)
    with program.start("chat", "--new") as first, program.start("chat", "--new") as second:
        for number, process in ((1, first), (2, second)):
            assert process.stdin is not None
            process.stdin.write("".join(f"{text}\n" for text in facts(6, start=100 * number)))
            process.stdin.close()
        api.wait_for(2, timeout=30)
        asked = [program.run("ask", text) for text in facts(4)]
        done = [
            Done(process.wait(60), "", process.stderr.read())
            for process in (first, second)
            if process.stderr
        ]
    assert {(result.returncode, result.stderr) for result in [*asked, *done]} == {(0, "")}
    assert len(done) == 2
    expected = {*facts(4), *facts(6, start=100), *facts(6, start=200)}
    assert expected <= stored_words(program)
    with closing(sqlite3.connect(program.db)) as db:
        assert db.execute("SELECT count(*) FROM messages WHERE role = 'assistant'").fetchone() == (
            16,
        )
    sound(program)

"""Long work that is interrupted says where it stands and goes on later.

Until it is complete, search says that it may miss something.
"""

import json
import os
import signal

import pytest

from construct.cli import progress
from construct.store import search_index
from tests.support.fake_api import FakeApi, faults
from tests.support.program import Done, Program

TALK = "".join(
    json.dumps(
        {
            "type": "message",
            "conversation": "Rowing",
            "role": "user",
            "content": f"We rowed {n} miles",
            "created_at": "2026-03-01",
        }
    )
    + "\n"
    for n in range(5)
)


@pytest.fixture
def half(program: Program, monkeypatch: pytest.MonkeyPatch) -> Program:
    """A program with five imported messages, one of them in the search index."""
    (program.folder / "talk.jsonl").write_text(TALK)
    monkeypatch.setattr(search_index, "_BATCH_MESSAGES", 1)
    monkeypatch.setattr(search_index, "_PAUSE_SECONDS", 0)
    with monkeypatch.context() as patch:
        patch.setattr(search_index, "make_some", lambda db: 0)
        assert program.run("import", "talk.jsonl").returncode == 0
    return program


def found(program: Program) -> Done:
    """Search for a word of all five."""
    return program.run("memory", "search", "rowed")


def test_an_import_that_is_told_to_stop(program: Program) -> None:
    """It says what came of it, and exits as a shell says it of a signal.

    That is true as well where an import before brought all of the file: who is stopped
    while reading cannot know it.
    """
    os.mkfifo(program.folder / "pipe")
    with program.start("import", "pipe") as process, (program.folder / "pipe").open("w") as pipe:
        pipe.write(TALK)
        pipe.flush()
        process.terminate()
        _, err = process.communicate(timeout=20)
    assert (process.returncode, err) == (
        143,
        "Stopped. Nothing was added. Run the same command again.\n",
    )
    assert program.json("conversations", "list") == []


def test_observing_whose_terminal_is_closed(program: Program, api: FakeApi) -> None:
    """It says what to do, and leaves no cycle behind."""
    (program.folder / "talk.jsonl").write_text(TALK)
    program.run("import", "talk.jsonl")
    api.fail("observer", faults.hang(20))
    done = program.signalled(signal.SIGHUP, lambda _: api.of("observer"), "observe", "--yes")
    assert done.returncode == 129
    assert done.stderr.splitlines()[-1].startswith("Stopped. What was observed is kept")
    assert program.json("observe", "--yes")["messages_left"] == 0


def test_an_export_whose_terminal_is_closed(program: Program) -> None:
    """It leaves no copy of what was said."""
    (program.folder / "talk.jsonl").write_text(TALK * 2_000)
    program.run("import", "talk.jsonl")

    def is_writing(_: str) -> bool:
        return any(program.folder.glob(".construct-*"))

    done = program.signalled(signal.SIGHUP, is_writing, "export", "-o", "all.jsonl")
    assert (done.returncode, done.stderr) == (129, "Stopped. No file was written.\n")
    assert not [*program.folder.glob(".construct-*"), *program.folder.glob("all.jsonl")]


def test_search_says_what_is_not_in_the_index_yet(
    half: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What cannot be entered in a moment is counted on standard error.

    `reindex` enters it.
    """
    monkeypatch.setattr(progress, "_INDEX_SECONDS", 0)
    done = found(half)
    assert done.returncode == 0
    assert "We rowed 0 miles" in done.stdout
    assert "We rowed 4 miles" not in done.stdout
    assert done.stderr.startswith("Not searched yet: 4 imported messages")
    assert half.run("reindex").stdout == "Added 4 messages to the search index; it is complete.\n"
    assert (len(found(half).stdout.splitlines()), found(half).stderr) == (5, "")


def test_search_enters_what_takes_a_moment(half: Program) -> None:
    """A few messages are in the index before anybody notices."""
    done = found(half)
    assert (len(done.stdout.splitlines()), done.stderr) == (5, "")


def test_who_needs_the_whole_index_says_what_it_waits_for(
    half: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`doctor` enters all first, with a line where there is no bar to see."""
    monkeypatch.setattr(progress, "_INDEX_SECONDS", 0)
    assert "imported messages to the search index first." in half.run("doctor").stderr
    assert half.run("doctor").stderr == ""


@pytest.mark.parametrize("memory", ["read-only", "off"])
def test_ask_goes_on_where_nothing_is_learned(half: Program, memory: str) -> None:
    """The index is no memory: it is completed in every mode."""
    assert half.run("ask", "Hello", more={"CONSTRUCT_MEMORY": memory}).returncode == 0
    assert half.run("reindex").returncode == 3  # nothing left to enter

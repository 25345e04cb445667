"""`construct observe`: learning from imported talk, with its price said first."""

import json
import re
from pathlib import Path

import pytest

from tests.support.fake_api import FakeApi, faults
from tests.support.program import Program

REPLY = """Thank you for telling me. Whoever comes to a new place finds other streets, another light at dawn, shops
that open late and close early, and neighbours who want to know everything; give it a summer before you judge. If you
like, tell me what you miss, which rooms you use most, when you work, and where the noise comes from, and we will see
what can be moved, bought, lent or left as it is."""


@pytest.fixture
def past(program: Program) -> Program:
    """Return a program into which two old talks were imported."""
    lines = [
        {
            "type": "message",
            "conversation": title,
            "role": role,
            "content": f"{content} in the spring, said {turn} times by {role}s" if role == "user" else REPLY,
            "created_at": f"{year}-03-{turn + 1:02}T10:00:00+00:00",
        }
        for title, year, content in (("A move", 2024, "I moved to Porto"), ("A cat", 2025, "My cat is called Miro"))
        for turn in range(3)
        for role in ("user", "assistant")
    ]
    (program.folder / "past.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert program.run("import", "past.jsonl").returncode == 0
    return program


def sources(program: Program) -> set[str]:
    """Return the years of the messages that observations rest on."""
    kept = program.json("memory", "list")
    whys = [program.json("memory", "why", str(o["id"])) for o in kept if o["kind"] == "observation"]
    return {m["created_at"][:4] for why in whys for m in why["messages"]}


def test_imported_talk_is_learned(past: Program, api: FakeApi) -> None:
    """It says how much there is and what it may cost, then observes all of it; a second time nothing is left."""
    done = past.run("observe", "--yes")
    assert done.returncode == 0
    assert "12 imported messages in 2 conversations, about " in done.stderr
    assert re.search(r"for about \$0\.00\d*[1-9]", done.stderr)
    assert done.stdout.startswith("Observed 12 messages: ")
    assert len(api.of("observer")) == 2
    assert sources(past) == {"2024", "2025"}
    assert past.json("doctor")["ok"] is True
    assert past.run("observe", "--yes").stdout == "Nothing imported is left to observe.\n"


def test_only_what_was_said_since_then(past: Program) -> None:
    """With `--since` older talk stays archived, and can be learned later."""
    assert past.json("observe", "--since", "2025-01-01", "--yes")["messages"] == 6
    assert sources(past) == {"2025"}
    assert past.json("observe", "--yes")["messages"] == 6
    assert past.json("doctor")["ok"] is True


def test_it_stops_at_its_budget_and_goes_on_later(past: Program) -> None:
    """What is spent ends it between two batches; what is left is said."""
    first = past.run("observe", "--budget", "0.0001", "--yes")
    assert first.returncode == 0
    assert "Left: 6 messages" in first.stdout
    assert past.json("observe", "--budget", "1", "--yes")["messages_left"] == 0


def test_a_worker_that_fails_ends_it(past: Program, api: FakeApi) -> None:
    """With a worker model out of reach, a whole past is not read by rule instead."""
    api.fail("observer", faults.http(401), times=None)
    done = past.json("observe", "--yes")
    assert (done["messages"], done["messages_left"]) == (6, 6)
    assert "the worker model failed" in done["stopped"]


def test_it_asks_first(past: Program, api: FakeApi) -> None:
    """Where nobody can answer, nothing is observed without `--yes`."""
    done = past.run("observe")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--yes" in done.stderr
    assert not api.of("observer")


def test_a_talk_that_went_on_is_observed_whole(past: Program, api: FakeApi, tmp_path: Path) -> None:
    """Imported turns below newer ones are observed in their order, and each once."""
    past.run("ask", "--conversation", "1", "What was that again?", "--no-wait")
    assert past.json("observe", "--yes")["messages"] == 12
    assert past.json("doctor")["ok"] is True
    assert past.json("status")["messages"]["unobserved"] == 0


def test_undone_it_is_not_learned_again_by_itself(past: Program) -> None:
    """`undo` takes a batch back; the next start leaves it alone."""
    past.run("observe", "--since", "2025-01-01", "--yes")
    while past.json("undo")["cycle"]["kind"] != "observer":
        pass
    past.run("ask", "--new", "Hello")
    assert sources(past) == set()
    assert past.json("doctor")["ok"] is True

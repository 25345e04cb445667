"""`construct observe`: learning from imported talk, with its price said first."""

import json
import re
import sys
from contextlib import closing
from pathlib import Path

import pytest

from construct.cli.progress import progress_bar
from construct.store import cycles
from construct.store.backlog import count_unobserved
from construct.store.conversations import note_request
from construct.store.database import open_database
from construct.store.messages import NewMessage, add_message, messages_of, prompt_history
from tests.support.emulator import Emulator
from tests.support.fake_api import FakeApi, adversarial, faults
from tests.support.fake_types import Answer, Json
from tests.support.program import Program

REPLY = """Thank you for telling me. Whoever comes to a new place finds other streets, another
light at dawn, shops that open late and close early, and neighbours who want to know everything;
give it a summer before you judge. If you like, tell me what you miss, which rooms you use most,
when you work, and where the noise comes from, and we will see what can be moved, bought, lent or
left as it is."""


@pytest.fixture
def past(program: Program) -> Program:
    """Return a program into which two old talks were imported."""
    lines = [
        {
            "type": "message",
            "conversation": title,
            "role": role,
            "content": f"{content} in the spring, said {turn} times by {role}s"
            if role == "user"
            else REPLY,
            "created_at": f"{year}-03-{turn + 1:02}T10:00:00+00:00",
        }
        for title, year, content in (
            ("A move", 2024, "I moved to Porto"),
            ("A cat", 2025, "My cat is called Miro"),
        )
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
    """It says how much there is and what it may cost, then observes all of it.

    A second time nothing is left.
    """
    done = past.run("observe", "--yes")
    assert done.returncode == 0
    assert "12 imported messages in 2 conversations, about " in done.stderr
    assert re.search(r"for about \$0\.0\d*[1-9]", done.stderr)
    assert done.stdout.startswith("Observed 12 messages: ")
    assert len(api.of("observer")) == 2
    assert sources(past) == {"2024", "2025"}
    assert past.json("doctor")["ok"] is True
    assert past.run("observe", "--yes").stdout == "Nothing imported is left to observe.\n"


def test_what_is_taken_back_can_be_learned_again(past: Program) -> None:
    """Undoing says how, also after the user has talked on in an imported conversation."""
    assert past.run("ask", "--conversation", "2", "I like it there.").returncode == 0
    past.run("observe", "--yes")
    past.run("undo", "--yes")
    said = past.run("undo", "--yes").stdout
    assert "Those messages were imported: `construct observe` reads them again." in said
    assert past.run("observe", "--yes").stdout.startswith("Observed 6 messages: ")


def test_an_unknown_price_is_not_told_as_nothing(past: Program) -> None:
    """Nothing is said of the cost of a model whose price is unknown."""
    done = past.run("observe", "--yes", more={"MEMORY_WORKER_MODEL": "claude-new-9"})
    assert done.stderr.count("the cost is unknown") == 1
    assert re.match(r"Observed 12 messages: \d+ observations\.\n", done.stdout)


def test_the_bar_is_there_before_the_first_step_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """The progress bar shows before the first step is done.

    A call of a local model may take a minute.
    """
    screen = Emulator()
    monkeypatch.setattr(sys, "stderr", screen)
    with progress_bar() as advance:
        advance("Observing", 0, 6)
        assert "Observing" in screen.text
    assert screen.text == ""


def test_only_what_was_said_since_then(past: Program) -> None:
    """With `--since` older talk stays archived, and can be learned later.

    A talk that went on is learned whole.
    """
    assert past.json("observe", "--since", "2025-03-02", "--yes")["messages"] == 6
    assert sources(past) == {"2025"}
    later = past.run("observe", "--since", "2025-03-02", "--yes").stdout
    assert later == (
        "No imported conversation with messages since 2025-03-02 is left to observe.\n"
    )
    assert past.json("observe", "--yes")["messages"] == 6
    assert past.json("doctor")["ok"] is True


def test_it_stops_at_its_budget_and_goes_on_later(past: Program) -> None:
    """What is spent ends it between two batches; what is left is said."""
    first = past.run("observe", "--budget", "0.0001", "--yes")
    assert first.returncode == 0
    assert "`construct observe`: 6 messages" in first.stdout
    assert past.json("observe", "--budget", "1", "--yes")["messages_left"] == 0


def test_the_last_batch_may_use_up_the_budget(past: Program) -> None:
    """Nothing stopped if nothing is left."""
    assert past.json("observe", "--budget", "0.0001", "--yes")["messages_left"] == 6
    done = past.json("observe", "--budget", "0.0001", "--yes")
    assert (done["messages_left"], done["stopped"]) == (0, None)


def test_a_budget_needs_a_price(past: Program) -> None:
    """What a model costs must be known to stop in time."""
    done = past.run("observe", "--budget", "1", "--yes", more={"MEMORY_WORKER_MODEL": "gpt-x"})
    assert done.returncode == 2
    assert done.stderr == (
        "The price of gpt-x is unknown, so --budget cannot be kept.\nLeave --budget out.\n"
    )


def test_a_worker_that_fails_ends_it(past: Program, api: FakeApi) -> None:
    """With a worker model out of reach, a whole past is not read by rule instead."""
    api.fail("observer", faults.http(401), times=None)
    done = past.json("observe", "--yes")
    assert (done["messages"], done["messages_left"]) == (6, 6)
    assert "the worker model failed" in done["stopped"]


def test_unusable_answers_do_not_end_it(past: Program, api: FakeApi) -> None:
    """Fixed rules read that batch, and the next one is given to the model again."""
    api.enqueue("observer", *[adversarial.prose] * 4)
    done = past.json("observe", "--yes")
    assert (done["messages"], done["messages_left"], done["stopped"]) == (12, 0, None)


def test_it_asks_first(past: Program, api: FakeApi) -> None:
    """Where nobody can answer, nothing is observed without `--yes`."""
    done = past.run("observe")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--yes" in done.stderr
    assert not api.of("observer")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--last", "3"], "--last needs --dry-run or --again."),
        (["--dry-run", "--budget", "0"], "--budget cannot be used with --dry-run."),
    ],
)
def test_options_that_do_not_go_together(
    past: Program, api: FakeApi, options: list[str], words: str
) -> None:
    """They are refused before anything is sent."""
    done = past.run("observe", *options)
    assert (done.returncode, done.stderr) == (2, f"{words}\n")
    assert not api.of("observer")


def test_a_talk_that_went_on_is_observed_whole(past: Program, api: FakeApi, tmp_path: Path) -> None:
    """Imported turns below newer ones are observed in their order, and each once.

    The newer ones are observed when that is due.
    """
    past.run("ask", "--conversation", "1", "What was that again?", "--no-wait")
    assert past.json("observe", "--yes")["messages"] == 12
    assert past.json("doctor")["ok"] is True
    assert past.json("status")["messages"]["unobserved"] == 2


def test_what_another_machine_has_observed_is_not_read_again(
    past: Program, api: FakeApi, tmp_path: Path
) -> None:
    """It went on there and here; there, the last words from here were imported ones."""
    other = Program(tmp_path / "other", past.env)
    other.folder.mkdir()
    past.run("ask", "--conversation", "1", "Let us go on", "--no-wait")
    past.run("export", "-o", str(tmp_path / "here.jsonl"))
    other.run("import", str(tmp_path / "here.jsonl"))
    other.run("ask", "--conversation", "1", "And on", "--no-wait")
    other.run("observe", "--yes")
    other.run("compact")
    other.run("export", "-o", str(tmp_path / "there.jsonl"))
    assert past.run("import", str(tmp_path / "there.jsonl")).returncode == 0
    assert past.run("observe", "--yes").stdout == "Nothing imported is left to observe.\n"
    assert past.json("doctor")["ok"] is True


@pytest.fixture
def long(program: Program) -> Program:
    """Return a program with an imported talk of three batches."""
    lines = [
        {
            "type": "message",
            "conversation": "A long one",
            "role": "user",
            "content": f"I lived in house number {turn}. " + REPLY * 120,
            "created_at": f"2024-03-0{turn}T10:00:00+00:00",
        }
        for turn in (1, 2, 3)
    ]
    (program.folder / "past.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert program.run("import", "past.jsonl").returncode == 0
    return program


def test_a_talk_that_goes_on_meanwhile_is_observed_whole(long: Program, api: FakeApi) -> None:
    """What is said between two batches does not cut off what is still archived."""

    def observer(body: Json) -> Answer:
        if len(api.of("observer")) == 1:
            with closing(open_database(long.db)) as db:
                add_message(
                    db, 1, NewMessage("user", "Where was that?"), "2026-03-10T12:00:00+00:00"
                )
                note_request(db, 1, "2026-03-10T12:00:00+00:00", "5m")
        return observed(body)

    observed, api.observer = api.observer, observer
    done = long.json("observe", "--yes")
    assert (done["messages"], done["messages_left"]) == (3, 0)
    with closing(open_database(long.db)) as db:
        assert count_unobserved(db, 1) == 0
        assert [m.archived for m in messages_of(db, 1)] == [0, 0, 1, 0]
    assert long.json("doctor")["ok"] is True


@pytest.mark.parametrize("goes_on", [False, True])
def test_what_the_budget_does_not_pay_for_is_left(
    long: Program, api: FakeApi, goes_on: bool
) -> None:
    """It waits for the next call, which reads it with a model too."""
    if goes_on:
        long.run("ask", "--conversation", "1", "And then?", "--no-wait")
    done = long.json("observe", "--budget", "0.0001", "--yes")
    assert (done["messages"], done["messages_left"]) == (1, 2)
    assert done["stopped"].startswith("the budget is spent. Run the same command again")
    assert long.json("observe", "--yes")["messages"] == 2
    assert len(api.of("observer")) == 3


def test_what_another_process_observes_is_left_to_it(past: Program, api: FakeApi) -> None:
    """Nothing is counted as observed that is not."""
    with closing(open_database(past.db)) as db:
        cycles.start_cycle(db, "observer", 2, "2026-03-10T12:00:00+00:00", span=(7, 12))
    done = past.json("observe", "--yes")
    assert (done["messages"], done["messages_left"]) == (0, 12)
    assert "conversation 2 is being observed" in done["stopped"]
    assert not api.of("observer")


def test_a_batch_that_was_stopped_is_taken_up_by_the_next_call(past: Program) -> None:
    """Messages revived before a kill are still counted and observed, however few."""
    with closing(open_database(past.db)) as db:
        db.execute("UPDATE messages SET archived = 0 WHERE conversation_id = 1 OR id % 2")
    done = past.run("observe", "--yes")
    assert "12 imported messages in 2 conversations" in done.stderr
    assert done.stdout.startswith("Observed 12 messages: ")
    assert past.run("observe", "--yes").stdout == "Nothing imported is left to observe.\n"
    assert past.json("doctor")["ok"] is True


def test_undone_it_is_not_learned_again_by_itself(past: Program) -> None:
    """`undo` takes a batch back; the next start leaves it alone."""
    past.run("observe", "--since", "2025-01-01", "--yes")
    while past.json("undo")["cycle"]["kind"] != "observer":
        pass
    past.run("ask", "--new", "Hello")
    assert sources(past) == set()
    assert past.json("doctor")["ok"] is True


def test_it_is_nobodys_present_talk(past: Program) -> None:
    """The observed talk stays in the past: the next message begins a new one."""
    past.run("observe", "--yes")
    assert past.json("status")["conversation"] is None
    assert past.json("ask", "Hello")["conversation"] == 3
    with closing(open_database(past.db)) as db:
        assert prompt_history(db) == ["Hello"]

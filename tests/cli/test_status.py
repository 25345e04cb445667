"""`construct status`, `usage`, `doctor`, and how the program is asked for help."""

import json
import sqlite3
import sys
import time
from contextlib import closing

import pytest

from tests.memory.builders import Life
from tests.support.emulator import PseudoTerminal
from tests.support.fake_api import FakeApi, faults
from tests.support.program import Program

MEMORY = ["list", "search", "show", "why", "forget", "edit", "pin", "diff", "add", "timeline"]
CONVERSATIONS = ["list", "show", "rename", "fork", "delete"]
COMMANDS = [
    "chat",
    "ask",
    "status",
    "compact",
    "undo",
    "export",
    "import",
    "usage",
    "doctor",
    "memory",
    "conversations",
]


def test_no_call_costs_nothing(program: Program) -> None:
    """A cost is null only where a price is not known."""
    assert program.json("usage")["total"]["cost_usd"] == 0


def test_an_empty_memory_has_the_shape_of_the_contract(program: Program) -> None:
    """Every key is there, all figures are zero, every id null.

    Thresholds are the defaults.
    """
    nothing = {"count": 0, "tokens": 0}
    assert program.json("status") == {
        "conversation": None,
        "mode": "passive",
        "phase": "idle",
        "provider": "anthropic",
        "in_flight": [],
        "messages": {
            "total": 0,
            "unobserved": 0,
            "unobserved_tokens": 0,
            "window": 0,
            "window_tokens": 0,
        },
        "observations": {"committed": nothing, "pending": nothing, "superseded": {"count": 0}},
        "reflections": nothing,
        "shelved": {"count": 0},
        "waiting": 0,
        "stand_ins": 0,
        "generations": {},
        "watermarks": {"observed": None, "compacted": None, "window": None},
        "progress": {
            "observation": {"tokens": 0, "threshold": 3000, "ratio": 0},
            "compaction": {"tokens": 0, "threshold": 6000, "ratio": 0},
            "reflection": {"tokens": 0, "threshold": 4000, "ratio": 0},
        },
    }


def test_the_figures_are_those_of_the_database(program: Program, life: Life) -> None:
    """Committed means active, reflections included; generations count the same.

    Ids of messages are plain numbers.
    """
    here = life.talk()
    one, two = (
        life.learn(here, "I live in Lisbon near the river"),
        life.learn(here, "My flat has two rooms"),
    )
    life.learn(here, "I cycle")
    (both,) = life.reflect(("I live in Lisbon near the river in a flat with two rooms", [one, two]))
    last = life.exchange(here, "I bought a tandem")
    (pending,) = life.observe(here, ("I bought a tandem", [last]))
    life.exchange(here, "Good night")
    figures = program.json("status")
    committed = life.read(both).token_count + 0
    assert figures["conversation"] == here
    assert figures["observations"]["committed"]["count"] == 2
    assert figures["observations"]["pending"] == {"count": 1, "tokens": pending.token_count}
    assert figures["observations"]["superseded"] == {"count": 2}
    assert figures["reflections"] == {"count": 1, "tokens": committed}
    assert figures["generations"] == {"0": 1, "1": 1}
    assert figures["watermarks"] == {"observed": 8, "compacted": 6, "window": 6}
    assert (
        figures["messages"]["total"],
        figures["messages"]["unobserved"],
        figures["messages"]["window"],
    ) == (
        10,
        2,
        4,
    )
    progress = figures["progress"]
    assert progress["observation"]["tokens"] == figures["messages"]["unobserved_tokens"] > 0
    assert progress["compaction"]["tokens"] == figures["messages"]["window_tokens"]
    assert progress["reflection"]["tokens"] == figures["observations"]["committed"]["tokens"]
    for part in progress.values():
        assert part["ratio"] == pytest.approx(part["tokens"] / part["threshold"], abs=1e-3)


@pytest.mark.parametrize("mode", ["read-only", "off"])
def test_the_mode_is_the_setting_when_nothing_is_learned(
    program: Program, api: FakeApi, mode: str
) -> None:
    """With CONSTRUCT_MEMORY read-only or off no message is observed."""
    more = {"CONSTRUCT_MEMORY": mode, "CONSTRUCT_OBSERVER_THRESHOLD": "5"}
    assert program.run("ask", "My locker has the code 1234.", more=more).returncode == 0
    assert not api.of("observer")
    figures = program.json("status", more=more)
    assert (figures["mode"], figures["messages"]["unobserved"]) == (mode, 2)


def test_memory_is_shown_when_it_is_read_only_and_not_when_it_is_off(
    program: Program, life: Life, api: FakeApi
) -> None:
    """What was learned goes to the model with `read-only`, and does not with `off`."""
    life.learn(life.talk(), "My cat is called Quixote")
    for mode, shown in (("read-only", True), ("off", False)):
        program.run("ask", "--new", "Good morning.", more={"CONSTRUCT_MEMORY": mode})
        assert ("Quixote" in str(api.of("chat")[-1].body)) is shown


def test_the_mode_is_active_while_a_chat_is_open(program: Program) -> None:
    """Also when the chat is another process; passive again when it has ended."""
    with program.start("chat") as chat:
        assert chat.stdin is not None
        deadline = time.monotonic() + 30
        while program.json("status")["mode"] != "active" and time.monotonic() < deadline:
            time.sleep(0.1)
        assert program.json("status")["mode"] == "active"
        chat.stdin.close()
        assert chat.wait(20) == 0
    assert program.json("status")["mode"] == "passive"


def test_the_panel_in_words(program: Program, life: Life) -> None:
    """The panel is plain text and names the command to run next.

    Where nobody can watch, it is printed once.
    """
    life.observe(
        (here := life.talk()), ("I bought a tandem", [life.exchange(here, "I bought a tandem")])
    )
    program.run("undo")
    shown = program.run("status")
    assert "next observation" in shown.stdout
    words = " ".join(shown.stdout.split())
    assert (
        "will be read again after 3,000 more tokens of talk, or when you run `construct compact`."
        in words
    )
    assert program.run("status", "--watch").stdout == shown.stdout
    assert program.run("status", "--watch", "--json").returncode == 2


def test_the_panel_of_no_talk_counts_no_messages(program: Program) -> None:
    """With imported messages only, the panel says how to have them observed."""
    line = {
        "type": "message",
        "conversation": "Trip",
        "role": "user",
        "content": "I moved to Porto.",
    }
    file = program.folder / "talk.jsonl"
    file.write_text(json.dumps(line | {"created_at": "2026-03-01T14:30:00+01:00"}), "utf-8")
    program.run("import", str(file))
    shown = program.run("status").stdout
    assert "messages      none in this conversation yet" in shown
    assert "Not observed yet: 1 imported message. `construct observe` learns from" in shown
    assert "construct observe" not in program.run("status", more={"CONSTRUCT_MEMORY": "off"}).stdout


def test_the_panel_is_watched(lived: Program) -> None:
    """On a terminal the panel is redrawn in place until Ctrl-C.

    It is as wide as the terminal, and Ctrl-C is not a failure.
    """
    terminal = PseudoTerminal(
        [sys.executable, "-m", "construct", "status", "--watch"], lived.environment()
    )
    try:
        terminal.see("at most $1.00 a day")
        written = len(terminal.screen.raw)
        terminal.see(lambda screen: len(screen.raw) > written)  # drawn again
        terminal.type("\x03")
        assert terminal.wait() == 0
        assert (
            terminal.screen.text.count("Memory · Bicycles")
            == terminal.screen.text.count("next reflection")
            == 1
        )
    finally:
        terminal.close()


def test_usage_is_by_purpose_and_model(program: Program) -> None:
    """Nothing at first; then a line for each purpose and model, and the sum."""
    assert program.json("usage")["by"] == []
    program.run("ask", "--no-wait", "Hello.")
    usage = program.json("usage")
    assert set(usage) == {"total", "today", "by", "days", "stored_conversations_usd", "instead"}
    (line,) = usage["by"]
    assert (line["purpose"], line["calls"]) == ("chat", 1)
    assert line["cost_usd"] > 0
    assert (
        usage["total"]["output_tokens"]
        == usage["today"]["output_tokens"]
        == line["output_tokens"]
        > 0
    )
    assert [day["date"] for day in usage["days"]] == ["2026-03-10"]
    assert usage["stored_conversations_usd"] == usage["total"]["cost_usd"]
    assert usage["instead"]["full_usd"] == usage["instead"]["recent_usd"] > 0
    shown = program.run("usage").stdout
    for part in (line["model"], "2026-03-10", "whole history"):
        assert part in shown


def test_doctor_finds_all_in_order(lived: Program) -> None:
    """`doctor` prints a finding for each of its checks."""
    more = {"CONSTRUCT_MODLE": "x", "CONSTRUCT_TZ": "UTC", "CONSTRUCT_KEY_COMMAND": "echo hush"}
    found = lived.json("doctor", more=more)
    assert found["ok"] is True
    settings = found["checks"][0]["detail"]
    assert "no such setting: CONSTRUCT_MODLE (did you mean CONSTRUCT_MODEL?)" in settings
    assert "CONSTRUCT_TZ=UTC" in settings
    assert "CONSTRUCT_KEY_COMMAND" in settings
    assert "hush" not in str(found)
    names = [check["name"] for check in found["checks"]]
    assert names == [
        "settings",
        "integrity",
        "invariants",
        "search index",
        "meaning",
        "credentials",
        "model",
    ]
    assert {frozenset(check) for check in found["checks"]} == {frozenset({"name", "ok", "detail"})}


def test_doctor_finds_rules_that_cannot_be_read(program: Program) -> None:
    """Nothing would be remembered until they can be."""
    rules = program.folder / "construct" / "memory-rules.md"
    rules.mkdir(parents=True)
    done = program.run("doctor", more={"XDG_CONFIG_HOME": str(program.folder)})
    assert done.returncode == 1
    assert f"BAD  settings: {rules} is not a file, so nothing is remembered." in done.stdout


def test_doctor_says_what_is_wrong(program: Program, life: Life, api: FakeApi) -> None:
    """Doctor finds a broken invariant, a rejected key and missing credentials.

    Its status is 1.
    """
    here = life.talk()
    life.learn(here, "I cycle")
    api.fail("chat", faults.http(401))
    assert "BAD  model" in program.run("doctor").stdout
    life.db.execute("DELETE FROM observation_messages")
    done = program.run(
        "doctor",
        more={"CONSTRUCT_PROVIDER": "anthropic", "ANTHROPIC_API_KEY": "", "ANTHROPIC_BASE_URL": ""},
    )
    assert done.returncode == 1
    assert "BAD  credentials" in done.stdout
    assert "BAD  invariants" in done.stdout


@pytest.mark.parametrize(
    "command",
    [
        [],
        *[[c] for c in COMMANDS],
        *[["memory", c] for c in MEMORY],
        *[["conversations", c] for c in CONVERSATIONS],
    ],
    ids=" ".join,
)
def test_every_command_has_help(program: Program, command: list[str]) -> None:
    """`-h` and `--help` print the same, exit 0 and make no database."""
    done = program.run(*command, "-h")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"Usage: {' '.join(['construct', *command])} ")
    assert done.stdout == program.run(*command, "--help").stdout
    assert not program.db.exists()


def test_version(program: Program) -> None:
    """`--version` prints it and makes no database."""
    assert program.run("--version").stdout.startswith("construct ")
    assert not program.db.exists()


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        ("bogus", ""), ("--bogus", ""), ("memory bogus", " memory"), ("ask a b", " ask"),
        ("status --bogus", " status"), ("import", " import"), ("chat --conversation", " chat"),
        ("--db", ""),
    ],
)  # fmt: skip
def test_wrong_usage_is_two_lines(program: Program, arguments: str, command: str) -> None:
    """It exits 2, says what is wrong and which command's help to ask."""
    done = program.run(*arguments.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 2
    assert f"`construct{command} --help`" in done.stderr


def test_doctor_finds_what_could_not_be_cleared(program: Program) -> None:
    """Deleted bytes stay while another program reads the file."""
    program.run("ask", "--no-wait", "Hello.")
    with closing(sqlite3.connect(program.db, isolation_level=None)) as reader:
        reader.execute("INSERT INTO meta VALUES ('pruning', 'rewrite')")  # as after a deletion
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM messages").fetchone()
        done = program.run("doctor")
        assert "BAD  deleted: what was deleted is still in the file" in done.stdout
        assert done.returncode == 1
    assert "still in the file" not in program.run("doctor").stdout

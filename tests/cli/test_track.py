"""`track`: a fortnight of talk in a simulated clock, added up as by hand."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.memory.cycles.scripted import observes_only
from tests.support.fake_api import FakeApi, Reply
from tests.support.fake_types import Answer, Json
from tests.support.fake_worker import read_groups, read_transcript, verifier_answer
from tests.support.program import Program

# What is said on each day of two weeks from Monday, 1 June 2026, and the values it has.
FORTNIGHT: list[tuple[str, list[str]]] = [
    ("Espresso at the corner, 1.20 euros. I weigh 71.4 kg.",
     ["coffee spending | 1.20 EUR | 2026-06-01 | M1", "weight | 71.4 kg | 2026-06-01 | M1"]),
    ("A flat white was 3.80 today, Rui's cost 4.10.",
     ["coffee spending | 3.80 EUR | 2026-06-02 | M1"]),
    ("I want to spend at most 20 euros on coffee.", []),
    ("Coffee 1.20, and yesterday I forgot: 2.40.",
     ["coffee spending | 1.20 EUR | 2026-06-04 | M1",
      "coffee spending | 2.40 EUR | 2026-06-03 | M1"]),
    ("Nothing today. How are you?", []),
    ("Two coffees, 2.40 in all. 71.1 kg.",
     ["coffee spending | 2.40 EUR | 2026-06-06 | M1", "weight | 71.1 kg | 2026-06-06 | M1"]),
    ("Sunday: beans for 12.90.", ["coffee spending | 12.90 EUR | 2026-06-07 | M1"]),
    ("An espresso for 1.30, they raised it.", ["coffee spending | 1.30 EUR | 2026-06-08 | M1"]),
    ("Yesterday's was 1.20 after all, not 1.30.",
     ["coffee spending | 1.20 EUR | 2026-06-08 | M1 | replaces {1.3}"]),
    ("71 kg even!", ["weight | 71 kg | 2026-06-10 | M1"]),
    ("Coffee with Ana, 0.10 tip and 3.20 for mine.",
     ["coffee spending | 3.20 EUR | 2026-06-11 | M1",
      "coffee spending | 0.10 EUR | 2026-06-11 | M1"]),
    ("Thanks!", []),
    ("Coffee 1.20 again.", ["coffee spending | 1.20 EUR | 2026-06-13 | M1"]),
    ("No coffee, 70.9 kg.", ["weight | 70.9 kg | 2026-06-14 | M1"]),
]  # fmt: skip
BY_HAND = {
    "coffee spending": (
        [("2026-06-01", 6, 23.9), ("2026-06-08", 4, 5.7)], 29.6,
    ),
    "weight": ([("2026-06-01", 2, 142.5), ("2026-06-08", 2, 141.9)], 284.4),
}  # fmt: skip
RULES = "track: coffee spending in euros\n- **Track:** weight\n"


@pytest.fixture
def tracking(program: Program, tmp_path: Path, api: FakeApi) -> Program:
    """The program with rules that follow two values."""
    observes_only(api)
    rules = tmp_path / "rules.md"
    rules.write_text(RULES)
    program.env |= {"CONSTRUCT_MEMORY_RULES": str(rules), "CONSTRUCT_TZ": "UTC"}
    return program


def values(*lines: str) -> Callable[[Json], Answer]:
    """Return an observer that finds no notes, but these values.

    `{1.3}` stands for the anchor of the known value with this amount.
    """

    def answer(body: Json) -> Answer:
        sent = json.dumps(body).replace("\\n", "\n")
        known = {
            amount: anchor
            for anchor, amount in re.findall(r"^(V\d+) [^|\n]+ \| (\S+)", sent, re.MULTILINE)
        }
        found = [re.sub(r"\{(.+?)\}", lambda match: known[match[1]], line) for line in lines]
        return "\n".join(["<observations>", "</observations>", "<values>", *found, "</values>"])

    return answer


def say(program: Program, api: FakeApi, day: str, text: str, *lines: str) -> None:
    """Say something on a day, and let these values be found in it."""
    api.observer = values(*lines)
    more = {"CONSTRUCT_NOW": f"{day}T18:00:00+00:00"}
    assert program.run("ask", "--no-wait", text, more=more).returncode == 0
    done = program.run("compact", more=more)
    assert done.returncode == 0, done.stderr


def amounts(program: Program, *arguments: str) -> list[float]:
    """Return the amounts that are listed."""
    return [v["amount"] for s in program.json("track", *arguments, "--json") for v in s["values"]]


def test_a_fortnight_is_added_up_as_by_hand(
    tracking: Program, tmp_path: Path, api: FakeApi
) -> None:
    """By week and in all; the main model's tool says the same.

    A value goes with its message, comes back with an undone correction, and is exported.
    """
    fortnight = tracking
    for number, (text, lines) in enumerate(FORTNIGHT, 1):
        say(fortnight, api, f"2026-06-{number:02}", text, *lines)
    fortnight.env["CONSTRUCT_NOW"] = "2026-06-14T20:00:00+00:00"
    for series in fortnight.json("track", "--json"):
        weeks, total = BY_HAND[series["name"]]
        assert [(w["monday"], w["count"], w["sum"]) for w in series["weeks"]] == weeks
        assert series["sum"] == total
        assert series["mean"] == pytest.approx(total / series["count"])
    shown = fortnight.run("track", "coffee").stdout
    assert "coffee spending in EUR" in shown
    assert re.search(r"week of 2026-06-01 +6 +23\.9 +3\.98", shown)
    assert "weight" not in shown
    assert len(amounts(fortnight, "weight", "--since", "2026-06-08")) == 2
    api.enqueue(
        "chat",
        Reply("Let me see.", tool_calls=(("totals", {"name": "coffee spending"}),)),
        "29.60.",
    )
    fortnight.run("ask", "--no-wait", "How much did I spend on coffee?")
    (result,) = [b for b in api.of("chat")[-1].body["messages"][-1]["content"]
                 if b["type"] == "tool_result"]  # fmt: skip
    assert "sum 29.6 EUR" in str(result["content"])
    assert "- week of 2026-06-01: 6 amounts, sum 23.9 EUR" in str(result["content"])

    before = fortnight.json("track", "--json")
    assert fortnight.run("export", "-o", str(tmp_path / "a.jsonl")).returncode == 0
    (tmp_path / "copy").mkdir()
    copy = Program(tmp_path / "copy", fortnight.env)
    assert copy.run("import", str(tmp_path / "a.jsonl")).returncode == 0
    assert copy.json("track", "--json") == before
    tip = next(v for v in before[0]["values"] if v["amount"] == 0.1)
    gone = fortnight.json("memory", "forget", f"message:{tip['message']}", "--yes", "--json")
    assert gone["forgotten"]["values"] == 2
    assert 3.2 not in amounts(fortnight, "coffee")
    for _ in range(4):  # back to the correction
        assert copy.run("undo", "--yes").returncode == 0
    assert 1.3 not in amounts(copy, "coffee")
    assert copy.run("undo", "--yes").returncode == 0
    assert 1.3 in amounts(copy, "coffee")


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ("> You spent 99 euros on coffee.", "coffee spending | 99 EUR | 2026-06-01 | M1"),
        ("I had a tea for 2 euros.", "tea | 2 EUR | 2026-06-01 | M1"),
        ("My coffee was 2 euros.", "coffee spending | 3 EUR | 2026-06-01 | M1"),
        ("My coffee was 2 euros.", "coffee spending | 2 EUR | 2026-06-01 | M2"),
        ("My coffee was 2 euros.", "coffee spending | two | 2026-06-01 | M1"),
        ("My coffee was 2 euros.", "coffee spending | 2 EUR | 2026-02-31 | M1"),
    ],
    ids=["pasted", "not followed", "not said", "the reply", "no amount", "no day"],
)
def test_what_nobody_said_is_no_value(
    tracking: Program, api: FakeApi, said: str, line: str
) -> None:
    """Code refuses what it can prove; the rest is the verifier's, who is shown what to look at."""

    def looks(body: Json) -> Answer:
        groups = read_groups(body)
        return verifier_answer({g.number: "nobody said it" for g in groups if g.look}, len(groups))

    api.verifier = looks
    say(tracking, api, "2026-06-01", said, line)
    assert amounts(tracking) == []


def test_a_day_is_never_after_its_message(tracking: Program, api: FakeApi) -> None:
    """A year 9999 is the message's day; an equal value is stored once."""
    line = "coffee spending | 2 EUR | 9999-12-31 | M1"
    say(tracking, api, "2026-06-01", "My coffee was 2 euros.", line, line)
    say(tracking, api, "2026-06-01", "As I said, 2 euros for coffee.", line)
    ((series),) = tracking.json("track", "--json")
    assert [(v["amount"], v["day"]) for v in series["values"]] == [(2, "2026-06-01")]


def test_rules_forbid_values_too(tracking: Program, tmp_path: Path, api: FakeApi) -> None:
    """`never:` holds for them."""
    (tmp_path / "rules.md").write_text("track: salary\nnever: salary\n")
    say(
        tracking,
        api,
        "2026-06-01",
        "My salary is 2000 euros.",
        "salary | 2000 EUR | 2026-06-01 | M1",
    )
    assert amounts(tracking) == []


def test_without_a_rule_nothing_is_asked_for(program: Program, api: FakeApi) -> None:
    """Neither prompt nor tools name values, and none is read from an answer."""
    observes_only(api)
    line = "coffee spending | 2 EUR | 2026-06-01 | M1"
    say(program, api, "2026-06-01", "My coffee was 2 euros.", line)
    assert "<values>" not in str(api.of("observer")[-1].body)
    assert "totals" not in [tool["name"] for tool in api.of("chat")[-1].body["tools"]]
    assert program.json("track", "--json") == []
    assert "Nothing is followed yet" in program.run("track").stdout
    assert program.run("track", "weight").returncode == 1
    assert read_transcript(api.of("observer")[-1].body)

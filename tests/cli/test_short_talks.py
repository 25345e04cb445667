"""Short talks are learned when they are left, in the notebook at once."""

import pytest

from tests.memory.cycles.scripted import observes
from tests.support.fake_api import FakeApi
from tests.support.program import Program

NOTEBOOK = {"ANTHROPIC_BASE_URL": "", "ANTHROPIC_API_KEY": ""}

SAID = [
    ("I see the dentist Dr Maes tomorrow at 10", "User sees the dentist Dr Maes"),
    ("Zahnarzt Dr. Maes morgen um 10", "User hat morgen Zahnarzt Dr. Maes"),
    ("Amanhã dentista Dr. Moura às 10", "User vai ao dentista Dr. Moura"),
    ("Завтра в 10 к зубному, доктор Орлова", "User идёт к зубному, доктор Орлова"),
    ("明天10点看牙医王医生", "User看牙医王医生"),
    ("Huomenna klo 10 hammaslääkäri Virtanen", "User näkee: hammaslääkäri Virtanen"),
]


@pytest.mark.parametrize(("said", "learned"), SAID)
def test_a_short_talk_is_learned_when_it_is_left(
    program: Program, api: FakeApi, said: str, learned: str
) -> None:
    """Then the agenda, the brief and the next conversation know of it."""
    line = f"! 2026-03-10 M1 {learned} | planned | for 2026-03-11"
    api.enqueue("observer", observes(line))
    assert program.run("chat", "--new", stdin=f"{said}\n").returncode == 0
    (item,) = program.json("agenda")
    assert (item["content"], item["date"]) == (learned, "2026-03-11")
    assert learned in program.run("brief").stdout
    program.run("chat", "--new", stdin="Good morning\n")
    assert learned in str(api.of("chat")[-1].body)


def test_small_talk_costs_nothing(program: Program, api: FakeApi) -> None:
    """A few words without a number or a day are not worth a call."""
    program.run("chat", "--new", stdin="Hello there\nok thanks\n")
    assert not api.of("observer")
    status = program.json("status")
    assert status["messages"]["unobserved"] == 4


def test_ask_leaves_no_talk(program: Program, api: FakeApi) -> None:
    """What is asked in a script is learned with what follows."""
    program.run("ask", "I see the dentist Dr Maes tomorrow at 10")
    assert not api.of("observer")


@pytest.mark.parametrize("door", ["ask", "chat"])
def test_the_notebook_observes_at_once(program: Program, door: str) -> None:
    """Each message stands on the agenda after its reply."""
    said = "I will see the dentist Dr Maes tomorrow at 10"
    if door == "ask":
        program.run("ask", said, more=NOTEBOOK)
    else:
        program.run("chat", stdin=f"{said}\n", more=NOTEBOOK)
    (item,) = program.json("agenda", more=NOTEBOOK)
    assert (item["content"], item["date"]) == (said, "2026-03-11")
    assert "dentist Dr Maes" in program.run("brief", more=NOTEBOOK).stdout
    assert program.json("status", more=NOTEBOOK)["messages"]["unobserved"] == 0

"""What models look up, whoever they are: what may be read, and in which pages."""

import json
from collections.abc import Sequence
from itertools import chain
from typing import Any

import pytest

from construct.errors import NotFoundError, UsageError
from construct.memory import reading_tools
from construct.memory.lookup import NEIGHBOURS, Rights, readable
from construct.memory.shown.forks import descent, fork
from construct.store.messages import exclude_from_requests
from construct.vocabulary import ItemKind
from tests.memory.builders import Life
from tests.support.context import context

EVERYTHING = Rights()


def used(life: Life, tool: str, rights: Rights = EVERYTHING, **arguments: Any) -> Sequence[str]:
    """Return the lines that a tool gives."""
    config = context(life.db, life.clock).memory
    return reading_tools.use(life.db, config, rights, tool, arguments).lines


def words(lines: Sequence[str]) -> list[str]:
    """Return the messages on a page of `source`."""
    return [json.loads(line.split(": ", 1)[1]) for line in lines if line.startswith("- message:")]


def test_a_message_is_read_with_what_was_said_around_it(life: Life) -> None:
    """On page 1 with its neighbours, in their order; further pages go further away."""
    here, other = life.talk(), life.talk()
    said = []
    for number in range(20):
        said.append(life.say(here, f"Number {number}"))
        life.say(other, "Something else")
    middle = f"message:{said[10].id}"
    first = used(life, "source", id=middle)
    assert words(first) == [f"Number {n}" for n in range(7, 13)]
    assert first[-1] == "(page 1 of 4)"
    assert words(used(life, "source", id=middle, page=2)) == [
        f"Number {n}" for n in (4, 5, 6, 13, 14, 15)
    ]
    everything = [words(used(life, "source", id=middle, page=n + 1)) for n in range(4)]
    assert sorted(chain.from_iterable(everything)) == sorted(m.content for m in said)
    with pytest.raises(NotFoundError, match="There is no page 5"):
        used(life, "source", id=middle, page=5)
    assert NEIGHBOURS >= 9


def test_around_a_message_are_only_messages_that_may_be_read(life: Life) -> None:
    """None that was dropped, nor one of another conversation or an earlier day."""
    here = life.talk()
    early = life.say(here, "Long ago")
    life.pass_days(3)
    dropped = life.say(here, "Dropped")
    answered = life.say(here, "Being answered")
    asked = life.say(here, "The question")
    exclude_from_requests(life.db, [dropped.id], "dropped")
    around = f"message:{asked.id}"
    assert words(used(life, "source", id=around)) == ["Long ago", "Being answered", "The question"]
    since = Rights(since=life.clock.day(asked.created_at), hidden_messages=(answered.id,))
    assert words(used(life, "source", since, id=around)) == ["The question"]
    branch = fork(life.db, here, life.clock)
    later = life.say(branch, "In the fork")
    life.say(here, "After the fork")
    assert words(used(life, "source", id=f"message:{later.id}")) == [
        "Long ago",
        "Being answered",
        "The question",
        "In the fork",
    ]
    only_branch = Rights(descent=tuple(descent(life.db, branch)), is_narrowed=True)
    assert early.content in words(used(life, "source", only_branch, id=around))
    assert "After the fork" not in words(used(life, "source", only_branch, id=around))


def test_one_query_says_which_results_may_be_read(life: Life) -> None:
    """However many there are, and however many messages each rests on."""
    here, there = life.talk(), life.talk()
    own = [life.learn(here, f"The quince tree number {n} needs water") for n in range(5)]
    others = [life.learn(there, f"The quince jam number {n} needs lemons") for n in range(5)]
    life.reflect(("Quince trees need water and jam needs lemons", [own[0], others[0]]))
    ids = [row[0] for row in life.db.execute("SELECT id FROM observations")]
    rights = Rights(descent=tuple(descent(life.db, here)), is_narrowed=True)
    statements: list[str] = []
    life.db.set_trace_callback(statements.append)
    found = readable(life.db, rights, None, [(ItemKind.OBSERVATION, i) for i in ids])
    life.db.set_trace_callback(None)
    assert {number for _, number in found} == {o.id for o in own}
    assert len([s for s in statements if "observation_messages" in s]) == 1
    assert len(statements) <= 2


@pytest.mark.parametrize(
    ("tool", "arguments", "complaint"),
    [
        ("recall", {}, "`query` is missing"),
        ("recall", {"query": " "}, "Give some words"),
        ("recall", {"query": "x", "limit": "many"}, "whole number"),
        ("recall", {"query": "x", "limit": 51}, "from 1 to 50"),
        ("recall", {"query": "x", "kind": "dream"}, "one of message, observation"),
        ("recall", {"query": "x", "since": "someday"}, "Not a date"),
        ("source", {"id": "one"}, "not an id"),
        ("source", {"id": 1, "page": []}, "whole number"),
        ("forget", {"id": 1}, "no tool"),
    ],
)
def test_wrong_arguments_are_named(
    life: Life, tool: str, arguments: dict[str, Any], complaint: str
) -> None:
    """So that a model can correct itself."""
    with pytest.raises(UsageError, match=complaint):
        used(life, tool, **arguments)


def test_the_agenda_keeps_to_the_scope(life: Life) -> None:
    """What was planned in another conversation is not on it."""
    here, there = life.talk(), life.talk()
    life.learn(here, "User sees the dentist")
    life.learn(there, "User sees the barber")
    life.db.execute("UPDATE observations SET referenced_date = '2030-05-05'")
    assert len(used(life, "agenda")) == 2
    scope = Rights(descent=tuple(descent(life.db, here)))
    (line,) = used(life, "agenda", scope)
    assert line == "- 1, 2030-05-05, ahead, stated: User sees the dentist"

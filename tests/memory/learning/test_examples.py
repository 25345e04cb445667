"""The example that small models are given, and what they copy out of it."""

import json
from dataclasses import replace
from datetime import date

import pytest

from construct.memory.learning.answers import extraction, parse_object
from construct.memory.learning.examples import observer_example, without_example
from construct.memory.learning.proposals import Extraction
from tests.memory.making import draft, message

ANCHORS = {f"M{i}": i for i in range(1, 9)}
DAYS = dict.fromkeys(ANCHORS.values(), date(2019, 11, 4))


def answered() -> Extraction:
    """Return the example's answer, as a worker's would be read."""
    return extraction(parse_object(observer_example("")[1]), ANCHORS, DAYS)


def test_the_example_is_what_is_asked_for() -> None:
    """Its answer is read whole, each line named by messages that are there, and nothing in it is corrected."""
    raw = json.loads(observer_example("")[1])
    assert [d.content for d in answered().drafts] == [line["content"] for line in raw["observations"]]
    assert [d.observation_date for d in answered().drafts] == [line["observation_date"] for line in raw["observations"]]
    assert [d.referenced_date for d in answered().drafts] == [line["referenced_date"] for line in raw["observations"]]
    assert [d.stance for d in answered().drafts] == [line["stance"] for line in raw["observations"]]
    asked = observer_example("Go on.")[0]
    assert all(f"[{anchor}] " in asked for anchor in ANCHORS)
    assert asked.endswith("Go on.")


def test_nothing_of_the_example_is_believed() -> None:
    """Whatever a model copies out of it has a name that nobody said."""
    talk = [message(1, "user", "My boiler broke, and I work at a bakery. In January I start at a law firm.")]
    assert without_example(answered(), talk) == Extraction((), None, None, None)


@pytest.mark.parametrize(
    "content", ["User's brother Jorven came", "User's boiler broke in November", "User has a book"]
)
def test_what_was_said_is_believed(content: str) -> None:
    """A name of the example that somebody said is theirs, and its other words are everybody's."""
    talk = [message(1, "user", "My brother JORVEN came to fix the boiler.")]
    found = replace(Extraction((draft(content, [1]),)), title="Jorven and the boiler")
    assert without_example(found, talk) == found

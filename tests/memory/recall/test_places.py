"""Where words stand: exactly for rare ones, about for common ones, which are looked up only now and then."""

import pytest

from construct.memory.recall.places import GROWN, READ, look, newest_with
from tests.memory.builders import Life

MESSAGES = 4 * READ


@pytest.fixture
def lived(life: Life) -> Life:
    """A talk in which every second message speaks of an oak, and two of an elm."""
    here = life.talk()
    for number in range(MESSAGES):
        life.say(here, ("The oak.", "The elm." if number in (1, 5) else "A hill.")[number % 2])
    return life


def test_a_rare_word_is_counted(lived: Life) -> None:
    """Its messages are told, and of one that was never said what is remembered with it."""
    lived.remember("User's elm grows by a yew")
    found = look(lived.db, ["elm", "yew", "ash"])
    assert found.rows == {"elm": 2, "yew": 1, "ash": 0}
    assert newest_with(lived.db, "elm", found) == {"message": [6, 2], "observation": [], "memory": [1]}


def test_a_common_word_is_looked_up_again_when_the_file_has_grown(lived: Life) -> None:
    """How common it is, is kept meanwhile, as a share of the messages."""
    first = look(lived.db, ["oak"])
    assert READ <= first.rows["oak"] <= MESSAGES
    for _ in range(int(MESSAGES * (GROWN - 1)) - 1):
        lived.say(1, "Nothing more.")
    kept = look(lived.db, ["oak"])
    assert newest_with(lived.db, "oak", kept)["message"] == first.newest["oak"]
    assert kept.rows["oak"] == first.rows["oak"] * kept.total // first.total
    lived.say(1, "Nothing more.")
    assert look(lived.db, ["oak"]).rows["oak"] < kept.rows["oak"]

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
    """Its rows are told, newest first, and one that was never said has none."""
    found = look(lived.db, ["elm", "yew"])
    assert found.rows == {"elm": 2, "yew": 0}
    assert found.newest["elm"] == {"message": [6, 2], "observation": [], "memory": []}


def test_a_common_word_is_looked_up_again_when_the_file_has_grown(lived: Life) -> None:
    """How common it is, is kept meanwhile, as a share of the rows."""
    first = look(lived.db, ["oak"])
    assert READ <= first.rows["oak"] <= MESSAGES
    known = look(lived.db, ["oak"])
    assert (known.rows, known.newest) == (first.rows, {})
    assert newest_with(lived.db, "oak", known) == first.newest["oak"]
    for _ in range(int(MESSAGES * (GROWN - 1)) + 1):
        lived.say(1, "Nothing more.")
    assert look(lived.db, ["oak"]).newest["oak"]["message"][0] == MESSAGES - 1

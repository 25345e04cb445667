"""How many messages have a word: counted for rare ones, estimated for common ones."""

import pytest

from construct.memory.recall.passages import ROWS_READ, document_frequency, newest_with
from tests.memory.builders import Life

MESSAGES = 4 * ROWS_READ


@pytest.fixture
def lived(life: Life) -> Life:
    """A talk in which every second message speaks of an oak, and two of an elm."""
    here = life.talk()
    for number in range(MESSAGES):
        life.say(here, ("The oak.", "The elm." if number in (1, 5) else "A hill.")[number % 2])
    return life


def test_a_rare_word_is_counted(lived: Life) -> None:
    """All messages with a rare word are known.

    If it was never said, the notes that have it are known.
    """
    lived.remember("User's elm grows by a yew")
    found = document_frequency(lived.db, ["elm", "yew", "ash"])
    assert found.counts == {"elm": 2, "yew": 1, "ash": 0}
    assert newest_with(lived.db, "elm", found) == {"message": [6, 2], "observation": [1]}


def test_how_common_a_word_is_is_told_by_its_newest_messages(lived: Life) -> None:
    """Only so many of the newest messages are read to count a word.

    What is not said any more counts as less common.
    """
    found = document_frequency(lived.db, ["oak"])
    assert ROWS_READ <= found.counts["oak"] <= MESSAGES
    assert len(found.newest["oak"]) == ROWS_READ
    for _ in range(MESSAGES):
        lived.say(1, "Nothing more.")
    assert document_frequency(lived.db, ["oak"]).counts["oak"] <= found.counts["oak"]

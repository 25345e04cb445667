"""Where words stand: exactly for rare ones, about for common ones, which are looked up only now and then."""

import pytest

from construct.memory.recall_places import GROWN, READ, Places, places
from construct.store.search import KINDS, total
from tests.memory.builders import Life

MESSAGES = 4 * READ


@pytest.fixture
def lived(life: Life) -> Life:
    """A talk in which every second message speaks of an oak, and two of an elm."""
    here = life.talk()
    for number in range(MESSAGES):
        life.say(here, ("The oak.", "The elm." if number in (1, 5) else "A hill.")[number % 2])
    return life


def look(life: Life, word: str) -> Places:
    """Return where a word stands."""
    return places(life.db, [word], {kind: total(life.db, kind) for kind in KINDS})[word]


def test_a_rare_word_is_counted(lived: Life) -> None:
    """Its rows are told, newest first, and one that was never said has none."""
    assert look(lived, "elm").rows == 2
    assert look(lived, "elm").newest == {"message": [6, 2], "observation": [], "memory": []}
    assert look(lived, "yew").rows == 0


def test_a_common_word_is_looked_up_again_when_the_file_has_grown(lived: Life) -> None:
    """How common it is, is kept meanwhile, as a share of the rows."""
    first = look(lived, "oak")
    assert READ <= first.rows <= MESSAGES
    assert len(first.newest["message"]) == READ
    known = look(lived, "oak")
    assert (known.rows, known.newest) == (first.rows, {})
    for _ in range(int(MESSAGES * (GROWN - 1)) + 1):
        lived.say(1, "Nothing more.")
    assert look(lived, "oak").newest["message"][0] == MESSAGES - 1

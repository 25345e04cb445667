"""Which observations are shown, in which block."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from construct.memory.shown.view import packed, repacked, with_new
from construct.store.database import transaction
from construct.store.observations import by_urgency
from tests.memory.builders import Life

BLOCKS = st.dictionaries(st.integers(1, 40), st.integers(1, 5))


@given(st.lists(st.integers(1, 60), max_size=25), st.integers(1, 400))
def test_packing(sizes: list[int], budget: int) -> None:
    """As many as fit into three quarters of the budget are kept, in the order given."""
    kept = packed(enumerate(sizes), budget)
    left = int(0.75 * budget)
    for i, tokens in enumerate(sizes):
        assert (i in kept) is (tokens <= left)
        left -= tokens * (i in kept)


@given(BLOCKS, st.lists(st.integers(41, 60), unique=True))
def test_what_is_new_comes_last(blocks: dict[int, int], new: list[int]) -> None:
    """New lines stand in a block of their own at the end.

    So all others stay as they were.
    """
    after = with_new(blocks, new)
    assert after == blocks | {i: max(blocks.values(), default=0) + 1 for i in new}


def test_repacking_moves_nothing_that_stays() -> None:
    """What fell off earlier and is kept now comes into the last block."""
    assert repacked({1: 1, 2: 1, 3: 2}, [2, 3, 9]) == {2: 1, 3: 2, 9: 2}


def test_what_is_kept_first(life: Life) -> None:
    """Pinned lines, then high ones, medium and low, and the newest of each."""
    here = life.talk()
    low, high, medium, newer, pinned = (
        life.learn(here, f"Bicycle {n}", priority=priority).id
        for n, priority in enumerate(("low", "high", "medium", "medium", "low"))
    )
    with transaction(life.db):
        life.db.execute("UPDATE observations SET pinned = 1 WHERE id = ?", (pinned,))
        life.db.execute(
            "UPDATE observations SET observation_date = '2026-03-02' WHERE id IN (?, ?)",
            (newer, low),
        )
    assert [i for i, _ in by_urgency(life.db, None)] == [pinned, high, newer, medium, low]


@pytest.mark.parametrize("budget", [1, 10, 39])
def test_a_budget_too_small_for_anything(budget: int) -> None:
    """When nothing fits, nothing is shown."""
    assert packed([(1, 40), (2, 40)], budget) == []

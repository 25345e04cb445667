"""Which observations are shown, in which block."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from construct.memory.shown.budget import FELL_OFF, Shown, in_blocks, with_new, within_budget, without_gone
from construct.store.records import Observation
from tests.memory.making import observation

PRIORITIES = st.sampled_from(("high", "medium", "low"))
OBSERVATIONS = st.lists(
    st.tuples(PRIORITIES, st.integers(0, 1), st.integers(1, 9), st.integers(1, 60), st.integers(0, 4)), max_size=25
)


def made(rows: list[tuple[str, int, int, int, int]]) -> tuple[Shown, dict[int, Observation]]:
    """Return what is shown and the observations, for rows of priority, pinned, day, tokens, block."""
    by_id = {
        i: observation(i, "x", priority=p, pinned=pinned, day=f"2026-03-0{day}", tokens=tokens)
        for i, (p, pinned, day, tokens, _) in enumerate(rows, 1)
    }
    return [(i, row[4]) for i, row in enumerate(rows, 1)], by_id


def size(shown: Shown, by_id: dict[int, Observation]) -> int:
    """Return the tokens of what is shown."""
    return sum(by_id[i].token_count for i, block in shown if block != FELL_OFF)


@settings(deadline=None)
@given(OBSERVATIONS, st.integers(1, 400))
def test_repacking(rows: list[tuple[str, int, int, int, int]], budget: int) -> None:
    """Within the budget nothing moves; beyond it three quarters are packed, by pinned, priority and newest."""
    shown, by_id = made(rows)
    after = within_budget(shown, by_id, budget)
    assert [i for i, _ in after] == [i for i, _ in shown]
    if size(shown, by_id) <= budget:
        assert after == shown
        return
    assert size(after, by_id) <= int(0.75 * budget)
    kept = {i for i, block in after if block != FELL_OFF}
    assert all(now in {before, FELL_OFF} for (_, before), (_, now) in zip(shown, after, strict=True) if before)
    rank = {"high": 2, "medium": 1, "low": 0}
    order = sorted(by_id.values(), key=lambda o: (o.pinned, rank[o.priority], o.observation_date, o.id), reverse=True)
    left = int(0.75 * budget)
    for o in order:
        fits = o.token_count <= left
        assert (o.id in kept) is fits
        left -= o.token_count * fits
    assert within_budget(after, by_id, budget) == after


@settings(deadline=None)
@given(OBSERVATIONS)
def test_blocks_are_in_order_of_commit(rows: list[tuple[str, int, int, int, int]]) -> None:
    """Every observation shown stands once, in the order of blocks; what fell off stands nowhere."""
    shown, by_id = made(rows)
    blocks = in_blocks(shown, by_id)
    ids = [o.id for block in blocks for o in block]
    assert sorted(ids) == sorted(i for i, block in shown if block != FELL_OFF)
    assert all(blocks)
    assert ids == sorted(ids, key=lambda i: (dict(shown)[i], i))


@settings(deadline=None)
@given(OBSERVATIONS, st.lists(st.integers(1, 40), unique=True))
def test_what_is_new_comes_last(rows: list[tuple[str, int, int, int, int]], active: list[int]) -> None:
    """New observations stand in a block of their own behind all others, so that these stay as they were."""
    shown, _ = made(rows)
    after = with_new(shown, active)
    assert after[: len(shown)] == shown
    known = {i for i, _ in shown}
    assert [i for i, _ in after[len(shown) :]] == [i for i in active if i not in known]
    assert len({block for _, block in after[len(shown) :]} | {0}) <= 2
    assert all(block > max((b for _, b in shown), default=0) for _, block in after[len(shown) :])
    assert with_new(after, active) == after


def test_what_is_gone_leaves_the_rest_in_place() -> None:
    """Superseded observations go; the blocks of the others stay."""
    assert without_gone([(1, 1), (2, 1), (3, 2), (4, 0)], {1, 3, 4}) == [(1, 1), (3, 2), (4, 0)]


def test_the_oldest_of_little_weight_fall_off() -> None:
    """Pinned lines stay first, then high ones, then the newest of each; what fell off may come back."""
    rows = [("low", 1, 1, 40, 1), ("high", 0, 1, 40, 1), ("medium", 0, 1, 40, 1), ("medium", 0, 2, 40, 2)]
    shown, by_id = made(rows)
    assert within_budget(shown, by_id, 160) == shown
    assert within_budget(shown, by_id, 159) == [(1, 1), (2, 1), (3, FELL_OFF), (4, FELL_OFF)]
    smaller = within_budget([(1, 1), (2, 1), (3, FELL_OFF), (4, 2)], by_id, 119)
    assert smaller == [(1, 1), (2, 1), (3, FELL_OFF), (4, FELL_OFF)]


@pytest.mark.parametrize(("older", "newer"), [("high", "medium"), ("medium", "low"), ("high", "low")])
def test_priority_comes_before_age(older: str, newer: str) -> None:
    """An older line that matters more stays where there is room for one."""
    shown, by_id = made([(older, 0, 1, 40, 1), (newer, 0, 2, 40, 2)])
    assert within_budget(shown, by_id, 79) == [(1, 1), (2, FELL_OFF)]


@pytest.mark.parametrize("budget", [1, 10, 39])
def test_a_budget_too_small_for_anything(budget: int) -> None:
    """When nothing fits, nothing is shown."""
    shown, by_id = made([("high", 1, 1, 40, 1), ("low", 0, 1, 40, 1)])
    assert in_blocks(within_budget(shown, by_id, budget), by_id) == ()

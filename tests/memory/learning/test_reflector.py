"""What a reflector is given to read."""

from collections.abc import Sequence

from construct.memory.learning.reflector import choose
from construct.store.records import Observation
from tests.memory.making import observation


def line(number: int, content: str, committed: str, generation: int = 0) -> Observation:
    """Return an active observation of a hundred tokens."""
    return observation(number, content, tokens=100, generation=generation)._replace(
        committed_at=committed
    )


def ids(chosen: Sequence[Observation]) -> list[int]:
    """Return their ids in order."""
    return sorted(o.id for o in chosen)


def test_what_is_new_comes_first_and_of_the_rest_what_speaks_of_the_same() -> None:
    """All that came since the last reading, and the nearest of the rest."""
    old = [line(i, f"User's neighbour painted fence {i}", "2026-01-01") for i in range(1, 9)]
    old[4] = line(5, "User's sister Ana keeps bees", "2026-01-01", generation=2)
    new = [line(10, "Ana sold the honey", "2026-02-01"), line(11, "User is tired", "2026-02-01")]
    assert ids(choose([*old, *new], "2026-01-15", limit=300)) == [5, 10, 11]
    assert ids(choose([*old, *new], "2026-01-15")) == ids([*old, *new])
    many = [line(i, f"User's neighbour painted fence {i}", "2026-01-01") for i in range(20, 100)]
    assert len(choose([*many, *new], "2026-01-15")) == 42


def test_lines_that_cannot_be_shortened_leave_room_for_new_ones() -> None:
    """However many old lines stay as they are, the new ones are given.

    At most so many tokens in all.
    """
    old = [line(i, f"Locker {i}", "2026-01-01") for i in range(1, 100)]
    new = [line(i, f"Locker {i}", "2026-02-01") for i in range(100, 110)]
    assert ids(choose([*old, *new], "2026-01-15", limit=1_200))[2:] == [o.id for o in new]
    assert ids(choose([*old, *new], "2026-01-15", limit=500)) == [100, 101, 102, 103, 104]


def test_a_new_line_that_is_too_long_is_given_alone() -> None:
    """Each line is given once, although an old one comes before it."""
    lines = [line(1, "Locker 1", "2026-01-01"), line(2, "Locker 2", "2026-02-01")]
    assert [o.id for o in choose(lines, "2026-01-15", limit=50)] == [2]


def test_when_nothing_is_new_all_is_read_again() -> None:
    """Asked for by hand, say: those condensed least come first."""
    lines = [
        line(1, "one", "2026-01-01", generation=1),
        line(2, "two", "2026-01-01"),
        line(3, "three", "2026-01-01"),
    ]
    assert ids(choose(lines, "2026-01-15", limit=200)) == [2, 3]
    assert ids(choose(lines, "2026-01-15")) == [1, 2, 3]


def test_pinned_lines_and_the_users_own_are_not_given() -> None:
    """The reflector cannot touch what the user pinned or wrote."""
    lines = [
        line(1, "one", "2026-01-01"),
        line(2, "two", "2026-01-01"),
        line(3, "three", "2026-01-01"),
    ]
    assert ids(
        choose([lines[0]._replace(pinned=1), lines[1]._replace(origin="user"), lines[2]])
    ) == [3]

"""The reflector by rule: what is merged, dropped and taken back, and what is not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from construct.memory.learning.condensing import condense
from construct.memory.learning.guard import judge
from construct.memory.learning.proposals import PRIORITIES, STANCES, Draft
from construct.store.records import Observation
from tests.memory.making import observation


def test_repetitions_are_merged() -> None:
    """One fact said twice becomes the fuller or newer wording, with both as sources."""
    found = condense(
        [
            observation(1, "I'm allergic to peanuts", priority="high"),
            observation(2, "I love my cat Rex very much"),
            observation(3, "I am allergic to peanuts.", day="2026-03-02"),
            observation(4, "I really love my cat Rex very much!"),
        ]
    )
    assert found.drafts == (
        Draft("I am allergic to peanuts.", "high", "stated", "2026-03-02", None, (1, 3)),
        Draft("I really love my cat Rex very much!", "medium", "stated", "2026-03-01", None, (2, 4)),
    )


@pytest.mark.parametrize(
    "two",
    [
        (observation(1, "I like tea"), observation(2, "I don't like tea")),
        (observation(1, "I like tea"), observation(2, "I like tea", stance="asked")),
        (observation(1, "My code is 12"), observation(2, "My code is 13")),
        (observation(1, "I like tea"), observation(2, "I like tea", pinned=1)),
        (observation(1, "I like tea"), observation(2, "I like tea", origin="user")),
        (observation(1, "I went running"), observation(2, "I went running", day="2026-03-02")),
        (observation(1, "I run tomorrow", day="2026-03-02"), observation(2, "I run tomorrow")),
        (observation(1, "I see Bob", ahead="2026-03-05"), observation(2, "I see Bob", ahead="2026-03-06")),
        (observation(1, "I prefer tea over coffee"), observation(2, "I prefer coffee over tea")),
    ],
)
def test_what_differs_is_not_merged(two: tuple[Observation, Observation]) -> None:
    """Another denial, stance, number, day or order of words is another fact; pinned and edited lines stay."""
    assert condense(two).drafts == ()


def test_old_low_lines_are_dropped() -> None:
    """Of low lines the newest ten stay, and pinned ones."""
    low = [observation(i, f"small thing number {i}", priority="low", pinned=int(i == 0)) for i in range(14)]
    assert condense(low).superseded == (1, 2, 3)


def test_a_new_state_outdates_the_old() -> None:
    """Where one lives and works, and what is now, takes the place of a line that says only what it was."""
    found = condense(
        [
            observation(1, "I live in Lisbon."),
            observation(2, "I live in Lisbon with my wife Ana"),
            observation(3, "I work at Siemens"),
            observation(4, "My phone number is 123"),
            observation(5, "My favourite team is red"),
            observation(6, "I moved to Porto last week."),
            observation(7, "I joined Bosch recently"),
            observation(8, "My phone number is now 456"),
            observation(9, "My favourite team is blue"),
        ]
    )
    assert sorted(found.outdated) == [(1, 6), (3, 7), (4, 8)]


@pytest.mark.parametrize(
    "newer",
    [
        observation(2, "I moved to Porto in 2015"),
        observation(2, "I moved to Porto when I was ten"),
        observation(2, "I moved to Porto", stance="planned"),
        observation(2, "My sister moved to Porto"),
        observation(2, "I live in Lisbon"),
        observation(2, "I moved to Porto", day="2026-02-01"),
    ],
)
def test_what_does_not_outdate(newer: Observation) -> None:
    """A move long ago, a plan, another person or the same place leaves a line as it was."""
    assert condense([observation(1, "I live in Lisbon."), newer]).outdated == ()


@pytest.mark.parametrize(
    ("newer", "outdates"),
    [
        ("No, my rent is 950 euros.", True),
        ("Sorry, my rent is 950, not 900.", True),
        ("Actually, my rent is 950 euros now", True),
        ("No wait - my rent is 1,950 euros", True),
        ("No, the rent is 950 euros.", True),
        ("My rent is 950 euros", False),
        ("No, my rent is 900.", False),
        ("No, my rent is due on 1 May", False),
        ("No, my rent is 10 km", False),
        ("No, my rent is higher", False),
        ("No, my rent was 950 euros", False),
        ("No, my rent is 950 euros until June", False),
        ("No, my office rent is 950 euros", False),
        ("No, my brother's rent is 950 euros", False),
        ("No, the office rent is 950 euros", False),
        ("No, my budget is 950 euros", False),
        ("Now my rent is 950 euros more than my budget", False),
    ],
)
def test_a_number_put_right_outdates_the_wrong_one(newer: str, outdates: bool) -> None:
    """Of the same thing, in the same unit, and said as a correction; what was once or is of another stays beside it."""
    old, new = observation(1, "My rent is 900 euros."), observation(2, newer)
    assert condense([old, new]).outdated == (((1, 2),) if outdates else ())
    assert judge(condense([old, new]), [old, new], {1: 1, 2: 2}).outdated == (((1, 2),) if outdates else ())
    assert condense([observation(1, "The rent is 900 euros."), new]).outdated == condense([old, new]).outdated
    for stance in ("asked", "hypothetical", "planned", "quoted"):
        assert condense([old, observation(2, newer, stance=stance)]).outdated == ()
    assert condense([new, old]).outdated == ()


def test_a_line_outdates_three_at_most() -> None:
    """Of many old states the three newest become outdated at once."""
    lines = [observation(i, f"I live in {place}") for i, place in enumerate(("Rome", "Oslo", "Graz", "Bonn", "Porto"))]
    assert sorted(condense(lines).outdated) == [(1, 4), (2, 4), (3, 4)]


CONTENTS = st.sampled_from(["I like tea", "I like tea.", "I live in Rome", "I moved to Oslo", "tea"]) | st.text()
OBSERVATIONS = st.lists(
    st.builds(
        observation, st.just(0), CONTENTS, priority=st.sampled_from(PRIORITIES), stance=st.sampled_from(STANCES),
        day=st.sampled_from(["2026-03-01", "2026-03-02"]), ahead=st.sampled_from([None, "2026-03-09"]),
        pinned=st.integers(0, 1),
    ),
    max_size=30,
)  # fmt: skip


@given(OBSERVATIONS)
def test_condensing_loses_nothing_that_matters(lines: list[Observation]) -> None:
    """Only low lines go without a line in their place, pinned ones stay, and a new line is one of its sources."""
    given_lines = {i: o._replace(id=i) for i, o in enumerate(lines)}
    found = condense(list(given_lines.values()))
    gone = [i for d in found.drafts for i in d.sources] + list(found.superseded) + [old for old, _ in found.outdated]
    assert len(gone) == len(set(gone))
    assert not any(given_lines[i].pinned for i in gone)
    assert all(given_lines[i].priority == "low" for i in found.superseded)
    for draft in found.drafts:
        sources = [given_lines[i] for i in draft.sources]
        assert len(sources) > 1
        assert draft.content in {s.content for s in sources}
        assert {s.stance for s in sources} == {draft.stance}
        assert len(draft.content) < sum(len(s.content) for s in sources) or not draft.content
    assert all(given_lines[old].id < given_lines[new].id for old, new in found.outdated)

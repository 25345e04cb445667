"""The reflector by rule: which near-duplicates are retired, and which of two stays."""

from collections.abc import Sequence
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from construct.language.terms import terms
from construct.memory.learning.proposals import ReflectionProposal
from construct.memory.learning.reflection_checks import check_reflection
from construct.memory.learning.reflector import condense
from construct.memory.shown.lines import PRIORITIES, STANCES
from construct.store.records import Observation

PLAIN = {
    "priority": "medium",
    "stance": "stated",
    "observation_date": "2026-03-01",
    "referenced_date": None,
    "pinned": 0,
    "origin": "observer",
}


def note(number: int, content: str, **changed: Any) -> Observation:
    """Return an active observation."""
    values = {**PLAIN, "id": number, "content": content, **changed}
    return Observation(*(values.get(name) for name in Observation._fields))  # type: ignore[arg-type]


def condensed(notes: Sequence[Observation]) -> ReflectionProposal:
    """Condense notes, each said on its day."""
    return condense(notes, {o.id: (o.observation_date, o.id) for o in notes})


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (note(1, "I'm allergic to peanuts"), note(2, "I am allergic to peanuts."), (1, 2)),
        (
            note(1, "I'm allergic to peanuts", priority="high"),
            note(2, "I am allergic to peanuts."),
            (2, 1),
        ),
        (note(1, "I like tea", observation_date="2026-03-02"), note(2, "I like tea"), (2, 1)),
        (note(1, "I like tea", pinned=1), note(2, "I like tea", priority="high"), (2, 1)),
        (note(1, "I like tea", origin="user"), note(2, "I like tea"), (2, 1)),
        (note(1, "我对花生过敏"), note(2, "我对花生过敏"), (1, 2)),
    ],
)
def test_one_of_two_that_say_the_same_stays(
    one: Observation, other: Observation, same: tuple[int, int]
) -> None:
    """The user's own and pinned stays, then the higher priority, then the later one."""
    notes = [one, other]
    assert condensed(notes) == condensed(notes[::-1]) == ReflectionProposal(same=(same,))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (note(1, "I like tea"), note(2, "I don't like tea")),
        (note(1, "I like tea"), note(2, "I like tea", stance="asked")),
        (note(1, "My code is 12"), note(2, "My code is 13")),
        (note(1, "I like tea", pinned=1), note(2, "I like tea", pinned=1)),
        (note(1, "I went running"), note(2, "I went running", observation_date="2026-03-02")),
        (
            note(1, "I see Bob", referenced_date="2026-03-05"),
            note(2, "I see Bob", referenced_date="2026-03"),
        ),
        (note(1, "I prefer tea over coffee"), note(2, "I prefer coffee over tea")),
        (
            note(1, "User has a grey cat that sleeps all day"),
            note(2, "User has a grey cat that sleeps"),
        ),
        (note(1, "I live in Lisbon"), note(2, "I moved to Porto")),
    ],
)
def test_what_differs_stays(one: Observation, other: Observation) -> None:
    """Another denial, stance, number, day or detail makes another fact."""
    assert condensed([one, other]) == ReflectionProposal()


def test_many_that_say_the_same_are_retired_for_one() -> None:
    """There are no chains: every pair names the note that stays."""
    found = condensed([note(i, "I like tea") for i in range(1, 5)])
    assert found.same == ((3, 4), (2, 4), (1, 4))


def test_the_checks_retire_the_same_notes() -> None:
    """Also where the last said is not of the last day: one reflection retires all copies."""
    notes = [note(i, "I like tea", observation_date=f"2026-03-0{9 - i}") for i in range(1, 5)]
    said = {o.id: (f"2026-04-0{o.id}", o.id) for o in notes}
    assert check_reflection(condense(notes, said), notes, said, date(2026, 3, 1)).superseded == {
        1,
        2,
        3,
    }


CONTENTS = (
    st.sampled_from(["I like tea", "I like tea.", "I really like tea", "I saw Bob", "tea"])
    | st.text()
)
NOTES: st.SearchStrategy[list[dict[str, Any]]] = st.lists(
    st.builds(
        dict,
        content=CONTENTS,
        priority=st.sampled_from(PRIORITIES),
        stance=st.sampled_from(STANCES),
        observation_date=st.sampled_from(["2026-03-01", "2026-03-02"]),
        pinned=st.integers(0, 1),
    ),
    max_size=30,
)


@given(NOTES)
def test_nothing_that_matters_is_retired(notes: list[dict[str, Any]]) -> None:
    """No protected note is retired, none twice, and no term is lost.

    What replaces a note is there.
    """
    by_id = {i: note(i, **values) for i, values in enumerate(notes)}
    found = condensed(list(by_id.values()))
    retired = [one for one, _ in found.same]
    assert len(retired) == len(set(retired))
    assert not set(retired) & {staying for _, staying in found.same}
    for one, staying in found.same:
        assert not by_id[one].is_protected
        assert terms(by_id[one].content) == terms(by_id[staying].content)
    assert found == ReflectionProposal(same=found.same)

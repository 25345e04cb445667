"""Memories: each fact once, and promoted ones that follow their observations."""

import random
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from construct.clock import Clock
from construct.errors import UsageError
from construct.memory.corrections import edit
from construct.memory.forgetting import forget
from construct.memory.promotion import promote, remember
from construct.memory.undo import undo
from construct.store import observations as rows
from construct.store.database import transaction
from construct.store.memories import list_memories, memories_without_ground, unpromoted_observations
from construct.store.records import Memory, Observation
from tests.memory.builders import Life, stated


def keep(life: Life, content: str, origin: str = "user", category: str | None = None) -> Memory:
    """Store a memory by hand."""
    with transaction(life.db):
        return remember(life.db, content, category, origin, life.clock)


def settle(life: Life) -> int:
    """Make promoted memories agree with what is active.

    Return how many more there are.
    """
    before = life.count("memories")
    with transaction(life.db):
        promote(life.db, life.clock)
    return life.count("memories") - before


def in_force(life: Life) -> list[str]:
    """Return what the memories in force say, in order of its words."""
    return sorted(m.content for m in list_memories(life.db))


def condense(life: Life, text: str, sources: Sequence[Observation]) -> Observation:
    """Reflect as the worker does: the promotion follows at once."""
    (made,) = life.reflect((text, sources))
    settle(life)
    return made


def test_a_memory_is_kept_in_one_line(life: Life) -> None:
    """Line ends and control characters go, the category stays or is guessed."""
    kept = keep(life, "My wife\nis \x1b[31mAna\x00. ")
    assert (kept.content, kept.category, kept.origin) == ("My wife is Ana.", "person", "user")
    assert keep(life, "The gate opens at seven", category="home").category == "home"


@pytest.mark.parametrize("text", ["", "  \n\t", "\x1b[0m", "\u200f"])
def test_a_blank_memory_is_refused(life: Life, text: str) -> None:
    """There must be a word in it."""
    with pytest.raises(UsageError):
        keep(life, text)
    assert life.count("memories") == 0


def test_one_fact_is_one_memory(life: Life) -> None:
    """Said again by the user or the model, the first is returned."""
    first = keep(life, "User is allergic to peanuts")
    assert keep(life, "I'm allergic to peanuts.", "assistant").id == first.id
    assert keep(life, "I am not allergic to peanuts").id != first.id
    assert len(in_force(life)) == 2


def test_tomorrow_is_counted_from_the_users_day(life: Life) -> None:
    """Two evenings west of Greenwich may be one day in UTC."""
    west = ZoneInfo("America/Los_Angeles")
    with transaction(life.db):
        first, second = (
            remember(life.db, "Dentist tomorrow", None, "user", Clock(moment, west))
            for moment in (
                datetime(2026, 3, 4, 16, 30, tzinfo=west),
                datetime(2026, 3, 5, 10, 0, tzinfo=west),
            )
        )
    assert first.id != second.id


def test_one_fact_is_found_among_many(life: Life) -> None:
    """However many memories share its common words."""
    for i in range(300):
        keep(life, f"User's locker {i} has the code {1000 + i} and is at the station")
    assert len(in_force(life)) == 300
    keep(life, "My locker 7 has the code 1007 and is at the station.")
    assert len(in_force(life)) == 300


def test_what_is_kept_by_hand_stands_until_it_is_forgotten(life: Life) -> None:
    """Nothing that is said or observed later takes it out of force."""
    old = keep(life, "My rent is 1200")
    keep(life, "My rent is 1300")
    life.learn(life.talk(), "User's rent is 1400")
    assert in_force(life) == ["My rent is 1200", "My rent is 1300", "User's rent is 1400"]
    forget(life.db, ("memory", old.id), life.clock, words=False)
    assert in_force(life) == ["My rent is 1300", "User's rent is 1400"]


def test_the_memory_of_what_the_observer_replaced_goes_and_comes_back(life: Life) -> None:
    """Each newer value supersedes the one before, and its undo brings that back."""
    here = life.talk()
    observed = [life.learn(here, "User's rent is 1200")]
    for rent in ("1300", "1400", "1500"):
        said = life.exchange(here, f"My rent is {rent} now")
        newer = replace(stated(f"User's rent is {rent}", [said.id]), replaces=(observed[-1].id,))
        observed += life.observe(here, newer)
        assert in_force(life) == [observed[-2].content]
        life.compact(here)
        assert in_force(life) == [observed[-1].content]
    while observed:
        assert in_force(life) == [observed.pop().content]
        undo(life.db, life.clock)
    assert in_force(life) == []


def test_forgetting_a_newer_value_brings_the_older_back(life: Life) -> None:
    """As undoing it does."""
    here = life.talk()
    old = life.learn(here, "User's rent is 1200")
    said = life.exchange(here, "My rent is 1300 now")
    (new,) = life.observe(
        here, replace(stated("User's rent is 1300", [said.id]), replaces=(old.id,))
    )
    life.compact(here)
    forget(life.db, ("observation", new.id), life.clock, words=False)
    assert in_force(life) == ["User's rent is 1200"]


@pytest.mark.parametrize(
    ("priority", "stance", "promoted"),
    [
        ("high", "stated", True), ("high", "planned", True),
        ("high", "asked", False), ("high", "hypothetical", False),
        ("high", "inferred", False), ("high", "assistant", False), ("high", "quoted", False),
        ("medium", "stated", False), ("low", "planned", False),
    ],
)  # fmt: skip
def test_what_is_promoted(life: Life, priority: str, stance: str, promoted: bool) -> None:
    """High priority, and stated or planned; once committed."""
    here = life.talk()
    said = life.exchange(here, "User moves to Porto")
    (o,) = life.observe(
        here, replace(stated("User moves to Porto", [said.id]), priority=priority, stance=stance)
    )
    settle(life)
    assert in_force(life) == []
    life.compact(here)
    found = list_memories(life.db)
    assert [(m.origin, m.observation_id) for m in found] == (
        [("observation", o.id)] if promoted else []
    )
    assert settle(life) == 0


def test_a_fact_observed_twice_is_one_memory(life: Life) -> None:
    """The second observation has a row that points at the first's.

    Undone, nothing changes.
    """
    here = life.talk()
    first = life.learn(here, "User is allergic to peanuts")
    life.pass_days(1)
    life.learn(here, "I am allergic to peanuts.")
    assert in_force(life) == ["User is allergic to peanuts"]
    assert life.count("memories") == 2
    assert undo(life.db, life.clock).cycle.kind == "observer"
    assert in_force(life) == ["User is allergic to peanuts"]
    assert list_memories(life.db)[0].observation_id == first.id


def test_the_same_words_of_another_day_are_another_event(life: Life) -> None:
    """What happened on two days happened twice."""
    here = life.talk()
    for day in ("2026-02-27", "2026-02-28"):
        said = life.exchange(here, "User went to the dentist")
        life.observe(
            here, replace(stated("User went to the dentist", [said.id]), observation_date=day)
        )
    life.compact(here)
    assert len(in_force(life)) == 2


def test_what_is_remembered_by_hand_stands_by_itself(life: Life) -> None:
    """It takes a promoted memory's place, and outlives an undo of the observation."""
    here = life.talk()
    life.learn(here, "User is allergic to peanuts")
    mine = keep(life, "I am allergic to peanuts")
    assert [m.id for m in list_memories(life.db)] == [mine.id]
    undo(life.db, life.clock)
    assert [m.id for m in list_memories(life.db)] == [mine.id]


def test_what_was_remembered_by_hand_is_not_promoted_again(life: Life) -> None:
    """The observation gets a row in its shadow."""
    mine = keep(life, "I am allergic to peanuts")
    life.learn(life.talk(), "User is allergic to peanuts")
    assert [m.id for m in list_memories(life.db)] == [mine.id]
    assert settle(life) == 0


def test_a_reflection_takes_its_sources_memories_over(life: Life) -> None:
    """Undoing it brings them back."""
    here = life.talk()
    a, b = (
        life.learn(here, "User has a cat called Tom"),
        life.learn(here, "User has a cat called Kit"),
    )
    before = in_force(life)
    made = condense(life, "User has cats called Tom and Kit", [a, b])
    (memory,) = list_memories(life.db)
    assert (memory.content, memory.observation_id) == (made.content, made.id)
    sources = [m for m in list_memories(life.db, include_superseded=True) if m.id != memory.id]
    assert [m.superseded_by for m in sources] == [memory.id, memory.id]
    undo(life.db, life.clock)
    assert in_force(life) == before
    assert life.broken() == []


def test_a_reflection_of_the_same_words_takes_over_too(life: Life) -> None:
    """Two of one fact are merged: one memory, and after undo one again."""
    here = life.talk()
    a, b = (
        life.learn(here, "User is allergic to peanuts"),
        life.learn(here, "I'm allergic to peanuts"),
    )
    made = condense(life, "User is allergic to peanuts", [a, b])
    assert [m.observation_id for m in list_memories(life.db)] == [made.id]
    undo(life.db, life.clock)
    (memory,) = list_memories(life.db)
    assert memory.observation_id in {a.id, b.id}


def test_a_reflection_in_the_shadow_of_a_memory_by_hand(life: Life) -> None:
    """What it stood for comes back by undo; the memory by hand stays."""
    here = life.talk()
    a, b = (
        life.learn(here, "User has a cat called Tom"),
        life.learn(here, "User has a dog called Rex"),
    )
    keep(life, "I have a cat called Tom and a dog called Rex")
    condense(life, "User has a cat called Tom and a dog called Rex", [a, b])
    assert in_force(life) == ["I have a cat called Tom and a dog called Rex"]
    undo(life.db, life.clock)
    assert len(in_force(life)) == 3


def test_generations_of_reflections_keep_one_memory(life: Life) -> None:
    """Through several rounds the newest stands; each undo brings the one before."""
    here = life.talk()
    made = life.learn(here, "User's garden has 1 plum tree")
    for i in range(2, 5):
        made = condense(
            life,
            f"User's garden: plum tree, fig {i}",
            [made, life.learn(here, f"User planted fig {i}")],
        )
        assert [m.observation_id for m in list_memories(life.db)] == [made.id]
    undo(life.db, life.clock)
    assert len(in_force(life)) == 2


def test_an_outdated_observation_takes_its_memory_along(life: Life) -> None:
    """It is superseded as the observation is, and comes back with it."""
    here = life.talk()
    old = life.learn(here, "User drives an old Fiat")
    new = life.learn(here, "User sold the Fiat and cycles")
    life.reflect(outdated=[(old, new)])
    settle(life)
    assert in_force(life) == ["User sold the Fiat and cycles"]
    undo(life.db, life.clock)
    assert len(in_force(life)) == 2


def test_an_edit_renews_the_memory(life: Life) -> None:
    """The memory says what the user says; undo brings the old words back."""
    fact = life.learn(life.talk(), "Ana lives in Porto")
    edit(life.db, fact.id, "Ana lives in Faro", life.clock)
    assert in_force(life) == ["Ana lives in Faro"]
    undo(life.db, life.clock)
    assert in_force(life) == ["Ana lives in Porto"]


def test_an_edit_of_something_minor_is_worth_a_memory(life: Life) -> None:
    """What the user took the trouble to put right is kept."""
    fact = life.learn(life.talk(), "Ana likes figs", priority="low")
    assert in_force(life) == []
    edit(life.db, fact.id, "Ana loves figs", life.clock)
    assert in_force(life) == ["Ana loves figs"]


def test_what_is_forgotten_is_not_promoted_again(life: Life) -> None:
    """Neither after forgetting the observation nor after forgetting the memory."""
    here = life.talk()
    fact = life.learn(here, "Ana lives in Porto")
    forget(life.db, ("observation", fact.id), life.clock, words=True)
    life.learn(here, "Rui plays the tuba")
    (memory,) = list_memories(life.db)
    forget(life.db, ("memory", memory.id), life.clock, words=True)
    assert settle(life) == 0
    assert in_force(life) == []


def test_promotion_in_a_transaction_that_fails_leaves_nothing(life: Life) -> None:
    """All or nothing, with the compaction it belongs to."""
    here = life.talk()
    life.observe(here, ("User is vegan", [life.exchange(here, "I am vegan")]))

    def fail() -> None:
        with transaction(life.db):
            life.db.execute("UPDATE observations SET committed_at = '2026'")
            promote(life.db, life.clock)
            raise sqlite3.Error

    with pytest.raises(sqlite3.Error):
        fail()
    assert life.count("memories") == 0


FACTS = (
    "User lives in Lisbon", "User has a cat called Tom", "User has a cat called Kit",
    "User is allergic to peanuts",
    "I'm allergic to peanuts.", "User likes figs",
)  # fmt: skip


@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.randoms(use_true_random=False), st.integers(5, 25))
def test_whatever_happens_memories_follow(
    tmp_path_factory: pytest.TempPathFactory, chance: random.Random, steps: int
) -> None:
    """In any order each has its active observation, none is missing or there twice."""
    life = Life(tmp_path_factory.mktemp("life"))
    here = life.talk()
    for _ in range(steps):
        _do_something(life, here, chance)
        _check(life)
    while life.db.execute("SELECT 1 FROM cycles WHERE status = 'succeeded'").fetchone():
        undo(life.db, life.clock)
        _check(life)
    assert [m for m in list_memories(life.db) if m.origin == "observation"] == []
    life.db.close()


def _do_something(life: Life, here: int, chance: random.Random) -> None:
    active = life.db.execute(
        """SELECT id FROM observations
           WHERE superseded_at IS NULL AND committed_at IS NOT NULL ORDER BY id"""
    ).fetchall()
    ids = [row[0] for row in active]
    match chance.choice(("learn", "learn", "learn", "keep", "merge", "outdate", "edit", "undo")):
        case "learn":
            life.learn(
                here, chance.choice(FACTS), priority=chance.choice(("high", "high", "medium"))
            )
        case "keep":
            keep(life, chance.choice(FACTS))
        case "merge" if len(ids) >= 2:
            pair = [_read(life, i) for i in chance.sample(ids, 2)]
            condense(
                life, chance.choice([pair[0].content, "; ".join(o.content for o in pair)]), pair
            )
        case "outdate" if len(ids) >= 2:
            old, new = sorted(chance.sample(ids, 2))
            life.reflect(outdated=[(_read(life, old), _read(life, new))])
            settle(life)
        case "edit" if ids:
            edit(life.db, chance.choice(ids), chance.choice(FACTS), life.clock)
        case "undo" if life.db.execute(
            "SELECT 1 FROM cycles WHERE status = 'succeeded'"
        ).fetchone():
            undo(life.db, life.clock)
    life.pass_days(0.1)


def _read(life: Life, observation_id: int) -> Observation:
    return rows.observation(life.db, observation_id)


def _check(life: Life) -> None:
    """Assert that memories and observations agree, and settling changes nothing."""
    assert memories_without_ground(life.db) == []
    assert unpromoted_observations(life.db) == []
    standing = list_memories(life.db)
    assert settle(life) == 0
    assert list_memories(life.db) == standing
    everything = list_memories(life.db, include_superseded=True)
    contents = in_force(life)
    assert len([c for c in contents if "peanut" in c and "; " not in c]) <= 1
    in_force_ids = {m.id for m in standing}
    for m in everything:
        if m.observation_id is None:
            assert m.id in in_force_ids
        elif _read(life, m.observation_id).state == "active":
            assert in_force_ids & {m.id, m.superseded_by}
        assert m.superseded_by is None or m.superseded_at is not None

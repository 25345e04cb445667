"""What narrows a search: limit, place, time, state, and what is out of recall."""

from datetime import date, timedelta

import pytest

from construct.memory.shown.forks import fork, reach
from construct.memory.undo import undo
from construct.store.messages import LAST
from construct.store.search import Filters
from tests.memory.builders import ZONE, Life
from tests.memory.recall.hits import keys, search, small_talk, texts


@pytest.mark.parametrize("limit", [0, 1, 3])
def test_no_more_is_found_than_asked_for(life: Life, limit: int) -> None:
    """The limit is kept, 0 as well."""
    here = life.talk()
    small_talk(life, here)
    assert len(search(life.db, "lentils", limit=limit)) == limit


def test_filters_narrow_what_is_found(life: Life) -> None:
    """By conversation, kind, role, and the user's days with both ends."""
    here, there = life.talk(), life.talk()
    first = life.exchange(here, "A falcon nests on the roof.", "A falcon, how fine!")
    life.pass_days(2)
    second = life.say(there, "The falcon has flown.")
    day = date.fromisoformat(second.created_at[:10])

    def found(**narrow: object) -> set[int]:
        return {hit.id for hit in search(life.db, "falcon", Filters(zone=ZONE, **narrow))}  # type: ignore[arg-type]

    assert found(descent=((there, LAST),)) == {second.id}
    assert found(role="assistant") == {first.id + 1}
    assert found(kind="observation") == set()
    assert found(since=day) == found(since=day, until=day) == {second.id}
    assert found(until=day - timedelta(1)) == {first.id, first.id + 1}
    assert found(since=date.max) == found(until=date.min) == set()
    assert found(since=date.min, until=date.max) == {first.id, first.id + 1, second.id}


def test_what_was_kept_on_request_is_of_every_conversation(life: Life) -> None:
    """By the user or by the model; what was observed is of its own conversation alone."""
    here, there = life.talk(), life.talk()
    observed = life.learn(here, "I play the bassoon in an orchestra")
    typed = life.remember("The bassoon is in the attic")
    kept = life.remember_for_model("The bassoon is rented", life.say(here, "It is rented"))
    for talk, found in ((here, {observed.id, typed.id, kept.id}), (there, {typed.id, kept.id})):
        filters = Filters(descent=((talk, LAST),), kind="observation")
        assert {hit.id for hit in search(life.db, "bassoon", filters)} == found


def test_a_fork_is_searched_with_what_it_goes_on_from(life: Life) -> None:
    """A fork is searched with its parent's messages up to the fork.

    The observations of those are included, and what was made of them.
    """
    parent = life.talk()
    life.learn(parent, "The heron stands in the pond")
    child = fork(life.db, parent, life.clock)
    life.learn(parent, "The heron ate a frog")
    life.learn(child, "The heron has flown")
    life.learn(life.talk(), "A heron of another talk")
    hits = search(
        life.db, "heron", Filters(descent=reach(life.db, "conversation", child)), limit=50
    )
    assert {hit.text for hit in hits} - {"I see."} == {
        "The heron stands in the pond",
        "The heron has flown",
    }
    assert {hit.kind for hit in hits} == {"message", "observation"}


def test_what_is_superseded_is_found_only_on_demand(life: Life) -> None:
    """A reflection stands in its sources' place, unless all are asked for."""
    here = life.talk()
    old = [life.learn(here, f"The garden has {n} pear trees") for n in (3, 4)]
    (new,) = life.reflect(("The garden has 3, then 4 pear trees", old))
    kind = "observation"
    assert keys(search(life.db, "pear trees", Filters(kind=kind))) == [(kind, new.id)]
    hits = search(life.db, "pear trees", Filters(kind=kind, all=True))
    assert {hit.id: hit.state for hit in hits} == {
        new.id: "active", old[0].id: "superseded", old[1].id: "superseded",
    }  # fmt: skip


def test_as_of_a_moment_what_was_active_then_is_found(life: Life) -> None:
    """The past is searched as it was: what there was then, in its state of then."""
    here = life.talk()
    old = [life.learn(here, f"The boat has {n} sails") for n in (2, 3)]
    then = life.clock.now()
    life.pass_days(1)
    (new,) = life.reflect(("The boat has 2, then 3 sails", old))
    life.say(here, "The boat has sunk.")
    past = search(life.db, "boat", Filters(as_of=then))
    assert {(hit.id, hit.state) for hit in past if hit.kind == "observation"} == {
        (o.id, "active") for o in old
    }
    assert "The boat has sunk." not in texts(past)
    now = search(life.db, "boat", Filters(kind="observation"))
    assert keys(now) == [("observation", new.id)]


def test_a_reverted_cycle_counts_as_never_run(life: Life) -> None:
    """What was undone is not found, not even among all or in the past.

    What it replaced is back.
    """
    here = life.talk()
    old = [life.learn(here, f"The tower has {n} bells") for n in (5, 6)]
    life.pass_days(1)
    (new,) = life.reflect(("The tower has 5, then 6 bells", old))
    then = life.clock.now()
    undo(life.db, life.clock)
    for filters in (
        Filters(kind="observation"),
        Filters(kind="observation", all=True),
        Filters(as_of=then),
    ):
        ids = {hit.id for hit in search(life.db, "bells", filters) if hit.kind == "observation"}
        assert new.id not in ids
        assert {o.id for o in old} <= ids


@pytest.mark.parametrize("change", ["withheld = 1", "retried = 1", "content = '[removed]'"])
def test_what_is_out_of_recall_is_not_found(life: Life, change: str) -> None:
    """Withheld, retried and removed messages neither are found nor lead to others."""
    here = life.talk()
    said = life.say(here, "The password is heliotrope.")
    life.db.execute(f"UPDATE messages SET {change} WHERE id = ?", (said.id,))
    assert said.id not in [hit.id for hit in search(life.db, "password heliotrope removed")]

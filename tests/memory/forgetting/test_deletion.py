import pytest

from construct.errors import NotFoundError
from construct.memory.cycles.commit import StaleError, store_extraction
from construct.memory.forgetting import delete_conversation, plan_deletion
from construct.memory.learning.proposals import Extraction
from construct.memory.shown.forks import fork, inherited_window
from construct.store import cycles
from construct.store.conversations import get_conversation
from tests.memory.builders import Life, stated
from tests.memory.forgetting.test_forget import FORGOTTEN, SECRET, held


def test_deleting_a_conversation_deletes_all_that_rests_on_it(life: Life) -> None:
    """Deleting a conversation deletes everything that rests on it.

    That is messages, cycles, observations and reflections. Other sources of these
    reflections are active again.
    """
    here, other = life.talk("Xylophones"), life.talk()
    fact, kept = life.learn(here, SECRET), life.learn(other, "User likes marzipan")
    life.promoted(fact)
    (both,) = life.reflect((f"{SECRET}; likes marzipan", [fact, kept]), notes=[SECRET])
    life.exchange(here, "The xylophone again")
    plan = plan_deletion(life.db, here)
    assert ([o.id for o in plan.observations], [o.id for o in plan.reactivated]) == (
        [fact.id, both.id],
        [kept.id],
    )
    found = delete_conversation(life.db, here, life.clock)
    assert (found.messages, found.observations, found.reactivated, found.memories) == (4, 2, 1, 1)
    assert life.active() == ["User likes marzipan"]
    assert held(life, *FORGOTTEN) == []
    assert life.broken() == []
    with pytest.raises(NotFoundError):
        plan_deletion(life.db, here)


def test_usage_of_a_deleted_conversation_stays_in_the_books(life: Life) -> None:
    """What was paid was paid."""
    here = life.talk()
    fact = life.learn(here, SECRET)
    life.db.execute(
        """INSERT INTO usage (created_at, purpose, model, conversation_id, cycle_id)
           VALUES (?, 'observer', 'm', ?, ?)""",
        (life.tick(), here, fact.cycle_id),
    )
    delete_conversation(life.db, here, life.clock)
    assert life.db.execute("SELECT conversation_id, cycle_id FROM usage").fetchall() == [
        (None, None)
    ]


def test_forks_go_on_without_a_deleted_parent(life: Life) -> None:
    """The plan names them.

    They keep their own words and facts and lose only what they had by reference.
    """
    parent = life.talk()
    life.exchange(parent, SECRET)
    child = fork(life.db, parent, life.clock)
    own = life.learn(child, "User likes marzipan")
    assert [c.id for c in plan_deletion(life.db, parent).forks] == [child]
    assert delete_conversation(life.db, parent, life.clock).forks == (child,)
    conversation = get_conversation(life.db, child)
    assert (conversation.parent_id, conversation.forked_at_message_id) == (None, None)
    assert (inherited_window(life.db, get_conversation(life.db, child)), life.state(own)) == (
        [],
        "active",
    )
    assert held(life, *FORGOTTEN) == []
    assert life.broken() == []


def test_an_observer_at_work_in_a_deleted_conversation_stores_nothing(life: Life) -> None:
    """It finds its cycle gone."""
    here = life.talk()
    said = life.exchange(here, SECRET)
    cycle = cycles.start_cycle(life.db, "observer", here, life.tick(), span=(said.id, said.id))
    assert cycle is not None
    delete_conversation(life.db, here, life.clock)
    with pytest.raises(StaleError):
        store_extraction(
            life.db, cycle, Extraction((stated(SECRET, [said.id]),)), [said], 0, life.tick()
        )


def test_a_deleted_conversation_is_not_compacted(life: Life) -> None:
    """Another process was about to: it is told so, and the file is sound."""
    life.learn(life.talk(), "User lives in Porto")
    here = life.talk()
    delete_conversation(life.db, here, life.clock)
    with pytest.raises(NotFoundError):
        life.compact(here)
    assert life.broken() == []

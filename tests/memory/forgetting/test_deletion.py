import pytest

from construct.errors import ConstructError, NotFoundError
from construct.llm.types import ChatMessage, Text, ToolResult, ToolUse
from construct.memory.cycles.commit import StaleError, store_extraction
from construct.memory.forgetting import (
    delete_conversation,
    forget,
    plan_deletion,
    plan_forget,
)
from construct.memory.learning.proposals import Extraction
from construct.memory.shown.forks import fork, inherited_window
from construct.memory.shown.tool_rounds import dump_rounds
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
    life.relate(fact)
    (both,) = life.reflect((f"{SECRET}; likes marzipan", [fact, kept]), notes=[SECRET])
    life.exchange(here, "The xylophone again")
    plan = plan_deletion(life.db, here)
    assert ([o.id for o in plan.observations], [o.id for o in plan.reactivated]) == (
        [fact.id, both.id],
        [kept.id],
    )
    found = delete_conversation(life.db, here, life.clock)
    assert (found.messages, found.observations, found.reactivated, found.relations) == (4, 2, 1, 1)
    assert life.active() == ["User likes marzipan"]
    assert held(life, *FORGOTTEN) == []
    assert life.broken() == []
    with pytest.raises(NotFoundError):
        plan_deletion(life.db, here)


def test_what_the_model_kept_or_looked_up_of_it_is_deleted_too(life: Life) -> None:
    """Notes that the model kept of it go, and tool rounds that quote what goes.

    What the user kept, and what the model kept or looked up elsewhere, stays.
    """
    elsewhere, here = life.talk(), life.talk()
    said = life.exchange(here, "My boy turned five, he is called Zebulon. Keep that in mind!")
    note = "User has a son, Zebulon"
    rounds = tool_rounds("remember", {"content": note}, f"Kept as 3: {note}")
    life.say(here, "I will.", "assistant", rounds)
    life.exchange(here, "His mother is Xanthippe, by the way")
    life.exchange(here, "Ok", "Ok")
    son, mother = life.observe(
        here,
        ("User has a five-year-old son, Zebulon", [said]),
        ("The mother of User's son is Xanthippe", [said]),
    )
    life.compact(here)
    kept = life.remember_for_model(note, said)
    life.remember_for_model("User's son has a mother called Xanthippe", life.say(elsewhere, "Yes"))
    life.remember("Xanthippe is the mother of User's son")
    life.say(elsewhere, "Xanthippe is well.", "assistant", tool_rounds("recall", {}, "Xanthippe?"))
    hit = f"observation {son.id}, 2026-03-01: {son.content}"
    life.say(elsewhere, "He is five.", "assistant", tool_rounds("recall", {"query": "boy"}, hit))
    planned = [o.id for o in plan_deletion(life.db, here).observations]
    assert planned == [son.id, mother.id, kept.id]
    delete_conversation(life.db, here, life.clock)
    assert held(life, "Zebulon") == []
    assert life.db.execute("SELECT count(blocks) FROM messages").fetchone() == (1,)
    assert life.active() == [
        "User's son has a mother called Xanthippe",
        "Xanthippe is the mother of User's son",
    ]
    assert life.state(mother) == "gone"
    assert life.broken() == []


def tool_rounds(tool: str, arguments: dict[str, str], result: str) -> str:
    """Return the stored rounds of a reply that called a tool once."""
    return dump_rounds(
        [
            ChatMessage("assistant", (ToolUse("t1", tool, arguments),)),
            ChatMessage("user", (ToolResult("t1", result),)),
            ChatMessage("assistant", (Text("Yes."),)),
        ]
    )


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


def test_what_came_with_a_file_is_found(life: Life) -> None:
    """The tools show the file's line before the words."""
    here, elsewhere = life.talk(), life.talk()
    said = life.say(here, "Bob is ill")
    life.db.execute("UPDATE messages SET attached = '[pdf: scan.pdf]' WHERE id = ?", (said.id,))
    shown = f"message {said.id}, 2026-03-01 user: [pdf: scan.pdf] Bob is ill"
    life.say(elsewhere, "Somebody.", "assistant", tool_rounds("recall", {}, shown))
    assert len(plan_deletion(life.db, here).lookups) == 1


def test_what_was_agreed_to_is_what_goes(life: Life) -> None:
    """If something else would go by then, nothing does."""
    here = life.talk()
    first, second = life.learn(here, "User has a cat"), life.learn(here, "User's cat is Momo")
    note, talk = ("observation", first.id), plan_deletion(life.db, here)
    shown = plan_forget(life.db, note, words=False)
    life.reflect(("User has a cat called Momo", [first, second]))
    with pytest.raises(ConstructError, match="has changed since it was shown"):
        forget(life.db, note, life.clock, words=False, shown=shown)
    with pytest.raises(ConstructError, match="has changed since it was shown"):
        delete_conversation(life.db, here, life.clock, shown=talk)
    assert life.active() == ["User has a cat called Momo"]
    now = plan_forget(life.db, note, words=False)
    assert forget(life.db, note, life.clock, words=False, shown=now).observations == 2

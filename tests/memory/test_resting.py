"""Which messages a note rests on, through all generations, and who may read it for that."""

from dataclasses import replace

import pytest

from construct.memory.corrections import edit
from construct.memory.forgetting import forget
from construct.memory.lookup import Rights, readable
from construct.memory.shown.forks import descent
from construct.memory.undo import undo
from construct.store.records import Message, Observation
from tests.memory.builders import Life, stated

DENTIST, OFF = "User sees the dentist Moura in March", "User called off the dentist Moura"


def rests_on(life: Life, observation_id: int) -> dict[int, int]:
    """Return whether a note names each message that it rests on itself, by message id."""
    query = "SELECT message_id, direct FROM observation_messages WHERE observation_id = ?"
    return dict(life.db.execute(query, (observation_id,)).fetchall())


def may_read(life: Life, here: int, observation_id: int) -> bool:
    """Return whether a client narrowed to one conversation may read a note."""
    rights = Rights(descent=tuple(descent(life.db, here)), is_narrowed=True)
    return bool(readable(life.db, rights, None, [("observation", observation_id)]))


def test_a_reflection_rests_on_the_messages_of_all_its_sources(life: Life) -> None:
    """Through every generation, and none of them is named by itself."""
    here, there = life.talk(), life.talk()
    said = [life.exchange(talk, f"Fact {n}") for n, talk in enumerate((here, here, there))]
    a, b = life.observe(here, ("Fact 0", [said[0]]), ("Facts 0 and 1", said[:2]))
    (c,) = life.observe(there, ("Fact 2", [said[2]]))
    life.compact(here)
    life.compact(there)
    (ab,) = life.reflect(("a and b", [life.read(a), life.read(b)]))
    (abc,) = life.reflect(("a, b and c", [ab, life.read(c)]))
    assert rests_on(life, ab.id) == {said[0].id: 0, said[1].id: 0}
    assert rests_on(life, abc.id) == {m.id: 0 for m in said}
    assert may_read(life, here, ab.id)
    assert not may_read(life, here, abc.id)
    undo(life.db, life.clock)
    assert rests_on(life, abc.id) == {m.id: 0 for m in said}
    assert life.broken() == []


def test_an_edit_takes_over_the_messages(life: Life) -> None:
    """As they are; that of a reflection names them itself, for it has no sources."""
    here = life.talk()
    fact, other = life.learn(here, "Fact a"), life.learn(here, "Fact b")
    edited = life.reflect(("a, b", [fact, other]))[0]
    again = edit(life.db, edited.id, "a and b", life.clock)
    assert rests_on(life, again) == dict.fromkeys(rests_on(life, edited.id), 1)
    third = edit(life.db, life.learn(here, "Fact c").id, "Fact d", life.clock)
    assert list(rests_on(life, third).values()) == [1]
    assert life.broken() == []


@pytest.mark.parametrize(
    ("old", "said", "new", "is_taken"),
    [
        (DENTIST, "I called off the dentist.", OFF, True),
        (DENTIST, "I called off the dentist Moura.", OFF, False),
        ("User's rent is 1200", "My rent is 1300 now.", "User's rent is 1300", False),
        ("User's rent is 1200", "It went up.", "User's rent is more than 1200", True),
        ("Ana lives in Lisbon", "She moved to Porto.", "Ana moved to Porto", True),
    ],
)
@pytest.mark.parametrize("is_committed", [True, False])
def test_what_took_a_name_rests_on_the_messages_it_came_from(
    life: Life, old: str, said: str, new: str, is_taken: bool, is_committed: bool
) -> None:
    """Then a client that may read only its own conversation may not read it."""
    here, there = life.talk(), life.talk()
    before = life.learn(there, old)
    named: Message = life.exchange(here, said)
    (after,) = life.observe(here, replace(stated(new, [named.id]), replaces=(before.id,)))
    if is_committed:
        life.compact(here)
    behind = dict.fromkeys(rests_on(life, before.id), 0) if is_taken else {}
    assert rests_on(life, after.id) == {named.id: 1, **behind}
    assert may_read(life, here, after.id) is not is_taken
    edited = edit(life.db, after.id, f"{new}, indeed", life.clock)
    assert rests_on(life, edited) == rests_on(life, after.id)
    assert life.broken() == []


def succeed(life: Life, here: int) -> tuple[Observation, Observation]:
    """Return a compacted note, and a pending one of the same talk that took its name from it."""
    old = life.learn(here, "User works with Pelin")
    said = life.exchange(here, "We moved to another team, still together.")
    new = stated("User is still with Pelin in another team", [said.id])
    return old, life.observe(here, replace(new, replaces=(old.id,)))[0]


def test_a_pending_note_may_rest_on_a_message_that_left_the_window(life: Life) -> None:
    """Only the messages that it names itself are still to be compacted with it."""
    succeed(life, life.talk())
    assert life.broken() == []


def test_forgetting_a_note_leaves_the_words_that_only_stand_behind_it(life: Life) -> None:
    """They are those of an older note, which stays."""
    here = life.talk()
    old, new = succeed(life, here)
    life.compact(here)
    forget(life.db, ("observation", new.id), life.clock, words=True)
    said = [text for (text,) in life.db.execute("SELECT content FROM messages WHERE role = 'user'")]
    assert said == [old.content, "[removed]"]


def test_a_pending_note_that_the_user_adds_still_replaces_the_older_one(life: Life) -> None:
    """It is committed by that, so what it replaces goes at once."""
    here = life.talk()
    old = life.learn(here, "User lives in Lisbon")
    said = life.exchange(here, "I live in Porto now.")
    life.observe(here, replace(stated("User lives in Porto", [said.id]), replaces=(old.id,)))
    life.remember("User lives in Porto")
    life.compact(here)
    assert life.active() == ["User lives in Porto"]
    assert life.broken() == []


def test_what_a_reflector_lets_outdate_a_note_rests_on_the_name_it_took(life: Life) -> None:
    """So forgetting the older one finds the newer, which has the name only from it."""
    here = life.talk()
    old = life.learn(here, "User works with Pelin in Ghent")
    said = life.exchange(here, "We still work together, in Bruges now.")
    (new,) = life.observe(here, stated("User works with Pelin in Bruges", [said.id]))
    life.compact(here)
    life.reflect(outdated=[(old, life.read(new))])
    assert rests_on(life, new.id).keys() > {said.id}
    assert life.broken() == []

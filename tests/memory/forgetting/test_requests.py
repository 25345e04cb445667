"""What the user asked to forget in conversation, whatever becomes of that."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from construct.memory import forgetting
from construct.memory.corrections import edit, pin
from construct.memory.forgetting import delete_conversation
from construct.memory.trace import trace_observation
from construct.memory.undo import undo
from construct.operations.memory import observations_in_scope
from construct.store import questions
from construct.store.database import transaction
from construct.store.observations import active_in_scope
from construct.store.records import Observation
from construct.store.search import Filters
from construct.vocabulary import Scope
from tests.memory.builders import Life, stated
from tests.memory.recall.hits import search
from tests.support.context import context

PEANUTS = "User is allergic to peanuts"
CHESS = "User plays chess with Otto"
DENTIST, OFF = "User sees the dentist Moura in March", "User called off the dentist Moura"


@pytest.fixture
def life(tmp_path: Path) -> Iterator[Life]:
    """A life, checked at its end."""
    lived = Life(tmp_path)
    yield lived
    assert lived.broken() == []
    lived.db.close()


def recalled(life: Life, query: str) -> list[str]:
    """Return the words of what is found."""
    return [hit.text for hit in search(life.db, query, Filters(), 10, today=life.clock.today())]


def ask_to_forget(life: Life, here: int, *notes: Observation, retained: int = 0) -> None:
    """Let the user ask for it, the observer hear it, and a compaction commit it."""
    life.exchange(here, "Forget about that.")
    life.observe(here, forget_observations=tuple(o.id for o in notes))
    life.compact(here, retained=retained)


def replacing(life: Life, here: int, old: Observation, words: str, content: str) -> Observation:
    """Say something and observe it as a line that replaces an older one.

    It stays pending.
    """
    said = life.exchange(here, words)
    (new,) = life.observe(here, replace(stated(content, [said.id]), replaces=(old.id,)))
    return new


def test_what_is_withheld_is_listed_in_either_scope(life: Life) -> None:
    """The owner sees it, marked, until it is forgotten or kept."""
    here = life.talk()
    note = life.learn(here, PEANUTS)
    ask_to_forget(life, here, note)
    for scope in Scope:
        ctx = context(life.db, here=here)
        listed = observations_in_scope(replace(ctx, memory=replace(ctx.memory, scope=scope)))
        assert [(o.id, o.withheld) for o in listed] == [(note.id, 1)]


def test_an_edit_of_what_is_withheld_is_shown(life: Life) -> None:
    """It is the user's own new line."""
    here = life.talk()
    note = life.learn(here, PEANUTS)
    ask_to_forget(life, here, note)
    edit(life.db, note.id, "User is allergic to walnuts", life.clock)
    assert life.active() == ["User is allergic to walnuts"]


def test_what_it_was_edited_from_is_withheld_too(life: Life) -> None:
    """Undoing the edit does not bring it back, with the asking conversation gone."""
    there, here = life.talk(), life.talk()
    note = life.learn(there, PEANUTS)
    edit(life.db, note.id, "User is allergic to peanuts and soy", life.clock)
    (edited,) = active_in_scope(life.db, None)
    ask_to_forget(life, here, edited)
    delete_conversation(life.db, here, life.clock)
    undo(life.db, life.clock)
    assert life.read(note).superseded_at is None
    assert life.active() == []


def test_what_was_edited_while_the_observer_read_is_withheld(life: Life) -> None:
    """The observer names the version that it was given."""
    here = life.talk()
    note = life.learn(here, PEANUTS)
    edit(life.db, note.id, "User is allergic to peanuts and soy", life.clock)
    ask_to_forget(life, here, note)
    assert life.active() == []


def test_what_is_no_repetition_after_all_stays(life: Life) -> None:
    """Only one of the two was asked about."""
    here = life.talk()
    ana, anna = (life.learn(here, f"{name} is allergic to nuts") for name in ("Ana", "Anna"))
    life.reflect(same=[(ana, anna)])
    undo(life.db, life.clock)
    ask_to_forget(life, here, anna)
    assert life.active() == [ana.content]


def test_it_stays_withheld_without_the_conversation_that_asked(life: Life) -> None:
    """And can still be answered.

    What that conversation had not committed yet asks for nothing.
    """
    there, here = life.talk(), life.talk()
    note, other = life.learn(there, PEANUTS), life.learn(there, CHESS)
    ask_to_forget(life, here, note)
    life.exchange(here, "Forget Otto.")
    life.observe(here, forget_observations=(other.id,))
    delete_conversation(life.db, here, life.clock)
    assert life.read(note).withheld
    assert questions.not_yet_withheld(life.db) == frozenset()
    (asked,) = questions.unanswered_requests(life.db)
    with transaction(life.db):
        questions.withdraw(life.db, asked.question_id)
    assert not life.read(note).withheld


def test_what_a_reflection_was_made_of_is_withheld_with_it(life: Life) -> None:
    """Else it would be shown again once the reflection goes."""
    here = life.talk()
    peanuts, chess = life.learn(here, PEANUTS), life.learn(here, CHESS)
    (both,) = life.reflect((f"{PEANUTS} and plays chess with Otto", [peanuts, chess]))
    ask_to_forget(life, here, both)
    assert [r.words for r in questions.unanswered_requests(life.db)] == [both.content]
    forgetting.forget(life.db, ("observation", chess.id), life.clock, words=True)
    assert "peanuts" not in " ".join(life.active())


def test_a_reflection_made_meanwhile_is_withheld_too(life: Life) -> None:
    """The observer was told of its source: only that is asked about, and goes."""
    here = life.talk()
    peanuts, chess = life.learn(here, PEANUTS), life.learn(here, CHESS)
    life.exchange(here, "Forget about the peanuts.")
    life.reflect((f"{PEANUTS} and plays chess with Otto", [peanuts, chess]))
    life.observe(here, forget_observations=(peanuts.id,))
    life.compact(here)
    assert life.active() == []
    assert [r.observation_id for r in questions.unanswered_requests(life.db)] == [peanuts.id]
    forgetting.forget(life.db, ("observation", peanuts.id), life.clock, words=True)
    assert life.active() == [CHESS]
    assert recalled(life, "chess Otto")


def test_a_reply_that_is_named_is_withheld_alone(life: Life) -> None:
    """The question and the next reply stay."""
    here = life.talk()
    life.say(here, "Where do I keep it?")
    reply = life.say(here, "In Zanzibar", "assistant")
    life.exchange(here, "And what is for lunch?", "Soup")
    life.exchange(here, "Forget what you said of Zanzibar.")
    life.observe(here, forget_messages=(reply.id,))
    life.compact(here)
    withheld = "SELECT content FROM messages WHERE withheld"
    assert life.db.execute(withheld).fetchall() == [("In Zanzibar",)]


@pytest.mark.parametrize("retained", [0, 10_000], ids=["left its window", "still raw"])
def test_a_message_is_withheld_once_it_has_left_its_own_window(life: Life, retained: int) -> None:
    """Whatever the window is of the conversation in which it was asked for."""
    here, there = life.talk(), life.talk()
    said = life.exchange(there, "I am allergic to peanuts")
    (note,) = life.observe(there, (PEANUTS, [said]))
    life.compact(there, retained=retained)
    ask_to_forget(life, here, note, retained=10_000 - retained)
    assert life.window(there) == (["I am allergic to peanuts", "I see."] if retained else [])
    life.exchange(there, "Good night.")
    life.observe(there)
    life.compact(there)
    assert recalled(life, "allergic peanuts") == []


def test_the_answer_is_for_what_was_asked(life: Life) -> None:
    """What is withheld while the user reads the question is asked about later."""
    here = life.talk()
    peanuts, chess = life.learn(here, PEANUTS), life.learn(here, CHESS)
    ask_to_forget(life, here, peanuts)
    asked = questions.unanswered_requests(life.db)
    ask_to_forget(life, here, chess)
    with transaction(life.db):
        questions.withdraw(life.db, asked[0].question_id)
    assert (life.read(peanuts).withheld, life.read(chess).withheld) == (0, 1)


def test_what_was_answered_stays_withheld_and_is_not_asked_again(life: Life) -> None:
    """Undo gives it back, and what is forgotten leaves no question behind."""
    here = life.talk()
    peanuts, chess = life.learn(here, PEANUTS), life.learn(here, CHESS)
    ask_to_forget(life, here, peanuts)
    (asked,) = questions.unanswered_requests(life.db)
    questions.answer(life.db, asked.question_id, "withheld", life.tick())
    assert questions.unanswered_requests(life.db) == []
    assert life.active() == [CHESS]
    assert undo(life.db, life.clock).given_back == (PEANUTS,)
    assert life.active() == [PEANUTS, CHESS]
    assert life.count("questions") == life.count("question_items") == 0
    ask_to_forget(life, here, chess)
    forgetting.forget(life.db, ("observation", chess.id), life.clock, words=True)
    assert life.count("questions") == life.count("question_items") == 0


def test_a_name_goes_with_the_note_it_was_borrowed_from(life: Life) -> None:
    """Though that note was pinned before the line could replace it."""
    here = life.talk()
    old = life.learn(here, DENTIST)
    replacing(life, here, old, "I called off the dentist.", OFF)
    pin(life.db, old.id)
    life.compact(here)
    assert life.active() == [OFF, DENTIST]
    forgetting.forget(life.db, ("observation", old.id), life.clock, words=True)
    assert b"Moura" not in life.bytes()


def test_a_borrowed_name_goes_with_the_conversation_it_came_from(life: Life) -> None:
    """Deleting that conversation leaves it nowhere."""
    here, there = life.talk(), life.talk()
    old = life.learn(there, DENTIST)
    replacing(life, here, old, "I called off the dentist.", OFF)
    life.compact(here)
    delete_conversation(life.db, there, life.clock)
    assert b"Moura" not in life.bytes()


def test_a_borrowed_name_goes_however_often_it_was_handed_on(life: Life) -> None:
    """From line to line, each taking the place of the one before."""
    here, there = life.talk(), life.talk()
    old = life.learn(there, DENTIST)
    off = replacing(life, here, old, "I called off the dentist.", OFF)
    life.compact(here)
    replacing(life, here, off, "I went after all.", "User went to the dentist Moura after all")
    life.compact(here)
    delete_conversation(life.db, there, life.clock)
    assert b"Moura" not in life.bytes()


@pytest.mark.parametrize("head", ["", " (loose: has only some of the words: or less)"])
def test_a_deleted_conversation_is_quoted_nowhere(life: Life, head: str) -> None:
    """Neither in another one's task nor by a tool that recalled it there."""
    here, there = life.talk(), life.talk()
    life.learn(there, "User has a  son called Zebulon")
    life.exchange(here, "How do I plan his birthday?")
    life.observe(here, current_task="User has a son called Zebulon: planning his birthday")
    content = f"message 1, 2026-03-01 user{head}: User has a  son called Zebulon"
    result = json.dumps([{"type": "tool_result", "content": content}])
    life.say(here, "It is in May.", "assistant", blocks=result)
    delete_conversation(life.db, there, life.clock)
    assert b"Zebulon" not in life.bytes()


def test_an_edit_of_a_pending_line_replaces_what_that_was_to_replace(life: Life) -> None:
    """The user mends a slip of the pen before the line is committed."""
    here = life.talk()
    old = life.learn(here, "User lives in Lisbon")
    new = replacing(life, here, old, "I live in Porto now.", "User lives in Porot now")
    edit(life.db, new.id, "User lives in Porto now", life.clock)
    life.compact(here)
    assert life.active() == ["User lives in Porto now"]


def test_a_chain_of_moves_over_conversations_leaves_the_last(life: Life) -> None:
    """The middle one is replaced before its own conversation has committed it."""
    here, there = life.talk(), life.talk()
    lisbon = life.learn(life.talk(), "User lives in Lisbon")
    porto = replacing(life, here, lisbon, "I live in Porto now.", "User lives in Porto now")
    replacing(life, there, porto, "I live in Faro now.", "User lives in Faro now")
    life.compact(there)
    life.compact(here)
    assert life.active() == ["User lives in Faro now"]


def test_what_never_took_effect_is_no_part_of_a_life(life: Life) -> None:
    """The line that would have replaced it was undone before it was committed."""
    here = life.talk()
    old = life.learn(here, "User lives in Lisbon")
    replacing(life, here, old, "I live in Porto now.", "User lives in Porto now")
    undo(life.db, life.clock)
    assert "replaced" not in [event.event for event in trace_observation(life.db, old.id).life]

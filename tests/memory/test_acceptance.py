"""CONSTRUCT_LEARN=ask: until the user accepts a new note, only its own conversation has it."""

from dataclasses import replace

import pytest

from construct.memory.shown.view import current_blocks, opening_blocks, take_in
from construct.memory.undo import undo
from construct.operations import doors, review
from construct.operations.doors import Access
from construct.store.acceptance import ask_about_new
from construct.store.agenda import dated_notes
from construct.store.database import transaction
from construct.store.flags import flagged
from construct.store.invariants import violations
from construct.store.records import Observation
from construct.store.reminders import reminding_notes
from construct.store.review import count_waiting
from construct.vocabulary import Answer, Flag
from tests.memory.builders import FRAME, Life, stated
from tests.support.context import context


def learn_new(life: Life, here: int, text: str, replaces: tuple[int, ...] = ()) -> Observation:
    """Learn a plan that the user is asked about."""
    said = life.exchange(here, text)
    line = replace(stated(text, [said.id]), replaces=replaces)
    (found,) = life.observe(here, line)
    with transaction(life.db):
        ask_about_new(life.db, found.cycle_id, life.tick())
    life.compact(here)
    return life.read(found)


def seen(life: Life, here: int) -> list[str]:
    """Return the notes that a conversation's model is shown now."""
    with transaction(life.db):
        blocks = current_blocks(life.db, here, FRAME)
    return [line.content for block in blocks for line in block]


def decide(life: Life, answer: Answer, text: str = "") -> None:
    """Answer the one question that waits."""
    ctx = context(life.db, life.clock)
    item = review.next_item(ctx, ())
    assert item is not None
    assert item.waiting.kind == "new"
    review.answer(ctx, item, answer, text)


def sound(life: Life) -> list[str]:
    """Return what is out of place."""
    with transaction(life.db):
        return violations(life.db)


def test_others_get_it_once_it_is_accepted(life: Life) -> None:
    """Its own conversation has it at once. Undone, only that one has it again."""
    here, other = life.talk(), life.talk()
    life.learn(other, "Ana lives in Porto")
    note = learn_new(life, here, "User sees the dentist on 20 March")
    life.db.execute(
        "UPDATE observations SET referenced_date = '2026-03-20' WHERE id = ?", (note.id,)
    )

    def elsewhere() -> list[bool]:
        life.exchange(other, "And how is Ana?")
        life.observe(other)
        life.compact(other)
        ctx = context(life.db, life.clock)
        opened = [line.content for block in opening_blocks(life.db, FRAME) for line in block]
        return [
            note.content in seen(life, other),
            note.content in opened,
            bool(dated_notes(life.db)),
            bool(reminding_notes(life.db, life.clock.today())),
            any(o.id == note.id for o in doors.current(ctx, Access())),
            doors.use(ctx, Access(), "recall", {"query": "dentist", "kind": "observation"}).count
            > 0,
        ]

    assert note.content in seen(life, here)
    assert elsewhere() == [False] * 6
    assert count_waiting(life.db) == 1
    decide(life, Answer.KEEP)
    assert elsewhere() == [True] * 6
    assert count_waiting(life.db) == 0
    assert undo(life.db, life.clock).cycle.kind == "edit"
    assert note.content not in seen(life, other)
    assert note.content in seen(life, here)
    assert sound(life) == []


def test_what_it_replaces_stays_until_then(life: Life) -> None:
    """Accepted, it supersedes the old note; undone, that is active; accepted again, it is not."""
    here = life.talk()
    old = life.learn(here, "User lives in Lisbon")
    new = learn_new(life, here, "User lives in Porto now", (old.id,))
    assert life.read(old).state == "active"
    for _ in range(2):
        decide(life, Answer.KEEP)
        assert (life.read(old).state, life.read(new).state) == ("superseded", "active")
        assert sound(life) == []
        undo(life.db, life.clock)
        assert (life.read(old).state, life.read(new).state) == ("active", "active")
        assert sound(life) == []
    decide(life, Answer.EDIT, "User lives in Porto since May")
    assert (life.read(old).state, life.read(new).state) == ("superseded", "superseded")
    assert sound(life) == []


def test_what_it_unsettles_is_doubtful_only_then(life: Life) -> None:
    """Its own replacing waits, and so does the doubt."""
    here = life.talk()
    tram = life.learn(here, "User takes tram 28 to work")
    said = life.exchange(here, "I live in Porto now.")
    line = replace(stated("User lives in Porto now", [said.id]), unsettles=(tram.id,))
    (found,) = life.observe(here, line)
    with transaction(life.db):
        ask_about_new(life.db, found.cycle_id, life.tick())
    life.compact(here)
    assert flagged(life.db, Flag.DOUBTFUL) == frozenset()
    decide(life, Answer.KEEP)
    assert flagged(life.db, Flag.DOUBTFUL) == {tram.id}


def test_all_new_notes_are_kept_by_one_edit(life: Life) -> None:
    """One undo asks about all of them again."""
    here = life.talk()
    old = life.learn(here, "User lives in Lisbon")
    learn_new(life, here, "User lives in Porto now", (old.id,))
    learn_new(life, here, "User sings alto")
    decide(life, Answer.KEEP_ALL)
    assert (count_waiting(life.db), life.read(old).state) == (0, "superseded")
    undo(life.db, life.clock)
    assert (count_waiting(life.db), life.read(old).state) == (2, "active")
    assert sound(life) == []


@pytest.mark.parametrize("answer", [Answer.UNTRUE, Answer.FORGET])
def test_what_is_not_accepted_never_counts(life: Life, answer: Answer) -> None:
    """Neither in its own conversation, nor elsewhere; the old note stays."""
    here = life.talk()
    old = life.learn(here, "User lives in Lisbon")
    learn_new(life, here, "User lives in Porto now", (old.id,))
    decide(life, answer)
    with transaction(life.db):
        take_in(life.db, here, FRAME)
    assert seen(life, here) == ["User lives in Lisbon"]
    assert sound(life) == []

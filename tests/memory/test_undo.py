from dataclasses import replace
from datetime import timedelta

import pytest

from construct.clock import Clock
from construct.errors import ConstructError, NotFoundError
from construct.memory.corrections import edit, pin
from construct.memory.cycles.commit import StaleError, store_extraction, store_reflection
from construct.memory.graph.reading import related_notes
from construct.memory.learning.proposals import Extraction
from construct.memory.learning.reflection_checks import Change, ChangeKind, Reflection
from construct.memory.shown.forks import fork, inherited_window
from construct.memory.shown.view import current_blocks
from construct.memory.undo import newest_cycle, plan_undo, undo
from construct.store import cycles
from construct.store import observations as rows
from construct.store.conversations import get_conversation, get_watermarks
from construct.store.messages import last_message_id, live_messages
from construct.store.records import Watermarks
from tests.memory.builders import FRAME, Life, stated


def shown(life: Life, here: int) -> list[str]:
    """Return what the conversation's model is shown."""
    return sorted(o.content for block in current_blocks(life.db, here, FRAME) for o in block)


def test_without_a_cycle_there_is_nothing_to_undo(life: Life) -> None:
    """Undo says so, and does not count cycles that failed."""
    here = life.talk()
    failed = cycles.start_cycle(life.db, "observer", here, life.tick())
    assert failed is not None
    cycles.finish_cycle(life.db, failed, "failed", life.tick())
    with pytest.raises(NotFoundError, match="Nothing to undo"):
        undo(life.db, life.clock)


def test_an_undone_observer_brings_the_raw_messages_back(life: Life) -> None:
    """Watermarks go to before the cycle's first message, past any compaction."""
    here = life.talk()
    first = life.learn(here, "Fact one")
    life.exchange(here, "Fact two")
    (second,) = life.observe(here, ("Fact two", [live_messages(life.db, here, 2)[0]]))
    life.compact(here)
    assert life.window(here) == []
    undone = undo(life.db, life.clock)
    assert [o.id for o in undone.deactivated] == [second.id]
    assert life.window(here) == ["Fact two", "I see."]
    assert get_watermarks(life.db, here) == Watermarks(2, 2, 2)
    assert (life.state(first), life.state(second)) == ("active", "superseded")
    assert life.read(second).superseded_by == second.cycle_id == undone.cycle.id
    assert life.broken() == []


def test_a_watermark_below_the_cycle_stays(life: Life) -> None:
    """Only those are lowered that had passed the beginning of what was observed."""
    here = life.talk()
    life.learn(here, "Fact one")
    life.observe(here, ("Fact two", [life.exchange(here, "Fact two")]))
    with_window = get_watermarks(life.db, here)
    undo(life.db, life.clock)
    assert get_watermarks(life.db, here) == replace(with_window, observed=with_window.compacted)


def test_the_first_cycle_undone_leaves_no_watermark(life: Life) -> None:
    """With no message before it, the watermarks are gone."""
    here = life.talk()
    life.learn(here, "Fact one")
    undo(life.db, life.clock)
    assert life.count("watermarks") == 0
    assert life.window(here) == ["Fact one", "I see."]


def test_a_cycle_over_one_message_gives_it_back(life: Life) -> None:
    """Its end is its beginning: the watermark on it is lowered too."""
    here = life.talk()
    life.learn(here, "Fact one")
    life.observe(here, ("Fact two", [life.say(here, "Fact two")]))
    life.compact(here)
    undo(life.db, life.clock)
    assert get_watermarks(life.db, here) == Watermarks(2, 2, 2)
    assert life.broken() == []


def test_undone_observers_are_held_back_and_the_thread_is_cut(life: Life) -> None:
    """The newest message is kept as the point to go on from; the task is gone."""
    here = life.talk()
    said = life.exchange(here, "Fact one")
    life.observe(
        here, ("Fact one", [said]), current_task="packing", suggested_response="Ask about socks"
    )
    life.exchange(here, "Fact two")
    undone = undo(life.db, life.clock)
    conversation = get_conversation(life.db, here)
    assert undone.cycle.held_message_id == last_message_id(life.db, here)
    assert undone.cycle.reverted_at is not None
    assert (conversation.current_task, conversation.suggested_response) == (None, None)


def test_an_undone_reflection_gives_its_sources_back(life: Life) -> None:
    """What it made is superseded by it, what it superseded is shown at once."""
    here = life.talk()
    a, b, low = (
        life.learn(here, "Fact a"),
        life.learn(here, "Fact b"),
        life.learn(here, "Small talk", priority="low"),
    )
    (both,) = life.reflect(("a and b", [a, b]), dropped=[low])
    assert shown(life, here) == ["a and b"]
    undone = undo(life.db, life.clock)
    assert [o.id for o in undone.reactivated] == [a.id, b.id, low.id]
    assert life.read(both).superseded_by == both.cycle_id
    assert shown(life, here) == ["Fact a", "Fact b", "Small talk"]
    assert undone.cycle.base_tokens == rows.tokens_in_sight(life.db, None)
    assert life.broken() == []


def test_what_was_only_dropped_is_shown_again_at_once(life: Life) -> None:
    """A reflection that made nothing leaves no line that could go.

    What it dropped comes back all the same.
    """
    here = life.talk()
    kept, low = life.learn(here, "Fact a"), life.learn(here, "Small talk", priority="low")
    life.reflect(dropped=[low])
    assert shown(life, here) == [kept.content]
    undo(life.db, life.clock)
    assert shown(life, here) == ["Fact a", "Small talk"]


def test_undo_goes_down_newest_first_over_all_conversations(life: Life) -> None:
    """Again and again, until every message is raw again and nothing is remembered."""
    one, two = life.talk(), life.talk()
    a = life.learn(one, "Fact a")
    b = life.learn(two, "Fact b")
    life.reflect(("a and b", [a, b]))
    edit(life.db, life.learn(one, "Fact c").id, "Fact d", life.clock)
    order = []
    while newest_cycle(life.db):
        order.append(undo(life.db, life.clock).cycle.kind)
        assert life.broken() == []
    assert order == ["edit", "observer", "reflector", "observer", "observer"]
    assert life.active() == []
    assert life.count("watermarks") == 0
    assert life.window(one) == ["Fact a", "I see.", "Fact c", "I see."]


def test_a_cycle_is_undone_after_what_was_built_on_it_whatever_the_clock_said(life: Life) -> None:
    """With the clock set back, the reflection still goes before its facts."""
    here = life.talk()
    a, b = life.learn(here, "Fact a"), life.learn(here, "Fact b")
    life.now -= timedelta(days=30)
    life.reflect(("a and b", [a, b]))
    kinds = [undo(life.db, life.clock).cycle for _ in range(3)]
    assert [c.kind for c in kinds] == ["reflector", "observer", "observer"]
    assert [c.id for c in kinds[1:]] == [b.cycle_id, a.cycle_id]
    assert life.broken() == []


def test_observers_of_one_talk_go_in_order_whatever_the_clock_said(life: Life) -> None:
    """The later range goes first, though its cycle ended earlier by the clock."""
    here = life.talk()
    life.learn(here, "Fact a")
    life.now -= timedelta(days=30)
    b = life.learn(here, "Fact b")
    assert undo(life.db, life.clock).cycle.id == b.cycle_id
    assert life.broken() == []


def test_pinned_and_pending_observations_are_undone_like_others(life: Life) -> None:
    """Neither a pin nor waiting for a compaction keeps an observation."""
    here = life.talk()
    pinned = life.learn(here, "Fact a")
    pin(life.db, pinned.id)
    said = life.exchange(here, "Fact b")
    (waiting,) = life.observe(here, ("Fact b", [said]))
    undo(life.db, life.clock)
    undo(life.db, life.clock)
    assert (life.state(waiting), life.state(pinned)) == ("superseded", "superseded")


def test_an_undone_edit_gives_the_old_words_back(life: Life) -> None:
    """The predecessor is active again, and a pending one pending."""
    here = life.talk()
    old = life.learn(here, "Fact a")
    new = edit(life.db, old.id, "Fact b", life.clock)
    undo(life.db, life.clock)
    assert (life.state(old), rows.observation(life.db, new).state) == ("active", "superseded")
    (waiting,) = life.observe(here, ("Fact c", [life.exchange(here, "Fact c")]))
    edit(life.db, waiting.id, "Fact d", life.clock)
    undo(life.db, life.clock)
    assert life.state(waiting) == "pending"
    assert life.broken() == []


def test_an_edit_committed_since_leaves_its_predecessor_committed(life: Life) -> None:
    """Its messages have left the window, so it may not fall back to pending."""
    here = life.talk()
    (waiting,) = life.observe(here, ("Fact c", [life.exchange(here, "Fact c")]))
    edit(life.db, waiting.id, "Fact d", life.clock)
    life.compact(here)
    undo(life.db, life.clock)
    assert life.state(waiting) == "active"
    assert life.window(here) == []
    assert life.broken() == []


def test_relations_go_and_come_back_with_their_note(life: Life) -> None:
    """An edit ends them, its undo brings them back, and the note's own undo ends them."""
    fact = life.relate(life.learn(life.talk(), "Ana lives in Porto"))
    edit(life.db, fact.id, "Ana lives in Faro", life.clock)
    assert related_notes(life.db, "Porto") == []
    undo(life.db, life.clock)
    assert related_notes(life.db, "Porto") == [fact.id]
    undo(life.db, life.clock)
    assert related_notes(life.db, "Porto") == []
    assert life.broken() == []


@pytest.mark.parametrize("committed", [False, True])
def test_an_edit_of_what_replaces_another_is_undone_before_it(life: Life, committed: bool) -> None:
    """The edit takes over what the pending line is to replace, but was made after it."""
    here = life.talk()
    old = life.learn(here, "User lives in Lisbon")
    said = life.exchange(here, "I live in Porto now.")
    porto = replace(stated("User lives in Porto", [said.id]), replaces=(old.id,))
    (new,) = life.observe(here, porto)
    edit(life.db, new.id, "User lives in Porto with Ana", life.clock)
    if committed:
        life.compact(here)
    assert undo(life.db, life.clock).cycle.kind == "edit"
    assert life.active() == ["User lives in Porto" if committed else old.content]
    assert undo(life.db, life.clock).cycle.id == new.cycle_id
    assert life.active() == [old.content]
    assert life.broken() == []


def test_what_a_fork_observed_before_is_undone_first(life: Life) -> None:
    """Else the fork, once compacted, showed neither the parent's words nor a note of them."""
    here = life.talk()
    said = life.exchange(here, "I am allergic to nuts")
    there = fork(life.db, here, life.clock)
    more = life.exchange(there, "I have a cat")
    life.observe(there, ("User has a cat", [more]))
    life.observe(here, ("User is allergic to nuts", [said]))
    life.compact(here)
    life.compact(there)
    assert undo(life.db, life.clock).cycle.conversation_id == there
    assert undo(life.db, life.clock).cycle.conversation_id == here
    inherited = inherited_window(life.db, get_conversation(life.db, there))
    assert said.content in [message.content for message in inherited]


def test_what_a_fork_observed_without_compacting_is_undone_in_its_turn(life: Life) -> None:
    """It still shows the messages from before the fork."""
    here = life.talk()
    life.exchange(here, "Hello")
    there = fork(life.db, here, life.clock)
    cat = life.exchange(there, "I have a cat")
    life.observe(there, ("User has a cat", [cat]))
    figs = life.exchange(here, "I like figs")
    life.observe(here, ("User likes figs", [figs]))
    assert undo(life.db, life.clock).cycle.conversation_id == here


def test_an_undone_observer_takes_along_empty_runs_in_forks(life: Life) -> None:
    """The fork shows the messages from before it again, now that their observation is gone."""
    here = life.talk()
    fact = life.learn(here, "User is allergic to nuts")
    there = fork(life.db, here, life.clock)
    life.exchange(there, "Good morning")
    life.observe(there)
    life.compact(there)
    undone = undo(life.db, life.clock)
    assert (undone.cycle.id, [c.conversation_id for c in undone.along]) == (fact.cycle_id, [there])
    inherited = inherited_window(life.db, get_conversation(life.db, there))
    assert fact.content in [message.content for message in inherited]


def test_graph_cycles_go_with_the_cycle_before_them(life: Life) -> None:
    """They changed nothing that could be seen gone."""
    learned = life.relate(life.learn(life.talk(), "Ana lives in Porto"))
    drawn = [cycles.start_cycle(life.db, "graph", None, life.tick())]
    cycles.finish_cycle(life.db, drawn[0] or 0, "succeeded", life.tick())
    drawn.append(cycles.start_cycle(life.db, "graph", None, life.tick()))
    life.db.execute("UPDATE relations SET cycle_id = ?", (drawn[1],))
    cycles.finish_cycle(life.db, drawn[1] or 0, "succeeded", life.tick())
    undone = undo(life.db, life.clock)
    assert undone.cycle.id == learned.cycle_id
    assert [c.id for c in undone.along] == drawn[::-1]
    assert (undone.relations, life.count("relations")) == (1, 0)
    assert life.broken() == []
    with pytest.raises(NotFoundError):
        undo(life.db, life.clock)


def test_runs_that_found_nothing_are_passed_over(life: Life) -> None:
    """One elsewhere stands.

    One that went on where the cycle had ended goes with it, else there would be a gap.
    """
    one, two = life.talk(), life.talk()
    fact = life.learn(one, "Fact a")
    life.exchange(two, "Hello")
    life.observe(two)
    life.exchange(one, "And so on")
    life.observe(one)
    undone = undo(life.db, life.clock)
    assert (undone.cycle.id, [c.conversation_id for c in undone.along]) == (fact.cycle_id, [one])
    assert get_watermarks(life.db, one).observed == 0
    assert get_watermarks(life.db, two).observed > 0
    assert life.broken() == []
    with pytest.raises(NotFoundError, match="Nothing to undo"):
        undo(life.db, life.clock)


def test_what_would_be_taken_back_is_what_is_taken_back(life: Life) -> None:
    """Seeing it beforehand changes nothing.

    When something newer has come meanwhile nothing is taken back.
    """
    here = life.talk()
    a, b = life.learn(here, "Fact a"), life.learn(here, "Fact b")
    life.reflect(("a and b", [a, b]))
    before = "\n".join(life.db.iterdump())
    plan = plan_undo(life.db, life.clock)
    assert "\n".join(life.db.iterdump()) == before
    assert [o.id for o in plan.reactivated] == [a.id, b.id]
    c = life.learn(here, "Fact c")
    with pytest.raises(ConstructError, match="changed in the meantime"):
        undo(life.db, life.clock, plan)
    assert life.state(c) == "active"
    assert undo(life.db, life.clock, plan_undo(life.db, life.clock)).cycle.id == c.cycle_id


def test_an_observer_at_work_during_an_undo_stores_nothing(life: Life) -> None:
    """The watermark it was based on has moved."""
    here = life.talk()
    life.learn(here, "Fact a")
    said = life.exchange(here, "Fact b")
    batch = live_messages(life.db, here, 2)
    cycle = cycles.start_cycle(
        life.db, "observer", here, life.tick(), span=(batch[0].id, batch[-1].id)
    )
    assert cycle is not None
    undo(life.db, life.clock)
    with pytest.raises(StaleError):
        store_extraction(
            life.db, cycle, Extraction((stated("Fact b", [said.id]),)), batch, 2, life.tick()
        )


def test_a_reflector_at_work_during_an_undo_stores_nothing(life: Life) -> None:
    """What it was given is no longer active."""
    here = life.talk()
    a = life.learn(here, "Fact a")
    cycle = cycles.start_cycle(life.db, "reflector", None, life.tick())
    assert cycle is not None
    undo(life.db, life.clock)
    found = Reflection((Change(ChangeKind.LINE, (a.id,), stated("A", [a.id])),))
    with pytest.raises(StaleError):
        store_reflection(life.db, cycle, found, [a], life.tick())


def test_an_undone_batch_can_be_observed_again(life: Life) -> None:
    """The second attempt stands alone in the range, and can be undone as well."""
    here = life.talk()
    said = life.exchange(here, "Fact a")
    life.observe(here, ("Fact, misread", [said]))
    undo(life.db, life.clock)
    (right,) = life.observe(here, ("Fact a", [said]))
    life.compact(here)
    assert life.broken() == []
    assert life.active() == ["Fact a"]
    assert undo(life.db, Clock(life.now)).cycle.id == right.cycle_id
    assert cycles.get_cycle(life.db, right.cycle_id).status == "reverted"

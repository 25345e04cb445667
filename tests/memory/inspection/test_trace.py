import json

import pytest

from construct.errors import NotFoundError
from construct.memory.curation.edits import edit
from construct.memory.curation.forget import forget
from construct.memory.curation.undo import undo
from construct.memory.inspection.trace import drawn, why, why_memory, why_message
from construct.store import talk
from tests.memory.builders import Life


def test_a_fact_names_its_exact_messages(life: Life) -> None:
    """An observation of generation 0 has no sources, and the messages it was drawn from."""
    here = life.talk()
    said = life.exchange(here, "My sister Ana lives in Porto.")
    (found,) = life.observe(here, ("User's sister Ana lives in Porto", [said]))
    trace = why(life.db, found.id)
    assert (trace.observation.id, trace.sources, [m.id for m in trace.messages]) == (found.id, (), [said.id])
    assert trace.cycle.kind == "observer"


def test_ten_generations_lead_down_to_every_message(life: Life) -> None:
    """Every generation stands in the trace, the nearest first, and every message, oldest first."""
    here = life.talk()
    top = life.learn(here, "Fact 0")
    chain, spoken = [top], ["Fact 0"]
    for n in range(1, 11):
        more = life.learn(here, f"Fact {n}")
        spoken.append(more.content)
        (top,) = life.reflect((f"Facts to {n}", [chain[-1], more]))
        chain.append(top)
    trace = why(life.db, top.id)
    assert trace.observation.generation == 10
    assert [o.id for o in trace.sources][:2] == sorted(o.id for o in (chain[-2], more))
    assert {o.id for o in chain[:-1]} < {o.id for o in trace.sources}
    assert [m.content for m in trace.messages] == spoken
    assert len(trace.sources) == 20


def test_the_tree_shows_each_source_under_what_was_made_of_it(life: Life) -> None:
    """The tree's depth is the generation; what two lines share is gone into once."""
    here = life.talk()
    a, b, c = (life.learn(here, f"Fact {x}") for x in "abc")
    left, right = life.reflect(("a and b", [a, b]), ("b and c", [b, c]))
    (top,) = life.reflect(("all", [left, right]))
    lines = [(depth, node.observation.content, again) for depth, node, again in drawn(why(life.db, top.id).tree)]
    assert lines == [
        (0, "all", False),
        (1, "a and b", False),
        (2, "Fact a", False),
        (2, "Fact b", False),
        (1, "b and c", False),
        (2, "Fact b", True),
        (2, "Fact c", False),
    ]


def test_many_shared_sources_do_not_make_the_tree_explode(life: Life) -> None:
    """Thirty generations of two lines each, both made of both before, are drawn in as many lines as there are links."""
    here = life.talk()
    pair = [life.learn(here, "Fact a"), life.learn(here, "Fact b")]
    for n in range(30):
        pair = life.reflect((f"left {n}", pair), (f"right {n}", pair))
    assert sum(1 for _ in drawn(why(life.db, pair[0].id).tree)) == 1 + 2 + 29 * 4


def test_what_was_outdated_and_by_what_is_told_on_both_sides(life: Life) -> None:
    """A correction keeps a trace of both; once the cycle is undone it no longer counts."""
    here = life.talk()
    old, new = life.learn(here, "Lives in Lisbon"), life.learn(here, "Moved to Porto")
    life.reflect(outdated=[(old, new)])
    assert [o.id for o in why(life.db, old.id).outdated_by] == [new.id]
    assert [o.id for o in why(life.db, new.id).outdates] == [old.id]
    undo(life.db, life.clock)
    assert (why(life.db, old.id).outdated_by, why(life.db, new.id).outdates) == ((), ())


def test_an_edit_rests_on_all_messages_of_the_reflection_it_replaced(life: Life) -> None:
    """An edited reflection is a fact of its own with all the messages; the trace names what it replaced."""
    here = life.talk()
    a, b = life.learn(here, "Fact a"), life.learn(here, "Fact b")
    (both,) = life.reflect(("a and b", [a, b]))
    new = edit(life.db, both.id, "a, and rather c", life.clock)
    trace = why(life.db, new)
    assert trace.sources == ()
    assert [m.content for m in trace.messages] == ["Fact a", "Fact b"]
    assert [o.id for o in trace.edit_of] == [both.id]
    assert [o.id for o in why(life.db, both.id).edited_into] == [new]
    assert life.broken() == []


def test_the_way_up_is_told_too(life: Life) -> None:
    """A condensed fact names the reflection it went into, not one that was undone."""
    here = life.talk()
    a, b = life.learn(here, "Fact a"), life.learn(here, "Fact b")
    life.reflect(("a & b", [a, b]))
    undo(life.db, life.clock)
    (both,) = life.reflect(("a and b", [a, b]))
    assert [o.id for o in why(life.db, a.id).condensed_into] == [both.id]


def test_a_message_names_all_that_rests_on_it(life: Life) -> None:
    """From a message the way leads up through the generations, past what was undone."""
    here = life.talk()
    a, b = life.learn(here, "Fact a"), life.learn(here, "Fact b")
    (both,) = life.reflect(("a and b", [a, b]))
    life.reflect(("all of a and b", [both]))
    undo(life.db, life.clock)
    said = why(life.db, a.id).messages[0]
    assert [o.id for o in why_message(life.db, said.id).observations] == [a.id, both.id]
    with pytest.raises(NotFoundError):
        why_message(life.db, 999)


def test_a_memory_leads_to_its_observation_or_to_nobody(life: Life) -> None:
    """A promoted memory has the trace of its observation; one the user stored has none."""
    here = life.talk()
    fact = life.learn(here, "Ana lives in Porto")
    promoted, told = life.promoted(fact), life.remember("Pay the rent")
    trace = why_memory(life.db, promoted).trace
    assert trace is not None
    assert trace.observation.id == fact.id
    assert why_memory(life.db, told).trace is None


def test_the_trace_stays_complete_after_undo_and_forget(life: Life) -> None:
    """What is left after an undo and a forget still leads to its messages."""
    here = life.talk()
    a, b, c = (life.learn(here, f"Zebra{x} fact") for x in "abc")
    (ab,) = life.reflect(("a and b", [a, b]))
    (abc,) = life.reflect(("a, b and c", [ab, c]))
    undo(life.db, life.clock)
    assert [m.content for m in why(life.db, abc.id).messages] == ["Zebraa fact", "Zebrab fact", "Zebrac fact"]
    forget(life.db, ("observation", c.id), life.clock, words=False)
    assert [m.content for m in why(life.db, ab.id).messages] == ["Zebraa fact", "Zebrab fact"]
    assert [o.id for o in why(life.db, ab.id).sources] == [a.id, b.id]


def test_removed_words_stay_in_their_place_in_the_trace(life: Life) -> None:
    """Another fact of a message whose words were removed still names that message."""
    here = life.talk()
    said = life.exchange(here, "Ana lives in Porto and Rui in Faro.")
    ana, rui = life.observe(here, ("Ana lives in Porto", [said]), ("Rui lives in Faro", [said]))
    forget(life.db, ("observation", ana.id), life.clock, words=True)
    assert [m.content for m in why(life.db, rui.id).messages] == ["[removed]"]
    assert json.dumps(talk.message(life.db, said.id).blocks) == "null"

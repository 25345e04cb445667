import json

import pytest

from construct.errors import NotFoundError
from construct.memory.corrections import edit
from construct.memory.forgetting import forget
from construct.memory.trace import nodes_in_order, trace_observation
from construct.memory.undo import undo
from construct.operations.why import MessageTrace, why
from construct.store.database import transaction
from construct.store.messages import get_message
from construct.store.note_links import messages_behind
from construct.store.observations import observation
from construct.store.records import Observation
from construct.store.succession import corrections_of
from construct.store.usage import Call, record_usage
from construct.tokens import Usage
from tests.memory.builders import Life
from tests.support.context import context


def why_message(life: Life, message_id: int) -> MessageTrace:
    """Return what rests on a message."""
    found = why(context(life.db), ("message", message_id))
    assert isinstance(found, MessageTrace)
    return found


def test_a_fact_names_its_exact_messages(life: Life) -> None:
    """An observation of generation 0 has its messages and no sources."""
    here = life.talk()
    said = life.exchange(here, "My sister Ana lives in Porto.")
    (found,) = life.observe(here, ("User's sister Ana lives in Porto", [said]))
    trace = trace_observation(life.db, found.id)
    assert (trace.observation.id, trace.sources, [m.id for m in trace.messages]) == (
        found.id,
        (),
        [said.id],
    )


def test_ten_generations_lead_down_to_every_message(life: Life) -> None:
    """The trace has every generation and every message.

    The nearest generation comes first, and the oldest message.
    """
    here = life.talk()
    top = life.learn(here, "Fact 0")
    chain, spoken = [top], ["Fact 0"]
    for n in range(1, 11):
        more = life.learn(here, f"Fact {n}")
        spoken.append(more.content)
        (top,) = life.reflect((f"Facts to {n}", [chain[-1], more]))
        chain.append(top)
    trace = trace_observation(life.db, top.id)
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
    lines = [
        (depth, node.observation.content, again)
        for depth, node, again in nodes_in_order(trace_observation(life.db, top.id).tree)
    ]
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
    """The tree has no more lines than there are links.

    In thirty generations of two lines, each is made from both of the generation before.
    """
    here = life.talk()
    pair = [life.learn(here, "Fact a"), life.learn(here, "Fact b")]
    for n in range(30):
        pair = life.reflect((f"left {n}", pair), (f"right {n}", pair))
    assert (
        sum(1 for _ in nodes_in_order(trace_observation(life.db, pair[0].id).tree))
        == 1 + 2 + 29 * 4
    )


def lived(life: Life, observation_id: int) -> list[tuple[str, str]]:
    """Return an observation's events, each with the beginning of its text."""
    return [
        (event.event, event.text[:24]) for event in trace_observation(life.db, observation_id).life
    ]


def test_what_was_outdated_and_by_what_is_told_on_both_sides(life: Life) -> None:
    """A line's history runs from its sources to what replaced it.

    When the replacement is undone, the line is active again.
    """
    here = life.talk()
    old, new = life.learn(here, "Lives in Lisbon"), life.learn(here, "Moved to Porto")
    life.reflect(outdated=[(old, new)])
    replaced = [*beginning(old), ("replaced", "by 2: Moved to Porto")]
    assert lived(life, old.id) == replaced
    assert lived(life, new.id)[2] == ("replaced", "1: Lives in Lisbon")
    undo(life.db, life.clock)
    assert lived(life, old.id) == [*replaced, ("undone", "the work of the reflecto")]
    assert len(lived(life, new.id)) == 2


def test_what_a_reflector_retires_is_dated_by_its_cycle(life: Life) -> None:
    """Not by the time of the line that stays, which is older; so is who checked it."""
    here = life.talk()
    stays = life.learn(here, "Has a cat, Tom")
    life.pass_days(10)
    again = life.learn(here, "Has a cat called Tom")
    life.pass_days(30)
    life.reflect(same=[(again, stays)])
    with transaction(life.db):
        cycle = life.read(again).superseded_by
        record_usage(life.db, Call("verifier", "m", Usage(), None), life.tick(), None, cycle)
    days = [(event.event, event.at[:10]) for event in trace_observation(life.db, stays.id).life]
    assert days[2:] == [("replaced", "2026-04-10"), ("checked", "2026-04-10")]


def beginning(o: Observation) -> list[tuple[str, str]]:
    """Return how the life of an observation begins."""
    said = f"message:{2 * o.id - 1} user: {o.content}"
    return [("said", said[:24]), ("noted", "by the observer")]


def test_a_note_that_says_the_same_is_told_on_both_sides(life: Life) -> None:
    """So is what was kept back, with the reason, and what was let go."""
    here = life.talk()
    first, again, other = (
        life.learn(here, text) for text in ("Likes tea", "Likes tea a lot", "It rained")
    )
    notes = ["refused: x (y); kept: “Likes tea”", "kept “Likes tea a lot”: it is pinned"]
    life.reflect(same=[(first, again)], dropped=[other], notes=notes)
    assert lived(life, first.id)[2:] == [
        ("repeated", "by 2: Likes tea a lot"),
        ("kept", "refused: x (y); kept: “L"),
    ]
    assert ("replaced", "1: Likes tea") in lived(life, again.id)
    assert ("kept", "kept “Likes tea a lot”: ") in lived(life, again.id)
    assert lived(life, other.id)[-1][0] == "dropped"


def test_an_edit_rests_on_all_messages_of_the_reflection_it_replaced(life: Life) -> None:
    """An edited reflection is a fact of its own with all the messages.

    The trace names what it replaced.
    """
    here = life.talk()
    a, b = life.learn(here, "Fact a"), life.learn(here, "Fact b")
    (both,) = life.reflect(("a and b", [a, b]))
    new = edit(life.db, both.id, "a, and rather c", life.clock)
    trace = trace_observation(life.db, new)
    assert trace.sources == ()
    assert [m.content for m in trace.messages] == ["Fact a", "Fact b"]
    assert trace.life[-1].event == "edited"
    assert [
        event.text for event in trace_observation(life.db, both.id).life if event.event == "edited"
    ] == [f"into {new}: a, and rather c"]
    assert life.broken() == []


def test_the_way_up_is_told_too(life: Life) -> None:
    """A condensed fact names the reflection it went into, not one that was undone."""
    here = life.talk()
    a, b = life.learn(here, "Fact a"), life.learn(here, "Fact b")
    life.reflect(("a & b", [a, b]))
    undo(life.db, life.clock)
    (both,) = life.reflect(("a and b", [a, b]))
    assert [event.event for event in trace_observation(life.db, a.id).life] == [
        "said",
        "noted",
        "joined",
        "undone",
        "joined",
    ]
    assert trace_observation(life.db, a.id).life[-1].text == f"into {both.id}: a and b"


def test_a_message_names_all_that_rests_on_it(life: Life) -> None:
    """From a message the way leads up through the generations, past what was undone."""
    here = life.talk()
    a, b = life.learn(here, "Fact a"), life.learn(here, "Fact b")
    (both,) = life.reflect(("a and b", [a, b]))
    life.reflect(("all of a and b", [both]))
    undo(life.db, life.clock)
    said = trace_observation(life.db, a.id).messages[0]
    assert [o.id for o in why_message(life, said.id).observations] == [a.id, both.id]
    with pytest.raises(NotFoundError):
        why_message(life, 999)


def test_what_was_kept_on_request_has_its_history(life: Life) -> None:
    """The user's own rests on no message, the model's on what the user said then."""
    mine = life.remember("Pay the rent")
    assert lived(life, mine.id) == [("kept", "you wrote: Pay the rent")]
    said = life.say(life.talk(), "The gate code is 4512, keep that")
    kept = life.remember_for_model("The gate code is 4512", said)
    assert [event for event, _ in lived(life, kept.id)] == ["said", "kept"]
    assert [m.id for m in trace_observation(life.db, kept.id).messages] == [said.id]
    assert [o.id for o in why_message(life, said.id).observations] == [kept.id]


def test_the_trace_stays_complete_after_undo_and_forget(life: Life) -> None:
    """What is left after an undo and a forget still leads to its messages."""
    here = life.talk()
    a, b, c = (life.learn(here, f"Zebra{x} fact") for x in "abc")
    (ab,) = life.reflect(("a and b", [a, b]))
    (abc,) = life.reflect(("a, b and c", [ab, c]))
    undo(life.db, life.clock)
    assert [m.content for m in trace_observation(life.db, abc.id).messages] == [
        "Zebraa fact",
        "Zebrab fact",
        "Zebrac fact",
    ]
    forget(life.db, ("observation", c.id), life.clock, words=False)
    assert [m.content for m in trace_observation(life.db, ab.id).messages] == [
        "Zebraa fact",
        "Zebrab fact",
    ]
    assert [o.id for o in trace_observation(life.db, ab.id).sources] == [a.id, b.id]


def test_removed_words_stay_in_their_place_in_the_trace(life: Life) -> None:
    """Another fact of a message whose words were removed still names that message."""
    here = life.talk()
    said = life.exchange(here, "Ana lives in Porto and Rui in Faro.")
    ana, rui = life.observe(here, ("Ana lives in Porto", [said]), ("Rui lives in Faro", [said]))
    forget(life.db, ("observation", ana.id), life.clock, words=True)
    assert [m.content for m in trace_observation(life.db, rui.id).messages] == ["[removed]"]
    assert json.dumps(get_message(life.db, said.id).blocks) == "null"


def corrections(life: Life, message_id: int) -> list[str]:
    """Return what corrects a message."""
    return [o.content for _, o in corrections_of(life.db, [message_id])]


def test_an_undone_correction_corrects_nothing(life: Life) -> None:
    """The link stays, but both hold again."""
    here = life.talk()
    lisbon = life.learn(here, "User lives in Lisbon")
    porto = life.learn(here, "User lives in Porto")
    said = messages_behind(life.db, [lisbon.id])[0].id
    life.reflect(outdated=[(lisbon, porto)])
    assert corrections(life, said) == ["User lives in Porto"]
    undo(life.db, life.clock)
    assert corrections(life, said) == []


def test_an_edit_corrects_before_it_is_committed(life: Life) -> None:
    """What was learned a moment ago is pending, and so is its edit."""
    here = life.talk()
    said = life.exchange(here, "I live in Lisbon")
    (lisbon,) = life.observe(here, ("User lives in Lisbon", [said]))
    edit(life.db, lisbon.id, "User lives in Faro", life.clock)
    assert corrections(life, said.id) == ["User lives in Faro"]
    edit(life.db, lisbon.id + 1, "User lives in Porto", life.clock)
    assert corrections(life, said.id) == ["User lives in Porto"]
    undo(life.db, life.clock)
    undo(life.db, life.clock)
    assert corrections(life, said.id) == []


def test_a_correction_holds_in_its_reflections(life: Life) -> None:
    """What was made from the edit or repeats it stands in its place, and nothing else does."""
    here = life.talk()
    lisbon, cat = life.learn(here, "User lives in Lisbon"), life.learn(here, "User has a cat")
    said, said_of_cat = (messages_behind(life.db, [o.id])[0].id for o in (lisbon, cat))
    porto = observation(life.db, edit(life.db, lisbon.id, "User lives in Porto", life.clock))
    (both,) = life.reflect(("User lives in Porto and has a cat", [porto, cat]))
    assert corrections(life, said) == ["User lives in Porto and has a cat"]
    assert corrections(life, said_of_cat) == []
    life.reflect(("User has a home in Porto and a cat", [both]))
    assert corrections(life, said) == ["User has a home in Porto and a cat"]
    undo(life.db, life.clock)
    undo(life.db, life.clock)
    assert corrections(life, said) == ["User lives in Porto"]


def test_a_correction_corrects_all_that_said_the_same(life: Life) -> None:
    """The edit of a repeat corrects the message that was repeated, too."""
    here = life.talk()
    first = life.learn(here, "User lives in Lisbon")
    again = life.learn(here, "User's home is in Lisbon")
    said = messages_behind(life.db, [first.id])[0].id
    life.reflect(same=[(first, again)])
    assert corrections(life, said) == []
    edit(life.db, again.id, "User lives in Porto", life.clock)
    assert corrections(life, said) == ["User lives in Porto"]

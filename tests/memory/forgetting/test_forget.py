import json
import sqlite3
from contextlib import closing
from dataclasses import asdict

import pytest

from construct.errors import NotFoundError
from construct.memory.corrections import edit
from construct.memory.cycles.commit import StaleError, store_extraction
from construct.memory.forgetting import forget, plan_forget
from construct.memory.learning.proposals import Extraction
from construct.memory.shown.view import current_blocks
from construct.memory.undo import undo
from construct.store import cycles, note_links
from construct.store.conversations import conversation_summary, get_conversation
from construct.store.database import open_database
from construct.store.messages import (
    exclude_from_requests,
    get_message,
    messages_of,
    prompt_history,
)
from construct.store.purge import finish_erasure
from construct.store.shown import shown_blocks
from construct.store.transfer.jsonl import export_jsonl
from tests.memory.builders import FRAME, Life, stated

SECRET = "User keeps the xylophone behind the Wardrobe at number 4471902215"
FORGOTTEN = (
    "xylophone",
    "Xylophone",
    "wardrobe",
    "Wardrobe",
    "4471902215",
    "ylophone",
    "ardrobe",
    "phone",
)


def held(life: Life, *pieces: str) -> list[str]:
    """Return which pieces are still in the file or in a new export."""
    exported: list[str] = []
    export_jsonl(life.db, exported.append)
    everything = life.bytes() + "".join(exported).encode()
    return [piece for piece in pieces if piece.encode() in everything]


def shown(life: Life, here: int) -> list[str]:
    """Return what the conversation's model is shown."""
    return sorted(o.content for block in current_blocks(life.db, here, FRAME) for o in block)


def test_a_fact_goes_with_its_words_and_leaves_no_byte(life: Life) -> None:
    """Nothing of it is left in any table, in the file, its log or an export."""
    here = life.talk()
    for n in range(40):
        life.exchange(here, f"Padding of the talk, number {n}", "x" * 300)
    fact = life.learn(
        here, SECRET, reply="Behind the Wardrobe, the xylophone, understood: 4471902215."
    )
    life.relate(fact)
    said = get_message(life.db, note_links.messages_behind(life.db, [fact.id])[0].id)
    life.remember_for_model("User keeps the xylophone at 4471902215", said)
    other = life.learn(here, "User likes marzipan")
    life.exchange(here, "And now?", "Nothing.")
    life.observe(
        here,
        title="Xylophone hidden",
        current_task="the Wardrobe",
        suggested_response="Ask about 4471902215",
    )
    life.reflect(
        ("xylophone behind the Wardrobe at 4471902215; likes marzipan", [fact, other]),
        notes=[f"kept “{SECRET}”: pinned", "an innocent note"],
    )
    rounds = json.dumps(
        [
            {
                "role": "user",
                "blocks": [{"type": "tool_result", "content": f"observation 1: {SECRET}"}],
            }
        ]
    )
    looked_up = life.say(here, "It is where you put it.", "assistant", rounds)
    assert held(life, "xylophone", "Wardrobe", "4471902215") == [
        "xylophone",
        "Wardrobe",
        "4471902215",
    ]

    found = forget(life.db, ("observation", fact.id), life.clock, words=True)

    assert held(life, *FORGOTTEN) == []
    assert (found.observations, found.reflections, found.reactivated) == (3, 1, 1)
    assert (found.relations, found.entities) == (1, 1)
    assert (found.messages, found.replies, found.conversations, found.cycles, found.lookups) == (
        2,
        1,
        1,
        1,
        1,
    )
    assert not found.pending_erasure
    assert life.active() == ["User likes marzipan"]
    assert held(life, "marzipan", "innocent note", "Padding of the talk") != []
    assert get_message(life.db, looked_up.id).content == "It is where you put it."
    assert life.broken() == []


def test_without_words_the_messages_stay_but_are_withheld(life: Life) -> None:
    """They leave window, recall, prompt history and every later observer.

    What others see of them is nothing.
    """
    here = life.talk()
    said = life.exchange(here, SECRET, "Noted, the xylophone.")
    life.exchange(here, "Good night", "Good night")
    (fact,) = life.observe(here, (SECRET, [said]))
    found = forget(life.db, ("observation", fact.id), life.clock, words=False)
    assert get_message(life.db, said.id).content == SECRET
    assert life.window(here) == ["Good night", "Good night"]
    assert SECRET not in prompt_history(life.db)
    match = "SELECT count(*) FROM messages_fts WHERE messages_fts MATCH 'xylophone'"
    assert life.db.execute(match).fetchone() == (0,)
    assert (found.observations, found.messages) == (1, 2)
    uids = {m.uid for m in messages_of(life.db, here)[:2]}
    assert {row[0] for row in life.db.execute("SELECT message_uid FROM tombstones")} == uids
    assert life.broken() == []


def test_forgotten_messages_are_not_observed_again(life: Life) -> None:
    """After an undo, an observer that names them has no source to stand on."""
    here = life.talk()
    said = life.exchange(here, SECRET)
    other = life.exchange(here, "It rained")
    fact, _ = life.observe(here, (SECRET, [said]), ("It rained", [other]))
    forget(life.db, ("observation", fact.id), life.clock, words=False)
    undo(life.db, life.clock)
    assert life.observe(here, (SECRET, [said])) == []
    assert life.broken() == []


def test_a_reflection_takes_all_its_sources_along(life: Life) -> None:
    """Forgetting goes down to generation 0 and up to whatever else rests on that.

    The rest is active again.
    """
    here = life.talk()
    a, b, c, d = (life.learn(here, f"Zebra{x}") for x in "abcd")
    (ab,) = life.reflect(("Zebraa, Zebrab", [a, b]))
    (abc,) = life.reflect(("Zebraa, Zebrab, Zebrac", [ab, c]))
    plan = plan_forget(life.db, ("observation", ab.id), words=False)
    assert [o.id for o in plan.observations] == [a.id, b.id, ab.id, abc.id]
    assert [o.id for o in plan.reactivated] == [c.id]
    assert life.active() == ["Zebraa, Zebrab, Zebrac", "Zebrad"]
    forget(life.db, ("observation", ab.id), life.clock, words=False)
    assert life.active() == ["Zebrac", "Zebrad"]
    assert life.state(d) == "active"
    assert life.broken() == []


def test_other_sources_are_shown_in_the_reflections_place(life: Life) -> None:
    """The next request has them in the reflection's block, without a compaction."""
    here = life.talk()
    a, b = life.learn(here, "Zebra"), life.learn(here, "Yak")
    (ab,) = life.reflect(("Zebra, Yak", [a, b]))
    (abc,) = life.reflect(("Zebra and Yak", [ab]))
    shown(life, here)
    before = shown_blocks(life.db, here)
    forget(life.db, ("observation", a.id), life.clock, words=False)
    assert shown(life, here) == ["Yak"]
    assert shown_blocks(life.db, here) == {b.id: before[abc.id]}


def test_a_source_shared_with_another_reflection_comes_back_too(life: Life) -> None:
    """What the other reflection says of it may be only half of it."""
    here = life.talk()
    a, b, c = life.learn(here, "Zebra"), life.learn(here, "Yak"), life.learn(here, "Ibex")
    life.reflect(("Zebra, Yak", [a, b]), ("Yak, Ibex", [b, c]))
    forget(life.db, ("observation", a.id), life.clock, words=False)
    assert life.active() == ["Yak", "Yak, Ibex"]
    assert life.broken() == []


def test_what_a_later_reflection_stands_for_stays_superseded(life: Life) -> None:
    """A reflection that was undone has nothing to give back."""
    here = life.talk()
    a, b, c = life.learn(here, "Zebra"), life.learn(here, "Yak"), life.learn(here, "Ibex")
    life.reflect(("Zebra, Yak", [a, b]))
    undo(life.db, life.clock)
    life.reflect(("Yak, Ibex", [b, c]))
    assert forget(life.db, ("observation", a.id), life.clock, words=False).reactivated == 0
    assert life.active() == ["Yak, Ibex"]


def test_what_it_had_made_outdated_is_active_again(life: Life) -> None:
    """With the newer fact gone, nothing stands in the old one's place."""
    here = life.talk()
    old, new = life.learn(here, "Lives in Lisbon"), life.learn(here, "Moved to Porto")
    life.reflect(outdated=[(old, new)])
    plan = plan_forget(life.db, ("observation", new.id), words=False)
    assert [o.id for o in plan.reactivated] == [old.id]
    forget(life.db, ("observation", new.id), life.clock, words=False)
    assert life.active() == ["Lives in Lisbon"]
    assert life.count("observation_replaced") == 0


def test_an_edit_and_what_it_replaced_are_one_family(life: Life) -> None:
    """Whichever of them is named, all versions go, undone ones too."""
    for named in range(3):
        here = life.talk()
        first = life.learn(here, f"Zebra{named} at home")
        undone = edit(life.db, first.id, f"Zebra{named} at work", life.clock)
        undo(life.db, life.clock)
        last = edit(life.db, first.id, f"Zebra{named} at sea", life.clock)
        found = forget(
            life.db, ("observation", (first.id, undone, last)[named]), life.clock, words=True
        )
        assert found.observations == 3
        assert held(life, f"Zebra{named}") == []
        assert life.broken() == []


def test_an_edited_reflection_goes_with_any_of_its_sources(life: Life) -> None:
    """It rests on their messages; the other sources are active again."""
    here = life.talk()
    a, b = life.learn(here, "Zebra"), life.learn(here, "Yak")
    (ab,) = life.reflect(("Zebra, Yak", [a, b]))
    edited = edit(life.db, ab.id, "Zebra, Gnu", life.clock)
    plan = plan_forget(life.db, ("observation", a.id), words=False)
    assert [o.id for o in plan.observations] == [a.id, edited, ab.id]
    forget(life.db, ("observation", a.id), life.clock, words=False)
    assert life.active() == ["Yak"]
    assert life.broken() == []


def test_undone_copies_of_the_same_fact_go_too(life: Life) -> None:
    """What an undone cycle drew from the message stays in the file until then."""
    here = life.talk()
    said = life.exchange(here, SECRET)
    life.observe(here, ("User hides a xylophone", [said]), ("Nonsense about 4471902215", [said]))
    undo(life.db, life.clock)
    again, twice = life.observe(
        here, (SECRET, [said]), ("The xylophone is behind the Wardrobe at 4471902215", [said])
    )
    found = forget(life.db, ("observation", again.id), life.clock, words=True)
    assert found.observations == 4
    assert life.state(twice) == "gone"
    assert held(life, *FORGOTTEN) == []


def test_other_facts_of_the_same_message_stay(life: Life) -> None:
    """One message, two facts: only the one that is named goes."""
    here = life.talk()
    said = life.exchange(here, "Ana lives in Porto and Rui in Faro")
    ana, rui = life.observe(here, ("Ana lives in Porto", [said]), ("Rui lives in Faro", [said]))
    assert plan_forget(life.db, ("observation", ana.id), words=False).beside == ()
    found = forget(life.db, ("observation", ana.id), life.clock, words=True)
    assert (found.emptied, found.beside) == (2, (rui.id,))
    assert (life.state(ana), life.state(rui)) == ("gone", "pending")
    assert life.broken() == []


@pytest.mark.parametrize("words", [False, True])
def test_with_the_words_goes_what_was_noted_of_them_elsewhere(life: Life, words: bool) -> None:
    """A line that was left out is stored nowhere else, so nobody could forget it."""
    here = life.talk()
    said = life.exchange(here, "I drink too much whisky every evening. I have a cat called Miro.")
    (cat,) = life.observe(here, ("User has a cat called Miro", [said]))
    note = "left out “User drinks too much whisky every evening”: it names what was not said"
    life.db.execute("UPDATE cycles SET notes = ?", (json.dumps([note]),))
    forget(life.db, ("observation", cat.id), life.clock, words=words)
    (kept,) = life.db.execute("SELECT notes FROM cycles").fetchone()
    assert ("whisky" in kept) is not words


def test_a_reply_after_a_dropped_message_goes_with_its_question(life: Life) -> None:
    """`/retry` asks again for the message before the dropped one."""
    here = life.talk()
    secret = life.say(here, "My secret is Zanzibar")
    dropped = life.say(here, "And this fails")
    partial = life.say(here, "It fai", "assistant")
    exclude_from_requests(life.db, [dropped.id, partial.id], "dropped")
    reply = life.say(here, "Zanzibar it is", "assistant")
    forget(life.db, ("message", secret.id), life.clock, words=True)
    assert get_message(life.db, reply.id).content == "[removed]"
    assert get_message(life.db, dropped.id).content == "And this fails"
    assert get_message(life.db, partial.id).content == "It fai"


def test_a_reply_to_two_messages_goes_with_either(life: Life) -> None:
    """A message that got no reply is sent again with the next one."""
    here = life.talk()
    secret = life.say(here, "My secret is Zanzibar")
    life.say(here, "Are you there?")
    both = life.say(here, "Yes, and Zanzibar it is", "assistant")
    life.say(here, "Good")
    later = life.say(here, "Indeed", "assistant")
    forget(life.db, ("message", secret.id), life.clock, words=True)
    assert get_message(life.db, both.id).content == "[removed]"
    assert get_message(life.db, later.id).content == "Indeed"


@pytest.mark.parametrize("named", ["message", "observation"])
def test_a_reply_is_forgotten_alone(life: Life, named: str) -> None:
    """Whether it is named itself or an observation drawn from it; no later reply goes along."""
    here = life.talk()
    life.say(here, "Where do I keep it?")
    reply = life.say(here, "In Zanzibar", "assistant")
    second = life.say(here, "In fact in Zanzibar Town", "assistant")
    life.say(here, "And what is for lunch?")
    later = life.say(here, "Soup", "assistant")
    reference = ("message", reply.id)
    if named == "observation":
        (drawn,) = life.observe(here, ("It is in Zanzibar", [reply]))
        reference = ("observation", drawn.id)
    found = forget(life.db, reference, life.clock, words=True)
    assert (found.messages, found.replies) == (1, 0)
    assert get_message(life.db, reply.id).content == "[removed]"
    kept = [get_message(life.db, m.id).content for m in (second, later)]
    assert kept == ["In fact in Zanzibar Town", "Soup"]


def test_replies_to_imported_messages(life: Life) -> None:
    """An imported message goes with an imported reply to two, not with a reply of today."""
    here = life.talk()
    first = life.say(here, "Dear diary")
    life.say(here, "Are you there, diary?")
    both = life.say(here, "Dear you", "assistant")
    last = life.say(here, "Good night, diary")
    life.db.execute("UPDATE messages SET archived = 1")
    life.say(here, "What is the capital of France?")
    today = life.say(here, "Paris", "assistant")
    for message in (first, last):
        forget(life.db, ("message", message.id), life.clock, words=True)
    assert get_message(life.db, both.id).content == "[removed]"
    assert get_message(life.db, today.id).content == "Paris"


def test_a_dropped_reply_is_no_first_reply(life: Life) -> None:
    """The message before it was sent with the next one too."""
    here = life.talk()
    secret = life.say(here, "My secret is Zanzibar")
    dropped = life.say(here, "Are you there?")
    partial = life.say(here, "Y", "assistant")
    exclude_from_requests(life.db, [dropped.id, partial.id], "dropped")
    life.say(here, "Tell me what I said")
    reply = life.say(here, "Zanzibar", "assistant")
    forget(life.db, ("message", secret.id), life.clock, words=True)
    assert get_message(life.db, reply.id).content == "[removed]"


def test_an_undone_edit_of_another_fact_does_not_take_that_along(life: Life) -> None:
    """It belongs to the fact that was edited, though both come from one message."""
    here = life.talk()
    said = life.exchange(here, "Ana lives in Porto and Rui in Faro")
    ana, rui = life.observe(here, ("Ana lives in Porto", [said]), ("Rui lives in Faro", [said]))
    life.compact(here)
    edit(life.db, rui.id, "Rui lives in Braga", life.clock)
    undo(life.db, life.clock)
    plan = plan_forget(life.db, ("observation", ana.id), words=False)
    assert [o.id for o in plan.observations] == [ana.id]


def test_it_says_what_else_holds_the_same_terms(life: Life) -> None:
    """Other messages and other observations are counted, and left alone."""
    here = life.talk()
    fact = life.learn(here, "Ana lives in Porto")
    life.exchange(here, "Porto is lovely in spring", "So is Faro.")
    copy = life.learn(here, "So Ana lives in Porto")
    plan = plan_forget(life.db, ("observation", fact.id), words=True)
    assert (plan.marks, plan.elsewhere, plan.alike) == (("ana", "porto"), 2, 1)
    forget(life.db, ("observation", fact.id), life.clock, words=True)
    assert life.state(copy) == "active"


def test_titles_of_the_users_own_go_only_when_they_name_it(life: Life) -> None:
    """A word in common is not enough there, nor in other conversations."""
    here, named, elsewhere = (
        life.talk("Moving house"),
        life.talk("Ana's Porto"),
        life.talk("Moving to Faro"),
    )
    said = [life.exchange(place, "Ana is moving to Porto") for place in (here, named)]
    facts = [life.observe(m.conversation_id, ("Ana is moving to Porto", [m]))[0] for m in said]
    for fact in facts:
        forget(life.db, ("observation", fact.id), life.clock, words=True)
    titles = [get_conversation(life.db, c).title for c in (here, named, elsewhere)]
    assert titles == ["Moving house", None, "Moving to Faro"]


def test_a_running_observer_of_such_messages_is_abandoned(life: Life) -> None:
    """What it found is not stored, nor its title; its work is simply due again."""
    here = life.talk()
    fact = life.learn(here, SECRET)
    batch = [life.say(here, f"Once more: {SECRET}"), life.say(here, "Yes.", "assistant")]
    undo(life.db, life.clock)
    cycle = cycles.start_cycle(life.db, "observer", here, life.tick(), span=(1, batch[-1].id))
    assert cycle is not None
    forget(life.db, ("observation", fact.id), life.clock, words=True)
    extraction = Extraction((stated(SECRET, [batch[0].id]),), title="Xylophone")
    with pytest.raises(StaleError):
        store_extraction(life.db, cycle, extraction, messages_of(life.db, here), 0, life.tick())
    assert not cycles.finish_cycle(life.db, cycle, "failed", life.tick(), notes=[SECRET])
    assert life.broken() == []


def test_what_was_kept_on_request_is_forgotten_alone(life: Life) -> None:
    """Others stay, even those that say nearly the same, and are counted.

    So are the messages that name it, for the user's own rests on none.
    """
    life.exchange(life.talk(), "The xylophone 4471902215")
    told = life.remember("Xylophone 4471902215")
    again = life.remember("Behind doors: Xylophone 4471902215")
    other = life.remember("User likes marzipan")
    plan = plan_forget(life.db, ("observation", told.id), words=True)
    assert [o.id for o in plan.observations] == [told.id]
    assert (plan.messages, plan.elsewhere, plan.alike) == ((), 1, 1)
    forget(life.db, ("observation", told.id), life.clock, words=True)
    assert [life.state(o) for o in (told, again, other)] == ["gone", "active", "active"]
    with pytest.raises(NotFoundError):
        forget(life.db, ("observation", told.id), life.clock, words=True)


def test_a_reflections_own_words_are_not_searched_for(life: Life) -> None:
    """Other messages are searched for the facts that it was made of."""
    here = life.talk()
    fact = life.learn(here, "Ana lives in Porto")
    (line,) = life.reflect(("Ana lives in Porto, near Guimarães", [fact]))
    assert plan_forget(life.db, ("observation", line.id), words=True).marks == ("ana", "porto")


def test_what_replaced_it_stays_when_it_took_no_name_from_it(life: Life) -> None:
    """The newer line rests on its own words alone."""
    here = life.talk()
    old = life.learn(here, "User lives in Lisbon")
    new = life.learn(here, "User lives in Porto now")
    life.reflect(outdated=[(old, new)])
    forget(life.db, ("observation", old.id), life.clock, words=True)
    assert (life.state(old), life.state(new)) == ("gone", "active")


def test_what_the_model_kept_goes_with_its_message(life: Life) -> None:
    """It rests on what the user said then; their own note of it stays."""
    here = life.talk()
    said = life.exchange(here, SECRET)
    kept = life.remember_for_model("The xylophone is hidden", said)
    mine = life.remember("Tune the xylophone")
    plan = plan_forget(life.db, ("message", said.id), words=True)
    assert [o.id for o in plan.observations] == [kept.id]
    forget(life.db, ("message", said.id), life.clock, words=True)
    assert (life.state(kept), life.state(mine)) == ("gone", "active")
    assert life.broken() == []


def test_a_message_of_which_nothing_was_noted_is_forgotten_by_its_own_id(life: Life) -> None:
    """A word that slipped out goes too, with the reply and the title.

    The rest of the talk and its memory stay.
    """
    here = life.talk()
    other = life.learn(here, "User likes marzipan")
    said = life.exchange(
        here, SECRET, "Behind the Wardrobe, the xylophone, understood: 4471902215."
    )
    life.observe(here, title="Xylophone hidden")
    found = forget(life.db, ("message", said.id), life.clock, words=True)
    assert held(life, *FORGOTTEN) == []
    assert (found.observations, found.emptied, found.replies, found.conversations) == (0, 2, 1, 1)
    assert life.state(other) == "active"
    assert life.broken() == []
    with pytest.raises(NotFoundError):
        forget(life.db, ("message", said.id), life.clock, words=True)


@pytest.mark.parametrize("words", [True, False])
def test_a_talk_is_not_called_by_words_that_were_forgotten(life: Life, words: bool) -> None:
    """Without a title it is called by the first words that are left, if any are."""
    here = life.talk()
    first, second = life.exchange(here, SECRET), life.exchange(here, "And marzipan")
    forget(life.db, ("message", first.id), life.clock, words=words)
    assert conversation_summary(life.db, here).first_words == "And marzipan"
    forget(life.db, ("message", second.id), life.clock, words=words)
    assert conversation_summary(life.db, here).first_words is None


def test_a_message_takes_along_all_that_was_drawn_from_it(life: Life) -> None:
    """Reflections too; and words that were kept the first time can still go."""
    here = life.talk()
    said = life.exchange(here, "Ana lives in Guimarães and Rui in Faro")
    ana, rui = life.observe(here, ("Ana lives in Guimarães", [said]), ("Rui lives in Faro", [said]))
    other = life.learn(here, "User likes marzipan")
    life.reflect(("Ana in Guimarães; marzipan", [life.read(ana), other]))
    assert forget(life.db, ("message", said.id), life.clock, words=False).observations == 3
    assert (life.state(rui), life.active()) == ("gone", ["User likes marzipan"])
    assert held(life, "Guimarães") == ["Guimarães"]
    assert forget(life.db, ("message", said.id), life.clock, words=True).observations == 0
    assert held(life, "Guimarães") == []
    assert life.broken() == []


def test_while_another_process_reads_the_log_is_cut_off_later(life: Life) -> None:
    """The answer says so, the status is pruning, and the next call finishes it."""
    here = life.talk()
    fact = life.learn(here, SECRET)
    with closing(open_database(life.path)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM messages").fetchone()
        assert forget(
            life.db, ("observation", fact.id), life.clock, words=True, wait=0.1
        ).pending_erasure
        assert life.db.execute("SELECT value FROM meta WHERE name = 'pruning'").fetchone() == (
            "log",
        )
        assert not finish_erasure(life.db, wait=0.1)
        reader.execute("ROLLBACK")
    assert finish_erasure(life.db)
    assert life.count("meta") == 0
    assert held(life, *FORGOTTEN) == []


def test_while_another_process_writes_all_is_done_later(life: Life) -> None:
    """The next call begins what could not even begin, in another connection too."""
    here = life.talk()
    fact = life.learn(here, SECRET)
    with closing(sqlite3.connect(life.path, isolation_level=None)) as writer:
        plan = plan_forget(life.db, ("observation", fact.id), words=True)
        assert asdict(plan)["words"]
        forget(life.db, ("observation", fact.id), life.clock, words=True, wait=5)
        second = life.learn(here, SECRET)
        writer.execute("BEGIN IMMEDIATE")
        life.db.execute("PRAGMA busy_timeout = 50")
        with pytest.raises(sqlite3.OperationalError):
            forget(life.db, ("observation", second.id), life.clock, words=True)
        writer.execute("ROLLBACK")
    assert life.state(second) == "active"
    life.db.execute("INSERT INTO meta VALUES ('pruning', 'rewrite')")
    with closing(sqlite3.connect(life.path, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        assert not finish_erasure(life.db, wait=0.1)
        writer.execute("ROLLBACK")
    with closing(open_database(life.path)) as other:
        assert finish_erasure(other)
    assert life.db.execute("PRAGMA busy_timeout").fetchone() == (50,)


def test_forgetting_what_is_not_there_changes_nothing(life: Life) -> None:
    """An unknown id is an error, and no erasure begins."""
    with pytest.raises(NotFoundError):
        forget(life.db, ("observation", 7), life.clock, words=True)
    assert life.count("meta") == 0


def test_many_rows_moved_about_leave_no_copy_behind(life: Life) -> None:
    """Rows that grew and moved leave nothing in the slack of their old pages."""
    here = life.talk()
    secrets = [f"Passphrase{n:03}" + "qwxz" * (n % 40) for n in range(120)]
    facts = []
    for n, secret in enumerate(secrets):
        said = life.exchange(here, f"My word for {n} is {secret}")
        facts += life.observe(here, (f"User's word for door {n} is {secret}", [said]))
    life.compact(here)
    for fact in facts[::2]:
        edit(life.db, fact.id, fact.content + " indeed", life.clock)
    for fact in facts[::3]:
        forget(life.db, ("observation", fact.id), life.clock, words=True)
    gone = [f"Passphrase{n:03}" for n in range(0, 120, 3)]
    assert held(life, *gone, *(g.lower() for g in gone)) == []
    assert life.broken() == []


def test_many_names_are_all_looked_for(life: Life) -> None:
    """A note with more names than one search takes finds each of them in other messages."""
    here = life.talk()
    names = [f"Guest{number:03}" for number in range(150)]
    party = life.learn(here, f"User invited {' '.join(names)}")
    for name in (names[0], names[-1]):
        life.say(here, f"{name} cannot come.")
    assert plan_forget(life.db, ("observation", party.id), words=False).elsewhere == 2

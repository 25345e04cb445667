"""Notes kept on request: by the user, and by the main model for them."""

from dataclasses import replace
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from construct.clock import Clock
from construct.errors import ConstructError, NotFoundError, UsageError
from construct.memory import reading_tools
from construct.memory.corrections import edit, pin
from construct.memory.forgetting import delete_conversation, forget
from construct.memory.keeping import keep_for_model, keep_for_user
from construct.memory.lookup import Rights
from construct.memory.shown.forks import descent
from construct.memory.undo import undo
from construct.operations.memory import list_in_scope
from construct.store.cycles import get_cycle
from construct.store.database import transaction
from construct.store.note_links import message_links, messages_behind
from construct.store.records import Observation
from construct.vocabulary import Scope
from tests.memory.builders import Life, stated
from tests.support.context import context
from tests.support.database import use_rules

NUTS = "User is allergic to peanuts"


def test_a_note_is_kept_in_one_line(life: Life) -> None:
    """Line ends and control characters go; the user's own rests on no message."""
    with transaction(life.db):
        kept = keep_for_user(life.db, "My wife\nis \x1b[31mAna\x00.", " per\nson ", life.clock)
    assert (kept.content, kept.category, kept.origin) == ("My wife is Ana.", "per son", "user")
    assert (kept.kept, kept.priority, kept.stance, kept.state) == (1, "high", "stated", "active")
    assert (kept.observation_date, kept.conversation_id) == ("2026-03-01", None)
    assert get_cycle(life.db, kept.cycle_id).kind == "edit"
    assert messages_behind(life.db, [kept.id]) == []
    assert life.broken() == []


def test_the_models_note_rests_on_what_the_user_said(life: Life) -> None:
    """It is of that conversation, and so is the edit that made it."""
    said = life.say(life.talk(), "The gate code is 4512, keep that")
    kept = life.remember_for_model("The gate code is 4512", said)
    assert (kept.origin, kept.kept, kept.conversation_id) == ("assistant", 1, said.conversation_id)
    assert message_links(life.db, [kept.id]) == [(kept.id, said.id)]
    assert get_cycle(life.db, kept.cycle_id).conversation_id == said.conversation_id
    assert life.broken() == []


@pytest.mark.parametrize("text", ["", "  \n\t", "\x1b[0m", "\u200f"])
def test_there_must_be_a_word_in_it(life: Life, text: str) -> None:
    """Nothing is stored."""
    for keep in (life.remember, life.remember_for_model):
        with pytest.raises(UsageError):
            keep(text)
    assert (life.count("observations"), life.count("cycles")) == (0, 0)


def test_nothing_is_written_twice(life: Life) -> None:
    """Said again by the user or the model, the first is returned, also among many alike."""
    for i in range(60):
        life.remember(f"User's locker {i} has the code {1000 + i} and is at the station")
    first = life.remember(NUTS)
    life.remember("My locker 7 has the code 1007 and is at the station.")
    assert life.remember_for_model("I'm allergic to peanuts.") == first
    assert life.remember("I am allergic to peanuts") == first
    assert life.count("observations") == life.count("cycles") == 61
    assert life.remember("I am not allergic to peanuts") != first


def test_tomorrow_is_counted_from_the_users_day(life: Life) -> None:
    """Two evenings west of Greenwich may be one day in UTC."""
    west = ZoneInfo("America/Los_Angeles")
    with transaction(life.db):
        first, second = (
            keep_for_user(life.db, "Dentist tomorrow", None, Clock(moment, west))
            for moment in (
                datetime(2026, 3, 4, 16, 30, tzinfo=west),
                datetime(2026, 3, 5, 10, 0, tzinfo=west),
            )
        )
    assert (first.referenced_date, second.referenced_date) == ("2026-03-05", "2026-03-06")


@pytest.mark.parametrize("committed", [True, False])
def test_the_user_takes_over_what_was_observed(life: Life, committed: bool) -> None:
    """Their note replaces it at once and rests on its messages; undo gives it back."""
    here = life.talk()
    said = life.exchange(here, "I am allergic to peanuts")
    (observed,) = life.observe(here, replace(stated(NUTS, [said.id]), priority="low"))
    if committed:
        life.compact(here)
    mine = life.remember("I'm allergic to peanuts")
    assert (mine.content, mine.origin, mine.kept) == ("I'm allergic to peanuts", "user", 1)
    assert mine.priority == "high"
    assert (life.state(observed), life.state(mine)) == ("superseded", "active")
    assert [m.id for m in messages_behind(life.db, [mine.id])] == [said.id]
    assert undo(life.db, life.clock).cycle.id == mine.cycle_id
    assert (life.state(observed), life.state(mine)) == ("active", "superseded")
    assert life.broken() == []


def test_the_model_is_given_what_was_observed(life: Life) -> None:
    """It need not be written again."""
    observed = life.learn(life.talk(), NUTS)
    assert life.remember_for_model("I am allergic to peanuts") == observed


def test_the_users_rules_bind_the_model_alone(life: Life, tmp_path: Path) -> None:
    """Neither words nor a category of its may be forbidden; the user may keep anything."""
    rules = tmp_path / "memory-rules.md"
    rules.write_text("never: salary\n")
    use_rules(life.db, rules)
    for content, category in (("User's salary is 1200", None), ("User earns 1200", "salary")):
        with pytest.raises(ConstructError, match="rules forbid"):
            keep_for_model(life.db, content, category, None, life.clock)
    assert life.remember("My salary is 1200").content == "My salary is 1200"
    assert life.active() == ["My salary is 1200"]


def test_it_is_edited_pinned_and_undone_like_any_other(life: Life) -> None:
    """Each undo takes one step back."""
    kept = life.remember("The gate code is 4512")
    pin(life.db, kept.id)
    edit(life.db, kept.id, "The gate code is 4513", life.clock)
    assert life.active() == ["The gate code is 4513"]
    undo(life.db, life.clock)
    assert life.active() == [kept.content]
    undo(life.db, life.clock)
    assert life.active() == []
    with pytest.raises(NotFoundError):
        undo(life.db, life.clock)
    assert life.broken() == []


def in_conversation(life: Life, here: int | None) -> list[Observation]:
    """Return what is remembered in a conversation that is shown only what is its own."""
    ctx = context(life.db, life.clock, here=here)
    narrow = replace(ctx, memory=replace(ctx.memory, scope=Scope.CONVERSATION))
    return list(list_in_scope(narrow).observations)


def test_it_is_shown_in_every_scope(life: Life) -> None:
    """Where it was kept and elsewhere, and so is its edit; what was observed is not."""
    here, there = life.talk(), life.talk()
    life.learn(here, "User has a cat")
    mine = life.remember(NUTS)
    kept = life.remember_for_model("The gate code is 4512", life.say(here, "It is 4512"))
    new = edit(life.db, kept.id, "The gate code is 4513", life.clock)
    for elsewhere in (there, None):
        assert [o.id for o in in_conversation(life, elsewhere)] == [mine.id, new]
    assert len(in_conversation(life, here)) == 3


def test_a_narrowed_client_reads_it_only_if_it_rests_on_what_it_may_read(life: Life) -> None:
    """The user's own rests on nothing, so nobody knows where it belongs."""
    here, there = life.talk(), life.talk()
    said = life.say(here, "Gate")
    life.remember_for_model("The gate code is 4512", said)
    life.remember("The gate is green")
    config = context(life.db, life.clock).memory
    read = {}
    for talk in (here, there):
        rights = Rights(descent=tuple(descent(life.db, talk)), is_narrowed=True)
        arguments = {"query": "gate", "kind": "observation"}
        found = reading_tools.use(life.db, config, rights, "recall", arguments)
        read[talk] = [line.split(": ")[-1] for line in found.lines if line.startswith("- ")]
    assert read == {here: ["The gate code is 4512"], there: []}


def test_a_conversation_takes_along_only_what_rests_on_it(life: Life) -> None:
    """What the user kept stays, unless it took over what was observed there."""
    here = life.talk()
    mine = life.remember("The gate is green")
    kept = life.remember_for_model("The gate code is 4512", life.say(here, "It is 4512"))
    life.learn(here, NUTS)
    over = life.remember(NUTS)
    delete_conversation(life.db, here, life.clock)
    assert [life.state(o) for o in (mine, kept, over)] == ["active", "gone", "gone"]
    assert life.broken() == []


def test_nothing_that_is_observed_replaces_the_users_own(life: Life) -> None:
    """It stands until they forget it, and goes alone."""
    here = life.talk()
    mine = life.remember("My rent is 1200")
    said = life.exchange(here, "My rent is 1300 now")
    life.observe(here, replace(stated("User's rent is 1300", [said.id]), replaces=(mine.id,)))
    life.compact(here)
    assert life.active() == ["My rent is 1200", "User's rent is 1300"]
    forget(life.db, ("observation", mine.id), life.clock, words=False)
    assert life.active() == ["User's rent is 1300"]
    assert life.broken() == []

"""What explains the panel's figures: what an undo holds, what the worker has cost."""

from dataclasses import replace

from construct.clock import Clock, to_text
from construct.config import Thresholds
from construct.memory.undo import undo
from construct.operations.context import Context
from construct.operations.status import Meters, Work, meters, status
from construct.store import cycles
from construct.store.usage import Call, record_usage
from construct.tokens import Usage
from construct.vocabulary import CycleStatus, Scope
from tests.memory.builders import Life, stated
from tests.support.context import context

THRESHOLDS = replace(Thresholds(), observer=60, compact=100)


def at(life: Life, here: int) -> Context:
    """Return the context of a user in a conversation, with low thresholds."""
    return context(life.db, here=here, thresholds=THRESHOLDS)


def work(life: Life, here: int | None, clock: Clock = Clock(), worker: str = "m") -> Work:
    """Return who is at work, and what waits."""
    ctx = context(life.db, clock, here=here, thresholds=THRESHOLDS, worker=worker)
    return status(ctx).work


def test_a_new_conversation_counts_no_observations_that_it_is_not_shown(life: Life) -> None:
    """With the scope `conversation` it begins with nothing."""
    life.learn(life.talk(), "I live in Lisbon")
    ctx = context(life.db, thresholds=THRESHOLDS)
    assert status(ctx).observations.count == 1
    narrow = replace(ctx, memory=replace(ctx.memory, scope=Scope.CONVERSATION))
    assert status(narrow).observations.count == 0


def test_what_was_undone_is_held_for_a_threshold(life: Life) -> None:
    """The tokens still missing shrink with every message, until the hold ends."""
    here = life.talk()
    said = life.exchange(here, "I live in Lisbon near the river. " * 8)
    life.observe(here, stated("I live in Lisbon", [said.id]))
    assert work(life, here).held_tokens == 0
    undo(life.db, life.clock)
    assert work(life, here).held_tokens == 60
    assert meters(at(life, here)).held
    assert meters(at(life, here)).observe > 1
    more = life.say(here, "I cycle to work.").token_count
    assert work(life, here).held_tokens == 60 - more
    life.say(here, "And I swim in the sea near Cascais whenever I can. " * 4)
    assert work(life, here).held_tokens == 0
    assert not meters(at(life, here)).held


def test_an_undone_reflection_waits_for_a_threshold_of_observations(life: Life) -> None:
    """Until then the panel can say from how many tokens on another is due."""
    here = life.talk()
    lines = [life.learn(here, "I live in Lisbon"), life.learn(here, "My flat has two rooms")]
    life.reflect(("I live in Lisbon in a flat with two rooms", lines))
    undo(life.db, life.clock)
    found = work(life, here)
    assert found.last_reflection == CycleStatus.REVERTED
    assert found.reflect_from == sum(o.token_count for o in lines) + THRESHOLDS.reflector


def test_past_the_daily_limit_the_extractive_worker_serves(life: Life) -> None:
    """Only today's memory work counts towards the limit.

    The limit matters only where a model would do the work.
    """
    clock = life.clock
    life.pass_days(-1)
    for purpose, cost in (("observer", 0.7), ("chat", 5.0)):
        record_usage(life.db, Call(purpose, "m", Usage(), cost), life.tick())
    life.pass_days(2)  # by a clock that was wrong for a moment
    record_usage(life.db, Call("observer", "m", Usage(), 0.9), life.tick())
    life.pass_days(-1)
    record_usage(life.db, Call("reflector", "m", Usage(), 0.4), life.tick())
    assert work(life, None, clock).spent_usd == 0.4
    assert not work(life, None, clock).is_limited
    record_usage(life.db, Call("graph", "m", Usage(), 0.6), to_text(clock.now()))
    assert work(life, None, clock).is_limited
    assert not work(life, None, clock, "extractive").is_limited


def test_who_is_at_work(life: Life) -> None:
    """A running cycle is named, with what it reads.

    In an empty conversation nothing is near.
    """
    here = life.talk()
    assert meters(at(life, here)) == Meters(0.0, 0.0, held=False)
    last = life.exchange(here, "Hello").id
    cycles.start_cycle(life.db, "observer", here, life.tick(), span=(1, last), model="m")
    (running,) = work(life, here).running
    assert (running.kind, running.last_message_id, running.model) == ("observer", last, "m")

"""What explains the panel's figures: what an undo holds, what the worker has cost."""

from dataclasses import replace

from construct.clock import Clock, to_text
from construct.config import Thresholds
from construct.memory.curation.undo import undo
from construct.memory.cycles.situation import Terms
from construct.memory.inspection.status import Meters, meters, standing
from construct.store import books, cycles
from construct.tokens import Usage
from tests.memory.builders import Life, stated

TERMS = Terms(replace(Thresholds(), observer=60, compact=100), "user", Clock(), 1.0)


def test_what_was_undone_is_held_for_a_threshold(life: Life) -> None:
    """The tokens still missing shrink with every message, until the hold ends."""
    here = life.talk()
    said = life.exchange(here, "I live in Lisbon near the river. " * 8)
    life.observe(here, stated("I live in Lisbon", [said.id]))
    assert standing(life.db, here, TERMS, "m").held_tokens == 0
    undo(life.db, life.clock)
    assert standing(life.db, here, TERMS, "m").held_tokens == 60
    assert meters(life.db, here, TERMS).held
    assert meters(life.db, here, TERMS).observe > 1
    more = life.say(here, "I cycle to work.").token_count
    assert standing(life.db, here, TERMS, "m").held_tokens == 60 - more
    life.say(here, "And I swim in the sea near Cascais whenever I can. " * 4)
    assert standing(life.db, here, TERMS, "m").held_tokens == 0
    assert not meters(life.db, here, TERMS).held


def test_an_undone_reflection_waits_for_a_threshold_of_observations(life: Life) -> None:
    """Until then the panel can say from how many tokens on another is due."""
    here = life.talk()
    lines = [life.learn(here, "I live in Lisbon"), life.learn(here, "My flat has two rooms")]
    life.reflect(("I live in Lisbon in a flat with two rooms", lines))
    undo(life.db, life.clock)
    found = standing(life.db, here, TERMS, "m")
    assert found.reflector_undone
    assert found.reflect_from == sum(o.token_count for o in lines) + TERMS.thresholds.reflector


def test_past_the_daily_limit_the_extractive_worker_serves(life: Life) -> None:
    """Only what memory work has cost today counts, and only where a model would do it otherwise."""
    terms = replace(TERMS, clock=life.clock)
    life.pass_days(-1)
    for purpose, cost in (("observer", 0.7), ("chat", 5.0)):
        books.book(life.db, books.Call(purpose, "m", Usage(), cost), life.tick())
    life.pass_days(2)  # by a clock that was wrong for a moment
    books.book(life.db, books.Call("observer", "m", Usage(), 0.9), life.tick())
    life.pass_days(-1)
    books.book(life.db, books.Call("reflector", "m", Usage(), 0.4), life.tick())
    assert standing(life.db, None, terms, "m").spent_usd == 0.4
    assert not standing(life.db, None, terms, "m").is_limited
    books.book(life.db, books.Call("graph", "m", Usage(), 0.6), to_text(terms.clock.now()))
    assert standing(life.db, None, terms, "m").is_limited
    assert not standing(life.db, None, terms, "extractive").is_limited


def test_who_is_at_work(life: Life) -> None:
    """A running cycle is named, with what it reads; in an empty conversation nothing is near."""
    here = life.talk()
    assert meters(life.db, here, TERMS) == Meters(0.0, 0.0, held=False)
    last = life.exchange(here, "Hello").id
    cycles.start_cycle(life.db, "observer", here, life.tick(), span=(1, last), model="m")
    (running,) = standing(life.db, here, TERMS, "m").running
    assert (running.kind, running.last_message_id, running.model) == ("observer", last, "m")

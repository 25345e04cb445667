"""Weeks and generations, from a life in a database."""

from datetime import date

from construct.memory.edits import edit
from construct.memory.timeline import Week, weeks
from construct.memory.undo import undo
from construct.store import lineage
from construct.store.lineage import Generation
from tests.memory.builders import Life


def test_a_life_by_week(life: Life) -> None:
    """Each week says what was learned, condensed and corrected, and what was active at its end; none is left out."""
    here = life.talk()
    one, two = life.learn(here, "I live in Lisbon"), life.learn(here, "My flat has two rooms")
    life.pass_days(8)
    life.reflect(("I live in Lisbon in a flat with two rooms", [one, two]))
    three = life.learn(here, "I cycle")
    life.pass_days(14)
    edit(life.db, three.id, "I cycle to work.", life.clock)
    assert weeks(lineage.spans(life.db), life.clock) == [
        Week(date(2026, 2, 23), 2, 0, 0, 0, {0: 2}),
        Week(date(2026, 3, 2), 0, 0, 0, 0, {0: 2}),
        Week(date(2026, 3, 9), 1, 2, 1, 0, {0: 1, 1: 1}),
        Week(date(2026, 3, 16), 0, 0, 0, 0, {0: 1, 1: 1}),
        Week(date(2026, 3, 23), 0, 0, 0, 1, {0: 1, 1: 1}),
    ]


def test_what_was_undone_never_was(life: Life) -> None:
    """An undone reflection leaves no trace in the weeks, nor in the generations."""
    here = life.talk()
    lines = [life.learn(here, "I live in Lisbon"), life.learn(here, "My flat has two rooms")]
    before = weeks(lineage.spans(life.db), life.clock), lineage.generations(life.db)
    life.reflect(("I live in Lisbon in a flat with two rooms", lines))
    tokens = sum(o.token_count for o in lines)
    assert [g.number for g in lineage.generations(life.db)] == [0, 1]
    assert lineage.generations(life.db)[0] == Generation(0, 2, 0, 0, 0, 2)
    undo(life.db, life.clock)
    assert (weeks(lineage.spans(life.db), life.clock), lineage.generations(life.db)) == before
    assert before[1] == [Generation(0, 2, 2, tokens, 0, 0)]


def test_nothing_learned_is_no_week(life: Life) -> None:
    """Without an observation there is nothing to show."""
    assert weeks(lineage.spans(life.db), life.clock) == []
    assert lineage.generations(life.db) == []

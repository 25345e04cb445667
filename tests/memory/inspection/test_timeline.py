"""Weeks and generations, from a life in a database."""

from datetime import date, timedelta

import pytest

from construct.memory.curation.edits import edit
from construct.memory.curation.undo import undo
from construct.memory.inspection.timeline import Period, bundled, folded, weeks
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
        Period(date(2026, 2, 23), {"high": 2}, 0, 0, 0, {0: 2}),
        Period(date(2026, 3, 2), {}, 0, 0, 0, {0: 2}),
        Period(date(2026, 3, 9), {"high": 1}, 2, 1, 0, {0: 1, 1: 1}),
        Period(date(2026, 3, 16), {}, 0, 0, 0, {0: 1, 1: 1}),
        Period(date(2026, 3, 23), {}, 0, 0, 1, {0: 1, 1: 1}),
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


@pytest.mark.parametrize(("years", "unit"), [(0.3, "week"), (1, "month"), (3, "quarter"), (12, "year")])
def test_years_fit_a_screen(years: float, unit: str) -> None:
    """Weeks come in the smallest bundles of which there are not too many; the sums stay, and what was active last."""
    monday = date(2026, 1, 5)
    lived = [
        Period(monday + timedelta(weeks=n), {"high": 2, "low": 1}, 1, n % 2, 0, {0: n}) for n in range(int(52 * years))
    ]
    found, bundles = bundled(lived, 16)
    assert (found, bundles[0].begin.year) == (unit, 2026)
    assert len(folded(bundles)) <= 16
    assert sum(one.learned for one in bundles) == 3 * len(lived)
    assert sum(one.priorities["high"] for one in bundles) == 2 * len(lived)
    assert sum(one.reflections for one in bundles) == len(lived) // 2
    assert bundles[-1].active == {0: len(lived) - 1}


def test_quiet_periods_in_a_row_are_one_line() -> None:
    """They take as much room as one."""
    quiet, busy = Period(date(2026, 1, 5), {}, 0, 0, 0, {0: 1}), Period(date(2026, 1, 12), {"low": 1}, 0, 0, 0, {0: 1})
    assert list(map(len, folded([quiet, quiet, busy, busy, quiet]))) == [2, 1, 1, 1]

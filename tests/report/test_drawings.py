"""Charts, the flow of generations and the graph, as figures."""

from datetime import date, timedelta

import pytest

from construct.clock import Clock
from construct.report.charts import Column, stacked
from construct.report.flow import by_generation, flow
from construct.report.network import MOST, network
from construct.report.timeline import learned, spending
from construct.store.books import Spent
from construct.store.graph import Entity, Relation
from tests.memory.builders import ZONE, Life
from tests.report.conftest import read

DAY = date(2026, 3, 2)


@pytest.mark.parametrize(
    ("most", "ticks"),
    [
        (0, [0, 1]), (1, [0, 0.25, 0.5, 0.75, 1]), (3, [0, 1, 2, 3]), (4, [0, 1, 2, 3, 4]), (7, [0, 2, 4, 6, 8]),
        (10, [0, 2.5, 5, 7.5, 10]), (42, [0, 20, 40, 60]), (0.0071, [0, 0.002, 0.004, 0.006, 0.008]),
    ],
)  # fmt: skip
def test_lines_across_are_round(most: float, ticks: list[float]) -> None:
    """From nothing to the highest column or a little above."""
    chart = stacked([Column(DAY, "", {"a": most})], ["a"])
    assert [value for _, value in chart.ticks] == pytest.approx(ticks)


def test_columns_stand_on_the_floor_and_stay_inside() -> None:
    """The parts of a column lie on each other in order; none is too high; months are named once, with room."""
    days = [DAY + timedelta(days=n) for n in range(0, 700, 7)]
    chart = stacked([Column(d, f"{d}", {"a": n % 9, "b": 1}) for n, d in enumerate(days)], ["a", "b"])
    for bar in chart.bars:
        top = float(chart.floor)
        for part in bar.parts:
            assert part.y + part.height == pytest.approx(top, abs=0.02)
            top = part.y
        assert top >= 0
        assert 0 <= bar.x <= bar.x + bar.width <= chart.width
    assert [words for _, words in chart.marks][:2] == ["Mar 2026", "May"]
    assert all(b - a >= 60 for (a, _), (b, _) in zip(chart.marks, chart.marks[1:], strict=False))


def test_what_was_learned_is_counted_by_the_users_week(lived: Life) -> None:
    """By priority; reflections and edits apart."""
    found = learned(read(lived), Clock(lived.now, ZONE))
    assert found is not None
    assert [(w.begin, dict(w.priorities), w.reflections) for w in found.weeks] == [
        (date(2026, 2, 23), {"high": 4, "medium": 1, "low": 1}, 2)
    ]


def test_costs_are_counted_by_the_users_day() -> None:
    """A price that is not known makes no sum wrong; where none is known the chart is of tokens."""
    spent = [
        Spent("2026-03-01T23:30:00+00:00", "chat", 10, 0.5), Spent("2026-07-01T23:30:00+00:00", "observer", 20, None),
        Spent("2026-07-02T10:00:00+00:00", "other thing", 5, 0.25),
    ]  # fmt: skip
    found = spending(spent, Clock(None, ZONE))
    assert found is not None
    assert [(d.day, d.calls, d.tokens, d.cost_usd) for d in found.days] == [
        (date(2026, 3, 1), 1, 10, 0.5), (date(2026, 7, 2), 2, 25, 0.25),
    ]  # fmt: skip
    assert (found.in_dollars, found.purposes, found.drawn) == (True, ("other",), 120)
    unknown = spending(spent[1:2], Clock(None, ZONE))
    assert unknown is not None
    assert not unknown.in_dollars
    assert spending([], Clock(None, ZONE)) is None


def test_generations_flow_into_each_other(lived: Life) -> None:
    """Every observation is counted once, by what became of it; ribbons go from sources to reflections."""
    found = read(lived)
    counts = {generation: {k: n for k, n in c.items() if n} for generation, c in by_generation(found).items()}
    assert counts == {
        0: {"condensed": 3, "replaced": 1, "active": 2, "pending": 1}, 1: {"condensed": 1}, 2: {"active": 1},
    }  # fmt: skip
    drawing = flow(found)
    assert [(s.name, s.count) for s in drawing.stages] == [
        ("messages", 6), ("generation 0", 7), ("generation 1", 1), ("generation 2", 1),
    ]  # fmt: skip
    assert [r.title for r in drawing.ribbons] == [
        "6 of messages in generation 0", "2 of generation 0 in generation 1", "1 of generation 0 in generation 2",
        "1 of generation 1 in generation 2",
    ]  # fmt: skip


def test_every_name_has_a_place_of_its_own() -> None:
    """The user in the middle; two entities of one name are one; what nothing connects is there; the rest is listed."""
    entities = [Entity(i, f"Name {i}", None, ()) for i in range(2, 2 * MOST)]
    entities += [
        Entity(500, "User", "person", ()),
        Entity(501, "name 2", None, ("Nam",)),
        Entity(502, "Alone", None, ()),
    ]
    relations = [Relation(i, i // 2 if i > 3 else 500, "knows", i, 1, "2026-03-01", None) for i in range(2, 2 * MOST)]
    relations.append(Relation(900, 501, "likes", 500, 1, "2026-03-01", "2026-04-01T00:00:00+00:00"))
    found = network(entities, relations)
    assert (found.dots[0].name, found.dots[0].x, found.dots[0].y) == ("User", 0, 0)
    assert len(found.dots) == MOST == len({(d.x, d.y) for d in found.dots})
    assert len(found.people) == len(entities) - 1
    assert [(s.predicate, s.until) for p in found.people if p.name == "Name 2" for s in p.said if s.until] == [
        ("likes", "2026-04-01")
    ]
    left, top, width, height = found.box
    assert all(left < d.x < left + width and top < d.y < top + height for d in found.dots)
    assert network(entities, relations) == found
    assert network([], []).people == ()
    small = network([entities[-1], entities[-3]], [])
    assert [d.centre for d in small.dots] == [True, False]

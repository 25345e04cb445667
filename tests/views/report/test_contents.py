"""What the page's sections are made of: generations, costs, names."""

from datetime import date

from construct.clock import Clock
from construct.store.graph import Entity, Relation
from construct.store.usage import Spent
from construct.views.report.contents import Statement, cost_by_month, generations, names
from tests.memory.builders import ZONE, Life
from tests.views.report.conftest import read

CLOCK = Clock(None, ZONE)
NOON = "2026-03-01T12:00:00+00:00"


def test_every_note_is_counted_once_by_what_became_of_it(lived: Life) -> None:
    """By generation."""
    assert generations(read(lived)) == {
        0: {"condensed": 3, "replaced": 1, "active": 3, "pending": 1},
        1: {"condensed": 1},
        2: {"active": 1},
    }


def test_costs_are_summed_by_the_users_month() -> None:
    """Calls of unknown price count as calls and tokens, not as free."""
    spent = [
        Spent("2026-03-31T23:30:00+00:00", "chat", 10, 0.5),  # in Lisbon it is April by then
        Spent("2026-04-02T10:00:00+00:00", "observer", 20, None),
        Spent("2026-07-02T10:00:00+00:00", "graph", 5, None),
    ]
    july, april = cost_by_month(spent, CLOCK).items()
    assert (july[0], july[1].calls) == (date(2026, 7, 1), 1)
    assert july[1].dollars == {"memory": [None]}
    assert (april[0], april[1].calls) == (date(2026, 4, 1), 2)
    assert april[1].dollars == {"talk": [0.5], "memory": [None]}
    assert april[1].tokens == 30


def test_names_are_grouped_by_type_with_what_is_said_of_them() -> None:
    """The user comes first; two entities of one name are one.

    What has ended comes last.
    """
    entities = [
        Entity(1, "Ana", "person", ()),
        Entity(2, "User", None, ()),
        Entity(3, "ana", None, ("Aninha",)),
        Entity(4, "Porto", "place", ()),
        Entity(5, "chess", "pastime", ()),
    ]
    relations = [
        Relation(1, 1, "lived in", 4, 1, "2026-03-01", "2026-04-01T12:00:00+00:00"),
        Relation(2, 3, "plays", 5, 1, "2026-03-01", None),
        Relation(3, 2, "knows", 1, 1, "2026-03-01", None),
    ]
    found = names(entities, relations, CLOCK)
    assert {heading: [n.name for n in group] for heading, group in found.items()} == {
        "People": ["User", "Ana"],
        "Places": ["Porto"],
        "Other names": ["chess"],
    }
    ana = found["People"][1]
    assert list(ana.aliases) == ["Aninha"]
    assert list(ana.statements) == [
        Statement("Ana", "plays", "chess", "2026-03-01", None),
        Statement("User", "knows", "Ana", "2026-03-01", None),
        Statement("Ana", "lived in", "Porto", "2026-03-01", "2026-04-01"),
    ]
    assert names([], [], CLOCK) == {}

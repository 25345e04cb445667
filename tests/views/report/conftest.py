"""A short life and its memory page.

It has reflections of two generations, a plan, an edit and a graph.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from construct.clock import Clock
from construct.load_settings import load_settings
from construct.memory.config import memory_config_for
from construct.memory.corrections import edit, pin
from construct.operations.context import Context
from construct.operations.report import Report, report
from construct.views.report.page import page
from tests.memory.builders import ZONE, Life, stated


@pytest.fixture
def life(tmp_path: Path) -> Iterator[Life]:
    """An empty database."""
    life = Life(tmp_path)
    yield life
    life.db.close()


def read(life: Life) -> Report:
    """Return all that a page shows."""
    settings = load_settings({}, db=life.path)
    return report(Context(life.db, settings, memory_config_for(settings, 1_000_000)))


def written(life: Life) -> str:
    """Return the page as it is now."""
    return page(read(life), Clock(life.now, ZONE))


@pytest.fixture
def lived(life: Life) -> Life:
    """Observations 1 to 3 in reflections 4 and, with it, 6; 5 edited into 7.

    8 is pinned; 9 a pending plan.
    """
    here = life.talk("At home")
    first, second, third = (
        life.learn(here, text) for text in ("I live in Lisbon", "My flat is small", "I have a cat")
    )
    (low,) = life.reflect(("I live in a small flat in Lisbon", [first, second]))
    rent = life.learn(here, "My rent is 900", priority="medium")
    life.reflect(("I live in a small flat in Lisbon with a cat", [low, third]))
    edit(life.db, rent.id, "My rent is 950", life.clock)
    pin(life.db, life.learn(here, "I am allergic to peanuts").id)
    said = life.exchange(here, "I plan to see the dentist on 2026-02-20")
    plan = replace(
        stated("I plan to see the dentist on 2026-02-20", [said.id]),
        stance="planned",
        priority="low",
    )
    life.observe(here, replace(plan, referenced_date="2026-02-20", observation_date="2026-02-10"))
    life.relate(life.remember("Lisbon is lovely Tejo"))
    return life

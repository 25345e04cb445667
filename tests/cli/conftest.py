"""The program with the fake as its server, also with a short life in its database."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.memory.builders import START, Life
from tests.support.fake_api import FakeApi
from tests.support.program import Program

CLOCK = {"CONSTRUCT_TZ": "Europe/Lisbon", "CONSTRUCT_NOW": "2026-03-10T12:00:00+00:00"}


@pytest.fixture
def program(tmp_path: Path, api: FakeApi) -> Program:
    """The program with the fake as its server, at a fixed time."""
    return Program(tmp_path, {**api.env(), **CLOCK})


@pytest.fixture
def life(tmp_path: Path) -> Iterator[Life]:
    """The database of `program`, to be filled without a model."""
    life = Life(tmp_path, "construct.db")
    yield life
    life.db.close()


@pytest.fixture(scope="session")
def a_life(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A life of 1 March: observations 1 and 2 superseded by reflection 4; 3 active.

    5 pending; 6 kept on request; two talks.
    """
    life = Life(tmp_path_factory.mktemp("a_life"))
    here = life.talk("Where I live")
    first = life.learn(here, "I live in Lisbon near the river")
    second = life.learn(here, "My flat in Lisbon has two rooms")
    life.learn(here, "Zoe's birthday is on May 5th")
    life.reflect(("I live in Lisbon near the river in a flat with two rooms", [first, second]))
    said = life.exchange(here, "I bought a tandem")
    life.observe(here, ("I bought a tandem", [said]))
    now, life.now = life.now, START  # so that it is not the newest deed
    life.relate(life.remember("The alarm code is 9917"))
    life.now = now
    life.exchange(life.talk("Bicycles"), "Which chain fits a tandem?", "A long one.")
    life.db.close()
    return life.path


@pytest.fixture
def lived(program: Program, a_life: Path) -> Program:
    """The program with that life behind it."""
    shutil.copy(a_life, program.db)
    return program

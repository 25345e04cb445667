"""An empty folder, and a database with everything in it."""

from pathlib import Path

import pytest

from construct.store.database import open_database
from tests.store.transfer_world import World, furnish


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return a folder in which there is nothing."""
    (tmp_path / "place").mkdir()
    return tmp_path / "place"


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return the bytes of a database with everything in it."""
    path = tmp_path_factory.mktemp("sound") / "a.db"
    db = open_database(path)
    furnish(db)
    World(db, "z").say(1, *["filler " * 200] * 50)
    db.close()
    return path.read_bytes()

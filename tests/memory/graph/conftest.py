"""What the tests of the graph share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.memory.graph.drawing import Graph


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[Graph]:
    """A new database."""
    drawn = Graph(tmp_path)
    yield drawn
    drawn.db.close()

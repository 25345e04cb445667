"""What the tests of the memory share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.memory.builders import Life


@pytest.fixture
def life(tmp_path: Path) -> Iterator[Life]:
    """A new database to live in."""
    lived = Life(tmp_path)
    yield lived
    lived.db.close()

"""What tests of recall say and find, in short."""

from construct.memory.recall.search import Hit
from tests.memory.builders import Life


def texts(hits: list[Hit]) -> list[str]:
    """Return what was found, in order."""
    return [hit.text for hit in hits]


def keys(hits: list[Hit]) -> list[tuple[str, int]]:
    """Return what was found, by kind and id."""
    return [(hit.kind, hit.id) for hit in hits]


def small_talk(life: Life, here: int, times: int = 12) -> None:
    """Say things that have nothing to do with what is looked for."""
    for number in range(times):
        life.exchange(here, f"The soup of evening {number} was lentils.", "That sounds warming.")

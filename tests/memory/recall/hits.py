"""What tests of recall say and find, in short."""

import sqlite3
from datetime import date

from construct.memory.recall.meaning import Meaning
from construct.memory.recall.search import Hit, search_memory
from construct.store.search import Filters
from tests.memory.builders import Life


def search(
    db: sqlite3.Connection,
    query: str,
    filters: Filters = Filters(),
    limit: int = 20,
    *,
    today: date | None = None,
    meaning: Meaning | None = None,
) -> list[Hit]:
    """Return what a search found, without the words that it respelt."""
    return search_memory(db, query, filters, limit, today=today, meaning=meaning).hits


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

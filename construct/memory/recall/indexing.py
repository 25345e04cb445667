"""Compute missing embedding vectors, a few at a time.

A database has vectors of one model only: two programs with different models would keep
deleting each other's. The first model stays until `construct reindex` chooses another.
"""

import asyncio
import sqlite3
from collections.abc import Sequence

from construct.errors import ConstructError
from construct.llm.embedding import Embedder
from construct.memory.recall.meaning import Meaning
from construct.store import vectors
from construct.store.database import transaction
from construct.store.in_thread import Store
from construct.store.vectors import Text

BATCH = 16  # entries: 100 ms of one core, and 1 ms of holding the write lock
_DROPPED = 2_000  # vectors of another model deleted in one transaction
OTHER_MODEL = "the vectors here were made by another model: `construct reindex` makes them anew"
_KINDS = ("observation", "memory", "message")  # the fewest and most useful first


def is_others(db: sqlite3.Connection, name: str) -> bool:
    """Return whether a different model has been chosen for this database."""
    return vectors.chosen(db) not in {None, name}


def _expect_own(db: sqlite3.Connection, name: str) -> None:
    if is_others(db, name):
        raise ConstructError(f"search uses words alone: {OTHER_MODEL}")


def choose(db: sqlite3.Connection, name: str) -> None:
    """Use this model for the database's vectors from now on."""
    with transaction(db):
        vectors.choose(db, name)


def batch(db: sqlite3.Connection, name: str, after: dict[str, int]) -> list[Text]:
    """Return the next entries of one kind without a vector; empty when all have one."""
    found = (vectors.entries_without(db, name, kind, after.get(kind, 0), BATCH) for kind in _KINDS)
    return next((texts for texts in found if texts), [])


def store(db: sqlite3.Connection, embedder: Embedder, texts: Sequence[Text]) -> None:
    """Compute and store the vectors of these entries.

    Entries that changed meanwhile are skipped.
    """
    keep(db, embedder, texts, encode(embedder, texts))


def encode(embedder: Embedder, texts: Sequence[Text]) -> list[list[bytes]]:
    """Return the vectors of each entry: one for each part of its text."""
    encoded = embedder.encode([text.content for text in texts])
    return [[part.tobytes() for part in parts] for parts in encoded]


def keep(
    db: sqlite3.Connection,
    embedder: Embedder,
    texts: Sequence[Text],
    made: Sequence[Sequence[bytes]],
) -> None:
    """Store the vectors of entries.

    Raises ConstructError when the file has vectors of another model.
    """
    with transaction(db):
        _expect_own(db, embedder.name)
        vectors.choose(db, embedder.name)
        vectors.add(db, embedder.name, zip(texts, made, strict=True))


def drop_others(db: sqlite3.Connection, name: str) -> bool:
    """Delete some vectors of other models; return False when there are none.

    Raises ConstructError when one of those models has been chosen meanwhile.
    """
    if not vectors.has_others(db, name):
        return False
    with transaction(db):
        _expect_own(db, name)
        vectors.drop_others(db, name, _DROPPED)
    return True


async def index_some(database: Store, meaning: Meaning) -> bool:
    """Compute a batch of missing vectors in threads; return whether there may be more.

    False if none are missing or the model does not work. Raises ConstructError if the
    database has vectors of another model.
    """
    name = meaning.embedder.name
    await database.call(_expect_own, name)
    after = {kind: await database.call(vectors.last, name, kind) for kind in _KINDS}
    texts = await database.call(batch, name, after)
    if not texts:
        return await database.call(drop_others, name)
    if not await asyncio.to_thread(meaning.ready):
        return False
    made = await asyncio.to_thread(encode, meaning.embedder, texts)
    await database.call(keep, meaning.embedder, texts, made)
    return True

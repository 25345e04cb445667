"""Compute missing embedding vectors, a few at a time.

A database gets vectors from one model at a time: two programs with different models
would keep deleting each other's. The first model stays until `construct reindex` chooses
another.
"""

import asyncio
from collections.abc import Sequence

from construct.errors import ConstructError
from construct.llm.embedding import Embedder
from construct.memory.recall.meaning import Meaning
from construct.program import as_typed
from construct.store import vectors
from construct.store.database import transaction
from construct.store.driver import Connection
from construct.store.in_thread import Store
from construct.store.vectors import EntryText

BATCH = 16
"""Entries in a batch: 100 ms of one core, and 1 ms of holding the write lock."""
_DROP_BATCH = 2_000
"""Vectors of other models that are deleted in one transaction."""
_KINDS = ("observation", "message")
"""Kinds in the order to index them: the fewest and most useful first."""


def is_for_another_model(db: Connection, name: str) -> bool:
    """Return whether another model has been chosen for this database."""
    return vectors.chosen(db) not in {None, name}


def by_another_model() -> str:
    """Return a note that search uses words alone, and the command that changes it."""
    return (
        "search uses words alone, because the vectors were made by another model: "
        f"{as_typed('reindex')} replaces them"
    )


def _raise_if_for_another_model(db: Connection, name: str) -> None:
    if is_for_another_model(db, name):
        raise ConstructError(by_another_model())


def choose_model(db: Connection, name: str) -> None:
    """Choose the model whose vectors this database has from now on."""
    with transaction(db):
        vectors.choose(db, name)


def batch(db: Connection, name: str, after: dict[str, int]) -> list[EntryText]:
    """Return the next entries without a vector, all of one kind; empty if there are none.

    `after`: for each kind, the id after which to look; 0 if it is missing.
    """
    for kind in _KINDS:
        if texts := vectors.entries_without(db, name, kind, after.get(kind, 0), BATCH):
            return texts
    return []


def index_entries(db: Connection, embedder: Embedder, texts: Sequence[EntryText]) -> None:
    """Compute and store the vectors of these entries.

    Entries that changed in the meantime are skipped.
    """
    store_vectors(db, embedder, texts, encode(embedder, texts))


def encode(embedder: Embedder, texts: Sequence[EntryText]) -> list[list[bytes]]:
    """Return the vectors of each entry: one for each part of its text."""
    encoded = embedder.encode([text.content for text in texts])
    return [[part.tobytes() for part in parts] for parts in encoded]


def store_vectors(
    db: Connection,
    embedder: Embedder,
    texts: Sequence[EntryText],
    encoded: Sequence[Sequence[bytes]],
) -> None:
    """Store the vectors of entries, as `encode` returned them.

    Raises ConstructError when another model has been chosen for the database.
    """
    with transaction(db):
        _raise_if_for_another_model(db, embedder.name)
        vectors.choose(db, embedder.name)
        vectors.add(db, embedder.name, zip(texts, encoded, strict=True))


def drop_others(db: Connection, name: str) -> bool:
    """Delete some vectors of other models; return False when there are none.

    Raises ConstructError when another model has been chosen for the database.
    """
    if not vectors.has_other_models(db, name):
        return False
    with transaction(db):
        _raise_if_for_another_model(db, name)
        vectors.drop_other_models(db, name, _DROP_BATCH)
    return True


async def index_some(database: Store, meaning: Meaning) -> bool:
    """Compute a batch of missing vectors in threads; return whether there may be more to do.

    Looks only at entries newer than any of their kind with a vector. If it finds none, it
    deletes some vectors of other models instead. False if the model does not work. Raises
    ConstructError if another model has been chosen for the database.
    """
    name = meaning.embedder.name
    await database.call(_raise_if_for_another_model, name)
    after = {kind: await database.call(vectors.highest_id, name, kind) for kind in _KINDS}
    texts = await database.call(batch, name, after)
    if not texts:
        return await database.call(drop_others, name)
    if not await asyncio.to_thread(meaning.ready):
        return False
    encoded = await asyncio.to_thread(encode, meaning.embedder, texts)
    await database.call(store_vectors, meaning.embedder, texts, encoded)
    return True

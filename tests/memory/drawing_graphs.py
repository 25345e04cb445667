"""Graphs for tests: what an extractor answers, and a talk whose worker draws it."""

import sqlite3
from typing import Any

from construct.clock import to_text
from construct.memory.curation.memories import remember
from construct.store.database import transaction
from tests.support.fake_api import FakeApi
from tests.support.talks import Talk


def entity(name: object, *aliases: object, kind: object = "thing") -> dict[str, object]:
    """Return an entity as a model gives it."""
    return {"name": name, "type": kind, "aliases": list(aliases)}


def relation(subject: object, predicate: object, object_: object) -> dict[str, object]:
    """Return a relation as a model gives it."""
    return {"subject": subject, "predicate": predicate, "object": object_}


def answer(*relations: tuple[str, str, str], entities: list[dict[str, object]] | None = None) -> dict[str, Any]:
    """Return an answer; its entities are the ends of its relations unless told otherwise."""
    names = dict.fromkeys(end for s, _, o in relations for end in (s, o))
    given = [entity(name) for name in names] if entities is None else entities
    return {"entities": given, "relations": [relation(*r) for r in relations]}


async def keep(t: Talk, *texts: str) -> list[int]:
    """Store memories by hand."""

    def store(db: sqlite3.Connection, text: str) -> int:
        with transaction(db):
            return remember(db, text, None, "user", to_text(t.companion.settings.clock.now())).id

    return [await t.companion.store.call(store, text) for text in texts]


async def draw(t: Talk, api: FakeApi, given: Any, *texts: str) -> list[int]:
    """Store memories, and let the worker draw them by this answer."""
    ids = await keep(t, *texts)
    api.enqueue("graph", given)
    await t.companion.worker.now(t.id)
    return ids

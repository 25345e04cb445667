"""Reading the graph: what an entity is related to, which memories are near a query."""

import sqlite3
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from construct.errors import NotFoundError
from construct.language.index_words import index_words
from construct.memory.graph.names import SELF, USER, is_user, key
from construct.store import graph as rows
from construct.store.graph import Entity, Relation

_DEPTH = 2
"""Relations that the way goes from where it begins."""
_HUB = 30
"""An entity with more relations leads everywhere, and so nowhere.

The user always does.
"""
_MOST_REACHED = 60
_LONGEST_NAME = 6
"""Words of a name that is looked for in a query."""


@dataclass(frozen=True, slots=True)
class Branch:
    """One relation as seen from an entity."""

    predicate: str
    forward: bool
    """The entity is the subject; False: the one at the other end is."""
    since: str
    until: str | None
    """The day it was superseded, if it was."""
    memory_id: int
    tree: "Tree"


@dataclass(frozen=True, slots=True)
class Tree:
    """An entity, and what it is related to as far as the tree goes.

    Each relation stands in it once.
    """

    name: str
    type: str | None
    aliases: tuple[str, ...]
    branches: tuple[Branch, ...] = ()


def neighbours(db: sqlite3.Connection, name: str) -> Tree:
    """Return what is related to the entity of a name or alias; raises NotFoundError.

    Superseded relations too.
    """
    wanted = key(USER) if name.strip().casefold() in SELF else key(name)
    found = _called(db, {wanted})
    if not found:
        if rows.is_empty(db):
            raise NotFoundError(
                "There is no graph yet.\nThe memory worker draws it from memories as they come "
                "together; the extractive worker draws none."
            )
        raise NotFoundError(
            f"The graph knows nothing of {name.strip()!r}.\n"
            "Try a name as it was said, or `/graph User`."
        )
    found.sort(key=lambda e: key(e.name) != wanted)
    ids = {e.id for e in (*found, *_twins(db, found))}
    return Tree(
        found[0].name, found[0].type, found[0].aliases, _branches(db, ids, ids, _DEPTH, set())
    )


def entities_in(db: sqlite3.Connection, query: str) -> list[Entity]:
    """Return the entities that a query names in full or by an alias; never the user."""
    said = index_words(query)
    starts = range(len(said))
    named = {" ".join(said[i : i + size]) for size in range(1, _LONGEST_NAME + 1) for i in starts}
    return [e for e in _called(db, named) if not is_user(e.name)]


def reached(db: sqlite3.Connection, query: str) -> list[int]:
    """Return memories in force that are related to what a query names, nearest first.

    Where everything meets, at the user and at hubs, the way ends.
    """
    leading: Collection[int] = {e.id for e in entities_in(db, query)}
    seen = set(leading)
    found: dict[int, int] = {}
    for distance in range(1, _DEPTH + 1):
        relations = rows.relations_with(db, leading)
        for r in relations:
            found.setdefault(r.memory_id, distance)
        ends = {end for r in relations for end in (r.subject_id, r.object_id)}
        ends |= {e.id for e in _twins(db, rows.entities(db, ends - seen))}
        leading = rows.not_hubs(db, ends - seen, _HUB)
        seen |= ends
    return sorted(found, key=lambda memory_id: (found[memory_id], -memory_id))[:_MOST_REACHED]


def _called(db: sqlite3.Connection, keys: Collection[str]) -> list[Entity]:
    found = rows.entities_called(db, keys) if keys else []
    return [e for e in found if any(key(name) in keys for name in e.names)]


def _twins(db: sqlite3.Connection, entities: Sequence[Entity]) -> list[Entity]:
    """Return entities that are one with these: each has the other's name as alias."""
    pairs = {(key(e.name), key(alias)) for e in entities for alias in e.aliases}
    found = _called(db, {alias for _, alias in pairs})
    return [
        o
        for o in found
        if o not in entities and any((key(a), key(o.name)) in pairs for a in o.aliases)
    ]


def _branches(
    db: sqlite3.Connection,
    ids: Collection[int],
    leading: Collection[int],
    depth: int,
    used: set[int],
) -> tuple[Branch, ...]:
    """Return the relations of entities that are one, without those `used` in the tree.

    Of those that say the same, one stands for all, one in force if there is any.
    """
    if not depth:
        return ()
    found = [r for r in rows.relations_with(db, leading, past=True) if r.id not in used]
    used |= {r.id for r in found}
    found.sort(key=lambda r: (r.superseded_at is not None, r.id))
    once: dict[tuple[int, str, int], Relation] = {}
    for r in found:
        once.setdefault((r.subject_id, r.predicate.casefold(), r.object_id), r)
    others = {
        e.id: e
        for e in rows.entities(db, {end for r in found for end in (r.subject_id, r.object_id)})
    }
    branches = []
    for r in once.values():
        forward = r.subject_id in ids
        other = others[r.object_id if forward else r.subject_id]
        both = {other.id, *(twin.id for twin in _twins(db, [other]))}
        below = _branches(db, both, rows.not_hubs(db, both, _HUB), depth - 1, used)
        tree = Tree(other.name, other.type, other.aliases, below)
        until = r.superseded_at and r.superseded_at[:10]
        branches.append(Branch(r.predicate, forward, r.since, until, r.memory_id, tree))
    return tuple(branches)

"""The graph as it is read: what an entity is related to, and which memories stand near a query."""

import sqlite3
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from construct.errors import NotFoundError
from construct.memory.graph.answers import SELF, USER, is_user, key
from construct.memory.language.stem import words
from construct.store import graph as rows
from construct.store.graph import Entity, Relation

_DEPTH = 2
"""Relations that the way goes from where it begins."""
_HUB = 30
"""Relations from which on an entity leads everywhere, and so nowhere; the user always does."""
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
    """An entity, and what it is related to as far as the tree goes; each relation stands in it once."""

    name: str
    type: str | None
    aliases: tuple[str, ...]
    branches: tuple[Branch, ...] = ()


def neighbours(db: sqlite3.Connection, name: str) -> Tree:
    """Return what is related to the entity of a name or alias, superseded relations too; raises NotFoundError."""
    start = _called(db, name)
    if not start:
        raise NotFoundError(_unknown(db, name))
    e = start[0]
    branches = _branches(db, {twin.id for twin in start}, _DEPTH, set(), first=True)
    return Tree(e.name, e.type, e.aliases, branches)


def entities_in(db: sqlite3.Connection, query: str) -> list[Entity]:
    """Return the entities that a query names in full or by an alias; never the user."""
    said = words(query)
    if not said or rows.is_empty(db):
        return []
    starts = range(len(said))
    named = {" ".join(said[i : i + size]) for size in range(1, _LONGEST_NAME + 1) for i in starts}
    found = rows.entities_called(db, named)
    return [e for e in found if not is_user(e.name) and any(key(n) in named for n in e.names)]


def reached(db: sqlite3.Connection, query: str) -> list[int]:
    """Return the memories in force that lie one or more relations from what a query names, nearest first.

    Where everything meets, at the user and at hubs, the way ends.
    """
    start = entities_in(db, query)
    found: dict[int, int] = {}
    seen = {e.id for e in start}
    frontier = set(seen)
    for distance in range(1, _DEPTH + 1):
        relations = rows.relations_with(db, _leading(db, frontier, first=distance == 1)) if frontier else []
        for r in reversed(relations):
            found.setdefault(r.memory_id, distance)
        ends = {end for r in relations for end in (r.subject_id, r.object_id)} - seen
        ends |= {e.id for e in _twins(db, rows.entities(db, ends))} - seen
        seen |= ends
        frontier = ends
    return sorted(found, key=lambda memory_id: (found[memory_id], -memory_id))[:_MOST_REACHED]


def _called(db: sqlite3.Connection, name: str) -> list[Entity]:
    """Return the entities of a name: those whose own it is, those with it as an alias, who is one with them."""
    wanted = key(USER) if name.strip().casefold() in SELF else key(name)
    found = [e for e in rows.entities_called(db, [wanted]) if wanted in map(key, e.names)]
    found.sort(key=lambda e: key(e.name) != wanted)
    return found + [e for e in _twins(db, found) if e not in found]


def _twins(db: sqlite3.Connection, entities: Iterable[Entity]) -> list[Entity]:
    """Return the entities that are one with these: each has the other's name as an alias."""
    found = []
    for e in entities:
        for alias in e.aliases:
            others = rows.entities_called(db, [key(alias)])
            found += [o for o in others if o.id != e.id and key(o.name) == key(alias)]
    return [o for o in found if o.aliases]


def _leading(db: sqlite3.Connection, ids: Collection[int], *, first: bool) -> list[int]:
    """Return the entities from which the way goes on."""
    if first:
        return sorted(ids)
    users = {e.id for e in rows.entities(db, ids) if is_user(e.name)}
    return [i for i in sorted(ids) if i not in users and rows.degree(db, i) <= _HUB]


def _once(relations: Iterable[Relation]) -> list[Relation]:
    """Return relations without those that say the same again; what is in force stands for what no longer is."""
    found: dict[tuple[int, str, int], Relation] = {}
    for r in relations:
        said = (r.subject_id, r.predicate.casefold(), r.object_id)
        if said not in found or (found[said].superseded_at and not r.superseded_at):
            found[said] = r
    return sorted(found.values(), key=lambda r: (r.superseded_at is not None, r.id))


def _branches(
    db: sqlite3.Connection, ids: Collection[int], depth: int, used: set[int], *, first: bool
) -> tuple[Branch, ...]:
    """Return the relations of entities that are one, but those `used` in the tree already."""
    leading = _leading(db, ids, first=first) if depth else []
    found = [r for r in rows.relations_with(db, leading, past=True) if r.id not in used]
    used |= {r.id for r in found}
    kept = [(r, r.subject_id in ids) for r in _once(found)]
    others = {e.id: e for e in rows.entities(db, {r.object_id if forward else r.subject_id for r, forward in kept})}
    return tuple(
        Branch(
            r.predicate, forward, r.since, r.superseded_at and r.superseded_at[:10], r.memory_id,
            _subtree(db, others[r.object_id if forward else r.subject_id], depth - 1, used),
        )
        for r, forward in kept
    )  # fmt: skip


def _subtree(db: sqlite3.Connection, e: Entity, depth: int, used: set[int]) -> Tree:
    ids = {e.id, *(twin.id for twin in _twins(db, [e]))}
    return Tree(e.name, e.type, e.aliases, _branches(db, ids, depth, used, first=False))


def _unknown(db: sqlite3.Connection, name: str) -> str:
    if rows.is_empty(db):
        return (
            "There is no graph yet.\nThe memory worker draws it from memories as they come together; "
            "the extractive worker draws none."
        )
    return f"The graph knows nothing of {name.strip()!r}.\nTry a name as it was said, or `/graph User`."

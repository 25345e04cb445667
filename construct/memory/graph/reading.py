"""Query the graph: the relations of an entity, and the notes related to a query."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from construct.clock import Clock
from construct.errors import NotFoundError
from construct.language.index_words import index_words
from construct.memory.graph.names import SELF, USER, is_user, key
from construct.store import graph
from construct.store.driver import Connection
from construct.store.graph import Entity, Relation

_DEPTH = 2
"""How many relations away from the start a search goes."""
_HUB = 30
"""A search stops at entities with more relations than this, and always at the user.

They are related to nearly everything, so what lies behind them says little.
"""
_MAX_REACHED = 60
"""The most notes that a search returns."""
_MAX_NAME_WORDS = 6
"""Words of the longest name that is recognised in a query."""


@dataclass(frozen=True, slots=True)
class Branch:
    """One relation as seen from an entity."""

    predicate: str
    forward: bool
    """True if the entity is the subject, False if it is the object."""
    since: str
    until: str | None
    """The day the relation was superseded, if it was."""
    observation_id: int
    tree: "Tree"


@dataclass(frozen=True, slots=True)
class Tree:
    """An entity and its relations, up to the depth of the tree. Each relation occurs once."""

    name: str
    type: str | None
    aliases: tuple[str, ...]
    branches: tuple[Branch, ...] = ()


def neighbours(db: Connection, name: str, clock: Clock) -> Tree:
    """Return the relations of the entity that has this name or alias, superseded ones included.

    Raises NotFoundError.
    """
    name_key = key(USER) if name.strip().casefold() in SELF else key(name)
    entities = _named(db, {name_key})
    if not entities:
        if graph.is_empty(db):
            raise NotFoundError(
                "There is no graph yet.\nThe memory worker's model builds it once there are enough "
                "notes. Without a model there is no graph."
            )
        if name_key == key(USER):
            raise NotFoundError(
                "You are not in the graph yet.\nName a person, place or thing that is in it."
            )
        raise NotFoundError(
            f"{name.strip()!r} is not in the graph.\n"
            "Try the name as it appears in your notes, or leave it out to start from yourself."
        )
    entities.sort(key=lambda e: key(e.name) != name_key)
    ids = {e.id for e in (*entities, *_twins(db, entities))}
    first = entities[0]
    branches = _branches(db, clock, ids, ids, _DEPTH, set())
    return Tree(first.name, first.type, first.aliases, branches)


def entities_in(db: Connection, query: str) -> list[Entity]:
    """Return the entities that a query mentions by name or alias, except the user."""
    words = index_words(query)
    keys: set[str] = set()
    for size in range(1, _MAX_NAME_WORDS + 1):
        keys.update(" ".join(words[start : start + size]) for start in range(len(words)))
    return [e for e in _named(db, keys) if not is_user(e.name)]


def related_notes(db: Connection, query: str) -> list[int]:
    """Return ids of the active notes related to what a query mentions, nearest first.

    The search stops at the user and at hubs (`_HUB`).
    """
    frontier: Collection[int] = {e.id for e in entities_in(db, query)}
    seen = set(frontier)
    distances: dict[int, int] = {}
    for distance in range(1, _DEPTH + 1):
        relations = graph.relations_with(db, frontier)
        for r in relations:
            distances.setdefault(r.observation_id, distance)
        ends = {r.subject_id for r in relations} | {r.object_id for r in relations}
        ends |= {e.id for e in _twins(db, graph.entities(db, ends - seen))}
        frontier = graph.not_hubs(db, ends - seen, _HUB)
        seen |= ends
    nearest = sorted(distances, key=lambda note_id: (distances[note_id], -note_id))
    return nearest[:_MAX_REACHED]


def _named(db: Connection, keys: Collection[str]) -> list[Entity]:
    """Return the entities with a name or alias that has one of these keys."""
    candidates = graph.entities_called(db, keys) if keys else []
    return [e for e in candidates if any(key(name) in keys for name in e.names)]


def _twins(db: Connection, entities: Sequence[Entity]) -> list[Entity]:
    """Return other entities that are the same as one of these.

    Two entities are the same if each has the other's name as an alias.
    """
    pairs: set[tuple[str, str]] = set()
    for entity in entities:
        pairs.update((key(entity.name), key(alias)) for alias in entity.aliases)
    return [
        other
        for other in _named(db, {alias for _, alias in pairs})
        if other not in entities
        and any((key(alias), key(other.name)) in pairs for alias in other.aliases)
    ]


def _branches(
    db: Connection,
    clock: Clock,
    ids: Collection[int],
    frontier: Collection[int],
    depth: int,
    used: set[int],
) -> tuple[Branch, ...]:
    """Return the relations of one entity, and add their ids to `used`.

    `ids`: the entity's ids; it has several if it was stored more than once. `frontier`:
    those whose relations are followed. `used`: relations that are already in the tree and
    are left out. Of relations that say the same, one is kept, an active one if possible.
    """
    if not depth:
        return ()
    relations = [r for r in graph.relations_with(db, frontier, past=True) if r.id not in used]
    used |= {r.id for r in relations}
    relations.sort(key=lambda r: (r.superseded_at is not None, r.id))
    distinct: dict[tuple[int, str, int], Relation] = {}
    for r in relations:
        distinct.setdefault((r.subject_id, r.predicate.casefold(), r.object_id), r)
    ends = {r.subject_id for r in relations} | {r.object_id for r in relations}
    entities = {e.id: e for e in graph.entities(db, ends)}
    branches = []
    for r in distinct.values():
        forward = r.subject_id in ids
        other = entities[r.object_id if forward else r.subject_id]
        other_ids = {other.id, *(twin.id for twin in _twins(db, [other]))}
        followed = graph.not_hubs(db, other_ids, _HUB)
        below = _branches(db, clock, other_ids, followed, depth - 1, used)
        tree = Tree(other.name, other.type, other.aliases, below)
        until = r.until(clock)
        branches.append(Branch(r.predicate, forward, r.since, until, r.observation_id, tree))
    return tuple(branches)

"""Queries for the graph: entities, relations, and the notes they were read from.

A relation is in force while it is not superseded and its note is active. The graph reads
active notes that the user states or plans, those of low priority apart;
`observations.graph_cycle_id` is the cycle that read one. An entity need not have a relation.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass

from construct.clock import Clock
from construct.store.acceptance import UNACCEPTED
from construct.store.driver import Connection
from construct.store.observations import ACTIVE
from construct.store.records import Observation
from construct.store.sql import ID_LIST, column, exists, insert, json_ids, scalar, select

_READABLE = (
    f"{ACTIVE} AND stance IN ('stated', 'planned') AND priority <> 'low' AND id NOT IN {UNACCEPTED}"
)
_UNREAD = f"{_READABLE} AND graph_cycle_id IS NULL"
_UNRELATED = """NOT EXISTS (SELECT 1 FROM relations WHERE subject_id = entities.id)
    AND NOT EXISTS (SELECT 1 FROM relations WHERE object_id = entities.id)"""
_ATTEMPTED = "graph_tried"
"""The row of `meta` that `note_attempt` writes."""


@dataclass(frozen=True, slots=True)
class Entity:
    """A person, place or thing that notes name."""

    id: int
    name: str
    type: str | None
    aliases: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The name and all aliases."""
        return (self.name, *self.aliases)


@dataclass(frozen=True, slots=True)
class Relation:
    """A statement of a note about two entities."""

    id: int
    subject_id: int
    predicate: str
    object_id: int
    observation_id: int
    since: str
    """The day of its note."""
    superseded_at: str | None
    """When it or its note was superseded."""

    def until(self, clock: Clock) -> str | None:
        """Return the day it was superseded, in the user's time zone."""
        return clock.day(self.superseded_at).isoformat() if self.superseded_at else None


_ENTITIES = "SELECT id, name, type, aliases FROM entities"
_RELATION = """SELECT r.id, r.subject_id, r.predicate, r.object_id, r.observation_id,
    o.observation_date, coalesce(r.superseded_at, o.superseded_at)
    FROM relations AS r JOIN observations AS o ON o.id = r.observation_id"""


def is_empty(db: Connection) -> bool:
    """Return whether the graph has no entities."""
    return not exists(db, "entities")


def entities(db: Connection, ids: Iterable[int] | None = None) -> list[Entity]:
    """Return the entities with these ids, or all of them, oldest first."""
    where, values = ("", ()) if ids is None else (f"WHERE id IN {ID_LIST}", (json_ids(ids),))
    return _entities(db.execute(f"{_ENTITIES} {where} ORDER BY id", values))


def entities_called(db: Connection, names: Iterable[str]) -> list[Entity]:
    """Return the entities that may have one of these lower-case names.

    Entities with aliases are always included, and so are those whose names have anything
    but ASCII letters, digits and spaces: SQLite cannot compare these, so the caller must.
    """
    rows = db.execute(
        f"""{_ENTITIES} WHERE lower(name) IN {ID_LIST} UNION {_ENTITIES}
            WHERE aliases <> '[]' OR name GLOB '*[^a-zA-Z0-9 ]*' ORDER BY id""",
        (json.dumps(list(names)),),
    )
    return _entities(rows)


def _entities(rows: Iterable[tuple[int, str, str | None, str]]) -> list[Entity]:
    return [Entity(id, name, kind, tuple(json.loads(aliases))) for id, name, kind, aliases in rows]


def entities_of(db: Connection, observation_ids: Iterable[int]) -> list[int]:
    """Return the ids of the entities that the relations of these notes name."""
    ids = json_ids(observation_ids)
    query = f"""SELECT subject_id FROM relations WHERE observation_id IN {ID_LIST}
                UNION SELECT object_id FROM relations WHERE observation_id IN {ID_LIST}"""
    return column(db, query, (ids, ids))


def predicates(db: Connection) -> list[str]:
    """Return the 100 most used predicates, most used first."""
    query = """SELECT min(predicate) FROM relations GROUP BY lower(predicate)
               ORDER BY count(*) DESC, min(id) LIMIT 100"""
    return [str(predicate) for predicate in column(db, query)]


def relations_with(
    db: Connection, entity_ids: Iterable[int], *, past: bool = False
) -> list[Relation]:
    """Return the relations in force that name one of these entities, oldest first.

    `past` includes superseded ones.
    """
    ids = json_ids(entity_ids)
    where = "" if past else f"AND r.superseded_at IS NULL AND o.{ACTIVE}"
    rows = db.execute(
        f"""{_RELATION} WHERE r.id IN (
                SELECT id FROM relations WHERE subject_id IN {ID_LIST}
                UNION SELECT id FROM relations WHERE object_id IN {ID_LIST}) {where}
            ORDER BY r.id""",
        (ids, ids),
    )
    return [Relation(*row) for row in rows]


def insert_entity(db: Connection, name: str, kind: str | None, cycle_id: int) -> Entity:
    """Store an entity without aliases."""
    entity_id = insert(db, "entities", {"name": name, "type": kind, "cycle_id": cycle_id})
    return Entity(entity_id, name, kind, aliases=())


def set_names(db: Connection, entity_id: int, name: str, aliases: Iterable[str]) -> None:
    """Store the name and aliases of an entity."""
    text = json.dumps(list(aliases), ensure_ascii=False)
    db.execute("UPDATE entities SET name = ?, aliases = ? WHERE id = ?", (name, text, entity_id))


def insert_relation(
    db: Connection,
    subject_id: int,
    predicate: str,
    object_id: int,
    observation_id: int,
    cycle_id: int,
    now: str,
) -> None:
    """Store a relation, unless its note already has it."""
    row = {
        "subject_id": subject_id,
        "predicate": predicate,
        "object_id": object_id,
        "observation_id": observation_id,
    }
    same = """relations WHERE subject_id = :subject_id AND lower(predicate) = lower(:predicate)
        AND object_id = :object_id AND observation_id = :observation_id"""
    if not exists(db, same, row):
        insert(db, "relations", {**row, "cycle_id": cycle_id, "created_at": now})


def delete_relations_of(db: Connection, cycle_id: int) -> int:
    """Delete a cycle's relations and return how many there were."""
    return db.execute("DELETE FROM relations WHERE cycle_id = ?", (cycle_id,)).rowcount


def made_by(db: Connection, cycle_id: int) -> list[int]:
    """Return the ids of the entities that a cycle stored."""
    return column(db, "SELECT id FROM entities WHERE cycle_id = ?", (cycle_id,))


def unrelated(db: Connection) -> set[int]:
    """Return the ids of the entities that no relation names."""
    return set(column(db, f"SELECT id FROM entities WHERE {_UNRELATED}"))


def delete_unrelated(db: Connection, entity_ids: Iterable[int]) -> int:
    """Delete the entities among these that no relation names, and return how many."""
    query = f"DELETE FROM entities WHERE id IN {ID_LIST} AND {_UNRELATED}"
    return db.execute(query, (json_ids(entity_ids),)).rowcount


def count_unread(db: Connection, after: int = 0) -> int:
    """Count the notes, with ids above `after`, that a graph cycle is to read."""
    return scalar(db, f"SELECT count(*) FROM observations WHERE {_UNREAD} AND id > ?", (after,))


def unread(db: Connection, limit: int, *, newest: bool = False) -> list[Observation]:
    """Return at most `limit` notes that a graph cycle is to read.

    The oldest come first, or the newest.
    """
    direction = "DESC" if newest else "ASC"
    source = f"observations WHERE {_UNREAD} ORDER BY id {direction} LIMIT ?"
    return select(db, Observation, source, (limit,))


def mark_read(db: Connection, observation_ids: Iterable[int], cycle_id: int) -> set[int]:
    """Record which cycle read those of the notes that are active; return their ids."""
    query = f"""UPDATE observations SET graph_cycle_id = ?
                WHERE {ACTIVE} AND id IN {ID_LIST} RETURNING id"""
    return set(column(db, query, (cycle_id, json_ids(observation_ids))))


def mark_unread(db: Connection, cycle_id: int) -> None:
    """Mark the notes that a cycle read as unread."""
    db.execute(
        "UPDATE observations SET graph_cycle_id = NULL WHERE graph_cycle_id = ?", (cycle_id,)
    )


def note_attempt(db: Connection) -> None:
    """Record the newest note when a graph cycle failed or was undone.

    Notes up to it are no reason to start another cycle.
    """
    db.execute(
        "INSERT OR REPLACE INTO meta (name, value) SELECT ?, ifnull(max(id), 0) FROM observations",
        (_ATTEMPTED,),
    )


def attempted_up_to(db: Connection) -> int:
    """Return the observation id recorded by `note_attempt`, or 0."""
    return int(scalar(db, "SELECT value FROM meta WHERE name = ?", (_ATTEMPTED,)) or 0)


def notes_with(db: Connection, phrase: str) -> list[Observation]:
    """Return the notes that contain this phrase, superseded ones too."""
    return select(
        db,
        Observation,
        """observations
           WHERE id IN (SELECT rowid FROM observations_fts WHERE observations_fts MATCH ?)""",
        (f'"{phrase}"',),
    )


def not_hubs(db: Connection, entity_ids: Iterable[int], limit: int) -> list[int]:
    """Return the ids of entities that at most `limit` relations name, without the user."""
    query = f"""SELECT id FROM entities WHERE id IN {ID_LIST} AND lower(name) <> 'user' AND ? >=
                    (SELECT count(*) FROM relations WHERE subject_id = entities.id)
                    + (SELECT count(*) FROM relations WHERE object_id = entities.id) ORDER BY id"""
    return column(db, query, (json_ids(entity_ids), limit))

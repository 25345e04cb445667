"""Queries for the graph: entities, relations, and the memories they were read from.

A relation is in force while neither it nor its memory is superseded. An entity exists
as long as a relation names it. `memories.cycle_id` is the graph cycle that read a memory.
"""

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain

from construct.clock import Clock
from construct.store.records import Memory
from construct.store.sql import ID_LIST, column, exists, insert, json_ids, scalar, select

_UNREAD = "superseded_at IS NULL AND cycle_id IS NULL"
_ATTEMPTED = "graph_tried"
"""The row of `meta` that `note_attempt` writes."""


@dataclass(frozen=True, slots=True)
class Entity:
    """A person, place or thing that memories name."""

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
    """A statement of a memory about two entities."""

    id: int
    subject_id: int
    predicate: str
    object_id: int
    memory_id: int
    observed_on: str | None
    """The day of the observation behind its memory; None if there is no observation."""
    kept_at: str
    """When its memory was stored."""
    superseded_at: str | None
    """When it or its memory was superseded."""

    def since(self, clock: Clock) -> str:
        """Return the day it was observed or kept, in the user's time zone."""
        return self.observed_on or clock.day(self.kept_at).isoformat()

    def until(self, clock: Clock) -> str | None:
        """Return the day it was superseded, in the user's time zone."""
        return clock.day(self.superseded_at).isoformat() if self.superseded_at else None


_ENTITIES = "SELECT id, name, type, aliases FROM entities"
_RELATION = """SELECT r.id, r.subject_id, r.predicate, r.object_id, r.memory_id,
    o.observation_date, m.created_at,
    coalesce(r.superseded_at, m.superseded_at)
    FROM relations AS r JOIN memories AS m ON m.id = r.memory_id
    LEFT JOIN observations AS o ON o.id = m.observation_id"""


def is_empty(db: sqlite3.Connection) -> bool:
    """Return whether the graph has no entities."""
    return not exists(db, "entities")


def entities(db: sqlite3.Connection, ids: Iterable[int] | None = None) -> list[Entity]:
    """Return the entities with these ids, or all of them, oldest first."""
    where, values = ("", ()) if ids is None else (f"WHERE id IN {ID_LIST}", (json_ids(ids),))
    return _entities(db.execute(f"{_ENTITIES} {where} ORDER BY id", values))


def entities_called(db: sqlite3.Connection, names: Iterable[str]) -> list[Entity]:
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


def predicates(db: sqlite3.Connection) -> list[str]:
    """Return the 100 most used predicates, most used first."""
    query = """SELECT min(predicate) FROM relations GROUP BY lower(predicate)
               ORDER BY count(*) DESC, min(id) LIMIT 100"""
    return [str(predicate) for predicate in column(db, query)]


def relations_with(
    db: sqlite3.Connection, entity_ids: Iterable[int], *, past: bool = False
) -> list[Relation]:
    """Return the relations in force that name one of these entities, oldest first.

    `past` includes superseded ones.
    """
    ids = json_ids(entity_ids)
    where = "" if past else "AND r.superseded_at IS NULL AND m.superseded_at IS NULL"
    rows = db.execute(
        f"""{_RELATION} WHERE r.id IN (
                SELECT id FROM relations WHERE subject_id IN {ID_LIST}
                UNION SELECT id FROM relations WHERE object_id IN {ID_LIST}) {where}
            ORDER BY r.id""",
        (ids, ids),
    )
    return [Relation(*row) for row in rows]


def insert_entity(db: sqlite3.Connection, name: str, kind: str | None, cycle_id: int) -> Entity:
    """Store an entity without aliases."""
    entity_id = insert(db, "entities", {"name": name, "type": kind, "cycle_id": cycle_id})
    return Entity(entity_id, name, kind, aliases=())


def set_names(db: sqlite3.Connection, entity_id: int, name: str, aliases: Iterable[str]) -> None:
    """Store the name and aliases of an entity."""
    text = json.dumps(list(aliases), ensure_ascii=False)
    db.execute("UPDATE entities SET name = ?, aliases = ? WHERE id = ?", (name, text, entity_id))


def insert_relation(
    db: sqlite3.Connection,
    subject_id: int,
    predicate: str,
    object_id: int,
    memory_id: int,
    cycle_id: int,
    now: str,
) -> None:
    """Store a relation, unless its memory already has it."""
    row = {
        "subject_id": subject_id,
        "predicate": predicate,
        "object_id": object_id,
        "memory_id": memory_id,
    }
    same = """relations WHERE subject_id = :subject_id AND lower(predicate) = lower(:predicate)
        AND object_id = :object_id AND memory_id = :memory_id"""
    if not exists(db, same, row):
        insert(db, "relations", {**row, "cycle_id": cycle_id, "created_at": now})


def delete_relations_of(db: sqlite3.Connection, cycle_id: int) -> int:
    """Delete a cycle's relations, and entities that no relation names any more.

    Returns the number of relations deleted.
    """
    query = "DELETE FROM relations WHERE cycle_id = ? RETURNING subject_id, object_id"
    ends = db.execute(query, (cycle_id,)).fetchall()
    delete_unnamed(db, set(chain.from_iterable(ends)))
    return len(ends)


def delete_unnamed(db: sqlite3.Connection, entity_ids: Iterable[int]) -> int:
    """Delete the entities among these that no relation names, and return how many."""
    return db.execute(
        f"""DELETE FROM entities WHERE id IN {ID_LIST}
            AND NOT EXISTS (SELECT 1 FROM relations WHERE subject_id = entities.id)
            AND NOT EXISTS (SELECT 1 FROM relations WHERE object_id = entities.id)""",
        (json_ids(entity_ids),),
    ).rowcount


def count_unread(db: sqlite3.Connection, after: int = 0) -> int:
    """Count the memories in force, with ids above `after`, that no graph cycle has read."""
    return scalar(db, f"SELECT count(*) FROM memories WHERE {_UNREAD} AND id > ?", (after,))


def unread(db: sqlite3.Connection, limit: int, *, newest: bool = False) -> list[Memory]:
    """Return at most `limit` memories in force that no graph cycle has read.

    The oldest come first, or the newest.
    """
    direction = "DESC" if newest else "ASC"
    source = f"memories WHERE {_UNREAD} ORDER BY id {direction} LIMIT ?"
    return select(db, Memory, source, (limit,))


def mark_read(db: sqlite3.Connection, memory_ids: Iterable[int], cycle_id: int) -> set[int]:
    """Record which cycle read those of the memories that are in force; return their ids."""
    query = f"""UPDATE memories SET cycle_id = ?
                WHERE superseded_at IS NULL AND id IN {ID_LIST} RETURNING id"""
    return set(column(db, query, (cycle_id, json_ids(memory_ids))))


def mark_unread(db: sqlite3.Connection, cycle_id: int) -> None:
    """Mark the memories that a cycle read as unread."""
    db.execute("UPDATE memories SET cycle_id = NULL WHERE cycle_id = ?", (cycle_id,))


def note_attempt(db: sqlite3.Connection) -> None:
    """Record the newest memory when a graph cycle failed or was undone.

    Memories up to it are no reason to start another cycle.
    """
    db.execute(
        "INSERT OR REPLACE INTO meta (name, value) SELECT ?, ifnull(max(id), 0) FROM memories",
        (_ATTEMPTED,),
    )


def attempted_up_to(db: sqlite3.Connection) -> int:
    """Return the memory id recorded by `note_attempt`, or 0."""
    return int(scalar(db, "SELECT value FROM meta WHERE name = ?", (_ATTEMPTED,)) or 0)


def memories_with(db: sqlite3.Connection, phrase: str) -> list[Memory]:
    """Return the memories that contain this phrase, superseded ones too."""
    return select(
        db,
        Memory,
        "memories WHERE id IN (SELECT rowid FROM memories_fts WHERE memories_fts MATCH ?)",
        (f'"{phrase}"',),
    )


def not_hubs(db: sqlite3.Connection, entity_ids: Iterable[int], limit: int) -> list[int]:
    """Return the ids of entities that at most `limit` relations name, without the user."""
    query = f"""SELECT id FROM entities WHERE id IN {ID_LIST} AND lower(name) <> 'user' AND ? >=
                    (SELECT count(*) FROM relations WHERE subject_id = entities.id)
                    + (SELECT count(*) FROM relations WHERE object_id = entities.id) ORDER BY id"""
    return column(db, query, (json_ids(entity_ids), limit))

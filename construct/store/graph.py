"""The graph: entities, relations, and the memories it was drawn from. Plain queries.

A relation is in force while neither it nor its memory is superseded. An entity exists as long
as a relation names it. `memories.cycle_id` names the graph cycle that read a memory.
"""

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

from construct.store.records import Memory
from construct.store.sql import GIVEN, column, exists, given, insert, scalar, select

_UNREAD = "superseded_at IS NULL AND cycle_id IS NULL"
_TRIED = "graph_tried"


@dataclass(frozen=True, slots=True)
class Entity:
    """Somebody or something that memories name."""

    id: int
    name: str
    type: str | None
    aliases: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Name and aliases."""
        return (self.name, *self.aliases)


@dataclass(frozen=True, slots=True)
class Relation:
    """What a memory says of two entities."""

    id: int
    subject_id: int
    predicate: str
    object_id: int
    memory_id: int
    since: str
    """The day it was said or noted."""
    superseded_at: str | None
    """Set also when its memory is superseded."""


_ENTITIES = "SELECT id, name, type, aliases FROM entities"
_RELATION = """SELECT r.id, r.subject_id, r.predicate, r.object_id, r.memory_id,
    coalesce(o.observation_date, substr(m.created_at, 1, 10)),
    coalesce(r.superseded_at, m.superseded_at)
    FROM relations AS r JOIN memories AS m ON m.id = r.memory_id
    LEFT JOIN observations AS o ON o.id = m.observation_id"""


def is_empty(db: sqlite3.Connection) -> bool:
    """Return whether nothing has been drawn yet."""
    return not exists(db, "entities")


def entities(db: sqlite3.Connection, ids: Iterable[int] | None = None) -> list[Entity]:
    """Return the entities of these ids, or all, oldest first."""
    where, values = ("", ()) if ids is None else (f"WHERE id IN {GIVEN}", (given(ids),))
    return _entities(db.execute(f"{_ENTITIES} {where} ORDER BY id", values))


def entities_called(db: sqlite3.Connection, names: Iterable[str]) -> list[Entity]:
    """Return the entities that may be called one of these lower-case names.

    Names with more than plain words are included: the caller compares them.
    """
    rows = db.execute(
        f"""{_ENTITIES} WHERE lower(name) IN {GIVEN} UNION {_ENTITIES}
            WHERE aliases <> '[]' OR name GLOB '*[^a-zA-Z0-9 ]*' ORDER BY id""",
        (json.dumps(list(names)),),
    )
    return _entities(rows)


def _entities(rows: Iterable[tuple[int, str, str | None, str]]) -> list[Entity]:
    return [Entity(id, name, kind, tuple(json.loads(aliases))) for id, name, kind, aliases in rows]


def predicates(db: sqlite3.Connection) -> list[str]:
    """Return the predicates in use, the most used first."""
    query = """SELECT min(predicate) FROM relations GROUP BY lower(predicate)
               ORDER BY count(*) DESC, min(id) LIMIT 100"""
    return [str(predicate) for predicate in column(db, query)]


def relations_with(
    db: sqlite3.Connection, entity_ids: Iterable[int], *, past: bool = False
) -> list[Relation]:
    """Return the relations that name one of these entities, oldest first.

    With `past` the superseded ones too.
    """
    ids = given(entity_ids)
    where = "" if past else "AND r.superseded_at IS NULL AND m.superseded_at IS NULL"
    rows = db.execute(
        f"""{_RELATION} WHERE r.id IN (
                SELECT id FROM relations WHERE subject_id IN {GIVEN}
                UNION SELECT id FROM relations WHERE object_id IN {GIVEN}) {where} ORDER BY r.id""",
        (ids, ids),
    )
    return [Relation(*row) for row in rows]


def insert_entity(db: sqlite3.Connection, name: str, kind: str | None, cycle_id: int) -> Entity:
    """Store an entity without aliases."""
    return Entity(
        insert(db, "entities", {"name": name, "type": kind, "cycle_id": cycle_id}), name, kind, ()
    )


def set_names(db: sqlite3.Connection, entity_id: int, name: str, aliases: Iterable[str]) -> None:
    """Store what an entity is called."""
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
    """Store what a memory says of a subject and an object; once."""
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


def take_back(db: sqlite3.Connection, cycle_id: int) -> int:
    """Delete a cycle's relations, and the entities that none names then.

    Return how many relations went.
    """
    query = "DELETE FROM relations WHERE cycle_id = ? RETURNING subject_id, object_id"
    ends = db.execute(query, (cycle_id,)).fetchall()
    delete_unnamed(db, {end for pair in ends for end in pair})
    return len(ends)


def delete_unnamed(db: sqlite3.Connection, entity_ids: Iterable[int]) -> int:
    """Delete those of these entities that no relation names; return how many."""
    return db.execute(
        f"""DELETE FROM entities WHERE id IN {GIVEN}
            AND NOT EXISTS (SELECT 1 FROM relations WHERE subject_id = entities.id)
            AND NOT EXISTS (SELECT 1 FROM relations WHERE object_id = entities.id)""",
        (given(entity_ids),),
    ).rowcount


def count_unread(db: sqlite3.Connection, after: int = 0) -> int:
    """Return how many memories above an id no graph cycle has read."""
    return scalar(db, f"SELECT count(*) FROM memories WHERE {_UNREAD} AND id > ?", (after,))


def unread(db: sqlite3.Connection, limit: int, *, newest: bool = False) -> list[Memory]:
    """Return the oldest or newest memories that no graph cycle has read, by id."""
    direction = "DESC" if newest else "ASC"
    found = select(
        db, Memory, f"memories WHERE {_UNREAD} ORDER BY id {direction} LIMIT ?", (limit,)
    )
    return sorted(found, key=lambda m: m.id)


def mark_read(db: sqlite3.Connection, memory_ids: Iterable[int], cycle_id: int) -> set[int]:
    """Note which cycle has read these memories, and return those that are in force."""
    query = f"""UPDATE memories SET cycle_id = ?
                WHERE superseded_at IS NULL AND id IN {GIVEN} RETURNING id"""
    return set(column(db, query, (cycle_id, given(memory_ids))))


def mark_unread(db: sqlite3.Connection, cycle_id: int) -> None:
    """Let the memories that a cycle has read be unread."""
    db.execute("UPDATE memories SET cycle_id = NULL WHERE cycle_id = ?", (cycle_id,))


def note_tried(db: sqlite3.Connection) -> None:
    """Remember up to which memory a graph cycle failed or was undone.

    Those memories alone call for no other cycle.
    """
    db.execute(
        "INSERT OR REPLACE INTO meta (name, value) SELECT ?, ifnull(max(id), 0) FROM memories",
        (_TRIED,),
    )


def tried(db: sqlite3.Connection) -> int:
    """Return the newest memory there was then."""
    return int(scalar(db, "SELECT value FROM meta WHERE name = ?", (_TRIED,)) or 0)


def memories_with(db: sqlite3.Connection, phrase: str) -> list[Memory]:
    """Return the memories that hold this phrase, superseded ones too."""
    return select(
        db,
        Memory,
        "memories WHERE id IN (SELECT rowid FROM memories_fts WHERE memories_fts MATCH ?)",
        (f'"{phrase}"',),
    )


def leading_on(db: sqlite3.Connection, entity_ids: Iterable[int], hub: int) -> list[int]:
    """Return those that at most `hub` relations name, without the user."""
    query = f"""SELECT id FROM entities WHERE id IN {GIVEN} AND lower(name) <> 'user' AND ? >=
                    (SELECT count(*) FROM relations WHERE subject_id = entities.id)
                    + (SELECT count(*) FROM relations WHERE object_id = entities.id) ORDER BY id"""
    return column(db, query, (given(entity_ids), hub))

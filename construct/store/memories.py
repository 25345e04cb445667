"""Queries for memories: long-lived facts, kept in addition to the observations.

An observation worth a memory has one row. It is in force, or superseded: because
another memory says the same, or because the observation was superseded or withheld. So
the observation is not promoted twice, and the memory can be revived when the reason is
gone.

A memory's relations are superseded and revived together with it. They are recognised by
having the same `superseded_at`.
"""

import sqlite3
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from construct.errors import NotFoundError
from construct.references import Reference
from construct.store.forbidden import is_forbidden
from construct.store.records import Memory, Observation
from construct.store.sql import (
    ID_LIST,
    columns,
    exists,
    first,
    insert,
    json_ids,
    new_uid,
    select,
)
from construct.vocabulary import ItemKind, MemoryOrigin


@dataclass(frozen=True, slots=True)
class NewMemory:
    """A memory about to be stored."""

    content: str
    category: str | None
    origin: str
    observation_id: int | None = None


def get_memory(db: sqlite3.Connection, memory_id: int) -> Memory:
    """Return a memory; raises NotFoundError."""
    memory = first(db, Memory, "memories WHERE id = ?", (memory_id,))
    if memory is None:
        raise NotFoundError(
            f"There is no memory {memory_id}.\n`construct memory list` shows the ids."
        )
    return memory


def list_memories(db: sqlite3.Connection, *, include_superseded: bool = False) -> list[Memory]:
    """Return the memories, oldest first."""
    where = "" if include_superseded else "WHERE superseded_at IS NULL"
    return select(db, Memory, f"memories {where} ORDER BY id")


def observation_behind(db: sqlite3.Connection, reference: Reference) -> int:
    """Return the id of an observation, or of the observation that a memory was promoted from.

    Raises NotFoundError for a message, and for a memory that was kept on request.
    """
    kind, number = reference
    if kind == ItemKind.OBSERVATION:
        return number
    if kind == ItemKind.MESSAGE:
        raise NotFoundError(
            f"message:{number} is a message: only observations and memories can be changed.\n"
            "`construct memory why` with its id shows what was learned from it."
        )
    observation_id = get_memory(db, number).observation_id
    if observation_id is None:
        raise NotFoundError(
            f"memory:{number} was kept on request, word for word: it cannot be edited or pinned.\n"
            "To change it, forget it, then store the new words with `construct memory add`."
        )
    return observation_id


def insert_memory(db: sqlite3.Connection, new: NewMemory, now: str) -> int | None:
    """Store a memory in force and return its id.

    If the user's rules forbid the content or the category, nothing is stored and the
    result is None. What the user wrote themselves is always stored.
    """
    if not _is_by_user(db, new) and is_forbidden(db, new.content, new.category):
        return None
    return insert(db, "memories", {"uid": new_uid(), **asdict(new), "created_at": now})


def _is_by_user(db: sqlite3.Connection, new: NewMemory) -> bool:
    if new.origin == MemoryOrigin.USER:
        return True
    return exists(db, "observations WHERE id = ? AND origin = 'user'", (new.observation_id,))


def memories_in_force_like(db: sqlite3.Connection, expression: str, limit: int) -> list[Memory]:
    """Return the memories in force that match an FTS5 expression, best first."""
    if not expression:
        return []
    source = """memories_fts AS f JOIN memories AS m ON m.id = f.rowid
        WHERE memories_fts MATCH ? AND m.superseded_at IS NULL ORDER BY f.rank, m.id DESC LIMIT ?"""
    return select(db, Memory, source, (expression, limit), "m")


def supersede_memory(
    db: sqlite3.Connection, memory_id: int, now: str, by: int | None = None
) -> None:
    """Supersede a memory and its relations, by another memory or by none."""
    db.execute(
        """UPDATE memories SET superseded_at = ?, superseded_by = ?
           WHERE id = ? AND superseded_at IS NULL""",
        (now, by, memory_id),
    )
    db.execute(
        "UPDATE relations SET superseded_at = ? WHERE memory_id = ? AND superseded_at IS NULL",
        (now, memory_id),
    )


def revive_memory(db: sqlite3.Connection, memory_id: int) -> None:
    """Put a memory in force again, and the relations that were superseded with it."""
    db.execute(
        """UPDATE relations SET superseded_at = NULL WHERE memory_id = :id
           AND superseded_at = (SELECT superseded_at FROM memories WHERE id = :id)
           AND (cycle_id IS NULL
                OR cycle_id NOT IN (SELECT id FROM cycles WHERE status = 'reverted'))""",
        {"id": memory_id},
    )
    db.execute(
        "UPDATE memories SET superseded_at = NULL, superseded_by = NULL WHERE id = ?", (memory_id,)
    )


def record_successor(db: sqlite3.Connection, memory_id: int, by: int) -> None:
    """Record which memory superseded one that is already superseded."""
    db.execute(
        "UPDATE memories SET superseded_by = ? WHERE id = ? AND superseded_at IS NOT NULL",
        (by, memory_id),
    )


def drop_successors(db: sqlite3.Connection, observation_ids: Iterable[int]) -> None:
    """Drop the successors of memories promoted from observations that are in force again.

    So they are revived, unless another memory says the same.
    """
    db.execute(
        f"UPDATE memories SET superseded_by = NULL WHERE observation_id IN {ID_LIST}",
        (json_ids(observation_ids),),
    )


def memory_of_observation(db: sqlite3.Connection, observation_id: int) -> Memory | None:
    """Return the newest memory promoted from an observation, or None."""
    return first(
        db, Memory, "memories WHERE observation_id = ? ORDER BY id DESC", (observation_id,)
    )


def unpromoted_observations(db: sqlite3.Connection) -> list[Observation]:
    """Return the active observations that should have a memory but have none, oldest first."""
    return select(
        db,
        Observation,
        """observations AS o
           WHERE superseded_at IS NULL AND committed_at IS NOT NULL AND withheld = 0
           AND (origin = 'user' OR (priority = 'high' AND stance IN ('stated', 'planned')))
           AND NOT EXISTS (SELECT 1 FROM memories WHERE observation_id = o.id) ORDER BY id""",
    )


def memories_without_ground(db: sqlite3.Connection) -> list[tuple[Memory, Observation]]:
    """Return memories in force with their observation, where that is superseded or withheld."""
    rows = db.execute(
        f"""SELECT {columns(Memory, "m")}, {columns(Observation, "o")} FROM memories AS m
            JOIN observations AS o ON o.id = m.observation_id
            WHERE m.superseded_at IS NULL AND m.origin = 'observation'
            AND (o.superseded_at IS NOT NULL OR o.withheld)
            ORDER BY o.generation, m.id"""
    )
    width = len(Memory._fields)
    return [(Memory(*row[:width]), Observation(*row[width:])) for row in rows]


def memories_to_revive(db: sqlite3.Connection) -> list[Memory]:
    """Return the superseded memories that nothing supersedes any longer.

    Their successor is superseded or deleted, or there was none. If they were promoted
    from an observation, it is active.
    """
    source = """memories AS m
        LEFT JOIN observations AS o ON o.id = m.observation_id
        LEFT JOIN memories AS s ON s.id = m.superseded_by
        WHERE m.superseded_at IS NOT NULL AND (s.id IS NULL OR s.superseded_at IS NOT NULL)
        AND (m.origin <> 'observation' OR (
            o.superseded_at IS NULL AND o.committed_at IS NOT NULL AND o.withheld = 0))
        ORDER BY m.id"""
    return select(db, Memory, source, table="m")

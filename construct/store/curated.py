"""Memories: what is kept by itself. Plain queries.

Every observation that is worth it has one memory row: in force, or superseded by the memory
that says the same or something newer. So what has a row is not promoted again, and what an
undo or a forget takes the superseding memory from can stand again.
"""

import sqlite3
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from construct.errors import NotFoundError
from construct.references import Reference
from construct.store.observations import BENEATH
from construct.store.records import Memory, Observation
from construct.store.sql import GIVEN, columns, first, given, insert, select
from construct.store.talk import new_uid

_WORTH_KEEPING = """o.superseded_at IS NULL AND o.committed_at IS NOT NULL AND o.withheld = 0
    AND (o.origin = 'user' OR (o.priority = 'high' AND o.stance IN ('stated', 'planned')))
    AND NOT EXISTS (SELECT 1 FROM memories WHERE observation_id = o.id)"""


@dataclass(frozen=True, slots=True)
class NewMemory:
    """A memory about to be stored."""

    content: str
    category: str | None
    origin: str
    observation_id: int | None = None


def memory(db: sqlite3.Connection, memory_id: int) -> Memory:
    """Return a memory; raises NotFoundError."""
    found = first(db, Memory, "memories WHERE id = ?", (memory_id,))
    if found is None:
        raise NotFoundError(f"There is no memory {memory_id}.\n`construct memory list` shows them.")
    return found


def memories(db: sqlite3.Connection, *, include_superseded: bool = False) -> list[Memory]:
    """Return the memories, oldest first."""
    where = "" if include_superseded else "WHERE superseded_at IS NULL"
    return select(db, Memory, f"memories {where} ORDER BY id")


def observation_behind(db: sqlite3.Connection, reference: Reference) -> int:
    """Return the observation that a reference names, or that the memory it names was promoted from."""
    kind, number = reference
    if kind == "observation":
        return number
    if kind == "memory":
        found = memory(db, number).observation_id
        if found is not None:
            return found
    if kind == "message":
        raise NotFoundError(f"message:{number} comes from no observation: it is what was said itself.")
    raise NotFoundError(f"memory:{number} was kept word for word.\nForget it, and keep it anew in other words.")


def insert_memory(db: sqlite3.Connection, new: NewMemory, now: str) -> int:
    """Store a memory in force and return its id."""
    return insert(db, "memories", {"uid": new_uid(), **asdict(new), "created_at": now})


def in_force_like(db: sqlite3.Connection, expression: str, limit: int) -> list[Memory]:
    """Return the memories in force that match an FTS5 expression, best first; none for an empty one."""
    if not expression:
        return []
    source = """memories_fts AS f JOIN memories AS m ON m.id = f.rowid
        WHERE memories_fts MATCH ? AND m.superseded_at IS NULL ORDER BY f.rank, m.id DESC LIMIT ?"""
    return select(db, Memory, source, (expression, limit), "m")


def in_force_of(db: sqlite3.Connection, memory_id: int | None) -> int | None:
    """Return the memory in force that stands for this one at last, itself perhaps; None when none does.

    What was promoted from an observation that was undone stands for nothing.
    """
    seen: set[int] = set()
    while memory_id is not None and memory_id not in seen:
        seen.add(memory_id)
        row = db.execute(
            """SELECT m.superseded_at, m.superseded_by, o.superseded_by = o.cycle_id
               FROM memories AS m LEFT JOIN observations AS o ON o.id = m.observation_id WHERE m.id = ?""",
            (memory_id,),
        ).fetchone()
        if row is None or (row[2] and row[0] is not None):
            return None
        if row[0] is None:
            return memory_id
        memory_id = row[1]
    return None


def replace_by(db: sqlite3.Connection, memory_id: int, by: int) -> None:
    """Say which memory stands in the place of a superseded one."""
    db.execute("UPDATE memories SET superseded_by = ? WHERE id = ? AND superseded_at IS NOT NULL", (by, memory_id))


def of_observation(db: sqlite3.Connection, observation_id: int) -> Memory | None:
    """Return the memory promoted from an observation, the newest of them."""
    return first(db, Memory, "memories WHERE observation_id = ? ORDER BY id DESC", (observation_id,))


def unpromoted(db: sqlite3.Connection, among: Iterable[int] | None = None) -> list[Observation]:
    """Return the active observations worth a memory that have none, oldest first; `among` narrows them down."""
    where, values = "", tuple[str, ...]()
    if among is not None:
        where, values = f"AND o.id IN {GIVEN}", (given(among),)
    return select(db, Observation, f"observations AS o WHERE {_WORTH_KEEPING} {where} ORDER BY o.id", values)


def left_behind(db: sqlite3.Connection) -> list[tuple[Memory, Observation]]:
    """Return the memories in force whose observation no longer is, with that."""
    rows = db.execute(
        f"""SELECT {columns(Memory, "m")}, {columns(Observation, "o")} FROM memories AS m
            JOIN observations AS o ON o.id = m.observation_id
            WHERE m.superseded_at IS NULL AND m.origin = 'observation' AND (o.superseded_at IS NOT NULL OR o.withheld)
            ORDER BY o.generation, m.id"""
    )
    width = len(Memory._fields)
    return [(Memory(*row[:width]), Observation(*row[width:])) for row in rows]


def left_out(db: sqlite3.Connection) -> list[Memory]:
    """Return the superseded memories that may stand again: what took their place is itself out of force, or gone."""
    source = """memories AS m
        LEFT JOIN observations AS o ON o.id = m.observation_id LEFT JOIN memories AS s ON s.id = m.superseded_by
        WHERE m.superseded_at IS NOT NULL AND (s.id IS NULL OR s.superseded_at IS NOT NULL)
        AND (m.origin <> 'observation' OR (
            o.superseded_at IS NULL AND o.committed_at IS NOT NULL AND o.withheld = 0))
        ORDER BY m.id DESC"""
    return select(db, Memory, source, table="m")


def said_at(db: sqlite3.Connection, memory: Memory) -> str:
    """Return when what a memory says was said: with the newest message it rests on, by hand when it was written."""
    if memory.observation_id is None:
        return memory.created_at
    said, origin, written = db.execute(
        f"""{BENEATH} SELECT (SELECT max(m.created_at) FROM observation_messages JOIN messages AS m ON m.id = message_id
                              WHERE observation_id IN beneath), origin, created_at FROM observations WHERE id = ?""",
        (given([memory.observation_id]), memory.observation_id),
    ).fetchone()
    return str(written if origin == "user" or said is None else said)

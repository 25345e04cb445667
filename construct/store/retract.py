"""Memories and relations that go and come back with what they were promoted from: plain queries.

A relation is in force as long as its memory is: both bear the same `superseded_at` when they
went together, and come back together by it.
"""

import sqlite3


def supersede_memory(db: sqlite3.Connection, memory_id: int, now: str, by: int | None = None) -> None:
    """Take a memory and its relations out of force, for another memory or for none."""
    db.execute(
        "UPDATE memories SET superseded_at = ?, superseded_by = ? WHERE id = ? AND superseded_at IS NULL",
        (now, by, memory_id),
    )
    db.execute("UPDATE relations SET superseded_at = ? WHERE memory_id = ? AND superseded_at IS NULL", (now, memory_id))


def revive_memory(db: sqlite3.Connection, memory_id: int) -> None:
    """Put a memory in force again, with the relations that went together with it."""
    db.execute(
        """UPDATE relations SET superseded_at = NULL WHERE memory_id = :id
           AND superseded_at = (SELECT superseded_at FROM memories WHERE id = :id)
           AND (cycle_id IS NULL OR cycle_id NOT IN (SELECT id FROM cycles WHERE status = 'reverted'))""",
        {"id": memory_id},
    )
    db.execute("UPDATE memories SET superseded_at = NULL, superseded_by = NULL WHERE id = ?", (memory_id,))

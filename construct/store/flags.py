"""Queries for what a cycle has marked observations as: shelved, or doubtful.

A flag counts while the cycle that set it is not undone, and no other has ended it. One
that an observer's cycle set counts from when its observations are committed.
"""

import sqlite3

from construct.store.records import NOT_REVERTED_SQL
from construct.store.sql import column
from construct.vocabulary import Flag

IN_FORCE = f"""set_by IN {NOT_REVERTED_SQL}
    AND (ended_by IS NULL OR ended_by NOT IN {NOT_REVERTED_SQL})
    AND set_by NOT IN (SELECT cycle_id FROM observations
        WHERE committed_at IS NULL AND superseded_at IS NULL)"""
"""SQL condition on `observation_flags`: the flag counts now."""


def set_flag(db: sqlite3.Connection, observation_id: int, flag: Flag, cycle_id: int) -> None:
    """Mark an observation, in the name of a cycle."""
    db.execute(
        "INSERT OR IGNORE INTO observation_flags (observation_id, flag, set_by) VALUES (?, ?, ?)",
        (observation_id, flag, cycle_id),
    )


def end_flag(db: sqlite3.Connection, observation_id: int, flag: Flag, cycle_id: int) -> None:
    """End a flag that counts now, in the name of a cycle."""
    db.execute(
        f"""UPDATE observation_flags SET ended_by = ?
            WHERE observation_id = ? AND flag = ? AND {IN_FORCE}""",
        (cycle_id, observation_id, flag),
    )


def flagged(db: sqlite3.Connection, flag: Flag) -> frozenset[int]:
    """Return the ids of the observations that have a flag."""
    query = f"SELECT observation_id FROM observation_flags WHERE flag = ? AND {IN_FORCE}"
    return frozenset(column(db, query, (flag,)))

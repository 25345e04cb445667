"""Queries for what a cycle has marked observations as: shelved, or doubtful.

A flag counts while the cycle that set it is not undone, and no other has ended it. One
that an observer's cycle set counts from when its observations are committed and, where
the user is asked about new ones, accepted.
"""

from typing import NamedTuple

from construct.store.acceptance import UNACCEPTED
from construct.store.driver import Connection
from construct.store.records import NOT_REVERTED_SQL
from construct.store.sql import column
from construct.vocabulary import Flag, Way

IN_FORCE = f"""set_by IN {NOT_REVERTED_SQL}
    AND (ended_by IS NULL OR ended_by NOT IN {NOT_REVERTED_SQL})
    AND set_by NOT IN (SELECT cycle_id FROM observations
        WHERE superseded_at IS NULL AND (committed_at IS NULL OR id IN {UNACCEPTED}))"""
"""SQL condition on `observation_flags`: the flag counts now."""


def set_flag(db: Connection, observation_id: int, flag: Flag, cycle_id: int) -> None:
    """Mark an observation, in the name of a cycle."""
    db.execute(
        "INSERT OR IGNORE INTO observation_flags (observation_id, flag, set_by) VALUES (?, ?, ?)",
        (observation_id, flag, cycle_id),
    )


def end_flag(db: Connection, observation_id: int, flag: Flag, cycle_id: int) -> None:
    """End a flag that counts now, in the name of a cycle."""
    db.execute(
        f"""UPDATE observation_flags SET ended_by = ?
            WHERE observation_id = ? AND flag = ? AND {IN_FORCE}""",
        (cycle_id, observation_id, flag),
    )


def flagged_by(db: Connection, flag: Flag, cycle_id: int) -> list[int]:
    """Return the ids of the observations on which a cycle set a flag."""
    query = """SELECT observation_id FROM observation_flags WHERE flag = ? AND set_by = ?
               ORDER BY observation_id"""
    return column(db, query, (flag, cycle_id))


def ended_by(db: Connection, flag: Flag, cycle_id: int) -> list[int]:
    """Return the ids of the observations on which a cycle ended a flag."""
    query = """SELECT observation_id FROM observation_flags WHERE flag = ? AND ended_by = ?
               ORDER BY observation_id"""
    return column(db, query, (flag, cycle_id))


def often_recalled(db: Connection, since: str, times: int) -> frozenset[int]:
    """Return the ids of shelved observations that came with so many replies by recall.

    Only replies since a stored time count, and since the observation was shelved.
    """
    query = f"""SELECT observation_id FROM observation_flags
        JOIN cycles ON cycles.id = set_by JOIN briefed USING (observation_id)
        JOIN messages ON messages.id = reply_id
        WHERE flag = '{Flag.SHELVED}' AND {IN_FORCE} AND way IN ('{Way.PASSAGE}', '{Way.RECALL}')
        AND messages.created_at >= max(?, finished_at)
        GROUP BY observation_id HAVING count(DISTINCT reply_id) >= ?"""
    return frozenset(column(db, query, (since, times)))


class FlagChange(NamedTuple):
    """When a flag of an observation was set or ended, and by which cycle."""

    flag: str
    at: str
    cycle_id: int
    is_end: int
    reverted_at: str | None


def flag_history(db: Connection, observation_id: int) -> list[FlagChange]:
    """Return when an observation got and lost its flags, undone cycles too, oldest first."""
    rows = db.execute(
        """SELECT flag, ifnull(finished_at, started_at), cycles.id, cycles.id <> set_by, reverted_at
           FROM observation_flags JOIN cycles ON cycles.id IN (set_by, ended_by)
           WHERE observation_id = ? ORDER BY 2, cycles.id""",
        (observation_id,),
    )
    return [FlagChange(*row) for row in rows]


def shelved_at(db: Connection, moment: str) -> frozenset[int]:
    """Return the ids of the observations that were shelved at a stored time.

    Cycles undone since count as if they had never run.
    """
    by_then = f"SELECT id FROM cycles WHERE finished_at <= ? AND id IN {NOT_REVERTED_SQL}"
    query = f"""SELECT observation_id FROM observation_flags WHERE flag = '{Flag.SHELVED}'
                AND set_by IN ({by_then}) AND ifnull(ended_by NOT IN ({by_then}), 1)"""
    return frozenset(column(db, query, (moment, moment)))


def flagged(db: Connection, flag: Flag) -> frozenset[int]:
    """Return the ids of the observations that have a flag."""
    query = f"SELECT observation_id FROM observation_flags WHERE flag = ? AND {IN_FORCE}"
    return frozenset(column(db, query, (flag,)))

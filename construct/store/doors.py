"""Calls of other programs through a door: which tool, by whom, how often, how much was found."""

import sqlite3
from typing import NamedTuple


class DoorCalls(NamedTuple):
    """How often a client used a tool."""

    client: str
    """As it names itself."""
    tool: str
    calls: int
    results: int
    """How many results it was given, in all."""
    first_at: str
    last_at: str


def record_call(db: sqlite3.Connection, client: str, tool: str, results: int, now: str) -> None:
    """Store that a client used a tool; never what it asked for."""
    db.execute(
        """INSERT INTO door_calls VALUES (?1, ?2, 1, ?3, ?4, ?4)
           ON CONFLICT DO UPDATE SET calls = calls + 1, results = results + excluded.results,
               last_at = excluded.last_at""",
        (client, tool, results, now),
    )


def calls_by_client(db: sqlite3.Connection) -> list[DoorCalls]:
    """Return the calls by client and tool, the client that came last first."""
    rows = db.execute(
        """SELECT client, tool, calls, results, first_at, last_at FROM door_calls
           ORDER BY max(last_at) OVER (PARTITION BY client) DESC, client, tool"""
    )
    return list(map(DoorCalls._make, rows))

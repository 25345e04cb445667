"""Calls of other programs through a door: which tool, by whom, when, how much was found."""

import sqlite3
from typing import NamedTuple

from construct.store.sql import insert


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
    row = {"created_at": now, "client": client, "tool": tool, "results": results}
    insert(db, "door_calls", row)


def calls_by_client(db: sqlite3.Connection) -> list[DoorCalls]:
    """Return the calls by client and tool, the client that came last first."""
    rows = db.execute(
        """SELECT client, tool, count(*), sum(results), min(created_at), max(created_at)
           FROM door_calls GROUP BY client, tool
           ORDER BY max(max(created_at)) OVER (PARTITION BY client) DESC, client, tool"""
    )
    return list(map(DoorCalls._make, rows))

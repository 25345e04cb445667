"""Queries for the log of other programs' calls (MCP, HTTP): counts, never their content."""

from typing import NamedTuple

from construct.store.driver import Connection


class DoorCalls(NamedTuple):
    """How often a client called a tool."""

    client: str
    """The name that an MCP client gives itself, or "HTTP" for all HTTP clients."""
    tool: str
    calls: int
    results: int
    """Total number of results it was given."""
    first_at: str
    last_at: str


def record_call(db: Connection, client: str, tool: str, results: int, now: str) -> None:
    """Count a client's call of a tool; what it asked for is not stored."""
    db.execute(
        """INSERT INTO door_calls VALUES (?1, ?2, 1, ?3, ?4, ?4)
           ON CONFLICT DO UPDATE SET calls = calls + 1, results = results + excluded.results,
               last_at = excluded.last_at""",
        (client, tool, results, now),
    )


def calls_by_client(db: Connection) -> list[DoorCalls]:
    """Return the calls by client and tool, the most recent client first."""
    rows = db.execute(
        """SELECT client, tool, calls, results, first_at, last_at FROM door_calls
           ORDER BY max(last_at) OVER (PARTITION BY client) DESC, client, tool"""
    )
    return list(map(DoorCalls._make, rows))

"""Queries for reminders: what may remind the user, and what was delivered.

Imports little, to keep `construct remind` fast when nothing is due.
"""

from datetime import date
from typing import NamedTuple

from construct.store.acceptance import UNACCEPTED
from construct.store.driver import Connection
from construct.store.records import SETTLED_SQL
from construct.vocabulary import Stance

_CLAIM_SECONDS = 600
"""A delivery that another process began this long ago, and did not end, is begun again."""
_EARLIER_FORMS = """WITH RECURSIVE earlier(id) AS (
    VALUES (:id) UNION
    SELECT source_id FROM observation_sources JOIN earlier ON observation_id = earlier.id UNION
    SELECT replaced_id FROM observation_replaced JOIN earlier ON observation_id = earlier.id)"""
"""SQL: an observation, and those that it was made from or replaced."""


class RemindingNote(NamedTuple):
    """An active observation that may remind the user."""

    id: int
    content: str
    priority: str
    referenced_date: str | None
    referenced_time: str | None
    recurs: str | None
    recurs_except: str | None
    label: str | None
    remind_at: str | None
    said_at: str
    """When the newest message behind it was said, as it is stored; else when it was made."""


class FailedReminder(NamedTuple):
    """A reminder that could not be delivered."""

    observation_id: int
    text: str
    due: str
    """The wall clock then: `2026-03-05 09:30`."""


def reminding_notes(db: Connection, since: date) -> list[RemindingNote]:
    """Return the active notes that may remind the user on a day from `since` on.

    They are what the user states or plans; what only a text says never reminds.
    `memory/reminders.py` decides when each does.
    """
    columns = ", ".join(RemindingNote._fields[:-1])
    said_at = """coalesce((SELECT max(m.created_at) FROM observation_messages AS link
        JOIN messages AS m ON m.id = link.message_id WHERE link.observation_id = o.id),
        o.created_at)"""
    active = f"""superseded_at IS NULL AND committed_at IS NOT NULL AND withheld = 0
        AND stance IN ('{Stance.STATED}', '{Stance.PLANNED}') AND NOT {SETTLED_SQL}
        AND id NOT IN {UNACCEPTED}"""
    rows = db.execute(
        f"""SELECT {columns}, {said_at} FROM observations AS o
            WHERE {active} AND referenced_date >= :since AND recurs IS NULL AND remind_at IS NULL
            UNION ALL
            SELECT {columns}, {said_at} FROM observations AS o
            WHERE {active} AND (recurs IS NOT NULL OR remind_at IS NOT NULL)
            ORDER BY id""",
        {"since": since.isoformat()},
    )
    return [RemindingNote(*row) for row in rows]


def was_delivered(db: Connection, observation_id: int, due: str) -> bool:
    """Return whether a reminder was delivered, for this note or an earlier form of it."""
    query = f"""{_EARLIER_FORMS} SELECT EXISTS (
        SELECT 1 FROM deliveries JOIN earlier ON earlier.id = observation_id
        WHERE due = :due AND delivered_at IS NOT NULL)"""
    return bool(db.execute(query, {"id": observation_id, "due": due}).fetchone()[0])


def claim(db: Connection, observation_id: int, due: str, now: float) -> bool:
    """Begin a delivery; return whether nobody else has begun or ended it.

    `now` is in seconds by the real clock. Runs in the caller's transaction.
    """
    if was_delivered(db, observation_id, due):
        return False
    claimed = db.execute(
        """INSERT INTO deliveries (observation_id, due, claimed_at) VALUES (?, ?, ?)
           ON CONFLICT DO UPDATE SET claimed_at = excluded.claimed_at
           WHERE claimed_at IS NULL OR claimed_at < ?""",
        (observation_id, due, now, now - _CLAIM_SECONDS),
    )
    return claimed.rowcount == 1


def note_delivered(db: Connection, observation_id: int, due: str, now: str) -> None:
    """Record that a reminder was delivered."""
    db.execute(
        """UPDATE deliveries SET delivered_at = ?, failed_at = NULL
           WHERE observation_id = ? AND due = ?""",
        (now, observation_id, due),
    )


def note_failed(db: Connection, observation_id: int, due: str, now: str) -> None:
    """Record that a reminder could not be delivered: it stays due."""
    db.execute(
        """UPDATE deliveries SET failed_at = ?, claimed_at = NULL
           WHERE observation_id = ? AND due = ?""",
        (now, observation_id, due),
    )


def failed_reminders(db: Connection, since: date) -> list[FailedReminder]:
    """Return the reminders due from `since` on that could not be delivered, oldest first."""
    rows = db.execute(
        f"""SELECT o.id, coalesce(label, content), due FROM deliveries
            JOIN observations AS o ON o.id = observation_id
            WHERE failed_at IS NOT NULL AND delivered_at IS NULL AND due >= ?
              AND superseded_at IS NULL AND withheld = 0 AND NOT {SETTLED_SQL}
            ORDER BY due, o.id""",
        (since.isoformat(),),
    )
    return [FailedReminder(*row) for row in rows]

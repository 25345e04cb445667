"""Queries for the agenda: observations with a date, and what became of them.

Imports little, to keep `construct brief` fast.
"""

import sqlite3
from datetime import date
from typing import NamedTuple

from construct.store.note_links import with_earlier_forms
from construct.store.records import SETTLED_SQL
from construct.store.sql import ID_LIST, json_ids


class DatedNote(NamedTuple):
    """An active observation with a date, which may be on the agenda."""

    id: int
    content: str
    stance: str
    when: str
    """A day, a month or a year."""
    asked_at: str | None = None
    """When the companion asked how it turned out."""


class FirstWording(NamedTuple):
    """The message where an observation began, and how it was first worded."""

    message_uid: str
    wording: str


def dated_notes(db: sqlite3.Connection, since: date = date.min) -> list[DatedNote]:
    """Return the active observations that refer to a day of this year or a later one.

    More than are on the agenda: `memory/agenda.py` decides. What the user marked as done
    or cancelled is left out.
    """
    rows = db.execute(
        f"""SELECT id, content, stance, referenced_date, asked_at FROM observations
            WHERE superseded_at IS NULL AND committed_at IS NOT NULL AND withheld = 0
              AND referenced_date >= ? AND NOT {SETTLED_SQL} ORDER BY id""",
        (f"{since.year:04}",),  # a month or a year sorts before the days in it
    )
    return [DatedNote(*row) for row in rows]


def first_wording(db: sqlite3.Connection, observation_id: int) -> FirstWording:
    """Return the first message and the wording of the oldest observation behind this one.

    If that has no message left, the uid is its own.
    """
    row = db.execute(
        f"""SELECT coalesce(m.uid, o.uid), o.content FROM observations AS o
            LEFT JOIN observation_messages AS link ON link.observation_id = o.id
            LEFT JOIN messages AS m ON m.id = link.message_id
            WHERE o.generation = 0 AND o.id IN {ID_LIST}
            ORDER BY o.created_at, o.id, m.created_at, m.id LIMIT 1""",
        (json_ids(with_earlier_forms(db, [observation_id])),),
    ).fetchone()
    return FirstWording(*row)


def revised_at(db: sqlite3.Connection, observation_id: int) -> str:
    """Return when an observation was made, or last brought back by an undo."""
    row = db.execute(
        """SELECT max(created_at, ifnull((
               SELECT max(reverted_at) FROM cycles WHERE id IN (
                   SELECT cycle_id FROM observation_replaced WHERE replaced_id = :id
                   UNION SELECT reflection.cycle_id FROM observation_sources
                   JOIN observations AS reflection ON reflection.id = observation_id
                   WHERE source_id = :id)), ''))
           FROM observations WHERE id = :id""",
        {"id": observation_id},
    ).fetchone()
    return str(row[0])

"""Queries for the agenda: observations with a date, and what became of them.

Imports little, to keep `construct brief` fast.
"""

from datetime import date
from typing import NamedTuple

from construct.store.acceptance import UNACCEPTED
from construct.store.driver import Connection
from construct.store.note_links import with_earlier_forms
from construct.store.records import SETTLED_SQL
from construct.store.sql import ID_LIST, json_ids
from construct.vocabulary import Stance


class DatedNote(NamedTuple):
    """An active observation that may be on the agenda. Each field is a column."""

    id: int
    content: str
    stance: str
    referenced_date: str | None
    """A day, a month or a year; of what comes again, the first day."""
    referenced_time: str | None = None
    recurs: str | None = None
    recurs_except: str | None = None
    label: str | None = None
    asked_at: str | None = None
    """When the companion asked how it turned out."""
    created_at: str | None = None


class FirstWording(NamedTuple):
    """The message where an observation began, and how it was first worded."""

    message_uid: str
    wording: str


def dated_notes(db: Connection, since: date = date.min) -> list[DatedNote]:
    """Return the active observations that refer to a day of this year or a later one.

    What comes again is among them whenever it began. They are more than are on the
    agenda: `memory/agenda.py` decides. What the user marked as done or cancelled is left
    out.
    """
    # A month or a year sorts before the days in it.
    return _notes(db, "referenced_date >= ?", f"{since.year:04}") + _notes(
        db, "referenced_date < ? AND recurs IS NOT NULL", f"{since.year:04}"
    )


def undated_plans(db: Connection) -> list[DatedNote]:
    """Return the active plans without a day, oldest first, except those that are settled."""
    return _notes(db, "referenced_date IS NULL AND stance = ?", Stance.PLANNED)


def _notes(db: Connection, condition: str, value: str) -> list[DatedNote]:
    rows = db.execute(
        f"""SELECT {", ".join(DatedNote._fields)} FROM observations
            WHERE superseded_at IS NULL AND committed_at IS NOT NULL AND withheld = 0
              AND {condition} AND NOT {SETTLED_SQL} AND id NOT IN {UNACCEPTED} ORDER BY id""",
        (value,),
    )
    return [DatedNote(*row) for row in rows]


def first_wording(db: Connection, observation_id: int) -> FirstWording:
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


def revised_at(db: Connection, observation_id: int) -> str:
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

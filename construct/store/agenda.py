"""Queries for the agenda: observations with a date, and what became of them.

Imports little, to keep `construct brief` fast.
"""

import sqlite3
from typing import NamedTuple

from construct.store.dates import LAST_DAY_SQL
from construct.store.records import SETTLED_SQL

_ORIGINS = """WITH RECURSIVE earlier(id) AS (
    VALUES (:id) UNION
    SELECT source_id FROM observation_sources JOIN earlier ON observation_id = earlier.id UNION
    SELECT replaced_id FROM observation_replaced JOIN earlier ON observation_id = earlier.id
    WHERE relation = 'edit')"""
"""SQL: an observation and its earlier forms, back through reflections and edits."""


class DatedLine(NamedTuple):
    """An observation that may be on the agenda."""

    id: int
    content: str
    stance: str
    when: str
    """A day, a month or a year."""


class Origin(NamedTuple):
    """The message where an observation began, and how it was first worded."""

    message_uid: str
    wording: str


def dated_lines(db: sqlite3.Connection, today: str) -> list[DatedLine]:
    """Return active observations with a date: every plan, and what is stated for the future.

    Today counts as future. What the user marked as done or cancelled is left out.
    """
    last = LAST_DAY_SQL.format("referenced_date")
    rows = db.execute(
        f"""SELECT id, content, stance, referenced_date FROM observations
            WHERE superseded_at IS NULL AND committed_at IS NOT NULL AND withheld = 0
              AND referenced_date IS NOT NULL
              AND (stance = 'planned' OR (stance = 'stated' AND {last} >= ?))
              AND NOT {SETTLED_SQL} ORDER BY id""",
        (today,),
    )
    return [DatedLine(*row) for row in rows]


def settled_ids(db: sqlite3.Connection) -> set[int]:
    """Return the ids of all observations that the user marked as done or cancelled."""
    return {row[0] for row in db.execute(f"SELECT id FROM observations WHERE {SETTLED_SQL}")}


def origin(db: sqlite3.Connection, observation_id: int) -> Origin:
    """Return the first message and the wording of the oldest observation behind this one.

    If that has no message left, the uid is its own.
    """
    row = db.execute(
        f"""{_ORIGINS} SELECT coalesce(m.uid, o.uid), o.content
            FROM observations AS o JOIN earlier USING (id)
            LEFT JOIN observation_messages AS link ON link.observation_id = o.id
            LEFT JOIN messages AS m ON m.id = link.message_id
            WHERE o.generation = 0
            ORDER BY o.created_at, o.id, m.created_at, m.id LIMIT 1""",
        {"id": observation_id},
    ).fetchone()
    return Origin(*row)


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

"""What stands on the agenda: plain queries. Imports little, for `construct brief`."""

import sqlite3
from typing import NamedTuple

from construct.store.dates import LAST_DAY_SQL
from construct.store.records import SETTLED_SQL

_EARLIER = """WITH RECURSIVE earlier(id) AS (
    VALUES (:id) UNION
    SELECT source_id FROM observation_sources JOIN earlier ON observation_id = earlier.id UNION
    SELECT replaced_id FROM observation_replaced JOIN earlier ON observation_id = earlier.id
    WHERE relation = 'edit')"""
"""An observation and all that it was made of, through reflections and the user's edits."""


class DatedLine(NamedTuple):
    """An observation that may stand on the agenda."""

    id: int
    content: str
    stance: str
    when: str
    """A day, a month or a year."""


class Origin(NamedTuple):
    """Where an observation began."""

    message_uid: str
    wording: str


def dated_lines(db: sqlite3.Connection, today: str) -> list[DatedLine]:
    """Return what is stated or planned for a time, without what is settled.

    Active lines only. What is stated counts until its last day.
    """
    last = LAST_DAY_SQL.format("referenced_date")
    found = db.execute(
        f"""SELECT id, content, stance, referenced_date FROM observations
            WHERE superseded_at IS NULL AND committed_at IS NOT NULL AND withheld = 0
              AND referenced_date IS NOT NULL
              AND (stance = 'planned' OR (stance = 'stated' AND {last} >= ?))
              AND NOT {SETTLED_SQL} ORDER BY id""",
        (today,),
    )
    return [DatedLine(*row) for row in found]


def origin(db: sqlite3.Connection, observation_id: int) -> Origin:
    """Return the first message behind the oldest observation below this one, and its wording.

    Where no message is left, the uid is the observation's own.
    """
    row = db.execute(
        f"""{_EARLIER} SELECT coalesce(m.uid, o.uid), o.content
            FROM observations AS o JOIN earlier USING (id)
            LEFT JOIN observation_messages AS link ON link.observation_id = o.id
            LEFT JOIN messages AS m ON m.id = link.message_id
            WHERE o.generation = 0
            ORDER BY o.created_at, o.id, m.created_at, m.id LIMIT 1""",
        {"id": observation_id},
    ).fetchone()
    return Origin(*row)


def revised_at(db: sqlite3.Connection, observation_id: int) -> str:
    """Return when an observation became what it is: made, or brought back by an undo."""
    row = db.execute(
        """SELECT max(created_at, ifnull((
               SELECT max(reverted_at) FROM observation_replaced AS r
               JOIN cycles ON cycles.id = r.cycle_id WHERE r.replaced_id = observations.id), ''))
           FROM observations WHERE id = ?""",
        (observation_id,),
    ).fetchone()
    return str(row[0])

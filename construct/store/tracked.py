"""Queries for the amounts that the user's rules follow, each stored with its message."""

from collections.abc import Iterable
from itertools import chain
from typing import NamedTuple

from construct.store.driver import Connection
from construct.store.records import TO_FORGET_SQL, Descent
from construct.store.sql import ID_LIST, column, exists, insert, json_ids, new_uid, select

_LAST_DAY = "9999-12-31"
_COUNTS = f"""superseded_at IS NULL AND message_id NOT IN {TO_FORGET_SQL}
    AND message_id NOT IN (SELECT id FROM messages WHERE withheld)"""
"""SQL condition: neither corrected, undone, nor among what the user asked to forget."""


class TrackedValue(NamedTuple):
    """A row of `tracked_values`."""

    id: int
    name: str
    amount: float
    unit: str | None
    day: str
    message_id: int


def tracked_values(
    db: Connection,
    since: str = "",
    until: str = _LAST_DAY,
    descent: Descent | None = None,
) -> list[TrackedValue]:
    """Return the values of these days that count, by day, oldest first.

    `descent`: only what was said in these conversations, up to these messages.
    """
    said = " OR ".join("conversation_id = ? AND id <= ?" for _ in descent or ())
    scope = f" AND message_id IN (SELECT id FROM messages WHERE {said})" if descent else ""
    source = f"tracked_values WHERE {_COUNTS} AND day >= ? AND day <= ?{scope} ORDER BY day, id"
    return select(db, TrackedValue, source, (since, until, *chain.from_iterable(descent or ())))


def tracked_names(db: Connection) -> list[str]:
    """Return the names that values are stored under."""
    return column(db, "SELECT DISTINCT name FROM tracked_values ORDER BY name")


def values_of(db: Connection, message_ids: Iterable[int]) -> list[TrackedValue]:
    """Return the values that these messages say, corrected and undone ones too."""
    source = f"tracked_values WHERE message_id IN {ID_LIST} ORDER BY day, id"
    return select(db, TrackedValue, source, (json_ids(message_ids),))


def values_made_by(db: Connection, cycle_id: int) -> list[TrackedValue]:
    """Return the values that a cycle stored."""
    return select(db, TrackedValue, "tracked_values WHERE cycle_id = ? ORDER BY id", (cycle_id,))


def add_value(db: Connection, value: TrackedValue, cycle_id: int) -> bool:
    """Store a value, whose id is ignored; False if an equal one is stored already."""
    same = f"tracked_values WHERE {_COUNTS} AND name = ? AND amount = ? AND unit IS ? AND day = ?"
    if exists(db, same, (value.name, value.amount, value.unit, value.day)):
        return False
    row = {**value._asdict(), "uid": new_uid(), "cycle_id": cycle_id}
    del row["id"]
    insert(db, "tracked_values", row)
    return True


def supersede_values(db: Connection, ids: Iterable[int], cycle_id: int, now: str) -> None:
    """Mark values as replaced by a cycle."""
    db.execute(
        f"""UPDATE tracked_values SET superseded_at = ?, superseded_by = ?
            WHERE superseded_at IS NULL AND id IN {ID_LIST}""",
        (now, cycle_id, json_ids(ids)),
    )


def swap_values(db: Connection, cycle_id: int, now: str) -> None:
    """Bring back the values that an undone cycle replaced, and take out those it stored."""
    db.execute(
        """UPDATE tracked_values SET superseded_at = NULL, superseded_by = NULL
           WHERE superseded_by = ? AND cycle_id <> superseded_by""",
        (cycle_id,),
    )
    db.execute(
        """UPDATE tracked_values SET superseded_at = :now, superseded_by = :cycle
           WHERE cycle_id = :cycle AND superseded_at IS NULL""",
        {"cycle": cycle_id, "now": now},
    )


def forget_values(db: Connection, message_ids: Iterable[int]) -> int:
    """Delete the values of messages, and return how many.

    What they had replaced counts again, unless another value of the same cycle and name is left.
    """
    ids = json_ids(message_ids)
    gone = db.execute(f"DELETE FROM tracked_values WHERE message_id IN {ID_LIST}", (ids,)).rowcount
    if gone:
        db.execute(
            """UPDATE tracked_values AS old SET superseded_at = NULL, superseded_by = NULL
               WHERE superseded_by <> cycle_id AND NOT EXISTS (
                   SELECT 1 FROM tracked_values AS new
                   WHERE new.cycle_id = old.superseded_by AND new.name = old.name)"""
        )
    return gone

"""Queries for the observations that each conversation's model is shown.

The lines that are shown are stored by block. A conversation takes in all observations in
sight from time to time; these take-ins are numbered, and each conversation has the number
of its last one. An observation that was in sight then is either shown or did not fit the
budget. So those that did not fit, nearly all in a long life, need no rows.

`active_spans` records when an observation was active and not shelved, counted in take-ins:
after number `since`, up to and including `until`. Triggers (schema_sight.py) maintain it, so
code that commits, supersedes, withholds, shelves or restores observations need not.

Under scope `conversation` this relies on no observation entering a conversation's scope
later. None does: its links are stored with it, a fork's start can only move back, and
an observation is deleted together with what it rests on.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from construct.store.driver import Connection
from construct.store.flags import IN_FORCE
from construct.store.observations import IN_SIGHT, UNSHELVED, scope_filter
from construct.store.records import Descent
from construct.store.sql import ID_LIST, column, json_ids, scalar
from construct.vocabulary import Flag, Scope

FOREVER = (1 << 63) - 1
"""`active_spans.until` of an observation that is active now."""
_SHOWN = "shown JOIN observations AS o ON o.id = observation_id WHERE shown.conversation_id = ?"


class ShownLine(NamedTuple):
    """The parts of an observation that the model is shown.

    They never change, since an edit makes a new observation; only `doubtful` may, when the
    observations of another cycle are committed.
    """

    id: int
    uid: str
    content: str
    priority: str
    stance: str
    observation_date: str
    referenced_date: str | None
    first_date: str | None
    token_count: int
    referenced_time: str | None = None
    recurs: str | None = None
    remind_at: str | None = None
    doubtful: int = 0
    """1 if a later change may have made it untrue."""


def _columns(table: str) -> str:
    """Return the columns of a ShownLine as a SELECT list."""
    stored = [f"{table}.{name}" for name in ShownLine._fields if name != "doubtful"]
    is_doubtful = f"""EXISTS (SELECT 1 FROM observation_flags
        WHERE observation_id = {table}.id AND flag = '{Flag.DOUBTFUL}' AND {IN_FORCE})"""
    return ", ".join([*stored, is_doubtful])


@dataclass(frozen=True, slots=True)
class Shown:
    """The observations that a conversation is shown, in blocks."""

    blocks: tuple[tuple[ShownLine, ...], ...]
    all_active: bool
    """Whether none of them has been superseded, withheld or shelved since."""


def shown(db: Connection, conversation_id: int) -> Shown:
    """Return the observations that a conversation is shown."""
    rows = db.execute(
        f"""SELECT block, {UNSHELVED}, {_columns("o")} FROM {_SHOWN}
            ORDER BY block, observation_id""",
        (conversation_id,),
    ).fetchall()
    blocks = tuple(
        tuple(ShownLine._make(line) for _, _, *line in block)
        for _, block in groupby(rows, key=itemgetter(0))
    )
    return Shown(blocks, all_active=all(is_active for _, is_active, *_ in rows))


def lines(db: Connection, ids: Iterable[int]) -> tuple[ShownLine, ...]:
    """Return the lines of observations, ordered by id."""
    query = f"SELECT {_columns('o')} FROM observations AS o WHERE id IN {ID_LIST} ORDER BY id"
    return tuple(map(ShownLine._make, db.execute(query, (json_ids(ids),))))


def count_shown(db: Connection, conversation_id: int) -> tuple[int, int]:
    """Return how many blocks and how many lines a conversation is shown."""
    blocks, lines = db.execute(
        "SELECT count(DISTINCT block), count(*) FROM shown WHERE conversation_id = ?",
        (conversation_id,),
    ).fetchone()
    return blocks, lines


def shown_ids(db: Connection, conversation_id: int) -> list[int]:
    """Return the ids of the observations that a conversation is shown, in that order.

    Without those that leave with the next request, as they are no longer active or are shelved.
    """
    query = f"SELECT o.id FROM {_SHOWN} AND {UNSHELVED} ORDER BY block, o.id"
    return column(db, query, (conversation_id,))


def shown_blocks(db: Connection, conversation_id: int) -> dict[int, int]:
    """Return the block of each observation that a conversation is shown, by id."""
    query = "SELECT observation_id, block FROM shown WHERE conversation_id = ?"
    return dict(db.execute(query, (conversation_id,)).fetchall())


def shown_in_scope(
    db: Connection, conversation_id: int, descent: Descent | None, plans_from: str = ""
) -> dict[int, int]:
    """Return the tokens of the observations shown that are still in sight and scope, by id."""
    where, values = scope_filter(descent)
    rows = db.execute(
        f"""SELECT id, token_count FROM observations WHERE {IN_SIGHT}{where}
            AND id IN (SELECT observation_id FROM shown WHERE conversation_id = ?)""",
        (plans_from, *values, conversation_id),
    )
    return dict(rows.fetchall())


def not_taken_in(
    db: Connection,
    conversation_id: int,
    scope: str,
    descent: Descent | None,
    plans_from: str = "",
) -> dict[int, int]:
    """Return the tokens of observations in scope and sight that were not taken in, by id.

    A take-in under another scope does not count: what did not fit then may fit now. Nor
    does it for those pinned since.
    """
    last = scalar(
        db,
        "SELECT number FROM last_take_ins WHERE conversation_id = ? AND scope = ?",
        (conversation_id, scope),
    )
    where, values = scope_filter(descent)
    query = f"""SELECT id, token_count FROM observations WHERE {IN_SIGHT}{where}
                AND id NOT IN (SELECT observation_id FROM shown WHERE conversation_id = ?)"""
    parameters: tuple[str | int, ...] = (plans_from, *values, conversation_id)
    if last is not None:
        query += """ AND (pinned OR id IN (SELECT observation_id FROM active_spans WHERE since >= ?)
                     AND NOT EXISTS (
                         SELECT 1 FROM active_spans
                         WHERE observation_id = observations.id AND since < ? AND until >= ?))"""
        parameters = (*parameters, last, last, last)
    return dict(db.execute(query, parameters).fetchall())


def store_take_in(
    db: Connection, conversation_id: int, scope: str, blocks: Mapping[int, int]
) -> None:
    """Store what a conversation is shown, and that it took in all observations in sight."""
    _replace(db, conversation_id, blocks)
    number = scalar(db, "UPDATE take_in_count SET number = number + 1 RETURNING number")
    db.execute(
        "INSERT OR REPLACE INTO last_take_ins (conversation_id, number, scope) VALUES (?, ?, ?)",
        (conversation_id, number, scope),
    )


def _replace(db: Connection, conversation_id: int, blocks: Mapping[int, int]) -> None:
    """Update the rows that differ, which are few."""
    before = shown_blocks(db, conversation_id)
    db.executemany(
        "DELETE FROM shown WHERE conversation_id = ? AND observation_id = ?",
        [(conversation_id, i) for i in before.keys() - blocks.keys()],
    )
    db.executemany(
        "INSERT OR REPLACE INTO shown (conversation_id, observation_id, block) VALUES (?, ?, ?)",
        [(conversation_id, i, block) for i, block in blocks.items() - before.items()],
    )


def copy_shown(db: Connection, conversation_id: int, fork_id: int) -> None:
    """Copy to a fork what its parent is shown and has taken in."""
    for table, values in (
        ("shown", "observation_id, block"),
        ("last_take_ins", "number, scope"),
    ):
        db.execute(
            f"""INSERT INTO {table} (conversation_id, {values})
                SELECT ?, {values} FROM {table} WHERE conversation_id = ?""",
            (fork_id, conversation_id),
        )


def scopes(db: Connection) -> dict[int, str]:
    """Return the scope of the last take-in of each conversation that is shown anything.

    If it is not known, as after an import, the narrower scope is assumed.
    """
    query = """SELECT id, ifnull(scope, ?) FROM conversations
               LEFT JOIN last_take_ins ON last_take_ins.conversation_id = id
               WHERE id IN (SELECT conversation_id FROM shown)"""
    return dict(db.execute(query, (Scope.CONVERSATION,)).fetchall())


def add_to_last_block(db: Connection, conversation_id: int, ids: Iterable[int]) -> None:
    """Add observations to a conversation's last block.

    Those that were active at its last take-in are skipped: they did not fit the budget.
    """
    db.execute(
        """INSERT OR IGNORE INTO shown (conversation_id, observation_id, block)
           SELECT :here, value, (SELECT max(block) FROM shown WHERE conversation_id = :here)
           FROM json_each(:ids) WHERE NOT EXISTS (
               SELECT 1 FROM active_spans JOIN last_take_ins ON number > since AND number <= until
               WHERE observation_id = value AND conversation_id = :here)""",
        {"here": conversation_id, "ids": json_ids(ids)},
    )


def show_instead(db: Connection, returning: int, successors: Collection[int]) -> None:
    """Show an observation wherever one of its successors is shown, in the same block.

    Other conversations will take it in like a new observation.
    """
    db.execute(
        f"""INSERT OR IGNORE INTO shown (conversation_id, observation_id, block)
            SELECT conversation_id, ?, max(block) FROM shown
            WHERE observation_id IN {ID_LIST} GROUP BY conversation_id""",
        (returning, json_ids(successors)),
    )

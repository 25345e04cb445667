"""What each conversation's model is shown of the observations: plain queries.

Stored are the lines that are shown, by block, and with each conversation the number of
its last take-in. Every observation that was active then was taken in: it is shown, or
it fell off the budget. So what fell off, nearly all in a long life, needs no rows.

`active_spans` says when an observation was active, counted in take-ins: after `since`
up to and with `until`. Triggers keep it (schema.py), so whoever commits,
supersedes, withholds or brings back an observation need not know.

Under scope `conversation` this holds because no observation comes into a conversation's
scope later: its links are stored with it, forks begin earlier but never later, and with
what it rests on it goes itself.
"""

import sqlite3
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from construct.store.observations import ACTIVE, scope_filter
from construct.store.records import Descent
from construct.store.sql import GIVEN, column, columns, given, scalar, select
from construct.vocabulary import Scope

FOREVER = (1 << 63) - 1
"""`until` of an observation that is active now."""
_SHOWN = "shown JOIN observations AS o ON o.id = observation_id WHERE shown.conversation_id = ?"


class Line(NamedTuple):
    """What is shown of an observation.

    It never changes, since an edit makes another observation.
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


@dataclass(frozen=True, slots=True)
class Shown:
    """What a conversation is shown, in order."""

    blocks: tuple[tuple[Line, ...], ...]
    all_active: bool


def shown(db: sqlite3.Connection, conversation_id: int) -> Shown:
    """Return what the conversation is shown."""
    found = db.execute(
        f"""SELECT block, {ACTIVE}, {columns(Line, "o")} FROM {_SHOWN}
            ORDER BY block, observation_id""",
        (conversation_id,),
    ).fetchall()
    blocks = tuple(
        tuple(Line._make(line) for _, _, *line in block)
        for _, block in groupby(found, key=itemgetter(0))
    )
    return Shown(blocks, all_active=all(is_active for _, is_active, *_ in found))


def lines(db: sqlite3.Connection, ids: Iterable[int]) -> tuple[Line, ...]:
    """Return the lines of observations, in the order of their ids."""
    return tuple(select(db, Line, f"observations WHERE id IN {GIVEN} ORDER BY id", (given(ids),)))


def count_shown(db: sqlite3.Connection, conversation_id: int) -> tuple[int, int]:
    """Return how many blocks and how many lines a conversation is shown."""
    blocks, lines = db.execute(
        "SELECT count(DISTINCT block), count(*) FROM shown WHERE conversation_id = ?",
        (conversation_id,),
    ).fetchone()
    return blocks, lines


def shown_ids(db: sqlite3.Connection, conversation_id: int) -> list[int]:
    """Return the observations that a conversation is shown."""
    return column(
        db, "SELECT observation_id FROM shown WHERE conversation_id = ?", (conversation_id,)
    )


def shown_blocks(db: sqlite3.Connection, conversation_id: int) -> dict[int, int]:
    """Return the block in which the conversation is shown each observation."""
    query = "SELECT observation_id, block FROM shown WHERE conversation_id = ?"
    return dict(db.execute(query, (conversation_id,)).fetchall())


def shown_in_scope(
    db: sqlite3.Connection, conversation_id: int, talk: Descent | None
) -> dict[int, int]:
    """Return the tokens of each line shown that is still active and in scope."""
    where, values = scope_filter(talk)
    found = db.execute(
        f"""SELECT id, token_count FROM observations WHERE {ACTIVE}{where}
            AND id IN (SELECT observation_id FROM shown WHERE conversation_id = ?)""",
        (*values, conversation_id),
    )
    return dict(found.fetchall())


def not_taken_in(
    db: sqlite3.Connection, conversation_id: int, scope: str, talk: Descent | None
) -> dict[int, int]:
    """Return the tokens of each active observation in scope that was not taken in yet.

    A take-in under another scope counts as none: what fell off there may have room here.
    """
    last = scalar(
        db,
        "SELECT number FROM last_take_ins WHERE conversation_id = ? AND scope = ?",
        (conversation_id, scope),
    )
    where, values = scope_filter(talk)
    query = f"""SELECT id, token_count FROM observations WHERE {ACTIVE}{where}
                AND id NOT IN (SELECT observation_id FROM shown WHERE conversation_id = ?)"""
    values = (*values, conversation_id)
    if last is not None:
        query += """ AND id IN (SELECT observation_id FROM active_spans WHERE since >= ?)
                     AND NOT EXISTS (
                         SELECT 1 FROM active_spans
                         WHERE observation_id = observations.id AND since < ? AND until >= ?)"""
        values = (*values, last, last, last)
    return dict(db.execute(query, values).fetchall())


def store_take_in(
    db: sqlite3.Connection, conversation_id: int, scope: str, blocks: Mapping[int, int]
) -> None:
    """Store what a conversation is shown, and that it has taken in all that is active."""
    _replace(db, conversation_id, blocks)
    number = scalar(db, "UPDATE take_in_count SET number = number + 1 RETURNING number")
    db.execute(
        "INSERT OR REPLACE INTO last_take_ins (conversation_id, number, scope) VALUES (?, ?, ?)",
        (conversation_id, number, scope),
    )


def _replace(db: sqlite3.Connection, conversation_id: int, blocks: Mapping[int, int]) -> None:
    """Write what differs: most stays as it was."""
    before = shown_blocks(db, conversation_id)
    db.executemany(
        "DELETE FROM shown WHERE conversation_id = ? AND observation_id = ?",
        [(conversation_id, i) for i in before.keys() - blocks.keys()],
    )
    db.executemany(
        "INSERT OR REPLACE INTO shown (conversation_id, observation_id, block) VALUES (?, ?, ?)",
        [(conversation_id, i, block) for i, block in blocks.items() - before.items()],
    )


def copy_shown(db: sqlite3.Connection, conversation_id: int, fork_id: int) -> None:
    """Show a fork what its parent is shown; what the parent has taken in, it has."""
    for table, values in (
        ("shown", "observation_id, block"),
        ("last_take_ins", "number, scope"),
    ):
        db.execute(
            f"""INSERT INTO {table} (conversation_id, {values})
                SELECT ?, {values} FROM {table} WHERE conversation_id = ?""",
            (fork_id, conversation_id),
        )


def scopes(db: sqlite3.Connection) -> dict[int, str]:
    """Return the conversations that are shown something, each with its last take-in's scope.

    Where that is not known, as after an import, it is the narrower one.
    """
    query = """SELECT id, ifnull(scope, ?) FROM conversations
               LEFT JOIN last_take_ins ON last_take_ins.conversation_id = id
               WHERE id IN (SELECT conversation_id FROM shown)"""
    return dict(db.execute(query, (Scope.CONVERSATION,)).fetchall())


def add_to_last_block(db: sqlite3.Connection, conversation_id: int, ids: Iterable[int]) -> None:
    """Show observations in a conversation's last block, but those that fell off the budget.

    These were active at its last take-in, and are not shown since.
    """
    db.execute(
        """INSERT OR IGNORE INTO shown (conversation_id, observation_id, block)
           SELECT :here, value, (SELECT max(block) FROM shown WHERE conversation_id = :here)
           FROM json_each(:ids) WHERE NOT EXISTS (
               SELECT 1 FROM active_spans JOIN last_take_ins ON number > since AND number <= until
               WHERE observation_id = value AND conversation_id = :here)""",
        {"here": conversation_id, "ids": given(ids)},
    )


def show_instead(db: sqlite3.Connection, returning: int, places: Collection[int]) -> None:
    """Show an observation wherever one of `places` is shown, in the same block.

    Where none is, because they fell off or were out of scope, it is new.
    """
    db.execute(
        f"""INSERT OR IGNORE INTO shown (conversation_id, observation_id, block)
            SELECT conversation_id, ?, max(block) FROM shown
            WHERE observation_id IN {GIVEN} GROUP BY conversation_id""",
        (returning, given(places)),
    )

"""Imported messages that nobody has observed, and making them part of the living talk.

What stands above its conversation's `observed` mark becomes part of the living talk,
and is due. Where the talk has gone on and been observed meanwhile, the mark has passed
it: it stays archived, in no window, and is read by cycles that move no mark. Such a
cycle is told by having nothing but archived messages in its range.
"""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from construct.store.conversations import get_watermarks
from construct.store.messages import LAST
from construct.store.records import Message
from construct.store.sql import GIVEN, column, columns, given, scalar, select

_BATCH_LIMIT = 4_000
"""Messages: no batch of an observer has more."""
# What lies in no range first, then the messages there by their index: a talk of 30,000
# has a hundred ranges.
_WAITING = """
WITH scope AS (
    SELECT id FROM conversations WHERE id BETWEEN :from AND :to
), passed AS MATERIALIZED (
    -- Ranges of nothing but archived messages: read where they stand.
    SELECT c.conversation_id, first_message_id AS first, last_message_id AS last,
           ifnull(max(last_message_id) OVER (
               PARTITION BY c.conversation_id ORDER BY first_message_id, c.id
               ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS reached
    FROM scope JOIN cycles AS c ON c.conversation_id = scope.id
    WHERE kind = 'observer' AND status = 'succeeded' AND first_message_id <= last_message_id
    AND NOT EXISTS (
        SELECT 1 FROM messages AS live WHERE live.conversation_id = c.conversation_id
        AND live.archived = 0 AND live.id BETWEEN first_message_id AND last_message_id)
), gaps AS (
    SELECT conversation_id, reached + 1 AS first, first - 1 AS last FROM passed
    WHERE first > reached + 1
    UNION ALL
    SELECT id,
           ifnull((SELECT max(last) FROM passed WHERE conversation_id = scope.id), 0) + 1, 1 << 62
    FROM scope
), unread AS (
    SELECT m.id, m.conversation_id, m.token_count, m.created_at FROM gaps CROSS JOIN messages AS m
    ON m.conversation_id = gaps.conversation_id AND m.id BETWEEN first AND last AND m.archived
), stopped AS (
    -- Of a talk nobody has gone on with, and not undone: who observed it was stopped.
    SELECT m.id, m.conversation_id, m.token_count, m.created_at
    FROM scope JOIN conversations AS t ON t.id = scope.id AND t.last_request_at IS NULL
    LEFT JOIN watermarks AS w ON w.conversation_id = t.id AND w.name = 'observed'
    JOIN messages AS m ON m.conversation_id = t.id AND m.archived = 0
        AND m.id > coalesce(w.message_id, 0)
    WHERE NOT EXISTS (
        SELECT 1 FROM cycles WHERE conversation_id = t.id AND kind = 'observer'
        AND status = 'reverted' AND last_message_id >= m.id)
), waiting AS (
    SELECT * FROM unread UNION ALL SELECT * FROM stopped
)
"""


@dataclass(frozen=True, slots=True)
class Backlog:
    """What an observer could still read of one conversation."""

    conversation_id: int
    messages: int
    tokens: int


def backlogs(db: sqlite3.Connection, since: str = "") -> list[Backlog]:
    """Return the conversations with unread messages, the oldest first.

    `since`, a stored time, leaves out those that ended before it.
    """
    rows = db.execute(
        f"""{_WAITING} SELECT conversation_id, count(*), sum(token_count) FROM waiting
            GROUP BY 1 HAVING max(created_at) >= :since ORDER BY min(created_at), 1""",
        {"from": 0, "to": LAST, "since": since},
    )
    return [Backlog(*row) for row in rows]


def unread(db: sqlite3.Connection, conversation_id: int | None = None) -> int:
    """Return how many messages of a conversation, or of all, nobody has observed."""
    scope = {"from": 0, "to": LAST} if conversation_id is None else _only(conversation_id)
    return scalar(db, f"{_WAITING} SELECT count(*) FROM waiting", scope)


def passed(db: sqlite3.Connection, conversation_id: int) -> list[Message]:
    """Return the oldest unread messages that the `observed` mark has passed.

    Up to the next living message, and no more than a batch can have.
    """
    rows = db.execute(
        f"""{_WAITING} SELECT {columns(Message, "m")} FROM unread
            JOIN messages AS m ON m.id = unread.id
            WHERE m.id <= :observed AND m.id < ifnull((
                SELECT min(id) FROM messages WHERE conversation_id = :to AND archived = 0 AND id > (
                    SELECT min(id) FROM unread)), 1 << 62)
            ORDER BY m.id LIMIT {_BATCH_LIMIT}""",
        {**_only(conversation_id), "observed": get_watermarks(db, conversation_id).observed},
    )
    return [Message(*row) for row in rows]


def waiting_above_mark(db: sqlite3.Connection, conversation_id: int) -> list[int]:
    """Return the ids of the unread messages above the `observed` mark, oldest first."""
    return column(
        db,
        f"{_WAITING} SELECT id FROM waiting WHERE id > :observed ORDER BY id",
        {**_only(conversation_id), "observed": get_watermarks(db, conversation_id).observed},
    )


def first_messages(db: sqlite3.Connection, ids: Sequence[int]) -> list[Message]:
    """Return the messages of these ids, in order, no more than a batch can have."""
    source = f"messages WHERE id IN {GIVEN} ORDER BY id"
    return select(db, Message, source, (given(ids[:_BATCH_LIMIT]),))


def count_from(db: sqlite3.Connection, conversation_id: int, message_id: int) -> int:
    """Return how many messages a conversation has from one of them on."""
    query = "SELECT count(*) FROM messages WHERE conversation_id = ? AND id >= ?"
    return scalar(db, query, (conversation_id, message_id))


def make_live(db: sqlite3.Connection, ids: Sequence[int]) -> None:
    """Make archived messages part of the living talk."""
    db.execute(f"UPDATE messages SET archived = 0 WHERE id IN {GIVEN}", (given(ids),))


def _only(conversation_id: int) -> dict[str, int]:
    return {"from": conversation_id, "to": conversation_id}

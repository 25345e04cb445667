"""The backlog: imported messages that no observer has read yet.

They arrive archived. When it is their turn, they are unarchived, a batch at a time, and
observed like any others. If the conversation has gone on in the meantime, those before
its newest unarchived message stay archived: they are in no window, and are read by
cycles that move no watermark. Such a cycle can be recognised by having only archived
messages in its range.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from construct.store.driver import Connection
from construct.store.messages import LAST
from construct.store.records import Message
from construct.store.sql import ID_LIST, column, columns, json_ids, scalar, select
from construct.store.sync.machines import OWNED_ELSEWHERE_SQL

_BATCH_LIMIT = 4_000
"""The most messages that an observer reads in one batch."""
# Finds the ranges that no cycle covers, then the messages in them by index: a
# conversation of 30,000 messages has about a hundred ranges.
_WAITING = f"""
WITH scope AS (
    -- What another machine writes is left to it.
    SELECT id FROM conversations WHERE id BETWEEN :from AND :to AND id NOT IN {OWNED_ELSEWHERE_SQL}
), passed AS MATERIALIZED (
    -- The ranges of cycles that read archived messages only.
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
), unobserved AS (
    SELECT m.id, m.conversation_id, m.token_count, m.created_at FROM gaps CROSS JOIN messages AS m
    ON m.conversation_id = gaps.conversation_id AND m.id BETWEEN first AND last
        AND m.archived AND NOT m.withheld
), stopped AS (
    -- Unarchived, but never continued by the user: the observer was interrupted, not undone.
    SELECT m.id, m.conversation_id, m.token_count, m.created_at
    FROM scope JOIN conversations AS t ON t.id = scope.id AND t.last_request_at IS NULL
    LEFT JOIN watermarks AS w ON w.conversation_id = t.id AND w.name = 'observed'
    JOIN messages AS m ON m.conversation_id = t.id AND m.archived = 0
        AND m.id > coalesce(w.message_id, 0)
    WHERE NOT EXISTS (
        SELECT 1 FROM cycles WHERE conversation_id = t.id AND kind = 'observer'
        AND status = 'reverted' AND last_message_id >= m.id)
), waiting AS (
    SELECT * FROM unobserved UNION ALL SELECT * FROM stopped
)
"""
_NEWEST_LIVE = """ifnull((
    SELECT max(id) FROM messages WHERE conversation_id = :to AND archived = 0), 0)"""
"""SQL: the id of a conversation's newest message that is not archived, or 0."""


@dataclass(frozen=True, slots=True)
class Backlog:
    """How many messages and tokens of one conversation are still unobserved."""

    conversation_id: int
    messages: int
    tokens: int


def backlogs(db: Connection, since: str = "") -> list[Backlog]:
    """Return the conversations with unobserved imported messages, newest first.

    Those whose last unobserved message is older than `since`, a stored time, are left out.
    """
    rows = db.execute(
        f"""{_WAITING} SELECT conversation_id, count(*), sum(token_count) FROM waiting
            GROUP BY 1 HAVING max(created_at) >= :since ORDER BY max(created_at) DESC, 1""",
        {"from": 0, "to": LAST, "since": since},
    )
    return [Backlog(*row) for row in rows]


def count_unobserved(db: Connection, conversation_id: int | None = None) -> int:
    """Return how many imported messages of one conversation, or of all, are unobserved."""
    scope = {"from": 0, "to": LAST} if conversation_id is None else _only(conversation_id)
    return scalar(db, f"{_WAITING} SELECT count(*) FROM waiting", scope)


def unobserved_in_between(db: Connection, conversation_id: int) -> list[Message]:
    """Return the oldest unobserved messages that stay archived, at most a batch.

    They end before the next message that is not archived.
    """
    rows = db.execute(
        f"""{_WAITING} SELECT {columns(Message, "m")} FROM unobserved
            JOIN messages AS m ON m.id = unobserved.id
            WHERE m.id < {_NEWEST_LIVE} AND m.id < ifnull((
                SELECT min(id) FROM messages WHERE conversation_id = :to AND archived = 0 AND id > (
                    SELECT min(id) FROM unobserved)), 1 << 62)
            ORDER BY m.id LIMIT {_BATCH_LIMIT}""",
        _only(conversation_id),
    )
    return [Message(*row) for row in rows]


def unobserved_at_end(db: Connection, conversation_id: int) -> list[int]:
    """Return the ids of the other unobserved imported messages, oldest first.

    Some may be unarchived already.
    """
    return column(
        db,
        f"""{_WAITING} SELECT id FROM stopped
            UNION SELECT id FROM unobserved WHERE id > {_NEWEST_LIVE} ORDER BY id""",
        _only(conversation_id),
    )


def first_messages(db: Connection, ids: Sequence[int]) -> list[Message]:
    """Return the first messages of a sorted list of ids, at most a batch."""
    source = f"messages WHERE id IN {ID_LIST} ORDER BY id"
    return select(db, Message, source, (json_ids(ids[:_BATCH_LIMIT]),))


def unarchive(db: Connection, ids: Sequence[int]) -> None:
    """Unarchive messages, so that they are observed like any others."""
    db.execute(f"UPDATE messages SET archived = 0 WHERE id IN {ID_LIST}", (json_ids(ids),))


def _only(conversation_id: int) -> dict[str, int]:
    return {"from": conversation_id, "to": conversation_id}

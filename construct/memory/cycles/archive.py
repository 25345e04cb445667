"""Imported talk that nobody has observed: how much there is, what observing it may cost, and letting it be observed.

What stands above its conversation's `observed` mark becomes part of the living talk, and is due. Where the talk has
gone on and been observed meanwhile, the mark has passed it: it stays archived, in no window, and is read by cycles that
move no mark. Such a cycle is told by having nothing but archived messages in its range.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil

from construct.llm.catalog import cost_usd
from construct.llm.types import Model
from construct.memory.learning.observer import batch_tokens
from construct.memory.shown.transcript import batches
from construct.store import talk
from construct.store.records import Message
from construct.store.sql import GIVEN, column, columns, given, scalar, select
from construct.tokens import Usage

# Around one call stand about as many tokens of prompt and schema; an observer writes a line of 80 for each 200 of talk,
# and a reflector reads what it wrote about once and writes half of it.
_PROMPT_TOKENS = 1_500
_WRITTEN, _READ_AGAIN, _CONDENSED = 0.4, 0.2, 0.2


_ENOUGH = 4_000
"""Messages: no batch of an observer has more."""
# What lies in no range first, then the messages there by their index: a talk of 30,000 has a hundred ranges.
_WAITING = """
WITH scope AS (
    SELECT id FROM conversations WHERE id BETWEEN :from AND :to
), passed AS MATERIALIZED (          -- read where it stands: ranges of nothing but archived messages
    SELECT c.conversation_id, first_message_id AS first, last_message_id AS last,
           ifnull(max(last_message_id) OVER (
               PARTITION BY c.conversation_id ORDER BY first_message_id, c.id
               ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS reached
    FROM scope JOIN cycles AS c ON c.conversation_id = scope.id
    WHERE kind = 'observer' AND status = 'succeeded' AND first_message_id <= last_message_id AND NOT EXISTS (
        SELECT 1 FROM messages AS live WHERE live.conversation_id = c.conversation_id
        AND live.archived = 0 AND live.id BETWEEN first_message_id AND last_message_id)
), gaps AS (
    SELECT conversation_id, reached + 1 AS first, first - 1 AS last FROM passed WHERE first > reached + 1
    UNION ALL
    SELECT id, ifnull((SELECT max(last) FROM passed WHERE conversation_id = scope.id), 0) + 1, 1 << 62 FROM scope
), unread AS (
    SELECT m.id, m.conversation_id, m.token_count, m.created_at FROM gaps CROSS JOIN messages AS m
    ON m.conversation_id = gaps.conversation_id AND m.id BETWEEN first AND last AND m.archived
), stopped AS (                      -- of a talk nobody has gone on with, and not undone: who observed it was stopped
    SELECT m.id, m.conversation_id, m.token_count, m.created_at
    FROM scope JOIN conversations AS t ON t.id = scope.id AND t.last_request_at IS NULL
    LEFT JOIN watermarks AS w ON w.conversation_id = t.id AND w.name = 'observed'
    JOIN messages AS m ON m.conversation_id = t.id AND m.archived = 0 AND m.id > coalesce(w.message_id, 0)
    WHERE NOT EXISTS (
        SELECT 1 FROM cycles WHERE conversation_id = t.id AND kind = 'observer' AND status = 'reverted'
        AND last_message_id >= m.id)
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


@dataclass(frozen=True, slots=True)
class Revived:
    """Messages that are archived no more."""

    messages: int
    until: int
    """Up to which message an observer may read now: behind it others are still archived."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What observing a backlog will take, roughly; `usd` is None where the model's prices are not known."""

    calls: int
    usd: float | None


def backlogs(db: sqlite3.Connection, since: str = "") -> list[Backlog]:
    """Return the conversations with messages to observe that went on after a stored time, the oldest talk first.

    Each is taken whole, from its beginning.
    """
    return [
        Backlog(*row)
        for row in db.execute(
            f"""{_WAITING} SELECT conversation_id, count(*), sum(token_count) FROM waiting
                GROUP BY 1 HAVING max(created_at) >= :since ORDER BY min(created_at), 1""",
            {"from": 0, "to": talk.LAST, "since": since},
        )
    ]


def estimate(waiting: Iterable[Backlog], model: Model | None) -> Estimate:
    """Return the observer calls that a backlog takes and the dollars it may cost, reflections included."""
    if model is None:
        return Estimate(0, 0.0)
    found = list(waiting)
    talked = sum(b.tokens for b in found)
    calls = sum(ceil(b.tokens / batch_tokens(model)) for b in found)
    one = Usage(
        input_tokens=_PROMPT_TOKENS + ceil(talked * (1 + _READ_AGAIN) / max(1, calls)),
        output_tokens=ceil(talked * (_WRITTEN + _CONDENSED) / max(1, calls)),
    )
    each = cost_usd(model.name, one)
    return Estimate(calls, None if each is None else each * calls)


def unread(db: sqlite3.Connection, conversation_id: int | None = None) -> int:
    """Return how many messages of a conversation's backlog there are, or of all backlogs."""
    scope = {"from": 0, "to": talk.LAST} if conversation_id is None else _only(conversation_id)
    return int(scalar(db, f"{_WAITING} SELECT count(*) FROM waiting", scope))


def passed(db: sqlite3.Connection, conversation_id: int) -> list[Message]:
    """Return the oldest messages of a backlog that the `observed` mark has passed, up to the next living one.

    Of very many, as many as a batch can have.
    """
    found = db.execute(
        f"""{_WAITING} SELECT {columns(Message, "m")} FROM unread JOIN messages AS m ON m.id = unread.id
            WHERE m.id <= :observed AND m.id < ifnull((
                SELECT min(id) FROM messages WHERE conversation_id = :to AND archived = 0 AND id > (
                    SELECT min(id) FROM unread)), 1 << 62)
            ORDER BY m.id LIMIT {_ENOUGH}""",
        {**_only(conversation_id), "observed": talk.watermarks(db, conversation_id).observed},
    )
    return [Message(*row) for row in found]


def revive(db: sqlite3.Connection, conversation_id: int, most: int) -> Revived | None:
    """Make the oldest messages of a backlog, about `most` tokens, part of the living talk: now they are due.

    Where the talk has gone on since, all at once: an observer's batch must not step over what is still archived.
    """
    waiting = column(
        db,
        f"{_WAITING} SELECT id FROM waiting WHERE id > :observed ORDER BY id",
        {**_only(conversation_id), "observed": talk.watermarks(db, conversation_id).observed},
    )
    if not waiting:
        return None
    (behind,) = db.execute(
        "SELECT count(*) FROM messages WHERE conversation_id = ? AND id >= ?", (conversation_id, waiting[0])
    ).fetchone()
    chosen = waiting if behind > len(waiting) else _batch(db, waiting, most)
    db.executemany("UPDATE messages SET archived = 0 WHERE id = ?", [(row_id,) for row_id in chosen])
    return Revived(len(chosen), talk.LAST if len(chosen) == len(waiting) else chosen[-1])


def _batch(db: sqlite3.Connection, ids: Sequence[int], most: int) -> list[int]:
    found = select(db, Message, f"messages WHERE id IN {GIVEN} ORDER BY id", (given(ids[:_ENOUGH]),))
    return [m.id for m in batches(found, most)[0]]


def _only(conversation_id: int) -> dict[str, int]:
    return {"from": conversation_id, "to": conversation_id}

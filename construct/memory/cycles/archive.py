"""Imported talk that nobody has observed: how much there is, what observing it may cost, and letting it be observed.

What stands above its conversation's `observed` mark becomes part of the living talk, and is due. Where the talk has
gone on and been observed meanwhile, the mark has passed it: it stays archived, in no window, and is read by cycles that
move no mark. Such a cycle is told by having nothing but archived messages in its range.
"""

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil

from construct.llm.catalog import cost_usd
from construct.llm.types import Model
from construct.memory.learning.observer import batch_tokens
from construct.memory.shown.transcript import batches
from construct.store import talk
from construct.store.records import Message, columns, read
from construct.tokens import Usage

# Around one call stand about as many tokens of prompt and schema; an observer writes a line of 80 for each 200 of talk,
# and a reflector reads what it wrote about once and writes half of it.
_PROMPT_TOKENS = 1_500
_WRITTEN, _READ_AGAIN, _CONDENSED = 0.4, 0.2, 0.2


_UNREAD = """m.archived AND NOT EXISTS (
    SELECT 1 FROM cycles AS c WHERE c.conversation_id = m.conversation_id
    AND c.kind = 'observer' AND c.status = 'succeeded' AND m.id BETWEEN c.first_message_id AND c.last_message_id
    AND NOT EXISTS (SELECT 1 FROM messages AS live WHERE live.conversation_id = c.conversation_id
                    AND live.archived = 0 AND live.id BETWEEN c.first_message_id AND c.last_message_id))"""
_STOPPED = """NOT m.archived AND m.id > coalesce(w.message_id, 0) AND t.last_request_at IS NULL AND NOT EXISTS (
    SELECT 1 FROM cycles WHERE conversation_id = m.conversation_id AND kind = 'observer' AND status = 'reverted'
    AND last_message_id >= m.id)"""
# Of a talk nobody has gone on with, and not undone: somebody was about to observe it and was stopped.
_WAITING = f"""messages AS m JOIN conversations AS t ON t.id = m.conversation_id
    LEFT JOIN watermarks AS w ON w.conversation_id = m.conversation_id AND w.name = 'observed'
    WHERE ({_UNREAD} OR ({_STOPPED}))"""


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
            f"""SELECT m.conversation_id, count(*), sum(m.token_count) FROM {_WAITING}
               GROUP BY 1 HAVING max(m.created_at) >= ? ORDER BY min(m.created_at), 1""",
            (since,),
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


def unread(db: sqlite3.Connection, conversation_id: int) -> int:
    """Return how many messages of a conversation's backlog there are."""
    (count,) = db.execute(f"SELECT count(*) FROM {_WAITING} AND m.conversation_id = ?", (conversation_id,)).fetchone()
    return int(count)


def passed(db: sqlite3.Connection, conversation_id: int) -> list[Message]:
    """Return the oldest messages of a backlog that the `observed` mark has passed, up to the next living one."""
    observed = talk.watermarks(db, conversation_id).observed
    found = db.execute(
        f"""SELECT {columns(Message, "m")} FROM messages AS m
            WHERE conversation_id = :conversation AND id <= :observed AND {_UNREAD}
            AND id < ifnull((
                SELECT min(id) FROM messages WHERE conversation_id = :conversation AND archived = 0 AND id > (
                    SELECT min(id) FROM messages AS m WHERE conversation_id = :conversation AND {_UNREAD})), 1 << 62)
            ORDER BY id""",
        {"conversation": conversation_id, "observed": observed},
    )
    return read(Message, found)


def revive(db: sqlite3.Connection, conversation_id: int, most: int) -> Revived | None:
    """Make the oldest messages of a backlog, about `most` tokens, part of the living talk: now they are due.

    Where the talk has gone on since, all at once: an observer's batch must not step over what is still archived.
    """
    found = db.execute(
        f"SELECT m.id FROM {_WAITING} AND m.id > coalesce(w.message_id, 0) AND m.conversation_id = ?",
        (conversation_id,),
    ).fetchall()
    if not found:
        return None
    messages, unread = talk.messages_of(db, conversation_id), {row[0] for row in found}
    waiting = [m for m in messages if m.id in unread]
    went_on = any(m.id > waiting[0].id for m in messages if m.id not in unread)
    chosen = waiting if went_on else batches(waiting, most)[0]
    db.executemany("UPDATE messages SET archived = 0 WHERE id = ?", [(m.id,) for m in chosen])
    return Revived(len(chosen), talk.LAST if len(chosen) == len(waiting) else chosen[-1].id)

"""Where else something forgotten may be held: replies, titles, notes, running cycles.

Plain queries; `memory/forgetting` decides which rows really hold the text.
"""

import json
import sqlite3
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from construct.store.messages import message_tokens
from construct.store.records import Message
from construct.store.sql import GIVEN, given, scalar, select

_MOST_MARKS = 60


class Thread(NamedTuple):
    """What is said about a conversation as a whole."""

    id: int
    title: str | None
    titled_by: str | None
    current_task: str | None
    suggested_response: str | None


class CycleNotes(NamedTuple):
    """What a cycle has noted, and the error it ended with."""

    id: int
    notes: tuple[str, ...]
    error: str | None


def replies(db: sqlite3.Connection, message_ids: Iterable[int]) -> list[Message]:
    """Return the replies to these messages: what follows them before the user's next.

    None of the messages themselves is among them.
    """
    ids = given(message_ids)
    source = f"""messages WHERE id IN (
        SELECT reply.id FROM json_each(?) AS one CROSS JOIN messages AS said ON said.id = one.value
        CROSS JOIN messages AS reply ON reply.conversation_id = said.conversation_id
            AND reply.id > said.id AND reply.id < ifnull((
                SELECT next.id FROM messages AS next
                WHERE next.conversation_id = said.conversation_id AND next.role = 'user'
                AND next.id > said.id ORDER BY next.id LIMIT 1), 1 << 62)
        WHERE reply.role = 'assistant' AND reply.id NOT IN {GIVEN}) ORDER BY id"""
    return select(db, Message, source, (ids, ids))


def count_messages(db: sqlite3.Connection, marks: Sequence[str], but: Iterable[int]) -> int:
    """Return how many other messages hold any of these words."""
    if not marks:
        return 0
    query = f"SELECT count(*) FROM messages_fts WHERE messages_fts MATCH ? AND rowid NOT IN {GIVEN}"
    return int(scalar(db, query, (_any_of(marks), given(but))))


def observations_with(db: sqlite3.Connection, marks: Sequence[str]) -> list[tuple[int, str]]:
    """Return (id, content) of the observations that hold any of these words."""
    if not marks:
        return []
    return db.execute(
        """SELECT o.id, o.content
           FROM observations_fts AS f JOIN observations AS o ON o.id = f.rowid
           WHERE observations_fts MATCH ?""",
        (_any_of(marks),),
    ).fetchall()


def _any_of(marks: Sequence[str]) -> str:
    return " OR ".join('"' + mark.replace('"', '""') + '"' for mark in marks[:_MOST_MARKS])


def threads(db: sqlite3.Connection) -> list[Thread]:
    """Return the conversations that have a title, current task or suggested response."""
    source = """conversations
        WHERE title IS NOT NULL OR current_task IS NOT NULL OR suggested_response IS NOT NULL
        ORDER BY id"""
    return select(db, Thread, source)


def store_threads(db: sqlite3.Connection, changed: Iterable[Thread]) -> None:
    """Store what is said about conversations as a whole."""
    db.executemany(
        """UPDATE conversations SET title = ?, titled_by = ?, current_task = ?,
           suggested_response = ? WHERE id = ?""",
        [(*thread[1:], thread.id) for thread in changed],
    )


def cycle_notes(db: sqlite3.Connection) -> list[CycleNotes]:
    """Return what cycles have noted and the errors they ended with."""
    found = db.execute(
        """SELECT id, notes, error FROM cycles
           WHERE notes IS NOT NULL OR error IS NOT NULL ORDER BY id"""
    )
    return [CycleNotes(i, tuple(json.loads(notes or "[]")), error) for i, notes, error in found]


def store_notes(db: sqlite3.Connection, cycles: Iterable[CycleNotes]) -> None:
    """Store what cycles have noted and the errors they ended with."""
    db.executemany(
        "UPDATE cycles SET notes = ?, error = ? WHERE id = ?",
        [(json.dumps(c.notes) if c.notes else None, c.error, c.id) for c in cycles],
    )


def tool_rounds(db: sqlite3.Connection, but: Iterable[int]) -> list[tuple[int, str]]:
    """Return (message id, blocks) of the other replies that used tools."""
    return db.execute(
        f"""SELECT id, blocks FROM messages
            WHERE blocks LIKE '[%' AND id NOT IN {GIVEN} ORDER BY id""",
        (given(but),),
    ).fetchall()


def drop_tool_rounds(db: sqlite3.Connection, message_ids: Iterable[int]) -> None:
    """Let replies stand without the tool rounds that led to them."""
    found = db.execute(
        f"SELECT id, content FROM messages WHERE id IN {GIVEN}", (given(message_ids),)
    ).fetchall()
    db.executemany(
        "UPDATE messages SET blocks = NULL, token_count = ? WHERE id = ?",
        [(message_tokens(content), i) for i, content in found],
    )


def abandon_readers(db: sqlite3.Connection, now: str) -> None:
    """Abandon all running cycles, since any may have read what is forgotten now.

    Observer cycles count whatever they read: each was shown notes of all conversations.
    """
    db.execute(
        """UPDATE cycles SET status = 'abandoned', finished_at = ?, owner = NULL,
           heartbeat = NULL, phase = NULL, error = 'what it had read was forgotten'
           WHERE status = 'running'""",
        (now,),
    )

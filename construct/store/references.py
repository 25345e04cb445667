"""Queries for rows that may repeat forgotten text: replies, titles, notes of cycles.

`memory/forgetting` decides which of them really contain it.
"""

import json
import sqlite3
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from construct.store.messages import message_tokens
from construct.store.records import LEFT_OUT_SQL, Message
from construct.store.sql import ID_LIST, column, json_ids, select


class ConversationNotes(NamedTuple):
    """The title, current task and suggested response of a conversation."""

    id: int
    title: str | None
    titled_by: str | None
    current_task: str | None
    suggested_response: str | None


class CycleNotes(NamedTuple):
    """The notes of a cycle, and the error it ended with."""

    id: int
    notes: tuple[str, ...]
    error: str | None


def _is_left_out(table: str) -> str:
    """Return the SQL for whether a message is left out of requests."""
    return LEFT_OUT_SQL.replace("stop_reason", f"{table}.stop_reason")


def replies_to(db: sqlite3.Connection, message_ids: Iterable[int]) -> list[Message]:
    """Return the replies to these messages: those before the user's next message.

    A message that got no reply was sent again with the next one, so the reply to that one
    counts, except for an imported message that was never observed and one said since. A
    next message that is left out of requests does not count, since `/retry` may have asked
    for another reply to the one before it. The messages themselves are never included.
    """
    ids = json_ids(message_ids)
    # CROSS JOIN makes SQLite begin with these few messages.
    source = f"""messages WHERE id IN (
        WITH questions AS MATERIALIZED (
            SELECT m.id, m.conversation_id, m.archived, {_is_left_out("m")} AS left_out, ifnull((
                SELECT first.id FROM messages AS first
                WHERE first.conversation_id = m.conversation_id AND first.role = 'assistant'
                AND first.id > m.id AND NOT {_is_left_out("first")}
                ORDER BY first.id LIMIT 1), 1 << 62) AS first_reply
            FROM json_each(?) AS ids CROSS JOIN messages AS m ON m.id = ids.value)
        SELECT reply.id FROM questions AS question
        CROSS JOIN messages AS reply ON reply.conversation_id = question.conversation_id
            AND reply.id > question.id AND reply.id < ifnull((
                SELECT next.id FROM messages AS next
                WHERE next.conversation_id = question.conversation_id AND next.role = 'user'
                AND next.id > question.id AND NOT {_is_left_out("next")}
                AND (question.left_out OR question.archived > next.archived
                     OR next.id > question.first_reply)
                ORDER BY next.id LIMIT 1), 1 << 62)
        WHERE reply.role = 'assistant' AND reply.id NOT IN {ID_LIST}
        AND NOT (  -- the partial reply to a next message that is left out
            {_is_left_out("reply")} AND NOT reply.retried AND NOT question.left_out
            AND EXISTS (
                SELECT 1 FROM messages AS next WHERE next.role = 'user'
                AND next.conversation_id = question.conversation_id
                AND next.id > question.id AND next.id < reply.id))) ORDER BY id"""
    return select(db, Message, source, (ids, ids))


def count_messages_with(
    db: sqlite3.Connection, phrases: Sequence[str], exclude: Iterable[int]
) -> int:
    """Return how many messages contain any of these phrases, without those in `exclude`."""
    return len(_ids_with(db, "messages_fts", phrases).difference(exclude))


def observations_with(db: sqlite3.Connection, phrases: Sequence[str]) -> list[tuple[int, str]]:
    """Return (id, content) of the observations that contain any of these phrases."""
    ids = _ids_with(db, "observations_fts", phrases)
    query = f"SELECT id, content FROM observations WHERE id IN {ID_LIST}"
    return db.execute(query, (json_ids(ids),)).fetchall()


def _ids_with(db: sqlite3.Connection, index: str, phrases: Sequence[str]) -> set[int]:
    """Return the ids of the rows of a search index that contain any of the phrases."""
    if not phrases:
        return set()
    any_of = " OR ".join('"' + phrase.replace('"', '""') + '"' for phrase in phrases)
    return set(column(db, f"SELECT rowid FROM {index} WHERE {index} MATCH ?", (any_of,)))


def conversation_notes(db: sqlite3.Connection) -> list[ConversationNotes]:
    """Return the notes of all conversations that have any."""
    source = """conversations
        WHERE title IS NOT NULL OR current_task IS NOT NULL OR suggested_response IS NOT NULL
        ORDER BY id"""
    return select(db, ConversationNotes, source)


def store_conversation_notes(db: sqlite3.Connection, changed: Iterable[ConversationNotes]) -> None:
    """Store changed notes of conversations."""
    db.executemany(
        """UPDATE conversations SET title = ?, titled_by = ?, current_task = ?,
           suggested_response = ? WHERE id = ?""",
        [(*notes[1:], notes.id) for notes in changed],
    )


def cycle_notes(db: sqlite3.Connection) -> list[CycleNotes]:
    """Return the notes and errors of all cycles that have any."""
    rows = db.execute(
        """SELECT id, notes, error FROM cycles
           WHERE notes IS NOT NULL OR error IS NOT NULL ORDER BY id"""
    )
    return [CycleNotes(i, tuple(json.loads(notes or "[]")), error) for i, notes, error in rows]


def store_cycle_notes(db: sqlite3.Connection, cycles: Iterable[CycleNotes]) -> None:
    """Store changed notes and errors of cycles."""
    db.executemany(
        "UPDATE cycles SET notes = ?, error = ? WHERE id = ?",
        [(json.dumps(c.notes) if c.notes else None, c.error, c.id) for c in cycles],
    )


def tool_rounds(db: sqlite3.Connection, exclude: Iterable[int]) -> list[tuple[int, str]]:
    """Return (message id, blocks) of the replies that used tools, without those in `exclude`.

    Tool rounds are a JSON list. A notebook's reply has a JSON object instead.
    """
    return db.execute(
        f"""SELECT id, blocks FROM messages
            WHERE blocks LIKE '[%' AND id NOT IN {ID_LIST} ORDER BY id""",
        (json_ids(exclude),),
    ).fetchall()


def drop_tool_rounds(db: sqlite3.Connection, message_ids: Iterable[int]) -> None:
    """Remove the tool rounds of replies, and keep their text."""
    rows = db.execute(
        f"SELECT id, content FROM messages WHERE id IN {ID_LIST}", (json_ids(message_ids),)
    ).fetchall()
    db.executemany(
        "UPDATE messages SET blocks = NULL, token_count = ? WHERE id = ?",
        [(message_tokens(content), i) for i, content in rows],
    )


def abandon_readers(db: sqlite3.Connection, now: str) -> None:
    """Abandon all running cycles, since each may have read what is now forgotten.

    This includes every observer, as observers may be given observations of all conversations.
    """
    db.execute(
        """UPDATE cycles SET status = 'abandoned', finished_at = ?, owner = NULL,
           heartbeat = NULL, phase = NULL, error = 'what it had read was forgotten'
           WHERE status = 'running'""",
        (now,),
    )

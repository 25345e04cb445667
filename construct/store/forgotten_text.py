"""Queries for rows that may repeat forgotten text: tool rounds, titles, notes of cycles.

`memory/forgetting` decides which of them really contain it.
"""

import json
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from construct.store.driver import Connection
from construct.store.messages import message_tokens
from construct.store.passages import message_of
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


def count_messages_with(db: Connection, phrases: Sequence[str], exclude: Iterable[int]) -> int:
    """Return how many messages contain any of these phrases, without those in `exclude`."""
    ids = {message_of(row) for row in _rows_with(db, "messages_fts", phrases)}
    return len(ids.difference(exclude))


def observations_with(db: Connection, phrases: Sequence[str]) -> list[tuple[int, str]]:
    """Return (id, content) of the observations that contain any of these phrases."""
    ids = _rows_with(db, "observations_fts", phrases)
    query = f"SELECT id, content FROM observations WHERE id IN {ID_LIST}"
    return db.execute(query, (json_ids(ids),)).fetchall()


def _rows_with(db: Connection, index: str, phrases: Sequence[str]) -> set[int]:
    """Return the ids of the rows of a search index that contain any of the phrases."""
    if not phrases:
        return set()
    any_of = " OR ".join('"' + phrase.replace('"', '""') + '"' for phrase in phrases)
    return set(column(db, f"SELECT rowid FROM {index} WHERE {index} MATCH ?", (any_of,)))


def conversation_notes(db: Connection) -> list[ConversationNotes]:
    """Return the notes of all conversations that have any."""
    source = """conversations
        WHERE title IS NOT NULL OR current_task IS NOT NULL OR suggested_response IS NOT NULL
        ORDER BY id"""
    return select(db, ConversationNotes, source)


def store_conversation_notes(db: Connection, changed: Iterable[ConversationNotes]) -> None:
    """Store changed notes of conversations."""
    db.executemany(
        """UPDATE conversations SET title = ?, titled_by = ?, current_task = ?,
           suggested_response = ? WHERE id = ?""",
        [(*notes[1:], notes.id) for notes in changed],
    )


def cycle_notes(db: Connection) -> list[CycleNotes]:
    """Return the notes and errors of all cycles that have any."""
    rows = db.execute(
        """SELECT id, notes, error FROM cycles
           WHERE notes IS NOT NULL OR error IS NOT NULL ORDER BY id"""
    )
    return [CycleNotes(i, tuple(json.loads(notes or "[]")), error) for i, notes, error in rows]


def store_cycle_notes(db: Connection, cycles: Iterable[CycleNotes]) -> None:
    """Store changed notes and errors of cycles."""
    db.executemany(
        "UPDATE cycles SET notes = ?, error = ? WHERE id = ?",
        [(json.dumps(c.notes) if c.notes else None, c.error, c.id) for c in cycles],
    )


def tool_rounds(db: Connection, exclude: Iterable[int]) -> list[tuple[int, str]]:
    """Return (message id, blocks) of the replies that used tools, without those in `exclude`.

    Tool rounds are a JSON list. A notebook's reply has a JSON object instead.
    """
    return db.execute(
        f"""SELECT id, blocks FROM messages
            WHERE blocks LIKE '[%' AND id NOT IN {ID_LIST} ORDER BY id""",
        (json_ids(exclude),),
    ).fetchall()


def drop_tool_rounds(db: Connection, message_ids: Iterable[int]) -> None:
    """Remove the tool rounds of replies, and keep their text."""
    rows = db.execute(
        f"SELECT id, content FROM messages WHERE id IN {ID_LIST}", (json_ids(message_ids),)
    ).fetchall()
    db.executemany(
        "UPDATE messages SET blocks = NULL, token_count = ? WHERE id = ?",
        [(message_tokens(content), i) for i, content in rows],
    )


def abandon_readers(db: Connection, now: str) -> None:
    """Abandon all running cycles, since each may have read what is now forgotten.

    This includes every observer, as observers may be given observations of all conversations.
    """
    db.execute(
        """UPDATE cycles SET status = 'abandoned', finished_at = ?, owner = NULL,
           heartbeat = NULL, phase = NULL, error = 'what it had read was forgotten'
           WHERE status = 'running'""",
        (now,),
    )

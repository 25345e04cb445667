"""Where else something forgotten may be held: replies, titles, notes, running cycles. Plain queries."""

import json
import sqlite3
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from construct.store.records import REMOVED, Message
from construct.store.sql import GIVEN, given, scalar, select
from construct.store.talk import message_tokens

_MOST_MARKS = 60


class Thread(NamedTuple):
    """What is said about a conversation as a whole."""

    id: int
    title: str | None
    titled_by: str | None
    current_task: str | None
    suggested_response: str | None


def replies(db: sqlite3.Connection, message_ids: Iterable[int]) -> list[Message]:
    """Return the assistant's messages that follow these before the user's next, those themselves apart."""
    ids = given(message_ids)
    source = f"""messages WHERE id IN (
        SELECT r.id FROM json_each(?) AS g CROSS JOIN messages AS m ON m.id = g.value
        CROSS JOIN messages AS r ON r.conversation_id = m.conversation_id AND r.id > m.id AND r.id < ifnull((
            SELECT u.id FROM messages AS u
            WHERE u.conversation_id = m.conversation_id AND u.role = 'user' AND u.id > m.id
            ORDER BY u.id LIMIT 1), 1 << 62)
        WHERE r.role = 'assistant' AND r.id NOT IN {GIVEN}) ORDER BY id"""
    return select(db, Message, source, (ids, ids))


def count_messages(db: sqlite3.Connection, marks: Sequence[str], but: Iterable[int]) -> int:
    """Return how many other messages hold any of these words."""
    if not marks:
        return 0
    query = f"SELECT count(*) FROM messages_fts WHERE messages_fts MATCH ? AND rowid NOT IN {GIVEN}"
    return int(scalar(db, query, (_any(marks), given(but))))


def observations_with(db: sqlite3.Connection, marks: Sequence[str]) -> list[tuple[int, str]]:
    """Return (id, content) of the observations that hold any of these words."""
    if not marks:
        return []
    return db.execute(
        """SELECT o.id, o.content FROM observations_fts AS f JOIN observations AS o ON o.id = f.rowid
           WHERE observations_fts MATCH ?""",
        (_any(marks),),
    ).fetchall()


def _any(marks: Sequence[str]) -> str:
    return " OR ".join('"' + mark.replace('"', '""') + '"' for mark in marks[:_MOST_MARKS])


def threads(db: sqlite3.Connection) -> list[Thread]:
    """Return the conversations of which something is said as a whole."""
    source = """conversations
        WHERE title IS NOT NULL OR current_task IS NOT NULL OR suggested_response IS NOT NULL ORDER BY id"""
    return select(db, Thread, source)


def store_thread(db: sqlite3.Connection, thread: Thread) -> None:
    """Store what is said about a conversation as a whole."""
    db.execute(
        "UPDATE conversations SET title = ?, titled_by = ?, current_task = ?, suggested_response = ? WHERE id = ?",
        (thread.title, thread.titled_by, thread.current_task, thread.suggested_response, thread.id),
    )


def notes(db: sqlite3.Connection) -> list[tuple[int, list[str]]]:
    """Return what cycles have noted, their errors among it."""
    found = db.execute("SELECT id, notes, error FROM cycles WHERE notes IS NOT NULL OR error IS NOT NULL ORDER BY id")
    return [(i, [*json.loads(noted or "[]"), *([error] if error else [])]) for i, noted, error in found]


def clear_notes(db: sqlite3.Connection, cycle_ids: Iterable[int], holds: Callable[[str], bool]) -> None:
    """Take out of cycles' notes and errors what holds it."""
    found = db.execute(f"SELECT id, notes, error FROM cycles WHERE id IN {GIVEN}", (given(cycle_ids),)).fetchall()
    for i, noted, error in found:
        kept = [REMOVED if holds(note) else note for note in json.loads(noted or "[]")]
        db.execute(
            "UPDATE cycles SET notes = ?, error = ? WHERE id = ?",
            (json.dumps(kept) if kept else None, REMOVED if error and holds(error) else error, i),
        )


def tool_rounds(db: sqlite3.Connection, but: Iterable[int]) -> list[tuple[int, str]]:
    """Return (message id, blocks) of the other replies that used tools."""
    return db.execute(
        f"SELECT id, blocks FROM messages WHERE blocks IS NOT NULL AND id NOT IN {GIVEN} ORDER BY id", (given(but),)
    ).fetchall()


def drop_tool_rounds(db: sqlite3.Connection, message_ids: Iterable[int]) -> None:
    """Let replies stand without the tool rounds that led to them."""
    found = db.execute(f"SELECT id, content FROM messages WHERE id IN {GIVEN}", (given(message_ids),)).fetchall()
    db.executemany(
        "UPDATE messages SET blocks = NULL, token_count = ? WHERE id = ?",
        [(message_tokens(content), i) for i, content in found],
    )


def abandon_readers(db: sqlite3.Connection, now: str) -> int:
    """Abandon all running cycles, since any may have read what is forgotten now; return how many.

    An observer too, of whatever messages: it was told of notes of every conversation.
    """
    return db.execute(
        """UPDATE cycles SET status = 'abandoned', finished_at = ?, owner = NULL, heartbeat = NULL, phase = NULL,
           error = 'what it had read was forgotten' WHERE status = 'running'""",
        (now,),
    ).rowcount


def show_instead(db: sqlite3.Connection, instead: Mapping[int, Collection[int]]) -> None:
    """Show each of these observations wherever one of those is shown whose place it takes, in the same block."""
    for new, old in instead.items():
        db.execute(
            f"""INSERT OR IGNORE INTO shown (conversation_id, observation_id, block)
                SELECT conversation_id, ?, max(block) FROM shown WHERE observation_id IN {GIVEN}
                GROUP BY conversation_id""",
            (new, given(old)),
        )

"""Conversations, messages and watermarks: plain queries."""

import base64
import os
import sqlite3
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from construct import tokens
from construct.errors import NotFoundError
from construct.store.records import LEFT_OUT_SQL, REFUSED, REMOVED, Conversation, Message, Watermarks
from construct.store.sql import column, columns, exists, first, insert, scalar, select
from construct.text import storable

_MESSAGE_OVERHEAD = 4
"""Tokens a message costs beside its words: role and separators."""


def message_tokens(content: str, blocks: str | None = None) -> int:
    """Return the estimated tokens of a message with these words and blocks."""
    return tokens.count(content) + tokens.count(blocks or "") + _MESSAGE_OVERHEAD


LAST = 1 << 62
"""Stands behind every message."""


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A message about to be stored."""

    role: str
    content: str
    blocks: str | None = None
    status: str = "complete"
    stop_reason: str | None = None
    model: str | None = None


def new_uid() -> str:
    """Return an id that is unique across machines: 96 random bits in 16 characters, since each is stored twice."""
    return base64.urlsafe_b64encode(os.urandom(12)).decode()


def create_conversation(db: sqlite3.Connection, now: str, title: str | None = None) -> int:
    """Store an empty conversation and return its id."""
    titled_by = "user" if title else None
    return insert(db, "conversations", {"uid": new_uid(), "title": title, "titled_by": titled_by, "created_at": now})


def conversation(db: sqlite3.Connection, conversation_id: int) -> Conversation:
    """Return a conversation; raises NotFoundError."""
    found = first(db, Conversation, "conversations WHERE id = ?", (conversation_id,))
    if found is None:
        raise NotFoundError(f"There is no conversation {conversation_id}.\n`construct conversations list` shows them.")
    return found


def is_there(db: sqlite3.Connection, conversation_id: int) -> bool:
    """Tell whether a conversation exists."""
    return exists(db, "conversations WHERE id = ?", (conversation_id,))


def is_empty(db: sqlite3.Connection) -> bool:
    """Tell whether nothing was ever said or kept here."""
    return not (exists(db, "conversations") or exists(db, "memories"))


def latest_conversation(db: sqlite3.Connection) -> int | None:
    """Return the conversation last talked in; one that was only imported, observed or not, is nobody's present talk."""
    found: int | None = scalar(
        db,
        """SELECT c.id, coalesce(
               (SELECT created_at FROM messages WHERE conversation_id = c.id AND archived = 0
                AND c.last_request_at IS NOT NULL ORDER BY id DESC LIMIT 1),
               CASE WHEN NOT EXISTS (SELECT 1 FROM messages WHERE conversation_id = c.id) THEN c.created_at END
           ) AS last_at,
           (SELECT max(id) FROM messages WHERE conversation_id = c.id AND archived = 0) AS last_id
           FROM conversations AS c WHERE last_at IS NOT NULL
           ORDER BY last_at DESC, last_id DESC NULLS FIRST, c.id DESC LIMIT 1""",
    )
    return found


@dataclass(frozen=True, slots=True)
class ConversationSummary:
    """A line of the list of conversations."""

    conversation: Conversation
    messages: int
    last_at: str
    first_words: str | None
    """Of the user, that were not forgotten; of a fork in which none are said yet, what it goes on from is called."""


def conversations(db: sqlite3.Connection, limit: int | None = None) -> list[ConversationSummary]:
    """Return conversations, the one last talked in first."""
    order = "last_at DESC, (SELECT max(id) FROM messages WHERE conversation_id = c.id) DESC NULLS FIRST, c.id DESC"
    rows = db.execute(f"{_SUMMARIES} ORDER BY {order} LIMIT ?", (-1 if limit is None else limit,))
    return [_summary(row) for row in rows.fetchall()]


def summary(db: sqlite3.Connection, conversation_id: int) -> ConversationSummary:
    """Return the line of one conversation; raises NotFoundError."""
    conversation(db, conversation_id)
    return _summary(db.execute(f"{_SUMMARIES} WHERE c.id = ?", (conversation_id,)).fetchone())


_FIRST_WORDS = """(
    SELECT substr(content, 1, 200) FROM messages
    WHERE conversation_id = {id} AND role = 'user' AND withheld = 0 ORDER BY id LIMIT 1)"""
_SUMMARIES = f"""SELECT {columns(Conversation, "c")},
    (SELECT count(*) FROM messages WHERE conversation_id = c.id),
    coalesce((SELECT created_at FROM messages WHERE conversation_id = c.id ORDER BY id DESC LIMIT 1),
             c.created_at) AS last_at,
    coalesce({_FIRST_WORDS.format(id="c.id")}, (
        WITH RECURSIVE before(id, title, parent_id) AS (
            SELECT id, title, parent_id FROM conversations WHERE id = c.parent_id UNION
            SELECT p.id, p.title, p.parent_id FROM conversations AS p JOIN before ON p.id = before.parent_id)
        SELECT coalesce(title, {_FIRST_WORDS.format(id="before.id")}) AS name FROM before
        WHERE name IS NOT NULL LIMIT 1))
    FROM conversations AS c"""


def _summary(row: Sequence[Any]) -> ConversationSummary:
    return ConversationSummary(Conversation(*row[:-3]), *row[-3:])


def rename_conversation(db: sqlite3.Connection, conversation_id: int, title: str, by: str = "user") -> None:
    """Give a conversation a title; the observer's never replaces the user's."""
    db.execute(
        "UPDATE conversations SET title = ?, titled_by = ? WHERE id = ? AND (? = 'user' OR titled_by IS NOT 'user')",
        (title, by, conversation_id, by),
    )


def note_request(db: sqlite3.Connection, conversation_id: int, now: str, cache_life: str) -> None:
    """Remember when a request was sent and what life its cache was asked for: cold follows from it."""
    db.execute(
        "UPDATE conversations SET last_request_at = ?, cache_life = ? WHERE id = ?", (now, cache_life, conversation_id)
    )


def set_thread(db: sqlite3.Connection, conversation_id: int, task: str | None, response: str | None) -> None:
    """Store what the observer says the talk is at."""
    db.execute(
        "UPDATE conversations SET current_task = ?, suggested_response = ? WHERE id = ?",
        (task, response, conversation_id),
    )


def add_message(db: sqlite3.Connection, conversation_id: int, message: NewMessage, now: str) -> Message:
    """Store a message; its time is never before the conversation's last one. Raises NotFoundError."""
    conversation(db, conversation_id)
    content = storable(message.content)
    row = asdict(message) | {
        "uid": new_uid(), "conversation_id": conversation_id, "content": content,
        "token_count": message_tokens(content, message.blocks),
        "created_at": max(now, last_time(db, conversation_id) or now),
    }  # fmt: skip
    return select(db, Message, "messages WHERE id = ?", (insert(db, "messages", row),))[0]


def last_time(db: sqlite3.Connection, conversation_id: int) -> str | None:
    """Return when the newest message of a conversation was said."""
    found: str | None = scalar(
        db, "SELECT created_at FROM messages WHERE conversation_id = ? ORDER BY id DESC LIMIT 1", (conversation_id,)
    )
    return found


def messages_of(db: sqlite3.Connection, conversation_id: int) -> list[Message]:
    """Return all messages of a conversation, oldest first, archived ones too."""
    return select(db, Message, "messages WHERE conversation_id = ? ORDER BY id", (conversation_id,))


def live_messages(db: sqlite3.Connection, conversation_id: int, after: int, until: int = LAST) -> list[Message]:
    """Return a conversation's messages with after < id <= until that are not archived, oldest first."""
    source = "messages WHERE conversation_id = ? AND archived = 0 AND id > ? AND id <= ? ORDER BY id"
    return select(db, Message, source, (conversation_id, after, until))


def tokens_above(db: sqlite3.Connection, conversation_id: int, marks: Watermarks) -> tuple[int, int]:
    """Return the tokens of a conversation's messages above two watermarks: what is unobserved, and what is shown raw.

    `window` ≤ `observed`. The messages are summed up where they lie, and not read.
    """
    unobserved, shown = db.execute(
        f"""SELECT total(token_count) FILTER (WHERE id > ?),
                  total(token_count) FILTER (WHERE NOT (withheld OR retried OR {LEFT_OUT_SQL}))
           FROM messages WHERE conversation_id = ? AND archived = 0 AND id > ?""",
        (marks.observed, conversation_id, marks.window),
    ).fetchone()
    return int(unobserved), int(shown)


def live_ids(db: sqlite3.Connection, conversation_id: int, after: int) -> list[int]:
    """Return the ids of a conversation's messages above one that are not archived."""
    query = "SELECT id FROM messages WHERE conversation_id = ? AND archived = 0 AND id > ?"
    return column(db, query, (conversation_id, after))


def last_messages(
    db: sqlite3.Connection, conversation_id: int, limit: int, until: int = LAST, *, with_refused: bool = False
) -> list[Message]:
    """Return the newest `limit` messages with id <= until that may be shown, oldest first.

    `with_refused` adds those that the model declined to answer: they can be asked again.
    """
    left_out = f"{LEFT_OUT_SQL} AND stop_reason <> '{REFUSED}'" if with_refused else LEFT_OUT_SQL
    source = f"""messages WHERE conversation_id = ? AND id <= ? AND NOT archived AND NOT withheld AND NOT retried
                AND NOT ({left_out}) ORDER BY id DESC LIMIT ?"""
    return select(db, Message, source, (conversation_id, until, limit))[::-1]


def is_shown(message: Message) -> bool:
    """Tell whether a message may stand in a window."""
    return is_readable(message) and not message.archived


def is_readable(message: Message) -> bool:
    """Tell whether an observer may read a message."""
    return not (message.withheld or message.retried or message.left_out)


def message(db: sqlite3.Connection, message_id: int) -> Message:
    """Return a message; raises NotFoundError."""
    found = first(db, Message, "messages WHERE id = ?", (message_id,))
    if found is None:
        raise NotFoundError(f"There is no message {message_id}.")
    return found


def stands(db: sqlite3.Connection, message_id: int) -> bool:
    """Tell whether a message is there, and neither forgotten nor withheld."""
    return exists(db, "messages WHERE id = ? AND withheld = 0", (message_id,))


def recent_times(db: sqlite3.Connection, conversation_id: int) -> list[str]:
    """Return the times of the dozen newest user messages, newest first."""
    query = "SELECT created_at FROM messages WHERE conversation_id = ? AND role = 'user' ORDER BY id DESC LIMIT 12"
    return column(db, query, (conversation_id,))


def last_message_id(db: sqlite3.Connection, conversation_id: int, until: int = LAST) -> int:
    """Return the id of the newest message with id <= until, 0 when there is none."""
    query = "SELECT id FROM messages WHERE conversation_id = ? AND id <= ? ORDER BY id DESC LIMIT 1"
    return int(scalar(db, query, (conversation_id, until)) or 0)


def mark_retried(db: sqlite3.Connection, replies: Sequence[int]) -> None:
    """Take replies out of sight: another one to the same words stands in their place."""
    db.executemany("UPDATE messages SET retried = 1 WHERE id = ?", [(reply,) for reply in replies])


def leave_out(db: sqlite3.Connection, messages: Sequence[int], reason: str) -> None:
    """Leave messages out of requests from now on; they stay stored and searchable."""
    db.executemany("UPDATE messages SET stop_reason = ? WHERE id = ?", [(reason, message) for message in messages])


def take_back_in(db: sqlite3.Connection, message_id: int) -> None:
    """Let a message of the user's go along in requests again: it has been answered."""
    db.execute(f"UPDATE messages SET stop_reason = NULL WHERE id = ? AND {LEFT_OUT_SQL}", (message_id,))


def prompt_history(db: sqlite3.Connection) -> list[str]:
    """Return what the user typed, the newest 2,000, over all conversations but those that were only imported."""
    return column(
        db,
        f"""SELECT content FROM messages WHERE role = 'user' AND NOT archived AND NOT withheld
           AND content <> '{REMOVED}'
           AND conversation_id IN (SELECT id FROM conversations WHERE last_request_at IS NOT NULL)
           ORDER BY id DESC LIMIT 2000""",
    )


def watermarks(db: sqlite3.Connection, conversation_id: int) -> Watermarks:
    """Return a conversation's watermarks."""
    rows = db.execute("SELECT name, message_id FROM watermarks WHERE conversation_id = ?", (conversation_id,))
    return Watermarks(**dict(rows.fetchall()))


def set_watermark(db: sqlite3.Connection, conversation_id: int, name: str, message_id: int, now: str) -> None:
    """Move a watermark; 0 takes it away."""
    if message_id == 0:
        db.execute("DELETE FROM watermarks WHERE conversation_id = ? AND name = ?", (conversation_id, name))
        return
    db.execute(
        """INSERT INTO watermarks (conversation_id, name, message_id, updated_at) VALUES (?, ?, ?, ?)
           ON CONFLICT (conversation_id, name) DO UPDATE
           SET message_id = excluded.message_id, updated_at = excluded.updated_at
           WHERE message_id <> excluded.message_id""",
        (conversation_id, name, message_id, now),
    )

"""Queries for conversations and their watermarks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from construct.errors import NotFoundError
from construct.program import as_typed
from construct.store.driver import Connection
from construct.store.records import Conversation, Watermarks
from construct.store.sql import column, columns, exists, first, insert, new_uid, scalar, select
from construct.store.sync.machines import OWNED_ELSEWHERE_SQL
from construct.text import shorten

_MAX_NAME_LENGTH = 60
_CURRENT = "here"
"""The row of `meta` with the id of the conversation the user is in."""


def create_conversation(db: Connection, now: str, title: str | None = None) -> int:
    """Store an empty conversation and return its id."""
    titled_by = "user" if title else None
    return insert(
        db,
        "conversations",
        {"uid": new_uid(), "title": title, "titled_by": titled_by, "created_at": now},
    )


def get_conversation(db: Connection, conversation_id: int) -> Conversation:
    """Return a conversation; raises NotFoundError."""
    conversation = first(db, Conversation, "conversations WHERE id = ?", (conversation_id,))
    if conversation is None:
        raise NotFoundError(
            f"There is no conversation {conversation_id}.\n"
            f"{as_typed('conversations list')} shows them."
        )
    return conversation


def conversation_exists(db: Connection, conversation_id: int) -> bool:
    """Return whether a conversation exists."""
    return exists(db, "conversations WHERE id = ?", (conversation_id,))


def forks_of(db: Connection, conversation_id: int) -> list[Conversation]:
    """Return the conversations that were forked from one, oldest first."""
    return select(
        db, Conversation, "conversations WHERE parent_id = ? ORDER BY id", (conversation_id,)
    )


def is_empty(db: Connection) -> bool:
    """Return whether the database has neither conversations nor notes."""
    return not (exists(db, "conversations") or exists(db, "observations"))


def enter_conversation(db: Connection, conversation_id: int) -> None:
    """Record that the user spoke in, switched to or forked into a conversation.

    Message times do not show this reliably, since the clock may have been wrong.
    """
    db.execute(
        """INSERT INTO meta (name, value) VALUES (?, ?)
           ON CONFLICT (name) DO UPDATE SET value = excluded.value
           WHERE value IS NOT excluded.value""",
        (_CURRENT, str(conversation_id)),
    )


def current_conversation(db: Connection) -> int | None:
    """Return the id of the conversation the user was last in, or None.

    If none is recorded, or it was deleted, this is the one with the newest message; an
    empty conversation counts by when it was created. Conversations with messages but no
    request, such as one from another program that was never continued, do not count.
    """
    recorded = """SELECT id FROM conversations
              WHERE id = (SELECT value FROM meta WHERE name = ?)"""
    return scalar(db, recorded, (_CURRENT,)) or scalar(
        db,
        """SELECT c.id, coalesce(
               (SELECT created_at FROM messages WHERE conversation_id = c.id AND archived = 0
                AND c.last_request_at IS NOT NULL ORDER BY id DESC LIMIT 1),
               CASE WHEN NOT EXISTS (SELECT 1 FROM messages WHERE conversation_id = c.id)
                    THEN c.created_at END
           ) AS last_at,
           (SELECT max(id) FROM messages WHERE conversation_id = c.id AND archived = 0) AS last_id
           FROM conversations AS c WHERE last_at IS NOT NULL
           ORDER BY last_at DESC, last_id DESC NULLS FIRST, c.id DESC LIMIT 1""",
    )


@dataclass(frozen=True, slots=True)
class ConversationSummary:
    """A conversation as the list of conversations shows it."""

    conversation: Conversation
    messages: int
    last_at: str
    first_words: str | None
    """The beginning of the user's first message.

    For a fork without one, the name of the conversation it was forked from.
    """

    @property
    def name(self) -> str:
        """The conversation's display name: its title, its first words or its number."""
        title = shorten(self.conversation.title or self.first_words or "", _MAX_NAME_LENGTH)
        return title or f"conversation {self.conversation.id}"


def list_conversations(db: Connection, limit: int | None = None) -> list[ConversationSummary]:
    """Return summaries of the conversations, most recent first."""
    order = """last_at DESC,
        (SELECT max(id) FROM messages WHERE conversation_id = c.id) DESC NULLS FIRST, c.id DESC"""
    rows = db.execute(f"{_SUMMARIES} ORDER BY {order} LIMIT ?", (-1 if limit is None else limit,))
    return [_summary(row) for row in rows.fetchall()]


def conversation_summary(db: Connection, conversation_id: int) -> ConversationSummary:
    """Return the summary of one conversation; raises NotFoundError."""
    get_conversation(db, conversation_id)
    return _summary(db.execute(f"{_SUMMARIES} WHERE c.id = ?", (conversation_id,)).fetchone())


_FIRST_WORDS = """(
    SELECT substr(content, 1, 200) FROM messages
    WHERE conversation_id = {id} AND role = 'user' AND withheld = 0 ORDER BY id LIMIT 1)"""


_SUMMARIES = f"""SELECT {columns(Conversation, "c")},
    (SELECT count(*) FROM messages WHERE conversation_id = c.id),
    coalesce((SELECT created_at FROM messages
              WHERE conversation_id = c.id ORDER BY id DESC LIMIT 1), c.created_at) AS last_at,
    coalesce({_FIRST_WORDS.format(id="c.id")}, (
        WITH RECURSIVE before(id, title, parent_id) AS (
            SELECT id, title, parent_id FROM conversations WHERE id = c.parent_id UNION
            SELECT p.id, p.title, p.parent_id
            FROM conversations AS p JOIN before ON p.id = before.parent_id)
        SELECT coalesce(title, {_FIRST_WORDS.format(id="before.id")}) AS name FROM before
        WHERE name IS NOT NULL LIMIT 1))
    FROM conversations AS c"""


def _summary(row: Sequence[Any]) -> ConversationSummary:
    return ConversationSummary(Conversation(*row[:-3]), *row[-3:])


def rename_conversation(db: Connection, conversation_id: int, title: str, by: str = "user") -> None:
    """Set a conversation's title; the observer's never replaces the user's."""
    db.execute(
        """UPDATE conversations SET title = ?, titled_by = ?
           WHERE id = ? AND (? = 'user' OR titled_by IS NOT 'user')""",
        (title, by, conversation_id, by),
    )


NO_CACHE = "none"
"""`cache_life` of a conversation without a prompt cache: the notebook replied, not a model."""


def note_request(db: Connection, conversation_id: int, now: str, cache_life: str | None) -> None:
    """Record when a request was sent and how long its prompt cache lives."""
    db.execute(
        "UPDATE conversations SET last_request_at = ?, cache_life = ? WHERE id = ?",
        (now, cache_life, conversation_id),
    )


def set_fork(
    db: Connection,
    conversation_id: int,
    parent_id: int,
    at_message_id: int | None,
    window_message_id: int | None,
) -> None:
    """Make a conversation a fork of another.

    It begins after the message `at_message_id`, and the window that it inherits begins
    after `window_message_id`.
    """
    db.execute(
        """UPDATE conversations SET parent_id = ?, forked_at_message_id = ?,
           forked_window_message_id = ? WHERE id = ?""",
        (parent_id, at_message_id, window_message_id, conversation_id),
    )


def note_fork_by_sync(db: Connection, conversation_id: int) -> None:
    """Record that a fork was made because another machine writes its parent."""
    db.execute("UPDATE conversations SET forked_by_sync = 1 WHERE id = ?", (conversation_id,))


def is_fork_by_sync(db: Connection, conversation_id: int) -> bool:
    """Return whether a fork was made because another machine writes its parent."""
    return exists(db, "conversations WHERE id = ? AND forked_by_sync", (conversation_id,))


def fork_points(db: Connection, conversation_id: int) -> list[int]:
    """Return the id of the message after which each fork begins, 0 for the start."""
    query = "SELECT coalesce(forked_at_message_id, 0) FROM conversations WHERE parent_id = ?"
    return column(db, query, (conversation_id,))


def set_task_and_response(
    db: Connection, conversation_id: int, task: str | None, response: str | None
) -> None:
    """Store the current task and suggested response that the observer noted."""
    db.execute(
        "UPDATE conversations SET current_task = ?, suggested_response = ? WHERE id = ?",
        (task, response, conversation_id),
    )


def get_watermarks(db: Connection, conversation_id: int) -> Watermarks:
    """Return a conversation's watermarks."""
    rows = db.execute(
        "SELECT name, message_id FROM watermarks WHERE conversation_id = ?", (conversation_id,)
    )
    return Watermarks(**dict(rows.fetchall()))


def set_watermark(
    db: Connection, conversation_id: int, name: str, message_id: int, now: str
) -> None:
    """Set a watermark, or delete it if `message_id` is 0."""
    if message_id == 0:
        db.execute(
            "DELETE FROM watermarks WHERE conversation_id = ? AND name = ?", (conversation_id, name)
        )
        return
    db.execute(
        """INSERT INTO watermarks (conversation_id, name, message_id, updated_at)
           VALUES (?, ?, ?, ?)
           ON CONFLICT (conversation_id, name) DO UPDATE
           SET message_id = excluded.message_id, updated_at = excluded.updated_at
           WHERE message_id <> excluded.message_id""",
        (conversation_id, name, message_id, now),
    )


def idle_with_unobserved(
    db: Connection, since: str, until: str, tokens: int, exclude: int | None
) -> list[int]:
    """Return the ids of conversations with memory work left, but no request between two times.

    They have more than `tokens` unobserved tokens, or pending observations. Those that
    another machine writes are left to it.
    """
    return column(
        db,
        f"""SELECT c.id FROM conversations AS c
           LEFT JOIN watermarks AS w ON w.conversation_id = c.id AND w.name = 'observed'
           WHERE c.id IS NOT ? AND c.id NOT IN {OWNED_ELSEWHERE_SQL}
             AND (c.last_request_at IS NULL OR c.last_request_at NOT BETWEEN ? AND ?)
             AND ((SELECT sum(token_count) FROM messages AS m WHERE m.conversation_id = c.id
                   AND m.archived = 0 AND m.id > coalesce(w.message_id, 0)) > ?
                  OR EXISTS (SELECT 1 FROM observations WHERE conversation_id = c.id
                             AND committed_at IS NULL AND superseded_at IS NULL))""",
        (exclude, since, until, tokens),
    )

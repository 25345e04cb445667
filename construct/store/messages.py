"""Queries for messages."""

from collections.abc import Sequence
from dataclasses import dataclass

from construct import tokens
from construct.errors import NotFoundError
from construct.pasted import Span, dump_spans
from construct.program import as_typed
from construct.store.attachments import NewAttachment, add_attachments
from construct.store.conversations import get_conversation
from construct.store.driver import Connection
from construct.store.records import (
    LEFT_OUT_SQL,
    NOTEBOOK_SQL,
    REFUSED,
    REMOVED,
    Message,
    Watermarks,
)
from construct.store.sql import (
    ID_LIST,
    column,
    exists,
    first,
    insert,
    json_ids,
    new_uid,
    scalar,
    select,
)
from construct.text import storable
from construct.vocabulary import MessageStatus

_MESSAGE_OVERHEAD = 4
"""Tokens a message takes in addition to its text: role and separators."""
_SMALL_MODEL_NOTED = "small model noted"
"""The row of `meta` that exists once `note_small_model` has run."""
_IS_SENDABLE = f"NOT (withheld OR retried OR {LEFT_OUT_SQL} OR {NOTEBOOK_SQL})"
LAST = 1 << 62
"""Higher than every message id, for "no upper limit"."""


def message_tokens(content: str, blocks: str | None = None) -> int:
    """Return the estimated tokens of a message with this text and these tool rounds.

    What a notebook's reply quotes is not counted, as it is never sent to a model.
    """
    rounds = blocks if blocks and blocks.startswith("[") else ""
    return tokens.count(content) + tokens.count(rounds) + _MESSAGE_OVERHEAD


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A message about to be stored."""

    role: str
    content: str
    blocks: str | None = None
    status: str = MessageStatus.COMPLETE
    stop_reason: str | None = None
    model: str | None = None
    attachments: tuple[NewAttachment, ...] = ()
    pasted: tuple[Span, ...] = ()
    """The parts of the content that are pasted: somebody else's words."""
    outside: str | None = None
    """How a reply is mixed with text from outside (`Outside`)."""


def add_message(
    db: Connection,
    conversation_id: int,
    message: NewMessage,
    now: str,
    utc_offset: int | None = None,
) -> Message:
    """Store a message that is written now, at a place `utc_offset` minutes east.

    It has the clock's time, even if that is before the conversation's last message: an
    earlier clock may have been wrong. Raises NotFoundError if there is no such
    conversation.
    """
    get_conversation(db, conversation_id)
    content = storable(message.content)
    pasted = [
        (len(storable(message.content[:start])), len(storable(message.content[:end])))
        for start, end in message.pasted
    ]
    row = {
        "uid": new_uid(), "conversation_id": conversation_id, "role": message.role,
        "content": content, "blocks": message.blocks, "status": message.status,
        "stop_reason": message.stop_reason, "model": message.model,
        "token_count": message_tokens(content, message.blocks)
        + sum(new.sent_tokens for new in message.attachments),
        "created_at": now, "utc_offset": utc_offset, "pasted": dump_spans(pasted),
        "outside": message.outside,
    }  # fmt: skip
    message_id = insert(db, "messages", row)
    add_attachments(db, message_id, message.attachments)
    return select(db, Message, "messages WHERE id = ?", (message_id,))[0]


def last_time(db: Connection, conversation_id: int) -> str | None:
    """Return when the newest message of a conversation was said, None if it has none."""
    return scalar(
        db,
        "SELECT created_at FROM messages WHERE conversation_id = ? ORDER BY id DESC LIMIT 1",
        (conversation_id,),
    )


def messages_of(db: Connection, conversation_id: int) -> list[Message]:
    """Return all messages of a conversation, oldest first, archived ones too."""
    return select(db, Message, "messages WHERE conversation_id = ? ORDER BY id", (conversation_id,))


def latest_messages(db: Connection, limit: int) -> list[Message]:
    """Return the newest messages of all conversations, grouped by conversation."""
    source = """messages WHERE id IN (
        SELECT id FROM messages ORDER BY created_at DESC, id DESC LIMIT ?)
        ORDER BY conversation_id, id"""
    return select(db, Message, source, (limit,))


def messages_since(db: Connection, moment: str) -> list[Message]:
    """Return all messages since a stored time, grouped by conversation."""
    source = "messages WHERE created_at >= ? ORDER BY conversation_id, id"
    return select(db, Message, source, (moment,))


def observed_messages(db: Connection) -> list[Message]:
    """Return all messages that an observer has read, grouped by conversation."""
    source = """messages AS m WHERE EXISTS (
        SELECT 1 FROM cycles AS c WHERE c.conversation_id = m.conversation_id
        AND c.kind = 'observer' AND c.status = 'succeeded'
        AND m.id BETWEEN c.first_message_id AND c.last_message_id)
        ORDER BY conversation_id, id"""
    return select(db, Message, source, (), "m")


def live_messages(
    db: Connection, conversation_id: int, after: int, until: int = LAST
) -> list[Message]:
    """Return unarchived messages with after < id <= until, oldest first."""
    source = (
        "messages WHERE conversation_id = ? AND archived = 0 AND id > ? AND id <= ? ORDER BY id"
    )
    return select(db, Message, source, (conversation_id, after, until))


@dataclass(frozen=True, slots=True)
class MessageCounts:
    """How many messages a conversation has in all, unobserved, and in its window."""

    total: int = 0
    unobserved: int = 0
    window: int = 0
    """Messages that the model is shown word for word."""


def count_messages(db: Connection, conversation_id: int, marks: Watermarks) -> MessageCounts:
    """Count the messages of a conversation itself, without those of its parent."""
    row = db.execute(
        f"""SELECT count(*), count(*) FILTER (WHERE archived = 0 AND id > ?),
                  count(*) FILTER (WHERE archived = 0 AND id > ? AND {_IS_SENDABLE})
           FROM messages WHERE conversation_id = ?""",
        (marks.observed, marks.window, conversation_id),
    ).fetchone()
    return MessageCounts(*row)


def unobserved_and_window_tokens(
    db: Connection, conversation_id: int, marks: Watermarks
) -> tuple[int, int]:
    """Return the tokens of a conversation's unobserved messages, and of those in its window.

    SQLite sums them up, so no message is loaded.
    """
    unobserved, in_window = db.execute(
        f"""SELECT total(token_count) FILTER (WHERE id > ?),
                  total(token_count) FILTER (WHERE {_IS_SENDABLE})
           FROM messages WHERE conversation_id = ? AND archived = 0 AND id > ?""",
        (marks.observed, conversation_id, marks.window),
    ).fetchone()
    return int(unobserved), int(in_window)


def live_ids(db: Connection, conversation_id: int, after: int) -> list[int]:
    """Return the ids of a conversation's unarchived messages above `after`."""
    query = "SELECT id FROM messages WHERE conversation_id = ? AND archived = 0 AND id > ?"
    return column(db, query, (conversation_id, after))


def newest_messages(
    db: Connection,
    conversation_id: int,
    limit: int,
    until: int = LAST,
    *,
    with_refused: bool = False,
    with_notebook: bool = False,
) -> list[Message]:
    """Return the newest `limit` messages with id <= until that may be sent, oldest first.

    `with_refused` adds those that the model declined to answer; `/retry` sends them again.
    `with_notebook` adds the notebook's replies.
    """
    left_out = f"{LEFT_OUT_SQL} AND stop_reason <> '{REFUSED}'" if with_refused else LEFT_OUT_SQL
    source = f"""messages WHERE conversation_id = ? AND id <= ?
                AND NOT archived AND NOT withheld AND NOT retried AND NOT ({left_out})
                {"" if with_notebook else f"AND NOT {NOTEBOOK_SQL}"}
                ORDER BY id DESC LIMIT ?"""
    return select(db, Message, source, (conversation_id, until, limit))[::-1]


def is_shown(message: Message) -> bool:
    """Return whether a message may be in a window."""
    return is_readable(message) and not message.archived


def is_readable(message: Message) -> bool:
    """Return whether an observer may read a message."""
    hidden = message.withheld or message.retried or message.left_out
    return not hidden and message.quotes is None


def get_message(db: Connection, message_id: int) -> Message:
    """Return a message; raises NotFoundError."""
    message = first(db, Message, "messages WHERE id = ?", (message_id,))
    if message is None:
        raise NotFoundError(
            f"There is no message {message_id}.\n{as_typed('memory search')} finds messages."
        )
    return message


def messages_with_ids(db: Connection, ids: Sequence[int]) -> list[Message]:
    """Return the messages with these ids, by id, skipping missing ones."""
    return select(db, Message, f"messages WHERE id IN {ID_LIST} ORDER BY id", (json_ids(ids),))


def messages_with_uids(db: Connection, uids: Sequence[str]) -> list[Message]:
    """Return the messages with these uids, in the same order, skipping missing ones."""
    messages = [first(db, Message, "messages WHERE uid = ?", (uid,)) for uid in uids]
    return [message for message in messages if message is not None]


def is_small_model_noted(db: Connection) -> bool:
    """Return whether `note_small_model` has run on this database."""
    return exists(db, "meta WHERE name = ?", (_SMALL_MODEL_NOTED,))


def note_small_model(db: Connection) -> bool:
    """Return whether the former built-in model ever replied, and note that this was checked.

    This reads every message, so it is done once per database.
    """
    has_replied = exists(db, "messages WHERE model GLOB 'local:SmolLM2*'")
    db.execute("INSERT OR IGNORE INTO meta (name) VALUES (?)", (_SMALL_MODEL_NOTED,))
    return has_replied


def is_message_available(db: Connection, message_id: int) -> bool:
    """Return whether a message exists and is neither forgotten nor withheld."""
    return exists(db, "messages WHERE id = ? AND withheld = 0", (message_id,))


def recent_times(db: Connection, conversation_id: int) -> list[str]:
    """Return the times of the dozen newest user messages, newest first."""
    query = """SELECT created_at FROM messages WHERE conversation_id = ? AND role = 'user'
               ORDER BY id DESC LIMIT 12"""
    return column(db, query, (conversation_id,))


def last_message_id(db: Connection, conversation_id: int, until: int = LAST) -> int:
    """Return the id of the newest message with id <= until, 0 if there is none."""
    query = "SELECT id FROM messages WHERE conversation_id = ? AND id <= ? ORDER BY id DESC LIMIT 1"
    return scalar(db, query, (conversation_id, until)) or 0


def mark_retried(db: Connection, replies: Sequence[int]) -> None:
    """Hide replies that a later reply to the same message replaced."""
    db.executemany("UPDATE messages SET retried = 1 WHERE id = ?", [(reply,) for reply in replies])


def exclude_from_requests(db: Connection, messages: Sequence[int], reason: str) -> None:
    """Leave messages out of requests from now on; they stay stored and searchable."""
    db.executemany(
        "UPDATE messages SET stop_reason = ? WHERE id = ?",
        [(reason, message) for message in messages],
    )


def include_again(db: Connection, message_id: int) -> None:
    """Include a message in requests again, now that the model has answered it."""
    db.execute(
        f"UPDATE messages SET stop_reason = NULL WHERE id = ? AND {LEFT_OUT_SQL}", (message_id,)
    )


def prompt_history(db: Connection) -> list[str]:
    """Return the newest 2,000 messages that the user typed here, newest first."""
    return column(
        db,
        f"""SELECT content FROM messages WHERE role = 'user' AND NOT archived AND NOT withheld
           AND content NOT IN ('', '{REMOVED}')
           AND conversation_id IN (SELECT id FROM conversations WHERE last_request_at IS NOT NULL)
           ORDER BY id DESC LIMIT 2000""",
    )

"""What the model was given of memory for a reply: ids only. Plain queries."""

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

from construct.store.messages import LAST
from construct.store.sql import exists, scalar

_STANDING = {
    "observation": "observations WHERE id = ?",
    "memory": "memories WHERE id = ?",
    "message": "messages WHERE id = ? AND withheld = 0",
}


@dataclass(frozen=True, slots=True)
class ContextItem:
    """One thing the model was given.

    By itself (`due`, `passage`) or by a tool (`recall`, `source`).
    """

    way: str
    kind: str
    id: int


@dataclass(frozen=True, slots=True)
class ReplyContext:
    """All that the model was given for a reply, but for the talk itself."""

    blocks: int
    """Blocks of observations that stood before the talk."""
    lines: int
    items: tuple[ContextItem, ...]


def forgotten_items(db: sqlite3.Connection, items: Iterable[ContextItem]) -> set[ContextItem]:
    """Return what of this is there no more, or withheld."""
    return {item for item in items if not exists(db, _STANDING[item.kind], (item.id,))}


def store_reply_context(db: sqlite3.Connection, reply_id: int, context: ReplyContext) -> None:
    """Store what a reply was given; what has been forgotten meanwhile is left out."""
    db.execute("INSERT INTO briefings VALUES (?, ?, ?)", (reply_id, context.blocks, context.lines))
    gone = forgotten_items(db, context.items)
    for item in dict.fromkeys(context.items):
        if item not in gone:
            db.execute(
                f"INSERT INTO briefed (reply_id, way, {item.kind}_id) VALUES (?, ?, ?)",
                (reply_id, item.way, item.id),
            )


def get_reply_context(db: sqlite3.Connection, reply_id: int) -> ReplyContext | None:
    """Return what a reply was given, as far as it still exists.

    None for a reply without such a record.
    """
    row = db.execute(
        "SELECT blocks, lines FROM briefings WHERE reply_id = ?", (reply_id,)
    ).fetchone()
    if row is None:
        return None
    rows = db.execute(
        """SELECT way, CASE WHEN memory_id THEN 'memory' WHEN message_id THEN 'message'
                  ELSE 'observation' END,
                  coalesce(memory_id, message_id, observation_id)
           FROM briefed WHERE reply_id = ? ORDER BY id""",
        (reply_id,),
    )
    return ReplyContext(row[0], row[1], tuple(ContextItem(*item) for item in rows))


def last_reply(db: sqlite3.Connection, conversation_id: int, until: int = LAST) -> int | None:
    """Return the newest reply with id <= until that stands in a conversation.

    None when there is none.
    """
    query = """SELECT id FROM messages WHERE conversation_id = ? AND id <= ? AND role = 'assistant'
               AND retried = 0 AND withheld = 0 ORDER BY id DESC LIMIT 1"""
    return scalar(db, query, (conversation_id, until))

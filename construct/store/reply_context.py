"""Queries for what the model was given from memory for each reply, stored as ids."""

from collections.abc import Iterable
from dataclasses import dataclass

from construct.store.driver import Connection
from construct.store.messages import LAST
from construct.store.records import TO_FORGET_SQL
from construct.store.sql import exists, scalar

_STILL_AVAILABLE = {
    "observation": "observations WHERE id = ? AND withheld = 0",
    "message": f"messages WHERE id = ? AND withheld = 0 AND id NOT IN {TO_FORGET_SQL}",
}


@dataclass(frozen=True, slots=True)
class ContextItem:
    """An observation or message that the model was given for a reply."""

    way: str
    """`due` or `passage` if it was given unasked, `recall` or `source` if by a tool."""
    kind: str
    id: int


@dataclass(frozen=True, slots=True)
class ReplyContext:
    """What the model was given for a reply in addition to the conversation itself."""

    blocks: int
    """Number of blocks of observations before the conversation."""
    lines: int
    """Number of observations in these blocks."""
    items: tuple[ContextItem, ...]


def forgotten_items(db: Connection, items: Iterable[ContextItem]) -> set[ContextItem]:
    """Return the items that are gone or withheld, or that the user asked to forget."""
    return {item for item in items if not exists(db, _STILL_AVAILABLE[item.kind], (item.id,))}


def store_reply_context(db: Connection, reply_id: int, context: ReplyContext) -> None:
    """Store what the model was given for a reply, without items forgotten in the meantime."""
    db.execute("INSERT INTO briefings VALUES (?, ?, ?)", (reply_id, context.blocks, context.lines))
    forgotten = forgotten_items(db, context.items)
    for item in dict.fromkeys(context.items):
        if item not in forgotten:
            db.execute(
                f"INSERT INTO briefed (reply_id, way, {item.kind}_id) VALUES (?, ?, ?)",
                (reply_id, item.way, item.id),
            )


def get_reply_context(db: Connection, reply_id: int) -> ReplyContext | None:
    """Return what the model was given for a reply, as far as it still exists.

    None if that was not recorded.
    """
    row = db.execute(
        "SELECT blocks, lines FROM briefings WHERE reply_id = ?", (reply_id,)
    ).fetchone()
    if row is None:
        return None
    rows = db.execute(
        """SELECT way, iif(message_id, 'message', 'observation'),
                  coalesce(message_id, observation_id)
           FROM briefed WHERE reply_id = ? ORDER BY id""",
        (reply_id,),
    )
    return ReplyContext(row[0], row[1], tuple(ContextItem(*item) for item in rows))


def last_reply(db: Connection, conversation_id: int, until: int = LAST) -> int | None:
    """Return the id of a conversation's newest visible reply with id <= until, or None."""
    query = """SELECT id FROM messages WHERE conversation_id = ? AND id <= ? AND role = 'assistant'
               AND retried = 0 AND withheld = 0 ORDER BY id DESC LIMIT 1"""
    return scalar(db, query, (conversation_id, until))

"""Whether a request holds text from outside: words that are not the user's own."""

import sqlite3
from collections.abc import Iterable

from construct.store.reply_context import ContextItem
from construct.store.sql import ID_LIST, exists, json_ids
from construct.vocabulary import ItemKind, Stance

_FROM_OUTSIDE = "(pasted IS NOT NULL OR attached IS NOT NULL)"
"""SQL condition on `messages`: something was pasted into it or attached to it."""


def holds_outside_text(
    db: sqlite3.Connection, conversation_id: int, items: Iterable[ContextItem]
) -> bool:
    """Return whether a paste, a file or a quoted passage is before the model.

    They may be in the conversation's window, or among the `items` of memory that came
    with the request or that a tool returned.
    """
    ids: dict[str, set[int]] = {kind: set() for kind in ItemKind}
    for item in items:
        ids[item.kind].add(item.id)
    in_window = f"""messages WHERE conversation_id = ? AND NOT archived AND NOT withheld
        AND {_FROM_OUTSIDE} AND id > ifnull((SELECT message_id FROM watermarks
            WHERE conversation_id = messages.conversation_id AND name = 'window'), 0)"""
    messages = json_ids(ids[ItemKind.MESSAGE])
    observations = json_ids(ids[ItemKind.OBSERVATION])
    return (
        exists(db, in_window, (conversation_id,))
        or exists(db, f"messages WHERE {_FROM_OUTSIDE} AND id IN {ID_LIST}", (messages,))
        or exists(
            db,
            f"observations WHERE stance = '{Stance.QUOTED}' AND id IN {ID_LIST}",
            (observations,),
        )
    )

"""Whether a request holds text from outside: words that are not the user's own."""

from collections.abc import Iterable

from construct.store.driver import Connection
from construct.store.records import LEFT_OUT_SQL
from construct.store.reply_context import ContextItem
from construct.store.sql import ID_LIST, exists, json_ids
from construct.vocabulary import ItemKind, Outside, Stance

_IS_BROUGHT = "(pasted IS NOT NULL OR attached IS NOT NULL)"
"""SQL condition on `messages`: something was pasted into it or attached to it."""
_HOLDS_RESULT = f"outside = '{Outside.RESULT}'"
"""SQL condition on `messages`: a tool's or the web's result is sent along with it."""


def window_holds_outside_text(db: Connection, conversation_id: int) -> bool:
    """Return whether a paste, a file or a tool's result is in a conversation's window."""
    in_window = f"""messages WHERE conversation_id = ?
        AND NOT (archived OR withheld OR retried OR {LEFT_OUT_SQL})
        AND ({_IS_BROUGHT} OR {_HOLDS_RESULT}) AND id > ifnull((SELECT message_id FROM watermarks
            WHERE conversation_id = messages.conversation_id AND name = 'window'), 0)"""
    return exists(db, in_window, (conversation_id,))


def any_from_outside(db: Connection, items: Iterable[ContextItem]) -> bool:
    """Return whether any memory item is a quoted passage.

    That is a quoted note, a message with a paste or a file, or a reply that had text from
    outside before it and may repeat it.
    """
    ids: dict[str, set[int]] = {kind: set() for kind in ItemKind}
    for item in items:
        ids[item.kind].add(item.id)
    messages = json_ids(ids[ItemKind.MESSAGE])
    observations = json_ids(ids[ItemKind.OBSERVATION])
    return exists(
        db,
        f"messages WHERE ({_IS_BROUGHT} OR outside IS NOT NULL) AND id IN {ID_LIST}",
        (messages,),
    ) or exists(
        db, f"observations WHERE stance = '{Stance.QUOTED}' AND id IN {ID_LIST}", (observations,)
    )

"""What other machines' tombstones name here."""

from dataclasses import dataclass

from construct.store.driver import Connection
from construct.store.sql import ID_LIST, column


@dataclass(frozen=True, slots=True)
class Named:
    """The ids of rows that are here and were forgotten or deleted elsewhere."""

    conversations: tuple[int, ...]
    observations: frozenset[int]
    forgotten_messages: frozenset[int]
    """Messages that were withheld there, perhaps with their words removed."""
    deleted_messages: frozenset[int]
    """Messages whose rows are gone there. Here they may be part of a fork, which stays."""


def named_here(db: Connection, uids: str) -> Named:
    """Return what these uids (a JSON list) name here."""

    def ids(rows: str) -> list[int]:
        return column(db, f"SELECT id FROM {rows} WHERE uid IN {ID_LIST}", (uids,))

    deleted = frozenset(ids("messages JOIN tombstones ON message_uid = uid AND is_deleted"))
    return Named(
        tuple(ids("conversations")),
        frozenset(ids("observations")),
        frozenset(ids("messages")) - deleted,
        deleted,
    )


def emptied_forks(db: Connection) -> list[int]:
    """Return the forks that sync made of which every message was deleted elsewhere."""
    return column(
        db,
        """SELECT c.id FROM conversations AS c WHERE forked_by_sync
           AND EXISTS (SELECT 1 FROM messages WHERE conversation_id = c.id)
           AND NOT EXISTS (
               SELECT 1 FROM messages AS m WHERE m.conversation_id = c.id AND m.uid NOT IN (
                   SELECT message_uid FROM tombstones WHERE is_deleted))""",
    )

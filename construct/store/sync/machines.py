"""The machines that are kept in step, and which of them writes a conversation."""

import json
from collections.abc import Sequence
from typing import NamedTuple

from construct.store.driver import Connection
from construct.store.sql import ID_LIST, column, exists, first, insert, scalar, select

_TIME = "sync_time"
"""The row of `meta` with the latest time, in microseconds, of anything published or taken in."""
OWNED_ELSEWHERE_SQL = """(SELECT c.id FROM sync_rows AS made
    JOIN sync_machines AS maker ON maker.id = made.born_by AND NOT maker.is_self
    JOIN conversations AS c ON c.uid = made.uid WHERE made.kind = 'conversation')"""
"""SQL for the right side of `IN`: the conversations that another machine writes."""


class Machine(NamedTuple):
    """A row of `sync_machines`."""

    id: int
    uid: str
    name: str
    is_self: int
    counter: int
    manifest: int
    forgot: int
    followed: str
    last_sha256: str | None
    seen_at: str | None
    retired_by: int | None
    retired_in: int | None

    @property
    def has_followed(self) -> dict[str, int]:
        """What it had taken in of each machine when it last rewrote its segments."""
        return {str(uid): int(counter) for uid, counter in json.loads(self.followed).items()}


def machines(db: Connection) -> list[Machine]:
    """Return all machines that are known, this one first."""
    return select(db, Machine, "sync_machines ORDER BY is_self DESC, id")


def this_machine(db: Connection) -> Machine | None:
    """Return this machine, or None if it was never kept in step with others."""
    return first(db, Machine, "sync_machines WHERE is_self")


def add_machine(db: Connection, uid: str, name: str, *, is_self: bool = False) -> int:
    """Store a machine and return its id."""
    return insert(db, "sync_machines", {"uid": uid, "name": name, "is_self": int(is_self)})


def machine_ids(db: Connection) -> dict[str, int]:
    """Return the ids of all machines by uid."""
    return dict(db.execute("SELECT uid, id FROM sync_machines").fetchall())


def next_time(db: Connection, now_us: int) -> int:
    """Return a time that is later than that of anything published or taken in, and store it.

    What this machine has seen counts as earlier even if its own clock is behind.
    """
    at = max(now_us, (last_time(db) or 0) + 1)
    note_time(db, at)
    return at


def note_time(db: Connection, at: int) -> None:
    """Store that something of this time was published or taken in."""
    if at > (last_time(db) or 0):
        db.execute("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", (_TIME, str(at)))


def last_time(db: Connection) -> int | None:
    """Return the latest time of anything published or taken in; None before the first."""
    value = scalar(db, "SELECT value FROM meta WHERE name = ?", (_TIME,))
    return None if value is None else int(value)


def is_written_elsewhere(db: Connection, conversation_id: int) -> bool:
    """Return whether another machine writes a conversation, so that this one must not."""
    return exists(
        db,
        """sync_rows AS made JOIN sync_machines AS maker ON maker.id = made.born_by
           WHERE made.kind = 'conversation' AND NOT maker.is_self
           AND made.uid = (SELECT uid FROM conversations WHERE id = ?)""",
        (conversation_id,),
    )


def writer_of(db: Connection, conversation_id: int) -> str | None:
    """Return the name of the other machine that writes a conversation; None if it is this one."""
    return scalar(
        db,
        """SELECT maker.name FROM sync_rows AS made
           JOIN sync_machines AS maker ON maker.id = made.born_by
           WHERE made.kind = 'conversation' AND NOT maker.is_self
           AND made.uid = (SELECT uid FROM conversations WHERE id = ?)""",
        (conversation_id,),
    )


def written_elsewhere(db: Connection, ids: str) -> set[int]:
    """Return which of these conversations (a JSON list of ids) another machine writes."""
    query = f"""SELECT id FROM conversations WHERE id IN {ID_LIST}
                AND id IN {OWNED_ELSEWHERE_SQL}"""
    return set(column(db, query, (ids,)))


def followers(known: Sequence[Machine]) -> dict[str, tuple[str, ...]]:
    """Return the machines that still have what others forgot, each with those others' names."""
    present = [m for m in known if m.retired_by is None]
    late = {
        m.uid: tuple(
            other.name
            for other in present
            if other.uid != m.uid and other.forgot > m.has_followed.get(other.uid, 0)
        )
        for m in present
        if m.is_self or m.manifest
    }
    return {uid: names for uid, names in late.items() if names}

"""Each conversation is written by one machine; what another wrote in it becomes a fork.

That happens when both had the same conversation before they were kept in step, from an
import or a copied file, and both went on with it. The machine that published it first
keeps it. All machines make the same fork of it, with the same uid.
"""

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from construct.store.conversations import current_conversation, enter_conversation
from construct.store.driver import Connection
from construct.store.sql import ID_LIST, exists, insert, json_ids, scalar
from construct.store.sync.changes import refresh_checksums
from construct.store.sync.tables import SYNC_KINDS

_SUFFIX_LENGTH = 17
"""What a fork's uid adds to that of its conversation: `~` and the machine's uid."""
_STRAY = """SELECT m.conversation_id, made.born_by, m.id, m.created_at, made.born_at
    FROM sync_rows AS made JOIN messages AS m ON m.uid = made.uid
    JOIN conversations AS c ON c.id = m.conversation_id
    JOIN sync_rows AS home ON home.kind = 'conversation' AND home.uid = c.uid
    WHERE made.kind = 'message' AND made.born_by <> home.born_by
    AND made.changed_by <> home.born_by ORDER BY 1, 2, 3"""
"""SQL: the messages that another machine wrote than the one that writes their conversation."""


_AT_HOME = f"""SELECT m.id, m.conversation_id, base.id FROM conversations AS fork
    JOIN conversations AS base
        ON base.uid = substr(fork.uid, 1, length(fork.uid) - {_SUFFIX_LENGTH})
    JOIN sync_rows AS home ON home.kind = 'conversation' AND home.uid = base.uid
    JOIN sync_rows AS own ON own.kind = 'conversation' AND own.uid = fork.uid
    JOIN messages AS m ON m.conversation_id = fork.id
    JOIN sync_rows AS made ON made.kind = 'message' AND made.uid = m.uid
    WHERE fork.forked_by_sync AND (
        home.born_by IN (made.born_by, made.changed_by) OR made.born_by <> own.born_by)"""
"""SQL: the messages in such forks that others have imported too, as it turns out."""


class _Stray(NamedTuple):
    """A message in a conversation that its writer does not write."""

    conversation_id: int
    writer_id: int
    id: int
    created_at: str
    born_at: int


def fork_base(uid: str) -> str:
    """Return the uid of the conversation that a fork with this uid was made of."""
    return uid[:-_SUFFIX_LENGTH]


def settle_writers(db: Connection) -> None:
    """Move what other machines wrote in a conversation to forks of it."""
    _bring_home(db)
    strays = [_Stray(*row) for row in db.execute(_STRAY).fetchall()]
    for (conversation_id, writer_id), group in groupby(strays, lambda m: m[:2]):
        tail = list(group)
        fork_id = _fork(db, conversation_id, writer_id, tail[0])
        _move(db, conversation_id, fork_id, tail)
        is_here = current_conversation(db) == conversation_id
        if is_here and exists(db, "sync_machines WHERE id = ? AND is_self", (writer_id,)):
            enter_conversation(db, fork_id)
    if strays:
        for kind in ("conversation", "message", "cycle", "observation"):
            refresh_checksums(db, SYNC_KINDS[kind])


def _bring_home(db: Connection) -> None:
    """Move messages back that other machines have imported too."""
    rows = db.execute(_AT_HOME).fetchall()
    for (fork_id, base_id), group in groupby(sorted(rows, key=lambda r: r[1:]), lambda r: r[1:]):
        values = {"fork": fork_id, "base": base_id, "ids": json_ids(row[0] for row in group)}
        moved = ID_LIST.replace("?", ":ids")
        for statement in (
            f"UPDATE messages SET conversation_id = :base WHERE id IN {moved}",
            f"""UPDATE observations SET conversation_id = :base WHERE conversation_id = :fork
                AND id IN (SELECT observation_id FROM observation_messages
                           WHERE direct AND message_id IN {moved})""",
            f"""UPDATE cycles SET conversation_id = :base
                WHERE conversation_id = :fork AND last_message_id IN {moved}""",
            f"DELETE FROM watermarks WHERE conversation_id = :fork AND message_id IN {moved}",
            """DELETE FROM conversations WHERE id = :fork
                AND id NOT IN (SELECT conversation_id FROM messages)""",
        ):
            db.execute(statement, values)
    if rows:
        for kind in ("message", "cycle", "observation"):
            refresh_checksums(db, SYNC_KINDS[kind])


def _fork(db: Connection, conversation_id: int, writer_id: int, first: _Stray) -> int:
    """Return the fork that has what a machine wrote, and make it if it is missing."""
    (home_uid,) = db.execute(
        "SELECT uid FROM conversations WHERE id = ?", (conversation_id,)
    ).fetchone()
    writer_uid, is_self = db.execute(
        "SELECT uid, is_self FROM sync_machines WHERE id = ?", (writer_id,)
    ).fetchone()
    uid = f"{home_uid}~{writer_uid}"
    known = scalar(db, "SELECT id FROM conversations WHERE uid = ?", (uid,))
    if known is not None:
        return int(known)
    # The writer knows the last message before it; others go by the time.
    before = "id < :id" if is_self else "created_at <= :at AND id <> :id"
    last = scalar(
        db,
        f"""SELECT max(id) FROM messages WHERE conversation_id = :home AND {before}
            AND id NOT IN (SELECT id FROM ({_STRAY}))""",
        {"home": conversation_id, "id": first.id, "at": first.created_at},
    )
    window = scalar(
        db,
        "SELECT message_id FROM watermarks WHERE conversation_id = ? AND name = 'window'",
        (conversation_id,),
    )
    fork_id = insert(
        db,
        "conversations",
        {
            "uid": uid,
            "created_at": first.created_at,
            "parent_id": conversation_id,
            "forked_by_sync": 1,
            "forked_at_message_id": last,
            "forked_window_message_id": min(window, last) if window and last else None,
        },
    )
    # Without checksums, its writer publishes it next; the others wait for that.
    checksums = (
        b""
        if is_self
        else scalar(
            db,
            f"SELECT {SYNC_KINDS['conversation'].checksums} FROM conversations AS t WHERE id = ?",
            (fork_id,),
        )
    )
    db.execute(
        "INSERT OR REPLACE INTO sync_rows VALUES ('conversation', ?, ?, ?, ?, ?, ?, NULL)",
        (uid, first.born_at, writer_id, first.born_at, writer_id, checksums),
    )
    db.execute(
        "INSERT OR IGNORE INTO shown SELECT ?, observation_id, block FROM shown"
        " WHERE conversation_id = ?",
        (fork_id, conversation_id),
    )
    return fork_id


def _move(db: Connection, conversation_id: int, fork_id: int, tail: Sequence[_Stray]) -> None:
    """Move messages to a fork, with the cycles that read them and what was drawn from them."""
    ids = json_ids(m.id for m in tail)
    first = tail[0].id
    values = {"fork": fork_id, "home": conversation_id, "ids": ids, "first": first}
    moved = ID_LIST.replace("?", ":ids")
    for statement in (
        f"UPDATE messages SET conversation_id = :fork WHERE id IN {moved}",
        f"""UPDATE observations SET conversation_id = :fork WHERE conversation_id = :home
            AND (cycle_id IN (SELECT id FROM cycles WHERE conversation_id = :home
                              AND last_message_id IN {moved})
                 OR id IN (SELECT observation_id FROM observation_messages
                           WHERE direct AND message_id IN {moved}))""",
        f"""UPDATE cycles SET conversation_id = :fork,
                first_message_id = iif(
                    first_message_id IN (SELECT id FROM messages WHERE conversation_id = :fork),
                    first_message_id, :first)
            WHERE conversation_id = :home AND last_message_id IN {moved}""",
        f"""UPDATE conversations SET parent_id = :fork
            WHERE parent_id = :home AND forked_at_message_id IN {moved}""",
        f"""INSERT OR IGNORE INTO watermarks SELECT :fork, name, message_id, updated_at
            FROM watermarks WHERE conversation_id = :home AND message_id IN {moved}""",
        f"""DELETE FROM watermarks WHERE conversation_id = :home AND message_id IN {moved}
            AND NOT EXISTS (SELECT 1 FROM messages
                            WHERE conversation_id = :home AND id < :first)""",
        f"""UPDATE watermarks SET message_id = (
                SELECT max(id) FROM messages WHERE conversation_id = :home AND id < :first)
            WHERE conversation_id = :home AND message_id IN {moved}""",
    ):
        db.execute(statement, values)

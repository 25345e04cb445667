"""Permanent deletion: first of rows, then of their bytes in the file and its log.

No other module deletes messages, observations or attachments from the database.
`secure_delete` alone is not enough, as measured with SQLite 3.40: pages that were split
keep copies of rows in unused space, and a full-text index keeps the words of
deleted rows until its segments are merged. So a copy left by a migration is removed,
the indexes are merged, the file is rewritten with VACUUM (0.7 s of CPU for 100,000
messages, and as much again for the indexes), and its log is truncated.

Until all of that is done, the row `pruning` of `meta` says which step is next. (The
migrations to schemas 7 and 9 set it to `rewrite`, only to free disk space: the copy made
before them stays.)
"""

from collections.abc import Iterable
from pathlib import Path

from construct.store.copy_before_migration import remove_copy_before_migration
from construct.store.database import patience, refuse_damaged
from construct.store.driver import Connection, operational_errors
from construct.store.messages import message_tokens
from construct.store.records import REMOVED
from construct.store.search_index import merge_all
from construct.store.sql import ID_LIST, column, exists, json_ids, scalar
from construct.store.tracked import forget_values

WAIT_SECONDS = 10.0
"""How long `finish_erasure` waits for other processes by default."""
_REMOVE_COPY, _CUT_LOG = "copy", "log"


def delete_observations(db: Connection, ids: Iterable[int], now: str) -> int:
    """Delete observations with their links, and remove them from what models are shown.

    Tombstones keep an import from bringing back a note that was kept on request: unlike
    others, it need not rest on a message that is forgotten too. Returns the number of
    relations that go with them.
    """
    observations = json_ids(ids)
    _add_tombstones(db, f"observations WHERE kept AND id IN {ID_LIST}", observations, now)
    relations = f"DELETE FROM relations WHERE observation_id IN {ID_LIST}"
    deleted = db.execute(relations, (observations,)).rowcount
    db.execute(f"DELETE FROM observations WHERE id IN {ID_LIST}", (observations,))
    return deleted


def delete_conversation(db: Connection, conversation_id: int, now: str) -> None:
    """Delete a conversation with its messages, and the cycles that nothing depends on.

    Tombstones keep an import from bringing it or one of its messages back.
    A cycle that made or superseded an observation that is still stored is kept, without
    its conversation and messages. The caller has deleted the observations that rest on
    the conversation. Forks become conversations without a parent. What the user asked to
    forget in it stays withheld.
    """
    _add_tombstones(db, "conversations WHERE id = ?", conversation_id, now)
    _add_tombstones(db, "messages WHERE conversation_id = ?", conversation_id, now)
    said = "SELECT id FROM messages WHERE conversation_id = ?"
    forget_values(db, column(db, said, (conversation_id,)))
    db.execute(
        """UPDATE conversations SET parent_id = NULL, forked_at_message_id = NULL,
           forked_window_message_id = NULL WHERE parent_id = ?""",
        (conversation_id,),
    )
    db.execute(
        """UPDATE cycles
           SET conversation_id = NULL, first_message_id = NULL, last_message_id = NULL
           WHERE conversation_id = ? AND id IN (
               SELECT cycle_id FROM observations UNION SELECT superseded_by FROM observations)""",
        (conversation_id,),
    )
    db.execute(
        """DELETE FROM questions
           WHERE kind = 'forget' AND withheld_at IS NULL
           AND cycle_id IN (SELECT id FROM cycles WHERE conversation_id = ?)""",
        (conversation_id,),
    )
    db.execute("DELETE FROM conversations WHERE id = ?", (conversation_id,))


def delete_others(db: Connection, uids: str) -> None:
    """Delete what these uids (a JSON list) name among questions, values, files and cycles.

    A cycle stays while anything that it made or superseded does.
    """
    for table in ("question_items", "questions", "attachments", "tracked_values"):
        db.execute(f"DELETE FROM {table} WHERE uid IN {ID_LIST}", (uids,))
    db.execute(
        f"""DELETE FROM cycles WHERE uid IN {ID_LIST}
            AND id NOT IN (SELECT cycle_id FROM observations)
            AND id NOT IN (SELECT cycle_id FROM tracked_values)
            AND id NOT IN (
                SELECT superseded_by FROM observations WHERE superseded_by IS NOT NULL)""",
        (uids,),
    )


def reactivate(db: Connection, ids: Iterable[int]) -> None:
    """Undo the superseding of observations."""
    db.execute(
        f"UPDATE observations SET superseded_at = NULL, superseded_by = NULL WHERE id IN {ID_LIST}",
        (json_ids(ids),),
    )


def withhold(db: Connection, message_ids: Iterable[int], now: str, *, words: bool) -> None:
    """Exclude messages from windows, recall and observers for good.

    Their attachments are deleted. `words` deletes their text too.
    """
    message_ids = list(message_ids)
    ids = json_ids(message_ids)
    _add_tombstones(db, f"messages WHERE id IN {ID_LIST}", ids, now)
    db.execute(f"DELETE FROM briefed WHERE message_id IN {ID_LIST}", (ids,))
    db.execute(f"DELETE FROM question_items WHERE message_id IN {ID_LIST}", (ids,))
    db.execute(f"DELETE FROM attachments WHERE message_id IN {ID_LIST}", (ids,))
    forget_values(db, message_ids)
    if words:
        db.execute(
            f"""UPDATE messages SET withheld = 1, content = ?, blocks = NULL, pasted = NULL,
                token_count = ?
                WHERE id IN {ID_LIST}""",
            (REMOVED, message_tokens(REMOVED), ids),
        )
    else:
        db.execute(
            f"UPDATE messages SET withheld = 1 WHERE withheld = 0 AND id IN {ID_LIST}", (ids,)
        )


def _add_tombstones(db: Connection, rows: str, value: object, now: str) -> None:
    """Record that rows of any kind were forgotten or deleted; `message_uid` is their uid."""
    db.execute(
        f"INSERT OR IGNORE INTO tombstones (message_uid, created_at) SELECT uid, ? FROM {rows}",
        (now, value),
    )


def begin_erasure(db: Connection) -> None:
    """Record that the bytes of deleted rows must be cleared.

    Call it in the transaction that deletes them.
    """
    db.execute("INSERT OR REPLACE INTO meta (name, value) VALUES ('pruning', ?)", (_REMOVE_COPY,))


def is_pending(db: Connection) -> bool:
    """Return whether bytes of deleted rows are still to be cleared."""
    return exists(db, "meta WHERE name = 'pruning'")


def finish_erasure(db: Connection, wait: float = WAIT_SECONDS) -> bool:
    """Clear the bytes of deleted rows; return False if that could not be finished.

    That happens if another process uses the database for longer than `wait` seconds, or
    if the disk is full or failing, or if the copy left by a migration cannot be removed.
    The next call continues where this one stopped. A call with nothing left to do is cheap.
    """
    next_step = scalar(db, "SELECT value FROM meta WHERE name = 'pruning'")
    if next_step is None:
        return True
    refuse_damaged(db)
    try:
        if next_step == _REMOVE_COPY:
            file = scalar(db, "SELECT file FROM pragma_database_list WHERE name = 'main'")
            remove_copy_before_migration(Path(file))
        with patience(db, wait):
            if next_step != _CUT_LOG:
                merge_all(db)
                db.execute("VACUUM")
                db.execute("UPDATE meta SET value = ? WHERE name = 'pruning'", (_CUT_LOG,))
            busy, *_ = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            if not busy:
                db.execute("DELETE FROM meta WHERE name = 'pruning'")
    except operational_errors(OSError):
        return False  # locked, the disk is full, or the copy cannot be removed
    return not busy

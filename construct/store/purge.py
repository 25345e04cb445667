"""Deletes for good: first the rows, then every byte of them in the file and its log.

Nothing else deletes. `secure_delete` alone is not enough, as measured with SQLite 3.40:
pages that were split keep copies of rows in their slack, and a full-text index keeps
the words of deleted rows until its segments are merged. So the indexes are optimised,
the file is rewritten (VACUUM: 0.7 s of CPU for 100,000 messages, as much again for the
indexes) and its log is cut off. The copy that a migration left beside the file goes
first. As long as that is not done, `meta` has a row `pruning` which says what is left
to do. (The migration to schema 7 leaves `rewrite` there, only to give back room: the
copy made before it stays.)
"""

import sqlite3
from collections.abc import Iterable
from pathlib import Path

from construct.store.copy_before_migration import remove_copy_before_migration
from construct.store.database import patience
from construct.store.graph import delete_unnamed
from construct.store.messages import message_tokens
from construct.store.records import REMOVED
from construct.store.search_index import merge_all
from construct.store.sql import GIVEN, exists, given, scalar

WAIT_SECONDS = 10.0
_REMOVE_COPY, _CUT_LOG = "copy", "log"


def delete_observations(db: sqlite3.Connection, ids: Iterable[int]) -> None:
    """Delete observations; their links and what is shown of them go with them."""
    db.execute(f"DELETE FROM observations WHERE id IN {GIVEN}", (given(ids),))


def delete_memories(db: sqlite3.Connection, ids: Iterable[int]) -> tuple[int, int]:
    """Delete memories, their relations, and entities that nothing names any more.

    Returns how many relations and entities went.
    """
    memories = given(ids)
    query = f"DELETE FROM relations WHERE memory_id IN {GIVEN} RETURNING subject_id, object_id"
    relations = db.execute(query, (memories,)).fetchall()
    db.execute(f"DELETE FROM memories WHERE id IN {GIVEN}", (memories,))
    return len(relations), delete_unnamed(db, {end for ends in relations for end in ends})


def delete_conversation(db: sqlite3.Connection, conversation_id: int) -> None:
    """Delete a conversation with its messages and its cycles.

    Other rows must no longer rest on them. Forks go on without what they took from it.
    What the user asked in it to forget stays withheld.
    """
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
        """DELETE FROM forget_requests
           WHERE withheld_at IS NULL
           AND cycle_id IN (SELECT id FROM cycles WHERE conversation_id = ?)""",
        (conversation_id,),
    )
    db.execute("DELETE FROM conversations WHERE id = ?", (conversation_id,))


def reactivate(db: sqlite3.Connection, ids: Iterable[int]) -> None:
    """Make superseded observations active again."""
    db.execute(
        f"UPDATE observations SET superseded_at = NULL, superseded_by = NULL WHERE id IN {GIVEN}",
        (given(ids),),
    )


def withhold(db: sqlite3.Connection, message_ids: Iterable[int], now: str, *, words: bool) -> None:
    """Keep messages out of every window, recall and observer for good.

    Their attachments are deleted; with `words`, what they said too.
    """
    ids = given(message_ids)
    db.execute(
        f"""INSERT OR IGNORE INTO tombstones (message_uid, created_at)
            SELECT uid, ? FROM messages WHERE id IN {GIVEN}""",
        (now, ids),
    )
    db.execute(f"DELETE FROM briefed WHERE message_id IN {GIVEN}", (ids,))
    db.execute(f"DELETE FROM forget_requests WHERE message_id IN {GIVEN}", (ids,))
    db.execute(f"DELETE FROM attachments WHERE message_id IN {GIVEN}", (ids,))
    if words:
        db.execute(
            f"""UPDATE messages SET withheld = 1, content = ?, blocks = NULL, token_count = ?
                WHERE id IN {GIVEN}""",
            (REMOVED, message_tokens(REMOVED), ids),
        )
    else:
        db.execute(f"UPDATE messages SET withheld = 1 WHERE withheld = 0 AND id IN {GIVEN}", (ids,))


def begin_erasure(db: sqlite3.Connection) -> None:
    """Record, in the deleting transaction, that bytes are to be cleared."""
    db.execute("INSERT OR REPLACE INTO meta (name, value) VALUES ('pruning', ?)", (_REMOVE_COPY,))


def is_pending(db: sqlite3.Connection) -> bool:
    """Return whether bytes of something deleted are still to be cleared out."""
    return exists(db, "meta WHERE name = 'pruning'")


def finish_erasure(db: sqlite3.Connection, wait: float = WAIT_SECONDS) -> bool:
    """Clear out what was deleted; False when that has to wait.

    It waits while another process reads or writes for longer than `wait` seconds, or
    while the disk fails. What was not finished is taken up by the next call, which
    costs nothing when nothing is left to do.
    """
    left = scalar(db, "SELECT value FROM meta WHERE name = 'pruning'")
    if left is None:
        return True
    try:
        if left == _REMOVE_COPY:
            file = scalar(db, "SELECT file FROM pragma_database_list WHERE name = 'main'")
            remove_copy_before_migration(Path(file))
        with patience(db, wait):
            if left != _CUT_LOG:
                merge_all(db)
                db.execute("VACUUM")
                db.execute("UPDATE meta SET value = ? WHERE name = 'pruning'", (_CUT_LOG,))
            busy, *_ = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            if not busy:
                db.execute("DELETE FROM meta WHERE name = 'pruning'")
    except (sqlite3.OperationalError, OSError):
        return False  # locked, no room to rewrite, or the copy cannot be removed: it stays noted
    return not busy

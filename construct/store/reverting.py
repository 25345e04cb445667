"""Queries for undo: which cycle is next, what rests on it, what it had changed."""

import sqlite3

from construct.store.records import Cycle
from construct.store.sql import column, exists, first, scalar, select
from construct.vocabulary import CycleKind

_CHANGED = """cycles WHERE status = 'succeeded' AND (
    kind = 'edit'
    OR id IN (SELECT cycle_id FROM observations) OR id IN (SELECT superseded_by FROM observations)
    OR id IN (SELECT cycle_id FROM forget_requests) OR id IN (SELECT cycle_id FROM relations))"""
"""Cycles that something is to be seen of.

The others found nothing, or all that they found has been forgotten since.
"""


def has_changed(db: sqlite3.Connection, cycle_id: int) -> bool:
    """Return whether something is to be seen of a cycle."""
    return exists(db, f"{_CHANGED} AND id = ?", (cycle_id,))


def any_but_graph_changed(db: sqlite3.Connection) -> bool:
    """Return whether something is to be seen of any cycle that is no graph run."""
    return exists(db, f"{_CHANGED} AND kind <> 'graph'")


def last_finished(db: sqlite3.Connection) -> Cycle | None:
    """Return the cycle finished last of those that changed something, or of graph runs.

    A graph run that found nothing counts only while another kind of cycle is left.
    """
    any_graph = "OR kind = 'graph'" if any_but_graph_changed(db) else ""
    source = f"""cycles WHERE status = 'succeeded'
                 AND (id IN (SELECT id FROM {_CHANGED}) {any_graph})
                 ORDER BY finished_at DESC, id DESC"""
    return first(db, Cycle, source)


def built_on(db: sqlite3.Connection, cycle: Cycle, *, moved_marks: bool) -> list[Cycle]:
    """Return the succeeded cycles that rest on a cycle, the last finished first.

    They superseded or used what it made; or, if it moved watermarks, they observed what
    follows it.
    """
    made = "SELECT id FROM observations WHERE cycle_id = :id"
    source = f"""cycles WHERE status = 'succeeded' AND id <> :id AND (
        id IN (SELECT superseded_by FROM observations WHERE cycle_id = :id)
        OR id IN (SELECT cycle_id FROM observations WHERE id IN (
            SELECT observation_id FROM observation_sources WHERE source_id IN ({made})))
        OR id IN (SELECT cycle_id FROM observation_replaced WHERE observation_id IN ({made}))
        OR (kind = 'observer' AND :kind = 'observer' AND conversation_id = :conversation_id
            AND first_message_id > :last))
        ORDER BY finished_at DESC, id DESC"""
    last = cycle.last_message_id if moved_marks else None
    return select(db, Cycle, source, {**cycle._asdict(), "last": last})


def made_by(db: sqlite3.Connection, cycle_id: int) -> list[int]:
    """Return the ids of the observations that a cycle made."""
    return column(db, "SELECT id FROM observations WHERE cycle_id = ? ORDER BY id", (cycle_id,))


def superseded_by(db: sqlite3.Connection, cycle_id: int) -> list[int]:
    """Return the ids of the observations of other cycles that a cycle superseded."""
    query = """SELECT id FROM observations WHERE superseded_by = ? AND cycle_id <> superseded_by
               ORDER BY id"""
    return column(db, query, (cycle_id,))


def swap_observations(db: sqlite3.Connection, cycle: Cycle, now: str) -> None:
    """Let what a cycle superseded stand again, and supersede what it made.

    A line whose edit was committed meanwhile is committed for it.
    """
    if cycle.kind == CycleKind.EDIT:
        db.execute(
            """UPDATE observations SET committed_at = (
                   SELECT committed_at FROM observations AS new WHERE new.cycle_id = :id)
               WHERE superseded_by = :id AND cycle_id <> :id AND committed_at IS NULL""",
            {"id": cycle.id},
        )
    db.execute(
        """UPDATE observations SET superseded_at = NULL, superseded_by = NULL
           WHERE superseded_by = :id AND cycle_id <> :id""",
        {"id": cycle.id},
    )
    db.execute(
        """UPDATE observations SET superseded_at = :now, superseded_by = :id
           WHERE cycle_id = :id""",
        {"id": cycle.id, "now": now},
    )


def live_message_before(db: sqlite3.Connection, conversation_id: int, message_id: int) -> int:
    """Return the id of the message before one that is not archived, 0 for none."""
    query = """SELECT coalesce(max(id), 0) FROM messages
               WHERE conversation_id = ? AND archived = 0 AND id < ?"""
    return scalar(db, query, (conversation_id, message_id))


def mark_reverted(
    db: sqlite3.Connection, cycle_id: int, now: str, held: int | None, base_tokens: int | None
) -> None:
    """Mark a cycle as taken back, with what holds the same work back for a while."""
    db.execute(
        """UPDATE cycles SET status = 'reverted', reverted_at = ?, held_message_id = ?,
           base_tokens = coalesce(?, base_tokens) WHERE id = ?""",
        (now, held, base_tokens, cycle_id),
    )

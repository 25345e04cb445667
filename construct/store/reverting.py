"""Queries for undo: which cycle is next, which cycles depend on it, what it changed."""

from construct.store.driver import Connection
from construct.store.records import Cycle
from construct.store.sql import column, exists, first, scalar, select
from construct.vocabulary import CycleKind

_CHANGED = """cycles WHERE status = 'succeeded' AND (
    kind = 'edit'
    OR id IN (SELECT cycle_id FROM observations) OR id IN (SELECT superseded_by FROM observations)
    OR id IN (SELECT cycle_id FROM tracked_values)
    OR id IN (SELECT cycle_id FROM questions) OR id IN (SELECT cycle_id FROM relations)
    OR id IN (SELECT set_by FROM observation_flags)
    OR id IN (SELECT ended_by FROM observation_flags))"""
"""SQL: the cycles with a visible effect.

Other successful cycles found nothing, or all that they found has been forgotten since.
"""


def has_changed(db: Connection, cycle_id: int) -> bool:
    """Return whether a cycle has a visible effect."""
    return exists(db, f"{_CHANGED} AND id = ?", (cycle_id,))


def any_but_graph_changed(db: Connection) -> bool:
    """Return whether any cycle other than a graph cycle has a visible effect."""
    return exists(db, f"{_CHANGED} AND kind <> 'graph'")


def last_finished(db: Connection) -> Cycle | None:
    """Return the last finished cycle that has a visible effect or is a graph cycle.

    A graph cycle that found nothing counts only while a cycle of another kind has a
    visible effect.
    """
    any_graph = "OR kind = 'graph'" if any_but_graph_changed(db) else ""
    source = f"""cycles WHERE status = 'succeeded'
                 AND (id IN (SELECT id FROM {_CHANGED}) {any_graph})
                 ORDER BY finished_at DESC, id DESC"""
    return first(db, Cycle, source)


def built_on(db: Connection, cycle: Cycle, *, moved_marks: bool) -> list[Cycle]:
    """Return the successful cycles that depend on a cycle, the last finished first.

    They superseded or used its observations. If it moved watermarks, its conversation's
    observer cycles over later messages depend on it too, and those of its compacted
    forks, which no longer show the messages from before the fork.
    """
    made_ids = "SELECT id FROM observations WHERE cycle_id = :id"
    source = f"""cycles WHERE status = 'succeeded' AND id <> :id AND (
        id IN (SELECT superseded_by FROM observations WHERE cycle_id = :id)
        OR id IN (SELECT cycle_id FROM observations WHERE id IN (
            SELECT observation_id FROM observation_sources WHERE source_id IN ({made_ids})))
        OR id IN (SELECT ended_by FROM observation_flags WHERE set_by = :id)
        OR id IN (SELECT set_by FROM observation_flags WHERE observation_id IN ({made_ids}))
        OR id > :id AND id IN (  -- an edit inherits links of an earlier cycle
            SELECT cycle_id FROM observation_replaced WHERE observation_id IN ({made_ids}))
        OR kind = 'observer' AND :kind = 'observer' AND :last IS NOT NULL AND (
            conversation_id = :conversation_id AND first_message_id > :last
            OR conversation_id IN (
                SELECT f.id FROM conversations AS f JOIN watermarks AS w
                    ON w.conversation_id = f.id AND w.name = 'compacted' AND w.message_id > 0
                WHERE parent_id = :conversation_id AND forked_at_message_id >= :first_message_id)))
        ORDER BY finished_at DESC, id DESC"""
    last = cycle.last_message_id if moved_marks else None
    return select(db, Cycle, source, {**cycle._asdict(), "last": last})


def made_by(db: Connection, cycle_id: int) -> list[int]:
    """Return the ids of the observations that a cycle made."""
    return column(db, "SELECT id FROM observations WHERE cycle_id = ? ORDER BY id", (cycle_id,))


def superseded_by(db: Connection, cycle_id: int) -> list[int]:
    """Return the ids of other cycles' observations that a cycle superseded."""
    query = """SELECT id FROM observations WHERE superseded_by = ? AND cycle_id <> superseded_by
               ORDER BY id"""
    return column(db, query, (cycle_id,))


def swap_observations(db: Connection, cycle: Cycle, now: str) -> None:
    """Restore the observations that a cycle superseded, and supersede those it made.

    If the new version of an undone edit is committed, the old version is committed too.
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


def live_message_before(db: Connection, conversation_id: int, message_id: int) -> int:
    """Return the id of the last unarchived message before `message_id`, or 0."""
    query = """SELECT coalesce(max(id), 0) FROM messages
               WHERE conversation_id = ? AND archived = 0 AND id < ?"""
    return scalar(db, query, (conversation_id, message_id))


def mark_reverted(
    db: Connection,
    cycle_id: int,
    now: str,
    held_message_id: int | None,
    base_tokens: int | None,
) -> None:
    """Mark a cycle as undone, and record what delays doing the same work again."""
    db.execute(
        """UPDATE cycles SET status = 'reverted', reverted_at = ?, held_message_id = ?,
           base_tokens = coalesce(?, base_tokens) WHERE id = ?""",
        (now, held_message_id, base_tokens, cycle_id),
    )

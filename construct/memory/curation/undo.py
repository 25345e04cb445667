"""Undo: the newest memory cycle that changed something is taken back, and so on down.

What it made is superseded by the cycle itself, what it superseded is active again, and the
watermarks go back to before its messages. A cycle that another one builds on is never taken
back before that one, whatever the clocks said. Graph runs change nothing of what is remembered,
so they go with the cycle before them: an undo with nothing to see would seem to do nothing.
"""

import sqlite3
from dataclasses import asdict, dataclass, replace

from construct.clock import Clock, to_text
from construct.errors import ConstructError, NotFoundError
from construct.memory.curation.memories import promote
from construct.memory.graph.storing import revert_graph
from construct.memory.shown.forks import reach
from construct.store import forget_requests, lineage, talk
from construct.store import observations as rows
from construct.store.database import rehearsal, transaction
from construct.store.records import Cycle, Observation
from construct.store.sql import exists, first, select


@dataclass(frozen=True, slots=True)
class Undone:
    """What taking back a cycle changed."""

    cycle: Cycle
    """As it is now: reverted."""
    deactivated: tuple[Observation, ...]
    """What it had made."""
    reactivated: tuple[Observation, ...]
    """What it had superseded: active again, or pending as it was."""
    relations: int
    """What graph cycles had drawn."""
    given_back: tuple[str, ...] = ()
    """The words of notes and messages that the user had asked to forget: shown to the model again."""
    along: tuple[Cycle, ...] = ()
    """The graph cycles behind it, and runs that found nothing, which went with it; newest first."""

    @property
    def cycle_ids(self) -> tuple[int, ...]:
        """All that were taken back."""
        return (self.cycle.id, *(one.id for one in self.along))


def undo(db: sqlite3.Connection, clock: Clock, planned: Undone | None = None) -> Undone:
    """Take back the newest cycle that changed something; raises NotFoundError when there is none.

    Graph cycles behind it go with it; one with nothing but its like before it is taken back by itself. Runs that found
    nothing are passed over, unless they went on where that cycle had ended: then they go with it. With `planned`, what
    `plan_undo` gave, exactly those cycles are taken back; raises ConstructError when there are newer ones.
    """
    with transaction(db):
        undone = _undo(db, clock)
        if planned is not None and undone.cycle_ids != planned.cycle_ids:
            raise ConstructError(
                "Memory has changed meanwhile: nothing was taken back.\nTo see what would be now, undo."
            )
        return undone


def plan_undo(db: sqlite3.Connection, clock: Clock) -> Undone:
    """Return what `undo` would change, changing nothing; raises NotFoundError as that does."""
    with rehearsal(db):
        return _undo(db, clock)


def _undo(db: sqlite3.Connection, clock: Clock) -> Undone:
    taken: list[Undone] = []
    goes_on = True
    while goes_on and (cycle := newest_cycle(db)):
        changed = _changed(db, cycle)
        taken.append(_revert(db, cycle, to_text(clock.now())))
        goes_on = not changed or (cycle.kind == "graph" and exists(db, f"{_CHANGED} AND kind <> 'graph'"))
    if not taken:
        raise NotFoundError("Nothing to undo.")
    return replace(
        taken[-1],
        relations=sum(one.relations for one in taken),
        along=tuple(one.cycle for one in taken[:-1]),
    )


_CHANGED = """cycles WHERE status = 'succeeded' AND (
    kind = 'edit'
    OR id IN (SELECT cycle_id FROM observations) OR id IN (SELECT superseded_by FROM observations)
    OR id IN (SELECT cycle_id FROM forget_requests) OR id IN (SELECT cycle_id FROM relations))"""
"""Cycles that something is to be seen of; the others found nothing, or all that they found has been forgotten since."""


def _changed(db: sqlite3.Connection, cycle: Cycle) -> bool:
    return exists(db, f"{_CHANGED} AND id = ?", (cycle.id,))


def newest_cycle(db: sqlite3.Connection) -> Cycle | None:
    """Return the cycle that `undo` would take back first: last finished, or what has been built on that.

    Of those that found nothing only graph cycles, and what has been built on one that did not, are among them.
    """
    wanted = f"{_CHANGED} ORDER BY finished_at DESC, id DESC"
    if exists(db, f"{_CHANGED} AND kind <> 'graph'"):
        wanted = f"""cycles WHERE status = 'succeeded' AND (kind = 'graph' OR id IN (SELECT id FROM {_CHANGED}))
                     ORDER BY finished_at DESC, id DESC"""
    found = first(db, Cycle, wanted)
    passed: set[int] = set()
    while found is not None and found.id not in passed:
        passed.add(found.id)
        later = [c for c in _built_on(db, found) if c.id not in passed]
        if not later:
            break
        found = later[0]
    return found


def _built_on(db: sqlite3.Connection, cycle: Cycle) -> list[Cycle]:
    """Return the succeeded cycles that superseded or used what a cycle made, or observed what follows it."""
    made = "SELECT id FROM observations WHERE cycle_id = :id"
    source = f"""cycles WHERE status = 'succeeded' AND id <> :id AND (
        id IN (SELECT superseded_by FROM observations WHERE cycle_id = :id)
        OR id IN (SELECT cycle_id FROM observations WHERE id IN (
            SELECT observation_id FROM observation_sources WHERE source_id IN ({made})))
        OR id IN (SELECT cycle_id FROM observation_replaced WHERE observation_id IN ({made}))
        OR (kind = 'observer' AND :kind = 'observer' AND conversation_id = :conversation AND first_message_id > :last))
        ORDER BY finished_at DESC, id DESC"""
    last = cycle.last_message_id if _moved_marks(db, cycle) else None
    values = {"id": cycle.id, "kind": cycle.kind, "conversation": cycle.conversation_id, "last": last}
    return select(db, Cycle, source, values)


def _revert(db: sqlite3.Connection, cycle: Cycle, now: str) -> Undone:
    made = _ids(db, "SELECT id FROM observations WHERE cycle_id = ?", cycle.id)
    back = _ids(db, "SELECT id FROM observations WHERE superseded_by = ? AND cycle_id <> superseded_by", cycle.id)
    given_back = forget_requests.withheld_by(db, cycle.id)
    relations = revert_graph(db, cycle.id, now) if cycle.kind == "graph" else 0
    _reactivate(db, cycle)
    db.execute(
        "UPDATE observations SET superseded_at = ?, superseded_by = ? WHERE cycle_id = ?", (now, cycle.id, cycle.id)
    )
    if not made:
        rows.add_shown(db, back, cycle.conversation_id)  # else a line that goes makes a conversation look again
    if cycle.kind == "observer" and _moved_marks(db, cycle):
        _lower_watermarks(db, cycle, now)
    forget_requests.take_back(db, cycle.id)
    _mark_reverted(db, cycle, now)
    promote(db, now)
    deactivated, reactivated = tuple(rows.observations(db, made)), tuple(rows.observations(db, back))
    return Undone(lineage.cycle(db, cycle.id), deactivated, reactivated, relations, given_back)


def _ids(db: sqlite3.Connection, query: str, cycle_id: int) -> list[int]:
    return [row[0] for row in db.execute(f"{query} ORDER BY id", (cycle_id,))]


def _reactivate(db: sqlite3.Connection, cycle: Cycle) -> None:
    """Let what the cycle superseded stand again; a line whose edit was committed meanwhile is committed for it."""
    if cycle.kind == "edit":
        db.execute(
            """UPDATE observations SET committed_at = (
                   SELECT committed_at FROM observations AS new WHERE new.cycle_id = :id)
               WHERE superseded_by = :id AND cycle_id <> :id AND committed_at IS NULL""",
            {"id": cycle.id},
        )
    db.execute(
        "UPDATE observations SET superseded_at = NULL, superseded_by = NULL WHERE superseded_by = ? AND cycle_id <> ?",
        (cycle.id, cycle.id),
    )


def _lower_watermarks(db: sqlite3.Connection, cycle: Cycle, now: str) -> None:
    """Set each watermark that has passed the cycle's beginning to the message before it."""
    assert cycle.conversation_id is not None
    first = cycle.first_message_id or 0
    (before,) = db.execute(
        "SELECT coalesce(max(id), 0) FROM messages WHERE conversation_id = ? AND archived = 0 AND id < ?",
        (cycle.conversation_id, first),
    ).fetchone()
    for name, message_id in asdict(talk.watermarks(db, cycle.conversation_id)).items():
        if message_id >= first:
            talk.set_watermark(db, cycle.conversation_id, name, before, now)
    talk.set_thread(db, cycle.conversation_id, None, None)


def _moved_marks(db: sqlite3.Connection, cycle: Cycle) -> bool:
    """Tell whether an observer cycle was more than a reading of imported messages that the talk had gone past."""
    first, last = cycle.first_message_id or 0, cycle.last_message_id or 0
    return cycle.conversation_id is not None and bool(talk.live_messages(db, cycle.conversation_id, first - 1, last))


def _mark_reverted(db: sqlite3.Connection, cycle: Cycle, now: str) -> None:
    """Book the undo, with what holds the same work back for a while."""
    held = base = None
    if cycle.kind == "observer" and cycle.conversation_id is not None:
        held = talk.last_message_id(db, cycle.conversation_id)
    if cycle.kind == "reflector":
        here = cycle.conversation_id
        base = rows.active_tokens(db, None if here is None else reach(db, "conversation", here))
    db.execute(
        """UPDATE cycles SET status = 'reverted', reverted_at = ?, held_message_id = ?,
           base_tokens = coalesce(?, base_tokens) WHERE id = ?""",
        (now, held, base, cycle.id),
    )

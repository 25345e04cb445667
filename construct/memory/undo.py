"""Undo memory cycles, newest first.

The observations that the cycle made are superseded, those it superseded are active
again, and the watermarks go back to before its messages. A cycle is never undone before
the cycles that build on it, whatever the clocks said. Graph cycles do not change what
is remembered, so they are undone together with the cycle before them: undoing one alone
would seem to do nothing.
"""

import sqlite3
from dataclasses import asdict, dataclass, replace

from construct.clock import Clock, to_text
from construct.errors import ConstructError, NotFoundError
from construct.memory.graph.storing import revert_graph
from construct.memory.promotion import promote
from construct.memory.shown.forks import reach
from construct.memory.shown.view import show_again
from construct.store import cycles, forget_requests, reverting
from construct.store import observations as rows
from construct.store.conversations import get_watermarks, set_task_and_response, set_watermark
from construct.store.database import rehearsal, transaction
from construct.store.messages import last_message_id, live_messages
from construct.store.records import Cycle, Observation
from construct.vocabulary import CycleKind


@dataclass(frozen=True, slots=True)
class Undone:
    """What undoing a cycle changed."""

    cycle: Cycle
    """The cycle after the undo, with status reverted."""
    deactivated: tuple[Observation, ...]
    """The observations it had made."""
    reactivated: tuple[Observation, ...]
    """The observations it had superseded, now active or pending again."""
    relations: int
    """The number of relations that graph cycles had drawn."""
    given_back: tuple[str, ...] = ()
    """Texts that the user had asked to forget, which the model is shown again."""
    along: tuple[Cycle, ...] = ()
    """Later graph cycles, and runs that found nothing, undone with it.

    Newest first.
    """

    @property
    def cycle_ids(self) -> tuple[int, ...]:
        """The ids of all cycles that were undone."""
        return (self.cycle.id, *(one.id for one in self.along))


def undo(db: sqlite3.Connection, clock: Clock, planned: Undone | None = None) -> Undone:
    """Take back the newest cycle that changed something.

    Graph cycles after it are undone with it; if there are only graph cycles, the newest
    is undone alone. Runs that found nothing are skipped, unless they continued where
    the cycle had ended: those are undone with it. With `planned`, the result of
    `plan_undo`, exactly those cycles are undone.

    Raises NotFoundError when there is nothing to undo, ConstructError when there are
    cycles newer than the planned ones.
    """
    with transaction(db):
        undone = _undo(db, clock)
        if planned is not None and undone.cycle_ids != planned.cycle_ids:
            raise ConstructError(
                "Memory has changed meanwhile, so nothing was taken back.\n"
                "Run undo again to see what it would change now."
            )
        return undone


def plan_undo(db: sqlite3.Connection, clock: Clock) -> Undone:
    """Return what `undo` would change, without changing it.

    Raises NotFoundError when there is nothing to undo.
    """
    with rehearsal(db):
        return _undo(db, clock)


def newest_cycle(db: sqlite3.Connection) -> Cycle | None:
    """Return the cycle that `undo` takes back first.

    That is the last to finish, or the last of the cycles that build on it. Runs that
    found nothing count only if they are graph cycles or build on a cycle that found
    something.
    """
    newest = reverting.last_finished(db)
    passed: set[int] = set()
    while newest is not None:
        passed.add(newest.id)
        resting = reverting.built_on(db, newest, moved_marks=_moved_marks(db, newest))
        later = [cycle for cycle in resting if cycle.id not in passed]
        if not later:
            break
        newest = later[0]
    return newest


def _undo(db: sqlite3.Connection, clock: Clock) -> Undone:
    taken: list[Undone] = []
    goes_on = True
    while goes_on and (cycle := newest_cycle(db)):
        goes_on = not reverting.has_changed(db, cycle.id)
        taken.append(_revert(db, cycle, to_text(clock.now())))
        if cycle.kind == CycleKind.GRAPH:
            goes_on = goes_on or reverting.any_but_graph_changed(db)
    if not taken:
        raise NotFoundError("Nothing to undo.")
    return replace(
        taken[-1],
        relations=sum(undone.relations for undone in taken),
        along=tuple(undone.cycle for undone in taken[:-1]),
    )


def _revert(db: sqlite3.Connection, cycle: Cycle, now: str) -> Undone:
    made = reverting.made_by(db, cycle.id)
    returning = reverting.superseded_by(db, cycle.id)
    given_back = forget_requests.withheld_by(db, cycle.id)
    relations = revert_graph(db, cycle.id) if cycle.kind == CycleKind.GRAPH else 0
    reverting.swap_observations(db, cycle, now)
    if not made:  # else a line that goes makes a conversation look again
        show_again(db, returning)
    held = base_tokens = None
    if cycle.kind == CycleKind.OBSERVER and cycle.conversation_id is not None:
        held = last_message_id(db, cycle.conversation_id)
        if _moved_marks(db, cycle):
            _lower_watermarks(db, cycle.conversation_id, cycle.first_message_id or 0, now)
    forget_requests.withdraw(db, cycle.id)
    if cycle.kind == CycleKind.REFLECTOR:
        here = cycle.conversation_id
        talk = None if here is None else reach(db, "conversation", here)
        base_tokens = rows.active_tokens(db, talk)
    reverting.mark_reverted(db, cycle.id, now, held, base_tokens)
    promote(db, now)
    return Undone(
        cycle=cycles.get_cycle(db, cycle.id),
        deactivated=tuple(rows.observations(db, made)),
        reactivated=tuple(rows.observations(db, returning)),
        relations=relations,
        given_back=given_back,
    )


def _lower_watermarks(db: sqlite3.Connection, conversation_id: int, first: int, now: str) -> None:
    """Set each watermark at or past a message to the one before it."""
    before = reverting.live_message_before(db, conversation_id, first)
    for name, message_id in asdict(get_watermarks(db, conversation_id)).items():
        if message_id >= first:
            set_watermark(db, conversation_id, name, before, now)
    set_task_and_response(db, conversation_id, None, None)


def _moved_marks(db: sqlite3.Connection, cycle: Cycle) -> bool:
    """Return whether a cycle read anything but imported messages."""
    first, last = cycle.first_message_id or 0, cycle.last_message_id or 0
    return cycle.conversation_id is not None and bool(
        live_messages(db, cycle.conversation_id, first - 1, last)
    )

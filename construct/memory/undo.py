"""Undo memory cycles, newest first.

The observations that the cycle made are superseded, those it superseded are active
again, and the watermarks go back to before its messages. A cycle is never undone before
the cycles that build on it, even if the clock was set back between them. Graph cycles do
not change what is remembered, so they are undone together with the cycle before them,
if there is one: undoing a graph cycle alone would seem to do nothing.
"""

from dataclasses import asdict, dataclass, replace

from construct.clock import Clock, to_text
from construct.errors import ConstructError, NotFoundError
from construct.memory.agenda import plans_in_sight_from
from construct.memory.graph.storing import revert_graph
from construct.memory.shown.forks import reach
from construct.memory.shown.view import show_again
from construct.store import cycles, flags, questions, reverting
from construct.store.conversations import get_watermarks, set_task_and_response, set_watermark
from construct.store.database import rehearsal, transaction
from construct.store.driver import Connection
from construct.store.messages import last_message_id, live_messages
from construct.store.observations import observations, tokens_in_sight
from construct.store.records import Cycle, Observation
from construct.store.tracked import swap_values, values_made_by
from construct.vocabulary import CycleKind, Flag


@dataclass(frozen=True, slots=True)
class Undone:
    """What undoing a cycle changed."""

    cycle: Cycle
    """The undone cycle, now with status reverted."""
    deactivated: tuple[Observation, ...]
    """The observations it had made, now superseded."""
    reactivated: tuple[Observation, ...]
    """The observations it had superseded, now active or pending again."""
    relations: int
    """The number of relations that the undone graph cycles had found."""
    given_back: tuple[str, ...] = ()
    """Texts that the user had asked to forget, which the model is shown again."""
    reopened: tuple[str, ...] = ()
    """What the user decided by the undone edit, and is asked about again."""
    in_sight_again: tuple[Observation, ...] = ()
    """The observations it had shelved."""
    out_of_sight_again: tuple[Observation, ...] = ()
    """The observations that it had taken into sight again."""
    sure_again: tuple[Observation, ...] = ()
    """The observations it had marked as doubtful."""
    values: int = 0
    """The number of amounts it had noted of what the user follows."""
    along: tuple[Cycle, ...] = ()
    """Later graph cycles, and runs that found nothing, undone with it.

    Newest first.
    """

    @property
    def cycle_ids(self) -> tuple[int, ...]:
        """The ids of all cycles that were undone."""
        return (self.cycle.id, *(cycle.id for cycle in self.along))


def undo(db: Connection, clock: Clock, planned: Undone | None = None) -> Undone:
    """Take back the newest cycle that changed something.

    Graph cycles after it are undone with it; if there are only graph cycles, the newest
    is undone alone. Runs that found nothing are skipped, except those that continued where
    the cycle had ended, which are undone with it. `planned`: the result of `plan_undo`;
    exactly its cycles are undone.

    Raises NotFoundError when there is nothing to undo, ConstructError when it would no
    longer undo exactly the planned cycles.
    """
    with transaction(db):
        undone = _undo(db, clock)
        if planned is not None and undone.cycle_ids != planned.cycle_ids:
            raise ConstructError(
                "Memory has changed in the meantime, so nothing was taken back.\n"
                "Run undo again to see what it would change now."
            )
        return undone


def plan_undo(db: Connection, clock: Clock) -> Undone:
    """Return what `undo` would change, without changing it.

    Raises NotFoundError when there is nothing to undo.
    """
    with rehearsal(db):
        return _undo(db, clock)


def newest_cycle(db: Connection) -> Cycle | None:
    """Return the cycle that `undo` takes back first.

    That is the last to finish, or the last of the cycles that build on it. Runs that
    found nothing count only if they are graph cycles or build on a cycle that found
    something.
    """
    newest = reverting.last_finished(db)
    seen: set[int] = set()
    while newest is not None:
        seen.add(newest.id)
        dependents = reverting.built_on(db, newest, moved_marks=moved_watermarks(db, newest))
        unseen = [cycle for cycle in dependents if cycle.id not in seen]
        if not unseen:
            break
        newest = unseen[0]
    return newest


def _undo(db: Connection, clock: Clock) -> Undone:
    reverted: list[Undone] = []
    is_done = False
    while not is_done and (cycle := newest_cycle(db)):
        is_done = reverting.has_changed(db, cycle.id)
        reverted.append(_revert(db, cycle, clock))
        if cycle.kind == CycleKind.GRAPH and reverting.any_but_graph_changed(db):
            is_done = False
    if not reverted:
        raise NotFoundError("Nothing to undo.")
    *along, last = reverted
    return replace(
        last,
        relations=sum(undone.relations for undone in reverted),
        along=tuple(undone.cycle for undone in along),
    )


def _revert(db: Connection, cycle: Cycle, clock: Clock) -> Undone:
    now = to_text(clock.now())
    made = reverting.made_by(db, cycle.id)
    superseded = reverting.superseded_by(db, cycle.id)
    given_back = questions.withheld_by(db, cycle.id)
    relations = revert_graph(db, cycle.id) if cycle.kind == CycleKind.GRAPH else 0
    reverting.swap_observations(db, cycle, now)
    swap_values(db, cycle.id, now)
    shelved = flags.flagged_by(db, Flag.SHELVED, cycle.id)
    last_message = None
    if cycle.kind == CycleKind.OBSERVER and cycle.conversation_id is not None:
        last_message = last_message_id(db, cycle.conversation_id)
        if moved_watermarks(db, cycle):
            _lower_watermarks(db, cycle.conversation_id, cycle.first_message_id or 0, now)
    questions.withdraw_of(db, cycle.id)
    reopened = questions.reopen(db, cycle.id)
    base_tokens = None
    if cycle.kind == CycleKind.REFLECTOR:
        conversation_id = cycle.conversation_id
        descent = None if conversation_id is None else reach(db, "conversation", conversation_id)
        base_tokens = tokens_in_sight(db, descent, plans_in_sight_from(clock.today()).isoformat())
    reverting.mark_reverted(db, cycle.id, now, last_message, base_tokens)
    if not made:
        # If the cycle made observations, superseding them has the same effect.
        show_again(db, [*superseded, *shelved])
    return Undone(
        cycle=cycles.get_cycle(db, cycle.id),
        deactivated=tuple(observations(db, made)),
        reactivated=tuple(observations(db, superseded)),
        in_sight_again=tuple(observations(db, shelved)),
        out_of_sight_again=tuple(observations(db, flags.ended_by(db, Flag.SHELVED, cycle.id))),
        sure_again=tuple(observations(db, flags.flagged_by(db, Flag.DOUBTFUL, cycle.id))),
        relations=relations,
        given_back=given_back,
        reopened=reopened,
        values=len(values_made_by(db, cycle.id)),
    )


def _lower_watermarks(db: Connection, conversation_id: int, first: int, now: str) -> None:
    """Set each watermark at or past the message `first` to the message before it.

    Also clears the current task and the suggested response.
    """
    message_before = reverting.live_message_before(db, conversation_id, first)
    for name, message_id in asdict(get_watermarks(db, conversation_id)).items():
        if message_id >= first:
            set_watermark(db, conversation_id, name, message_before, now)
    set_task_and_response(db, conversation_id, None, None)


def moved_watermarks(db: Connection, cycle: Cycle) -> bool:
    """Return whether a cycle moved watermarks: not if it read only archived messages."""
    first, last = cycle.first_message_id or 0, cycle.last_message_id or 0
    return cycle.conversation_id is not None and bool(
        live_messages(db, cycle.conversation_id, first - 1, last)
    )

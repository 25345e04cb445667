"""`observe --again`: read talk anew with today's model, prompts and rules, and take that over.

What is taken over is one edit by the user, so that undo takes all of it back. What the
user wrote or pinned stays, and so does what a reflection was made of in the meantime.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from construct.clock import to_text
from construct.errors import ConstructError
from construct.llm.types import Model
from construct.memory.learning.proposals import ProposedObservation
from construct.memory.shown.lines import line_tokens, note_columns
from construct.operations.context import Context
from construct.operations.dry_run import DryRun, DryRunPlan, messages_to_read, plan_reading
from construct.store import cycles, note_links, observations
from construct.store.database import transaction
from construct.store.driver import Connection
from construct.store.messages import is_readable, messages_with_ids, observed_messages
from construct.store.records import Message, Observation
from construct.store.succession import replaced_observations
from construct.store.usage import record_usage
from construct.vocabulary import EXTRACTIVE, Replacement


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference that can be taken over: a note that is new, changed or gone."""

    before: Observation | None
    now: ProposedObservation | None


@dataclass(frozen=True, slots=True)
class Taken:
    """How many differences were taken over."""

    added: int = 0
    changed: int = 0
    removed: int = 0

    @property
    def total(self) -> int:
        """All of them together."""
        return self.added + self.changed + self.removed


def plan_again(
    ctx: Context, model: Model | None, last: int | None, since: str | None
) -> DryRunPlan:
    """Plan to read again what was observed: all of it, the last messages, or since a moment.

    Raises UsageError, and ConstructError if the daily limit for memory work is reached.
    """
    is_limited = last is not None or since is not None
    wanted = messages_to_read(ctx, last, since) if is_limited else observed_messages(ctx.db)
    observed = {m.id for m in observed_messages(ctx.db)} if is_limited else None
    return plan_reading(ctx, model, [m for m in wanted if observed is None or m.id in observed])


def differences(ctx: Context, done: DryRun) -> list[Difference]:
    """Return what can be taken over. Raises ConstructError if the worker model failed.

    A note that took another's place stays, even if it was not noted this time: with it
    gone, neither would be known.
    """
    if done.is_by_rule:
        raise ConstructError(
            "The worker model gave no complete answer, so nothing was taken over.\nTry again later."
        )
    found = [Difference(pair.before, pair.now) for pair in done.changed]
    found += [
        Difference(before, None)
        for before in done.missing
        if not replaced_observations(ctx.db, before.id)
    ]
    replaceable = [d for d in found if d.before and _is_replaceable(d.before)]
    return [*replaceable, *(Difference(None, note) for note in done.added)]


def _is_replaceable(o: Observation) -> bool:
    return o.state != "superseded" and not o.is_protected and not o.withheld


def take_over(
    ctx: Context, plan: DryRunPlan, done: DryRun, accepted: Sequence[Difference]
) -> Taken:
    """Store what the user accepted, as one edit, and what the reading cost.

    A difference is left out if its note was replaced, pinned or withheld in the meantime, if
    its messages are gone, or if the user's rules forbid it.
    """
    now = to_text(ctx.clock.now())
    with transaction(ctx.db):
        cycle_id = _edit(ctx.db, plan, accepted, now)
        taken = [d for d in accepted if _take(ctx.db, d, cycle_id, now)]
        for call in done.calls:
            record_usage(ctx.db, call, now, None, cycle_id if taken else None)
        if not taken:
            cycles.delete_edit(ctx.db, cycle_id)
    return Taken(
        added=sum(d.before is None for d in taken),
        changed=sum(d.before is not None and d.now is not None for d in taken),
        removed=sum(d.now is None for d in taken),
    )


def _edit(db: Connection, plan: DryRunPlan, accepted: Sequence[Difference], now: str) -> int:
    model = EXTRACTIVE if plan.model is None else plan.model.name
    homes: set[int | None] = {
        m.conversation_id for d in accepted if d.now for m in _sources(db, d.now)
    }
    homes |= {d.before.conversation_id for d in accepted if d.before}
    return cycles.insert_edit(db, homes.pop() if len(homes) == 1 else None, now, model=model)


def _take(db: Connection, difference: Difference, cycle_id: int, now: str) -> bool:
    """Carry out one difference. False if it is left out."""
    before = difference.before
    if before is not None:
        current = observations.observations(db, [before.id])
        if not current or not _is_replaceable(current[0]):
            return False
    if difference.now is not None:
        new_id = _insert(db, difference.now, before, cycle_id, now)
        if new_id is None:
            return False
        if before is not None:
            note_links.link_replaced(db, [(new_id, before.id)], Replacement.EDIT, cycle_id)
    if before is not None:
        observations.supersede(db, [before.id], cycle_id, now)
    return True


def _insert(
    db: Connection, note: ProposedObservation, before: Observation | None, cycle_id: int, now: str
) -> int | None:
    sources = _sources(db, note)
    if not sources:
        return None
    is_pending = before is not None and before.committed_at is None
    new_id = observations.insert_observation(
        db,
        {
            **note_columns(note),
            "conversation_id": sources[0].conversation_id,
            "generation": 0,
            "cycle_id": cycle_id,
            "token_count": line_tokens(note),
            "created_at": now,
            "committed_at": None if is_pending else now,
        },
    )
    if new_id is not None:
        note_links.link_messages(db, new_id, [m.id for m in sources])
    return new_id


def _sources(db: Connection, note: ProposedObservation) -> list[Message]:
    return [m for m in messages_with_ids(db, note.sources) if is_readable(m)]

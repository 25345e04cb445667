"""Carry out a plan to forget: delete the rows, and clear their bytes out of the file.

Nothing else in the program deletes what was said or remembered.
"""

from dataclasses import dataclass

from construct.clock import Clock, to_text
from construct.errors import ConstructError
from construct.memory.forgetting.plan import (
    DeletionPlan,
    ForgetPlan,
    Removal,
    plan_deletion,
    plan_forget,
)
from construct.memory.graph.storing import drop_unsaid_names
from construct.references import Reference
from construct.store import forgotten_text, purge
from construct.store.database import transaction
from construct.store.driver import Connection
from construct.store.note_links import with_reflections
from construct.store.shown import show_instead
from construct.store.succession import reactivated_by


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What was deleted and what was kept, as in `construct memory forget --json`."""

    observations: int
    reflections: int
    """How many of the observations were reflections."""
    reactivated: int
    relations: int
    entities: int
    messages: int
    """Messages withheld or emptied, including replies."""
    emptied: int
    """How many of the messages lost every word."""
    attachments: int
    """Files attached to the messages. They are deleted with or without `--words`."""
    replies: int
    conversations: int
    """Conversations whose title, task or suggested response was cleared."""
    cycles: int
    """Cycles that lost notes."""
    lookups: int
    """Replies that lost tool rounds."""
    elsewhere: int
    """Other messages with words of what was forgotten, which were kept."""
    alike: int
    """Other observations that say nearly the same, which were kept."""
    beside: tuple[int, ...]
    """Ids of other observations from emptied messages, which were kept."""
    values: int
    """Amounts that the user followed, which the messages said."""
    pending_erasure: bool
    """True if the bytes could not be cleared out yet (see `purge.finish_erasure`)."""


@dataclass(frozen=True, slots=True)
class Deleted:
    """What was deleted, as in `construct conversations delete --json`."""

    conversation: int
    messages: int
    observations: int
    reactivated: int
    relations: int
    entities: int
    forks: tuple[int, ...]
    """Ids of the conversations forked from it, which were kept."""
    pending_erasure: bool
    """As in `Forgotten`."""


def forget(
    db: Connection,
    reference: Reference,
    clock: Clock,
    *,
    words: bool,
    shown: ForgetPlan | None = None,
    wait: float = purge.WAIT_SECONDS,
) -> Forgotten:
    """Forget an item with everything that depends on it, and clear out the bytes.

    A message is withheld, and emptied only with `words`; anything else is deleted. `shown`
    is the plan that the user has agreed to.

    Raises NotFoundError, and ConstructError if more or less would go than was shown.
    """
    with transaction(db):
        plan = plan_forget(db, reference, words=words)
        _require_same(plan, shown)
        relations, entities = remove(db, plan, clock)
    return Forgotten(
        observations=len(plan.observations),
        reflections=sum(o.generation > 0 for o in plan.observations),
        reactivated=len(plan.reactivated),
        relations=relations,
        entities=entities,
        messages=len(plan.message_ids),
        emptied=len(plan.message_ids) if words else 0,
        attachments=len(plan.attachments),
        replies=len(plan.replies),
        conversations=len(plan.conversations),
        cycles=len(plan.cycles),
        lookups=len(plan.lookups),
        elsewhere=plan.elsewhere,
        alike=plan.alike,
        beside=plan.beside,
        values=len(plan.values),
        pending_erasure=not purge.finish_erasure(db, wait),
    )


def delete_conversation(
    db: Connection,
    conversation_id: int,
    clock: Clock,
    *,
    shown: DeletionPlan | None = None,
    wait: float = purge.WAIT_SECONDS,
) -> Deleted:
    """Delete a conversation with everything that depends on it, and clear out the bytes.

    `shown` is the plan that the user has agreed to. Raises NotFoundError, and
    ConstructError if more or less would go than was shown.
    """
    with transaction(db):
        plan = plan_deletion(db, conversation_id)
        _require_same(plan, shown)
        relations, entities = remove(db, plan, clock)
    return Deleted(
        conversation=conversation_id,
        messages=plan.messages,
        observations=len(plan.observations),
        reactivated=len(plan.reactivated),
        relations=relations,
        entities=entities,
        forks=tuple(c.id for c in plan.forks),
        pending_erasure=not purge.finish_erasure(db, wait),
    )


def remove(db: Connection, plan: ForgetPlan | DeletionPlan, clock: Clock) -> tuple[int, int]:
    """Carry out a plan in the caller's transaction.

    Return the number of relations and of entities deleted.
    """
    now = to_text(clock.now())
    deleted_ids = {o.id for o in plan.observations}
    forgotten_text.store_cycle_notes(db, plan.cycles)
    forgotten_text.abandon_readers(db, now)
    _reactivate(db, deleted_ids)
    relations = purge.delete_observations(db, deleted_ids, now)
    forgotten_text.drop_tool_rounds(db, plan.lookups)
    forgotten_text.store_conversation_notes(db, plan.conversations)
    if isinstance(plan, DeletionPlan):
        purge.delete_conversation(db, plan.conversation.id, now)
    else:
        purge.withhold(db, plan.message_ids, now, words=plan.words)
    entities = drop_unsaid_names(db)
    purge.begin_erasure(db)
    return relations, entities


def _require_same(plan: Removal, shown: Removal | None) -> None:
    if shown is not None and plan.goes != shown.goes:
        raise ConstructError(
            "What would be deleted has changed since it was shown, so nothing was deleted.\n"
            "Give the same command again to see it now."
        )


def _reactivate(db: Connection, deleted_ids: set[int]) -> None:
    """Reactivate observations that the deleted ones superseded, and show them in their place."""
    returning = reactivated_by(db, deleted_ids)
    for old, new in returning.items():
        deleted_successors = (with_reflections(db, [old, *new]) - {old}) & deleted_ids
        show_instead(db, old, deleted_successors)
    purge.reactivate(db, returning)

"""Forgets: deletes what was planned, and clears every byte of it out of the file.

Forgetting and deleting a conversation are the only things that delete.
"""

import sqlite3
from dataclasses import dataclass

from construct.clock import Clock, to_text
from construct.memory.forgetting.plan import (
    DeletionPlan,
    ForgetPlan,
    plan_deletion,
    plan_forget,
)
from construct.memory.graph.storing import drop_unsaid_names
from construct.memory.promotion import promote
from construct.references import Reference
from construct.store import provenance, purge, references
from construct.store.database import transaction
from construct.store.shown import show_instead


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What was deleted; as `construct memory forget --json` counts it."""

    observations: int
    reflections: int
    """How many of the observations were."""
    reactivated: int
    memories: int
    relations: int
    entities: int
    messages: int
    """Messages withheld or emptied, replies too."""
    emptied: int
    """How many of the messages lost every word."""
    attachments: int
    """Files that came with them: deleted, with `--words` or without."""
    replies: int
    threads: int
    """Conversations whose title, task or suggested response went."""
    cycles: int
    """Cycles that lost notes."""
    lookups: int
    """Replies that lost tool rounds."""
    elsewhere: int
    alike: int
    beside: tuple[int, ...]
    """Other observations drawn from messages that were emptied; they stayed."""
    pending_erasure: bool
    """Its bytes are still in the file and are cleared out later.

    Another process reads the file, or the disk is full or failing (`finish_erasure`).
    """


@dataclass(frozen=True, slots=True)
class Deleted:
    """What was deleted; as `construct conversations delete --json` counts it."""

    conversation: int
    messages: int
    observations: int
    reactivated: int
    memories: int
    relations: int
    entities: int
    forks: tuple[int, ...]
    pending_erasure: bool
    """As in `Forgotten`."""


def forget(
    db: sqlite3.Connection,
    reference: Reference,
    clock: Clock,
    *,
    words: bool,
    wait: float = purge.WAIT_SECONDS,
) -> Forgotten:
    """Delete what is named with all that goes along, and clear its bytes out.

    Raises NotFoundError.
    """
    with transaction(db):
        plan = plan_forget(db, reference, words=words)
        relations, entities = _remove(db, plan, to_text(clock.now()))
    return Forgotten(
        observations=len(plan.observations),
        reflections=sum(o.generation > 0 for o in plan.observations),
        reactivated=len(plan.reactivated),
        memories=len(plan.memories),
        relations=relations,
        entities=entities,
        messages=len(plan.message_ids),
        emptied=len(plan.message_ids) if words else 0,
        attachments=len(plan.attachments),
        replies=len(plan.replies),
        threads=len(plan.threads),
        cycles=len(plan.cycles),
        lookups=len(plan.lookups),
        elsewhere=plan.elsewhere,
        alike=plan.alike,
        beside=plan.beside,
        pending_erasure=not purge.finish_erasure(db, wait),
    )


def delete_conversation(
    db: sqlite3.Connection, conversation_id: int, clock: Clock, *, wait: float = purge.WAIT_SECONDS
) -> Deleted:
    """Delete a conversation with all that rests on it, and clear its bytes out.

    Raises NotFoundError.
    """
    with transaction(db):
        plan = plan_deletion(db, conversation_id)
        relations, entities = _remove(db, plan, to_text(clock.now()))
    return Deleted(
        conversation=conversation_id,
        messages=plan.messages,
        observations=len(plan.observations),
        reactivated=len(plan.reactivated),
        memories=len(plan.memories),
        relations=relations,
        entities=entities,
        forks=tuple(c.id for c in plan.forks),
        pending_erasure=not purge.finish_erasure(db, wait),
    )


def _remove(db: sqlite3.Connection, plan: ForgetPlan | DeletionPlan, now: str) -> tuple[int, int]:
    """Do what was planned, inside the caller's transaction.

    Return how many relations and entities went.
    """
    gone = {o.id for o in plan.observations}
    references.store_notes(db, plan.cycles)
    references.abandon_readers(db, now)
    _reactivate(db, gone)
    counts = purge.delete_memories(db, [m.id for m in plan.memories])
    purge.delete_observations(db, gone)
    references.drop_tool_rounds(db, plan.lookups)
    references.store_conversation_notes(db, plan.threads)
    if isinstance(plan, DeletionPlan):
        purge.delete_conversation(db, plan.conversation.id)
    else:
        purge.withhold(db, plan.message_ids, now, words=plan.words)
    promote(db, now)
    drop_unsaid_names(db)
    purge.begin_erasure(db)
    return counts


def _reactivate(db: sqlite3.Connection, gone: set[int]) -> None:
    """Let stand again, in the same places, what was superseded for what goes."""
    returning = provenance.reactivated_by(db, gone)
    for old, new in returning.items():
        places = (provenance.with_reflections(db, [old, *new]) - {old}) & gone
        show_instead(db, old, places)
    purge.reactivate(db, returning)

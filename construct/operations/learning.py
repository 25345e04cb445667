"""Memory work on demand: `compact` this conversation, `observe` what was imported."""

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from construct.clock import to_text
from construct.companion import Companion
from construct.llm.types import Model
from construct.memory.cycles import archive
from construct.memory.cycles.archive import Estimate, Revived
from construct.memory.cycles.commit import Compacted
from construct.memory.cycles.observing import fallback_reason, newest_observer
from construct.memory.cycles.situation import (
    MemoryConfig,
    is_over_limit,
    spent_today,
)
from construct.memory.learning.floor import Reflection
from construct.memory.learning.observer import batch_tokens
from construct.operations.context import Context
from construct.operations.moments import parse_moment
from construct.store import backlog, cycles
from construct.store.backlog import Backlog
from construct.store.database import transaction
from construct.store.usage import spent_on_memory
from construct.vocabulary import CycleKind


@dataclass(frozen=True, slots=True)
class CompactResult:
    """What compacting a conversation changed."""

    conversation: int
    observed: int
    """New observations."""
    compacted: Compacted
    reflection: Reflection | None
    fallback_reason: str | None
    """Why the worker model did not read the last batch."""


async def compact(companion: Companion, conversation_id: int) -> CompactResult:
    """Observe, compact and reflect a conversation now.

    Raises UsageError where memory does not learn.
    """
    companion.settings.must_learn()
    before = await companion.store.call(newest_observer, conversation_id)
    observed, compacted, reflection = await companion.worker.now(conversation_id)
    why = None
    if companion.models.worker is not None:
        why = await companion.store.call(
            fallback_reason, conversation_id, companion.worker.config, before
        )
    return CompactResult(conversation_id, observed, compacted, reflection, why)


@dataclass(frozen=True, slots=True)
class ObservePlan:
    """What there is to observe, and what that may cost."""

    backlogs: Sequence[Backlog]
    estimate: Estimate
    model: str | None
    """The worker model's name. None: by rule."""

    @property
    def messages(self) -> int:
        """How many messages wait."""
        return sum(waiting.messages for waiting in self.backlogs)


def plan_observe(ctx: Context, worker: Model | None, since: str | None = None) -> ObservePlan:
    """Return the imported messages that no observer has read.

    `since` leaves only conversations that went on after a moment. Raises UsageError.
    """
    after = "" if since is None else to_text(parse_moment(since, ctx.clock))
    backlogs = backlog.backlogs(ctx.db, after)
    estimate = archive.estimate(backlogs, worker)
    return ObservePlan(backlogs, estimate, None if worker is None else worker.name)


@dataclass(frozen=True, slots=True)
class Observed:
    """What was observed, of how much, and why it stopped before the end."""

    messages: int = 0
    observations: int = 0
    messages_left: int = 0
    cost_usd: float = 0.0
    stopped: str | None = None


async def observe(
    companion: Companion,
    plan: ObservePlan,
    budget: float | None,
    advance: Callable[[str, int, int], None],
) -> Observed:
    """Observe what was planned, until nothing is left or the money is spent.

    `budget`: US dollars, instead of the day's limit. `advance` hears of the progress.
    """
    done = Observed(messages_left=plan.messages)
    before = await companion.store.call(spent_on_memory)
    if budget is not None:
        limit = await companion.store.call(spent_today, companion.memory_config) + budget
        companion.worker.config = replace(companion.memory_config, daily_usd=limit)
    advance("Observing", 0, plan.messages)
    for waiting in plan.backlogs:
        while done.stopped is None and (step := await _step(companion, waiting.conversation_id)):
            done = Observed(
                done.messages + step.messages,
                done.observations + step.observations,
                done.messages_left - step.messages,
                stopped=step.stopped,
            )
            advance("Observing", done.messages, plan.messages)
    return replace(done, cost_usd=await companion.store.call(spent_on_memory) - before)


async def _step(companion: Companion, conversation_id: int) -> Observed | None:
    store, worker, model = companion.store, companion.worker, companion.models.worker
    if model is not None and await store.call(is_over_limit, worker.config):
        why = "the budget is spent. Set --budget for more, or continue tomorrow"
        return Observed(stopped=why)
    if await store.call(_is_being_observed, conversation_id, worker.config):
        why = f"conversation {conversation_id} is being observed by another process"
        return Observed(stopped=why)
    before = await store.call(backlog.unread, conversation_id)
    if not before:
        return None
    made = await worker.catch_up_passed(conversation_id)
    if made is None:
        revived = await store.call(_revive, conversation_id, batch_tokens(model))
        made = 0 if revived is None else await worker.catch_up(conversation_id, revived.until)
    read = before - await store.call(backlog.unread, conversation_id)
    if not read:
        return Observed(stopped=f"conversation {conversation_id} could not be observed")
    fallback = (
        None if model is None else await store.call(fallback_reason, conversation_id, worker.config)
    )
    return Observed(read, made, stopped=fallback)


def _is_being_observed(db: sqlite3.Connection, conversation_id: int, config: MemoryConfig) -> bool:
    with transaction(db):
        cycles.abandon_dead(db, to_text(config.clock.now()))
        running = cycles.running(db)
    observing = [c.conversation_id for c in running if c.kind == CycleKind.OBSERVER]
    return conversation_id in observing


def _revive(db: sqlite3.Connection, conversation_id: int, most: int) -> Revived | None:
    with transaction(db):
        return archive.revive(db, conversation_id, most)

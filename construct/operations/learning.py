"""Memory work on demand: compact a conversation, observe imported messages."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from construct.clock import to_text
from construct.language.moments import parse_moment
from construct.llm.types import Model
from construct.memory.config import MemoryConfig
from construct.memory.cycles import archive
from construct.memory.cycles.archive import Revived, WorkEstimate
from construct.memory.cycles.commit import Compacted
from construct.memory.cycles.observing import fallback_reason, newest_observer
from construct.memory.cycles.situation import is_over_limit, spent_today
from construct.memory.learning.observer_call import batch_tokens
from construct.memory.learning.reflection_checks import Reflection
from construct.operations.context import Context
from construct.program import as_typed
from construct.store import backlog, cycles
from construct.store.backlog import Backlog
from construct.store.database import transaction
from construct.store.driver import Connection
from construct.store.usage import spent_on_memory
from construct.talk.companion import Companion
from construct.vocabulary import CycleKind, CycleStatus

_BUDGET_SPENT = "the budget is spent. Run the same command again to go on"
_DAILY_LIMIT_REACHED = "the daily limit was reached. To go on, raise CONSTRUCT_WORKER_DAILY_"
_OR_BUDGET = " or pass --budget"


@dataclass(frozen=True, slots=True)
class CompactResult:
    """What compacting a conversation changed."""

    conversation: int
    observed: int
    """How many observations are new."""
    compacted: Compacted
    reflection: Reflection | None
    fallback_reason: str | None
    """Why the last batch was observed by fixed rules instead of the worker model."""


async def compact(companion: Companion, conversation_id: int) -> CompactResult:
    """Run the observer and the reflector on a conversation now, and compact it.

    Raises UsageError if learning is switched off.
    """
    companion.settings.require_learning()
    before = await companion.store.call(newest_observer, conversation_id)
    observed, compacted, reflection = await companion.worker.run_now(conversation_id)
    reason = None
    if companion.models.worker is not None:
        reason = await companion.store.call(
            fallback_reason, conversation_id, companion.worker.config, before
        )
    return CompactResult(conversation_id, observed, compacted, reflection, reason)


@dataclass(frozen=True, slots=True)
class ObservePlan:
    """The imported messages to observe, and what that may cost."""

    backlogs: Sequence[Backlog]
    estimate: WorkEstimate
    model: str | None
    """The worker model's name; None if observations are extracted by fixed rules."""

    @property
    def messages(self) -> int:
        """How many messages are not observed yet."""
        return sum(waiting.messages for waiting in self.backlogs)


def plan_observe(ctx: Context, worker: Model | None, since: str | None = None) -> ObservePlan:
    """Return the imported messages that have not been observed, by conversation.

    With `since`, only conversations with unobserved messages since that moment. Raises
    UsageError.
    """
    after = "" if since is None else to_text(parse_moment(since, ctx.clock))
    backlogs = backlog.backlogs(ctx.db, after)
    estimate = archive.estimate(backlogs, worker)
    return ObservePlan(backlogs, estimate, None if worker is None else worker.name)


@dataclass(frozen=True, slots=True)
class Observed:
    """How much was observed, what it cost, and why it stopped early."""

    messages: int = 0
    observations: int = 0
    messages_left: int = 0
    cost_usd: float | None = 0.0
    """None if the model's prices are unknown."""
    stopped: str | None = None
    """Why it stopped before the end; None if it did not."""


async def observe(
    companion: Companion,
    plan: ObservePlan,
    budget: float | None,
    advance: Callable[[str, int, int], None],
) -> Observed:
    """Observe what was planned, as far as the budget allows.

    `budget` is in US dollars and replaces the daily limit. `advance` is called with what
    is being done, how much is done, and the total.
    """
    done = Observed(messages_left=plan.messages)
    before = await companion.store.call(spent_on_memory)
    when_spent = _BUDGET_SPENT
    if budget is None:
        is_priced = plan.estimate.usd is not None
        when_spent = _DAILY_LIMIT_REACHED + (f"USD{_OR_BUDGET}" if is_priced else "TOKENS")
    advance("Observing", 0, plan.messages)
    for waiting in plan.backlogs:
        while done.stopped is None:
            if budget is not None:
                await companion.store.call(_limit_to, companion, before + budget)
            step = await _step(companion, waiting.conversation_id, when_spent)
            if step is None:
                break
            done = Observed(
                done.messages + step.messages,
                done.observations + step.observations,
                done.messages_left - step.messages,
                stopped=step.stopped,
            )
            advance("Observing", done.messages, plan.messages)
    if plan.estimate.usd is None:
        return replace(done, cost_usd=None)
    return replace(done, cost_usd=await companion.store.call(spent_on_memory) - before)


def _limit_to(db: Connection, companion: Companion, total: float) -> None:
    """Set the daily limit so that memory work stops once it has cost `total` dollars in all.

    Done before every step, since the daily sum begins again at midnight.
    """
    left = total - spent_on_memory(db)
    limit = spent_today(db, companion.memory_config) + left
    companion.worker.config = replace(companion.memory_config, daily_usd=limit)


async def _step(companion: Companion, conversation_id: int, when_spent: str) -> Observed | None:
    """Observe the next batch of a conversation; None if nothing in it is left to observe.

    `when_spent` says why it stops once the worker has cost as much as it may.
    """
    store, worker, model = companion.store, companion.worker, companion.models.worker
    unobserved_before = await store.call(backlog.count_unobserved, conversation_id)
    if not unobserved_before:
        return None
    if model is not None and await store.call(is_over_limit, worker.config, model.name):
        return Observed(stopped=when_spent)
    if await store.call(_is_being_observed, conversation_id, worker.config):
        reason = (
            f"conversation {conversation_id} is being observed by another process. Try again later"
        )
        return Observed(stopped=reason)
    observations = await worker.catch_up_archived(conversation_id)
    if observations is None:
        observations = 0
        revived = await store.call(_revive, conversation_id, batch_tokens(model))
        if revived is not None:
            observations = await worker.catch_up(conversation_id, revived.until)
    messages = unobserved_before - await store.call(backlog.count_unobserved, conversation_id)
    if not messages:
        return Observed(
            stopped=f"conversation {conversation_id} could not be observed."
            f" Run {as_typed('doctor')}"
        )
    fallback = None
    if model is not None:
        fallback = await store.call(_why_unanswered, conversation_id, worker.config)
    return Observed(messages, observations, stopped=fallback)


def _why_unanswered(db: Connection, conversation_id: int, config: MemoryConfig) -> str | None:
    """Return why no model answered for the newest batch; None if one did.

    An unusable answer is no reason to stop: the next batch may get a better one.
    """
    cycle = cycles.last_cycle(db, CycleKind.OBSERVER, conversation_id, (CycleStatus.SUCCEEDED,))
    answered = cycle is not None and cycle.output_tokens
    return None if answered else fallback_reason(db, conversation_id, config)


def _is_being_observed(db: Connection, conversation_id: int, config: MemoryConfig) -> bool:
    with transaction(db):
        cycles.abandon_orphaned(db, to_text(config.clock.now()))
        running = cycles.running(db)
    return any(
        cycle.kind == CycleKind.OBSERVER and cycle.conversation_id == conversation_id
        for cycle in running
    )


def _revive(db: Connection, conversation_id: int, max_tokens: int) -> Revived | None:
    with transaction(db):
        return archive.revive(db, conversation_id, max_tokens)

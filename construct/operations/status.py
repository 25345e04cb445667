"""The memory panel (`status`), the watermarks, and the request that is sent next."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from construct.clock import to_text
from construct.llm.catalog import is_known
from construct.llm.providers import named_provider
from construct.llm.types import Request
from construct.memory.cycles.situation import (
    held_tokens,
    reached_limit,
    read_situation,
    read_window,
    reflect_from,
    reflector_scope,
    spent_today,
    unpriced_tokens_today,
)
from construct.memory.policy import Situation
from construct.memory.shown.forks import inherited_window, reach, watermarks_and_counts
from construct.operations.context import Context, ModelWindow
from construct.store import backlog, cycles, messages, observations, purge
from construct.store.conversations import (
    ConversationSummary,
    conversation_summary,
    get_conversation,
    get_watermarks,
)
from construct.store.forbidden import count_left_out
from construct.store.messages import MessageCounts
from construct.store.observations import Count
from construct.store.questions import count_stand_ins
from construct.store.records import Cycle, Message, Watermarks
from construct.store.review import count_waiting
from construct.vocabulary import (
    EXTRACTIVE,
    CycleKind,
    CycleStatus,
    Mode,
    Phase,
    Provider,
    Scope,
)

if TYPE_CHECKING:
    from construct.talk.companion import Companion

_STAND_INS_WITHIN = timedelta(days=30)
_PHASES = {CycleKind.OBSERVER: Phase.OBSERVING, CycleKind.REFLECTOR: Phase.REFLECTING}


@dataclass(frozen=True, slots=True)
class Progress:
    """How close a step of memory work is to being due, in tokens."""

    tokens: int
    threshold: int

    @property
    def ratio(self) -> float:
        """How much of the threshold is reached; 1 or more once it is passed."""
        return round(self.tokens / self.threshold, 4)


@dataclass(frozen=True, slots=True)
class Work:
    """The memory worker: what it is doing, what it waits for, and what it costs."""

    worker: str
    """The name of the worker model, or `EXTRACTIVE` when no model is used."""
    worker_reason: str
    """Why no model is used for the memory; empty if one is."""
    now: datetime
    """When this was read."""
    running: tuple[Cycle, ...] = ()
    held_tokens: int = 0
    """Tokens of new messages needed before messages whose cycle was undone are observed again."""
    reflect_from: int = 0
    """Tokens of active observations at which another reflection may run.

    It depends on how the last one ended; 0 if it condensed enough, or if there was none.
    """
    last_reflection: CycleStatus | None = None
    """How the last reflection ended; None if there was none."""
    spent_usd: float = 0.0
    """What memory work has cost today."""
    limit_usd: float = 0.0
    """What memory work may cost per day."""
    has_price: bool = True
    """Whether the worker's prices are in data/models.toml."""
    tokens: int = 0
    """The tokens of today's memory work by models whose price is unknown."""
    limit_tokens: int = 0
    """How many of them there may be in a day."""
    reached: str | None = None
    """The setting of the daily limit that is reached."""
    left_out: int = 0
    """How many observations the user's rules have kept out of the memory."""
    stand_ins: int = 0
    """How many lines of the worker were refused for good in the last 30 days."""

    @property
    def is_limited(self) -> bool:
        """Whether fixed rules replace the worker model until the day ends."""
        return self.worker != EXTRACTIVE and self.reached is not None


@dataclass(frozen=True, slots=True)
class Status:
    """The memory panel for one conversation.

    In a new one, messages and their tokens are zero, and so are the observations unless
    those of all conversations are shown.
    """

    mode: Mode
    phase: Phase
    provider: Provider
    """Where replies come from."""
    observation: Progress
    compaction: Progress
    reflection: Progress
    work: Work
    here: ConversationSummary | None
    """The conversation the user is in; None if it is new."""
    messages: MessageCounts
    watermarks: Watermarks
    committed: Mapping[int, Count]
    """Observations in sight by generation."""
    pending: Count
    superseded: int
    waiting: int = 0
    """How many questions wait for the user."""
    shelved: int = 0
    past_plans: int = 0
    """Plans that have left the sight, since their day is long past."""
    window: ModelWindow | None = None
    """How much the main model can read; None without a model."""

    @property
    def observations(self) -> Count:
        """Observations in sight, of all generations."""
        return sum(self.committed.values(), Count())

    @property
    def reflections(self) -> Count:
        """Observations in sight of generation 1 and above."""
        reflections = (count for generation, count in self.committed.items() if generation)
        return sum(reflections, Count())


def status(ctx: Context) -> Status:
    """Return the memory panel for the conversation the user is in."""
    db, here, config = ctx.db, ctx.conversation_id, ctx.memory
    situation = Situation() if here is None else read_situation(db, here, config)
    watermarks = Watermarks() if here is None else get_watermarks(db, here)
    scope = None if here is None else reach(db, config.scope, here)
    counts = observations.count_by_state(db, scope, config.plans_from)
    if here is None and config.scope == Scope.CONVERSATION:
        counts = observations.StateCounts({}, Count(), 0)
    committed = sum(counts.committed.values(), Count())
    work = _work(ctx)
    return Status(
        mode=_mode(ctx),
        phase=_phase(ctx, work.running),
        provider=named_provider(ctx.settings),
        window=ctx.window,
        observation=Progress(situation.unobserved_tokens, config.thresholds.observer),
        compaction=Progress(situation.window_tokens, config.thresholds.compact),
        reflection=Progress(committed.tokens, config.thresholds.reflector),
        work=work,
        here=None if here is None else conversation_summary(db, here),
        messages=_message_counts(ctx, watermarks),
        watermarks=watermarks,
        committed=counts.committed,
        pending=counts.pending,
        superseded=counts.superseded,
        waiting=count_waiting(db),
        shelved=counts.shelved,
        past_plans=counts.past_plans,
    )


def count_unobserved(ctx: Context) -> int:
    """Return how many imported messages have not been observed.

    Takes about a second for a million messages.
    """
    return backlog.count_unobserved(ctx.db)


@dataclass(frozen=True, slots=True)
class Meters:
    """How close observing and compacting are to being due, 1 or more if they are.

    Compacting is not due while it would change nothing.

    This is the part of the panel that is cheap enough to read after every turn.
    """

    observe: float = 0.0
    compact: float = 0.0
    held: bool = False
    """Whether observing waits because the last cycle was undone."""


def meters(ctx: Context) -> Meters:
    """Return the meters of the conversation the user is in."""
    if ctx.conversation_id is None:
        return Meters()
    situation = read_window(ctx.db, ctx.conversation_id, ctx.memory)
    thresholds = ctx.memory.thresholds
    compact = situation.window_tokens / thresholds.compact
    return Meters(
        observe=situation.unobserved_tokens / thresholds.observer,
        compact=compact if situation.compactable else min(compact, 0.99),
        held=situation.held,
    )


@dataclass(frozen=True, slots=True)
class Watermark:
    """A watermark, the message it is at, and how many messages come after it."""

    name: str
    message: Message | None
    above: int


def watermarks(ctx: Context) -> list[Watermark]:
    """Return the watermarks of the conversation the user is in."""
    if ctx.conversation_id is None:
        return []
    message_ids, counts_above = watermarks_and_counts(ctx.db, ctx.conversation_id)
    listed = []
    for field in fields(Watermarks):
        message_id = getattr(message_ids, field.name)
        message = messages.get_message(ctx.db, message_id) if message_id else None
        listed.append(Watermark(field.name, message, getattr(counts_above, field.name)))
    return listed


@dataclass(frozen=True, slots=True)
class NextRequest:
    """The request that the next message would send, and the model it goes to."""

    request: Request
    model: str
    window: int
    """The model's context window, in tokens."""


async def next_request(companion: "Companion", conversation_id: int | None) -> NextRequest:
    """Return the request that the next message of a conversation would send."""
    main = companion.models.main
    request = await companion.store.call(companion.builder.preview, conversation_id)
    return NextRequest(request, main.name, main.context_window)


def recent_stand_ins(ctx: Context) -> int:
    """Return how many lines of the worker were refused for good in the last 30 days."""
    return count_stand_ins(ctx.db, to_text(ctx.clock.now() - _STAND_INS_WITHIN))


def _work(ctx: Context) -> Work:
    db, here, config = ctx.db, ctx.conversation_id, ctx.memory
    work = Work(
        worker=ctx.worker,
        worker_reason=ctx.worker_reason,
        now=ctx.clock.now(),
        running=tuple(cycles.running(db)),
        spent_usd=spent_today(db, config),
        limit_usd=config.daily_usd,
        has_price=is_known(ctx.worker),
        tokens=unpriced_tokens_today(db, config),
        limit_tokens=ctx.settings.worker_daily_tokens,
        reached=reached_limit(db, config, ctx.worker),
        left_out=count_left_out(db),
        stand_ins=recent_stand_ins(ctx),
    )
    if here is None:
        return work
    last = cycles.last_cycle(db, CycleKind.REFLECTOR, reflector_scope(config.scope, here))
    return replace(
        work,
        held_tokens=held_tokens(db, here, config),
        reflect_from=reflect_from(db, here, config),
        last_reflection=None if last is None else CycleStatus(last.status),
    )


def _mode(ctx: Context) -> Mode:
    if not ctx.settings.learns:
        return Mode(ctx.settings.memory)
    return Mode.ACTIVE if cycles.has_live_session(ctx.db) else Mode.PASSIVE


def _phase(ctx: Context, running: tuple[Cycle, ...]) -> Phase:
    if purge.is_pending(ctx.db):
        return Phase.PRUNING
    if cycles.is_checking(ctx.db):
        return Phase.CHECKING
    phases = (_PHASES.get(CycleKind(cycle.kind)) for cycle in running)
    return next((phase for phase in phases if phase), Phase.IDLE)


def _message_counts(ctx: Context, watermarks: Watermarks) -> MessageCounts:
    """Return the message counts of the user's conversation.

    The window of a fork includes the messages it inherits from its parent.
    """
    here = ctx.conversation_id
    if here is None:
        return MessageCounts()
    counts = messages.count_messages(ctx.db, here, watermarks)
    inherited = inherited_window(ctx.db, get_conversation(ctx.db, here))
    return replace(counts, window=counts.window + len(inherited))

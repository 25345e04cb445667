"""How the memory stands: the panel, the watermarks, what is sent next."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import TYPE_CHECKING

from construct.llm.providers import named_provider
from construct.llm.types import Request
from construct.memory.cycles.situation import (
    held_tokens,
    read_situation,
    reflect_from,
    reflector_scope,
    spent_today,
)
from construct.memory.policy import Situation
from construct.memory.shown.forks import inherited_window, marks, reach
from construct.operations.context import Context
from construct.store import cycles, messages, observations, purge
from construct.store.backlog import unread
from construct.store.conversations import (
    ConversationSummary,
    conversation_summary,
    get_conversation,
    get_watermarks,
)
from construct.store.messages import MessageCounts
from construct.store.never import count_left_out
from construct.store.observations import Count
from construct.store.records import Cycle, Message, Watermarks
from construct.vocabulary import EXTRACTIVE, CycleKind, CycleStatus, Mode, Phase, Provider

if TYPE_CHECKING:
    from construct.companion import Companion

_PHASES = {CycleKind.OBSERVER: Phase.OBSERVING, CycleKind.REFLECTOR: Phase.REFLECTING}


@dataclass(frozen=True, slots=True)
class Progress:
    """How far it is to the next step of memory work."""

    tokens: int
    threshold: int

    @property
    def ratio(self) -> float:
        """1 when it is due."""
        return round(self.tokens / self.threshold, 4)


@dataclass(frozen=True, slots=True)
class Work:
    """Who is at work, why something waits, and what it costs."""

    worker: str
    """The worker model's name."""
    worker_reason: str
    """Why memory is made by rule; empty when a model makes it."""
    now: datetime
    """When all this was read."""
    running: tuple[Cycle, ...] = ()
    held_tokens: int = 0
    """Tokens that must still be said before what was undone is observed again."""
    reflect_from: int = 0
    """Observation tokens below which the last reflection's outcome forbids another."""
    reflector_undone: bool = False
    spent_usd: float = 0.0
    """What memory work has cost today."""
    limit_usd: float = 0.0
    left_out: int = 0
    """What the user's rules have kept out of the memory."""

    @property
    def is_limited(self) -> bool:
        """Whether the extractive worker stands in for a model until the day ends."""
        return self.worker != EXTRACTIVE and self.spent_usd >= self.limit_usd


@dataclass(frozen=True, slots=True)
class Status:
    """The memory panel, for one conversation. All zero where there is none yet."""

    mode: Mode
    phase: Phase
    provider: Provider
    """Where replies come from."""
    observation: Progress
    compaction: Progress
    reflection: Progress
    work: Work
    here: ConversationSummary | None
    messages: MessageCounts
    watermarks: Watermarks
    committed: Mapping[int, Count]
    """Active observations by generation."""
    pending: Count
    superseded: int

    @property
    def observations(self) -> Count:
        """Active observations of all generations."""
        return sum(self.committed.values(), Count())

    @property
    def reflections(self) -> Count:
        """Active observations that were made of others."""
        made_of_others = (count for level, count in self.committed.items() if level)
        return sum(made_of_others, Count())


def status(ctx: Context) -> Status:
    """Return the memory panel for the conversation the user is in."""
    db, here, config = ctx.db, ctx.conversation_id, ctx.memory
    situation = Situation() if here is None else read_situation(db, here, config)
    watermarks = Watermarks() if here is None else get_watermarks(db, here)
    scope = None if here is None else reach(db, config.scope, here)
    counts = observations.count_by_state(db, scope)
    committed = sum(counts.committed.values(), Count())
    work = _work(ctx)
    return Status(
        mode=_mode(ctx),
        phase=_phase(ctx, work.running),
        provider=named_provider(ctx.settings),
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
    )


def count_unread(ctx: Context) -> int:
    """Return how many imported messages no observer has read.

    Takes a second where there are a million.
    """
    return unread(ctx.db)


@dataclass(frozen=True, slots=True)
class Meters:
    """How near the next steps are, 1 when they are due.

    The little of the panel that is read after every turn.
    """

    observe: float = 0.0
    compact: float = 0.0
    held: bool = False


def meters(ctx: Context) -> Meters:
    """Return the meters of the conversation the user is in."""
    if ctx.conversation_id is None:
        return Meters()
    found = read_situation(ctx.db, ctx.conversation_id, ctx.memory)
    thresholds = ctx.memory.thresholds
    return Meters(
        found.unobserved_tokens / thresholds.observer,
        found.window_tokens / thresholds.compact,
        found.held,
    )


@dataclass(frozen=True, slots=True)
class Watermark:
    """A watermark, the message it stands at, and how many messages stand above it."""

    name: str
    message: Message | None
    above: int


def watermarks(ctx: Context) -> list[Watermark]:
    """Return how far memory has come with the conversation the user is in."""
    if ctx.conversation_id is None:
        return []
    at, above = marks(ctx.db, ctx.conversation_id)
    found = []
    for name in (one.name for one in fields(Watermarks)):
        message_id = getattr(at, name)
        message = messages.get_message(ctx.db, message_id) if message_id else None
        found.append(Watermark(name, message, getattr(above, name)))
    return found


@dataclass(frozen=True, slots=True)
class NextRequest:
    """What the next message would send, and to which model."""

    request: Request
    model: str
    window: int
    """Tokens of the model's context window."""


async def next_request(companion: "Companion", conversation_id: int | None) -> NextRequest:
    """Return what the next message of a conversation would send."""
    main = companion.models.main
    request = await companion.preview(conversation_id)
    return NextRequest(request, main.name, main.context_window)


def _work(ctx: Context) -> Work:
    db, here, config = ctx.db, ctx.conversation_id, ctx.memory
    work = Work(
        worker=ctx.worker,
        worker_reason=ctx.worker_reason,
        now=ctx.clock.now(),
        running=tuple(cycles.running(db)),
        spent_usd=spent_today(db, config),
        limit_usd=config.daily_usd,
        left_out=count_left_out(db),
    )
    if here is None:
        return work
    last = cycles.last_cycle(db, CycleKind.REFLECTOR, reflector_scope(config.scope, here))
    return replace(
        work,
        held_tokens=held_tokens(db, here, config),
        reflect_from=reflect_from(db, here, config),
        reflector_undone=last is not None and last.status == CycleStatus.REVERTED,
    )


def _mode(ctx: Context) -> Mode:
    if ctx.settings.memory != "on":
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
    """Return a conversation's counts. The window of a fork begins in its parent."""
    here = ctx.conversation_id
    if here is None:
        return MessageCounts()
    counts = messages.count_messages(ctx.db, here, watermarks)
    inherited = inherited_window(ctx.db, get_conversation(ctx.db, here))
    return replace(counts, window=counts.window + len(inherited))

"""What was spent, and what the same conversations would have cost without a memory.

The latter is an estimate from the tokens of the stored messages, corrected by each
model's token factor, and the prices in the model table. It assumes that prompts are
cached if they are long enough, with the cache life that costs less. While messages are
only added, a request reads what the one before it wrote to the cache, unless the pause
was longer than the cache lives. Once the oldest of the recent messages is dropped, only
the system text is still the same. When a whole conversation outgrows the window, only
what fits is counted, as if it were still cached.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import cache, partial
from itertools import groupby

from construct import prompts, tokens
from construct.clock import Clock, from_text, to_text
from construct.llm.catalog import ModelInfo, cost_usd, model_info
from construct.llm.types import CacheLife
from construct.memory.policy import LIVES
from construct.operations.context import Context
from construct.store.usage import (
    PricedMessage,
    Spent,
    UsageLine,
    priced_messages,
    spent_by_call,
    spent_on_stored_conversations,
    token_factor,
    usage_lines,
)
from construct.tokens import Usage
from construct.vocabulary import Purpose, Role


@dataclass(frozen=True, slots=True)
class Estimate:
    """What the replies would have cost without a memory, for models of known price."""

    recent_messages: int
    """How many messages each request would have for `recent_usd`."""
    recent_usd: float
    """US dollars if each request had only the most recent messages."""
    full_usd: float
    """US dollars if each request had the whole conversation."""
    too_long: int
    """How many replies had a conversation larger than the window; only what fits is counted."""


@dataclass(frozen=True, slots=True)
class DayCost:
    """What each call of one day cost in US dollars; None where the price is unknown."""

    date: date
    chat: Sequence[float | None]
    memory: Sequence[float | None]

    @property
    def costs(self) -> list[float | None]:
        """The costs of replies and memory work together."""
        return [*self.chat, *self.memory]


@dataclass(frozen=True, slots=True)
class CostReport:
    """All usage, today's usage, costs by day, and an estimate without a memory."""

    lines: Sequence[UsageLine]
    today: Sequence[UsageLine]
    days: Sequence[DayCost]
    """Oldest first."""
    spent_on_conversations: float
    """US dollars for the replies in conversations that still exist, and for all memory work."""
    instead: Estimate | None
    """None if it would be 0, as when no price is known."""


def cost_report(ctx: Context) -> CostReport:
    """Return what was spent. Slow: it reads every stored message."""
    factor = cache(partial(token_factor, ctx.db))
    system = tokens.count(prompts.persona(ctx.settings.persona_file))
    return CostReport(
        usage_lines(ctx.db),
        usage_lines(ctx.db, to_text(ctx.clock.midnight())),
        cost_by_day(spent_by_call(ctx.db), ctx.clock),
        spent_on_stored_conversations(ctx.db),
        estimate(priced_messages(ctx.db), ctx.settings.recent_messages, system, factor),
    )


def cost_by_day(spent: Iterable[Spent], clock: Clock) -> list[DayCost]:
    """Return what calls cost by day in the user's time zone, oldest first."""
    chat: defaultdict[date, list[float | None]] = defaultdict(list)
    memory: defaultdict[date, list[float | None]] = defaultdict(list)
    for call in spent:
        costs = chat if call.purpose == Purpose.CHAT else memory
        costs[clock.day(call.created_at)].append(call.cost_usd)
    days = sorted(chat.keys() | memory.keys())
    return [DayCost(day, chat[day], memory[day]) for day in days]


@dataclass(slots=True)
class _Conversation:
    """What is known of a conversation up to the current message."""

    recent: deque[int]
    """Tokens of each of the most recent messages."""
    tokens: int = 0
    """Tokens of all messages."""
    messages: int = 0
    cached: int = 0
    """Prompt tokens of the last request with the whole conversation."""
    last_request: datetime | None = None


@dataclass(slots=True)
class _Totals:
    """US dollars by how long the prompt cache lives."""

    recent: dict[CacheLife, float] = field(default_factory=lambda: dict.fromkeys(LIVES, 0.0))
    full: dict[CacheLife, float] = field(default_factory=lambda: dict.fromkeys(LIVES, 0.0))
    too_long: int = 0


def estimate(
    spoken: Iterable[PricedMessage],
    recent_messages: int,
    system_tokens: int,
    factor: Callable[[str], float],
) -> Estimate | None:
    """Return what the replies would have cost without a memory.

    None if it would be 0, as when no price is known. `spoken` must be ordered by
    conversation, then by time. `factor` gives a model's actual tokens per estimated token.
    """
    totals = _Totals()
    for _, messages in groupby(spoken, key=lambda message: message.conversation_id):
        conversation = _Conversation(deque(maxlen=recent_messages))
        for message in messages:
            if message.role == Role.ASSISTANT and message.model:
                info, ratio = model_info(message.model), factor(message.model)
                if info.prices:
                    _add_reply(message, info, conversation, system_tokens, ratio, totals)
            if not message.retried:
                conversation.tokens += message.tokens
                conversation.messages += 1
                conversation.recent.append(message.tokens)
    recent_usd = min(totals.recent.values())
    full_usd = min(totals.full.values())
    return Estimate(recent_messages, recent_usd, full_usd, totals.too_long) if full_usd else None


def _add_reply(
    message: PricedMessage,
    info: ModelInfo,
    conversation: _Conversation,
    system_tokens: int,
    factor: float,
    totals: _Totals,
) -> None:
    """Add what a reply would have cost with the whole conversation and with its recent part."""
    now = from_text(message.created_at)
    output = round(message.tokens * factor)
    system = round(system_tokens * factor)
    room = info.window - output
    whole = round((system_tokens + conversation.tokens) * factor)
    totals.too_long += whole > room
    whole = min(whole, room)
    recent = round((system_tokens + sum(conversation.recent)) * factor)
    all_is_recent = conversation.messages <= (conversation.recent.maxlen or 0)
    last_request = conversation.last_request
    for life, duration in LIVES.items():
        is_warm = last_request is not None and now - last_request <= duration
        with_all = _usage(whole, whole, conversation.cached if is_warm else 0, info, output)
        if all_is_recent:
            with_recent = with_all
        else:
            with_recent = _usage(recent, system, system if is_warm else 0, info, output)
        totals.full[life] += cost_usd(info.name, with_all, life) or 0.0
        totals.recent[life] += cost_usd(info.name, with_recent, life) or 0.0
    conversation.cached, conversation.last_request = whole, now


def _usage(prompt: int, marked: int, cached: int, info: ModelInfo, output: int) -> Usage:
    """Return the usage of a prompt whose first `marked` tokens are to be cached.

    `cached` of these are already in the cache.
    """
    if marked < info.cache_minimum:
        return Usage(prompt, 0, 0, output)
    read = min(cached, marked) if cached >= info.cache_minimum else 0
    return Usage(prompt - marked, read, marked - read, output)

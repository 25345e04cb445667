"""What everything stored has cost, and what the talk would have cost without a memory.

The second is an estimate: from the tokens of the stored messages, corrected by what
each model was seen to count, and from the prices of the model table. The prompt cache
is used where it pays: as long as messages are only added, a request reads what the one
before it wrote, unless the pause was longer than the cache lives; once the oldest
message goes, only the system text is the same.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import cache, partial

from construct import prompts, tokens
from construct.clock import Clock, from_text, to_text
from construct.llm.catalog import ModelInfo, cost_usd, model_info
from construct.llm.types import CacheLife
from construct.memory.policy import LIVES
from construct.operations.context import Context
from construct.store.usage import (
    Spent,
    Spoken,
    UsageLine,
    spent_by_call,
    spent_on_stored_talk,
    spoken_messages,
    token_factor,
    usage_lines,
)
from construct.tokens import Usage
from construct.vocabulary import Purpose, Role


@dataclass(frozen=True, slots=True)
class Estimate:
    """US dollars for the replies of models whose prices are known."""

    recent_messages: int
    recent_usd: float
    """With so many recent messages in each request, and no memory."""
    full_usd: float
    """With the whole conversation in each request."""
    too_long: int
    """Replies for which the whole conversation would not have fitted the window.

    What fits is counted.
    """


@dataclass(frozen=True, slots=True)
class DayCost:
    """US dollars of one of the user's days. Calls of unknown price count nothing."""

    date: date
    talk_usd: float
    memory_usd: float

    @property
    def total_usd(self) -> float:
        """Talk and memory work together."""
        return self.talk_usd + self.memory_usd


@dataclass(frozen=True, slots=True)
class CostReport:
    """Usage in all and of today, costs by day, and an estimate without a memory."""

    lines: Sequence[UsageLine]
    today: Sequence[UsageLine]
    days: Sequence[DayCost]
    """Oldest first."""
    spent_on_talk: float
    """US dollars for the conversations that are still there, memory work included."""
    instead: Estimate | None
    """None when no price is known or nothing costs anything."""


def cost_report(ctx: Context) -> CostReport:
    """Return what was spent. Reads every stored message, so not for every turn."""
    factor = cache(partial(token_factor, ctx.db))
    system = tokens.count(prompts.persona(ctx.settings.persona_file))
    return CostReport(
        usage_lines(ctx.db),
        usage_lines(ctx.db, to_text(ctx.clock.midnight())),
        cost_by_day(spent_by_call(ctx.db), ctx.clock),
        spent_on_stored_talk(ctx.db),
        estimate(spoken_messages(ctx.db), ctx.settings.recent_messages, system, factor),
    )


def cost_by_day(spent: Iterable[Spent], clock: Clock) -> list[DayCost]:
    """Return what calls cost by the user's day, oldest first."""
    costs: defaultdict[date, dict[bool, float]] = defaultdict(lambda: {True: 0.0, False: 0.0})
    for call in spent:
        day = clock.local(from_text(call.created_at)).date()
        costs[day][call.purpose == Purpose.CHAT] += call.cost_usd or 0.0
    return [DayCost(day, by[True], by[False]) for day, by in sorted(costs.items())]


@dataclass(slots=True)
class _Conversation:
    """A conversation while its messages are gone through."""

    recent: deque[int]
    """Tokens of the last messages."""
    tokens: int = 0
    messages: int = 0
    cached: int = 0
    """Prompt tokens of the last request with everything in it."""
    last: datetime | None = None


@dataclass(slots=True)
class _Sums:
    recent: dict[CacheLife, float] = field(default_factory=lambda: dict.fromkeys(LIVES, 0.0))
    full: dict[CacheLife, float] = field(default_factory=lambda: dict.fromkeys(LIVES, 0.0))
    too_long: int = 0


def estimate(
    spoken: Iterable[Spoken],
    recent_messages: int,
    system_tokens: int,
    factor: Callable[[str], float],
) -> Estimate | None:
    """Return what the replies would have cost without a memory.

    None when no price is known or nothing costs anything. The messages come
    conversation by conversation, in order; `factor` says by how much a model's prompts
    exceed the estimated tokens.
    """
    sums = _Sums()
    here, talk = 0, _Conversation(deque(maxlen=recent_messages))
    for said in spoken:
        if said.conversation_id != here:
            here, talk = said.conversation_id, _Conversation(deque(maxlen=recent_messages))
        if said.role == Role.ASSISTANT and said.model:
            info = model_info(said.model)
            if info.prices:
                _add_reply(said, info, talk, system_tokens, factor(said.model), sums)
        if not said.retried:
            talk.tokens += said.tokens
            talk.messages += 1
            talk.recent.append(said.tokens)
    recent_usd = min(sums.recent.values())
    full_usd = min(sums.full.values())
    return Estimate(recent_messages, recent_usd, full_usd, sums.too_long) if full_usd else None


def _add_reply(
    said: Spoken,
    info: ModelInfo,
    talk: _Conversation,
    system_tokens: int,
    factor: float,
    sums: _Sums,
) -> None:
    now = from_text(said.created_at)
    output = round(said.tokens * factor)
    system = round(system_tokens * factor)
    room = info.window - output
    whole = round((system_tokens + talk.tokens) * factor)
    sums.too_long += whole > room
    whole = min(whole, room)
    recent = round((system_tokens + sum(talk.recent)) * factor)
    is_growing = talk.messages <= (talk.recent.maxlen or 0)
    for life, lasts in LIVES.items():
        is_warm = talk.last is not None and now - talk.last <= lasts
        with_all = _usage(whole, whole, talk.cached if is_warm else 0, info, output)
        if is_growing:
            with_recent = with_all
        else:
            with_recent = _usage(recent, system, system if is_warm else 0, info, output)
        sums.full[life] += cost_usd(info.name, with_all, life) or 0.0
        sums.recent[life] += cost_usd(info.name, with_recent, life) or 0.0
    talk.cached, talk.last = whole, now


def _usage(prompt: int, marked: int, cached: int, info: ModelInfo, output: int) -> Usage:
    """Return the usage of a prompt whose first `marked` tokens go into the cache.

    `cached` of them are there already.
    """
    if marked < info.cache_minimum:
        return Usage(prompt, 0, 0, output)
    read = min(cached, marked) if cached >= info.cache_minimum else 0
    return Usage(prompt - marked, read, marked - read, output)

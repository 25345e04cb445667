"""What the same talk would have cost without a memory: with the last messages alone, and with all of them. Pure.

An estimate: from the tokens of the stored messages, corrected by what each model was seen to
count, and from the prices of the model table. The prompt cache is used where it pays: as long
as messages are only added, a request reads what the one before it wrote, unless the pause was
longer than the cache lives; once the oldest message goes, only the system text is the same.
"""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime

from construct.clock import from_text
from construct.llm.catalog import ModelInfo, cost_usd, model_info
from construct.llm.types import CacheLife
from construct.memory.cycles.policy import LIVES
from construct.store.books import Spoken
from construct.tokens import Usage


@dataclass(frozen=True, slots=True)
class Estimate:
    """US dollars for the replies of models whose prices are known."""

    recent_messages: int
    recent_usd: float
    full_usd: float
    too_long: int
    """Replies for which the whole talk would not have fitted the model's window; what fits is counted."""


@dataclass(slots=True)
class _Talk:
    """One conversation while it is gone through."""

    recent: deque[int]
    tokens: int = 0
    messages: int = 0
    cached: int = 0
    """Prompt tokens of the last request with everything in it."""
    last: datetime | None = None


@dataclass(slots=True)
class _Sums:
    recent: dict[CacheLife, float] = field(default_factory=lambda: {"5m": 0.0, "1h": 0.0})
    full: dict[CacheLife, float] = field(default_factory=lambda: {"5m": 0.0, "1h": 0.0})
    too_long: int = 0


def estimate(
    spoken: Iterable[Spoken], recent_messages: int, system_tokens: int, factor: Callable[[str], float]
) -> Estimate | None:
    """Return what the replies would have cost; None when no price is known or nothing costs anything.

    The messages come conversation by conversation, in order; `factor` says by how much a model's
    prompts exceed the estimated tokens.
    """
    sums = _Sums()
    here, talk = 0, _Talk(deque(maxlen=recent_messages))
    for said in spoken:
        if said.conversation_id != here:
            here, talk = said.conversation_id, _Talk(deque(maxlen=recent_messages))
        if said.role == "assistant" and said.model and (info := model_info(said.model)).prices:
            _reply(said, info, talk, system_tokens, factor(said.model), sums)
        if not said.retried:
            talk.tokens += said.tokens
            talk.messages += 1
            talk.recent.append(said.tokens)
    recent, full = min(sums.recent.values()), min(sums.full.values())
    return Estimate(recent_messages, recent, full, sums.too_long) if full else None


def _reply(said: Spoken, info: ModelInfo, talk: _Talk, system_tokens: int, factor: float, sums: _Sums) -> None:
    """Add what one reply would have cost either way."""
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
        with_recent = with_all if is_growing else _usage(recent, system, system if is_warm else 0, info, output)
        sums.full[life] += cost_usd(info.name, with_all, life) or 0.0
        sums.recent[life] += cost_usd(info.name, with_recent, life) or 0.0
    talk.cached, talk.last = whole, now


def _usage(prompt: int, marked: int, cached: int, info: ModelInfo, output: int) -> Usage:
    """Return the usage of a prompt whose first `marked` tokens are for the cache, `cached` of them there already."""
    if marked < info.cache_minimum:
        return Usage(prompt, 0, 0, output)
    read = min(cached, marked) if cached >= info.cache_minimum else 0
    return Usage(prompt - marked, read, marked - read, output)

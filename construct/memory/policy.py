"""Decide what memory work is due, purely from the situation.

See memory.md, "One way through".
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

from construct.config import Thresholds
from construct.store.conversations import NO_CACHE
from construct.vocabulary import WorkKind

if TYPE_CHECKING:
    from construct.llm.types import CacheLife

LEFTOVER_TOKENS = 200
"""Unobserved tokens above which a conversation is observed when it is left or cold."""
REFLECT_REGARDLESS = 1.5
REGROWTH = 1.25
"""How far the tokens must grow before the next reflection.

After one that failed, or that took away less than a quarter.
"""
LIVES: dict["CacheLife", timedelta] = {"5m": timedelta(minutes=5), "1h": timedelta(hours=1)}


@dataclass(frozen=True, slots=True)
class Situation:
    """Everything that decides what is due in one conversation."""

    unobserved_tokens: int = 0
    window_tokens: int = 0
    active_tokens: int = 0
    compactable: bool = False
    """Something observed is not yet committed, or the window may begin later."""
    reflect_from: int = 0
    """Active tokens below which an earlier reflection's outcome forbids another."""
    held: bool = False
    """The observer was undone, and less than a threshold has been said since."""
    cold: bool = False
    leaving: bool = False
    rewriting: bool = False
    """A compaction has just rewritten the prefix: changing it again costs little."""


def due(s: Situation, t: Thresholds) -> tuple[WorkKind, ...]:
    """Return the work that is due, in the order to do it."""
    work: list[WorkKind] = []
    if observing_is_due(s, t):
        work.append(WorkKind.OBSERVE)
    if compacting_is_due(s, t):
        work.append(WorkKind.COMPACT)
    if reflecting_is_due(s, t):
        work.append(WorkKind.REFLECT)
    return tuple(work)


def observing_is_due(s: Situation, t: Thresholds) -> bool:
    """Return whether an observer should run."""
    at_rest = s.cold or s.leaving
    least = min(t.observer, LEFTOVER_TOKENS + 1) if at_rest else t.observer
    return not s.held and s.unobserved_tokens >= least


def compacting_is_due(s: Situation, t: Thresholds) -> bool:
    """Return whether observations should replace their messages."""
    return s.compactable and (s.window_tokens >= t.compact or s.cold or s.leaving)


def reflecting_is_due(s: Situation, t: Thresholds) -> bool:
    """Return whether the reflector should run.

    That is when the prefix is rewritten anyway, or at one and a half thresholds.
    """
    if s.active_tokens < max(t.reflector, s.reflect_from):
        return False
    return s.rewriting or s.cold or s.active_tokens >= REFLECT_REGARDLESS * t.reflector


def blocks(s: Situation, t: Thresholds) -> bool:
    """Return whether a turn must wait for the observer.

    A window that is full of text already observed is no reason to wait.
    """
    limit = t.block_after * t.compact
    helps = s.unobserved_tokens >= t.observer or s.window_tokens - s.unobserved_tokens < limit
    return s.window_tokens >= limit and helps and not s.held


def is_cold(last_request: datetime | None, life: str | None, now: datetime) -> bool:
    """Return whether the prompt cache has run out.

    It has when nothing was sent for longer than the life that was asked for. A last
    request in the future was sent by a clock that has been put back since: nobody knows
    how long ago.
    """
    return last_request is None or abs(now - last_request) > lifetime(life)


def lifetime(life: str | None) -> timedelta:
    """Return how long a cache lives that was asked for with a stored life.

    Five minutes where none was stored.
    """
    if life == NO_CACHE:
        return timedelta()
    return LIVES["1h" if life == "1h" else "5m"]


def choose_life(user_times: list[datetime]) -> "CacheLife":
    """Return the cache life that pays, judged by recent message times.

    A write for an hour costs 0.75 of the input price more than one for five minutes, a
    miss 1.15 times the whole prefix. With 200 new tokens a turn and a prefix of 5,000,
    one pause between the two lives in forty turns is enough. One among the last dozen
    is taken as a sign.
    """
    pauses = [later - earlier for earlier, later in pairwise(sorted(user_times))]
    return "1h" if any(LIVES["5m"] < pause <= LIVES["1h"] for pause in pauses) else "5m"


def fit_to(thresholds: Thresholds, context_window: int) -> Thresholds:
    """Return thresholds in proportion, to fit half of a small context window."""
    needed = thresholds.budget + thresholds.block_after * thresholds.compact
    share = 0.5 * context_window / needed
    if share >= 1:
        return thresholds

    def smaller(tokens: int, least: int) -> int:
        return min(tokens, max(least, int(tokens * share)))

    return replace(
        thresholds,
        observer=smaller(thresholds.observer, 100),
        compact=smaller(thresholds.compact, 200),
        reflector=smaller(thresholds.reflector, 100),
        budget=smaller(thresholds.budget, 200),
    )

"""Decide what memory work is due. No I/O: everything it depends on is an argument.

See docs/memory.md, "What happens in a turn".
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

from construct import tokens
from construct.config import Thresholds
from construct.language.weekdays import names_day_or_month
from construct.store.conversations import NO_CACHE
from construct.vocabulary import WorkKind

if TYPE_CHECKING:
    from construct.llm.types import CacheLife

LEFTOVER_TOKENS = 200
"""Unobserved tokens above which a conversation is observed when it is left or cold."""
TELLING_TOKENS = 12
"""Tokens above which a message of the user's is observed when the conversation is left."""
REFLECT_REGARDLESS = 1.5
"""Multiple of its threshold at which the reflector runs even though that rewrites the prefix."""
REGROWTH = 1.25
"""Factor by which the tokens must grow before the next reflection.

It applies after a reflection that failed or saved less than a quarter.
"""
LIVES: dict["CacheLife", timedelta] = {"5m": timedelta(minutes=5), "1h": timedelta(hours=1)}
"""Lifetimes of the prompt cache that a request can ask for."""


@dataclass(frozen=True, slots=True)
class Situation:
    """The state of a conversation that decides what memory work is due."""

    unobserved_tokens: int = 0
    window_tokens: int = 0
    tokens_in_sight: int = 0
    """Tokens of the observations in sight."""
    compactable: bool = False
    """Whether compacting would commit an observation or move a watermark."""
    reflect_from: int = 0
    """Tokens in sight below which no reflection runs, because of the last one's outcome."""
    held: bool = False
    """Whether observing waits.

    It was undone, and less than a threshold's worth has been said since.
    """
    cold: bool = False
    """Whether the prompt cache has expired."""
    leaving: bool = False
    """Whether the user is leaving the conversation."""
    telling: bool = False
    """Whether an unobserved message of the user's may say something to remember."""
    in_notebook: bool = False
    """Whether no model answers here: observing costs nothing, so it never waits."""
    rewriting: bool = False
    """Whether a compaction has just rewritten the prefix, which makes changes cheap."""


def due(situation: Situation, thresholds: Thresholds) -> tuple[WorkKind, ...]:
    """Return the work that is due, in the order to do it."""
    work: list[WorkKind] = []
    if observing_is_due(situation, thresholds):
        work.append(WorkKind.OBSERVE)
    if compacting_is_due(situation, thresholds):
        work.append(WorkKind.COMPACT)
    if reflecting_is_due(situation, thresholds):
        work.append(WorkKind.REFLECT)
    return tuple(work)


def observing_is_due(situation: Situation, thresholds: Thresholds) -> bool:
    """Return whether an observer should run."""
    needed_tokens = thresholds.observer
    if situation.cold or situation.leaving:
        needed_tokens = min(needed_tokens, LEFTOVER_TOKENS + 1)
    if situation.in_notebook or (situation.leaving and situation.telling):
        needed_tokens = 1
    return not situation.held and situation.unobserved_tokens >= needed_tokens


def is_telling(text: str) -> bool:
    """Return whether a user's message may say something to remember: "dentist tomorrow at 10"."""
    return (
        any(map(str.isdigit, text))
        or names_day_or_month(text)
        or tokens.count(text) > TELLING_TOKENS
    )


def compacting_is_due(situation: Situation, thresholds: Thresholds) -> bool:
    """Return whether observations should replace their messages."""
    is_full = situation.window_tokens >= thresholds.compact
    return situation.compactable and (is_full or situation.cold or situation.leaving)


def reflecting_is_due(situation: Situation, thresholds: Thresholds) -> bool:
    """Return whether the reflector should run.

    It runs when the prefix is rewritten anyway, or at one and a half times the
    threshold.
    """
    if situation.tokens_in_sight < max(thresholds.reflector, situation.reflect_from):
        return False
    is_urgent = situation.tokens_in_sight >= REFLECT_REGARDLESS * thresholds.reflector
    return situation.rewriting or situation.cold or is_urgent


def must_wait(situation: Situation, thresholds: Thresholds) -> bool:
    """Return whether a turn must wait for the observer.

    It need not wait if the window is full of messages that have already been observed.
    """
    limit = thresholds.block_after * thresholds.compact
    observed_tokens = situation.window_tokens - situation.unobserved_tokens
    helps = situation.unobserved_tokens >= thresholds.observer or observed_tokens < limit
    return situation.window_tokens >= limit and helps and not situation.held


def is_cold(last_request: datetime | None, life: str | None, now: datetime) -> bool:
    """Return whether nothing has been sent for longer than the prompt cache lives.

    A request in the future was sent before the clock was set back: its distance from now
    counts in the same way.
    """
    if last_request is None or life == NO_CACHE:
        return True
    return abs(now - last_request) > lifetime(life)


def lifetime(life: str | None) -> timedelta:
    """Return a cache's lifetime from its stored form: five minutes if none is stored."""
    if life == NO_CACHE:
        return timedelta()
    return LIVES["1h" if life == "1h" else "5m"]


def choose_life(user_times: list[datetime]) -> "CacheLife":
    """Return the cache life that pays, judged by recent message times.

    Writing to the cache for an hour costs 0.75 of the input price more than for five
    minutes; a miss costs 1.15 of the input price for the whole prefix. With 200 new tokens
    a turn and a prefix of 5,000, an hour pays once one pause in forty is between five
    minutes and an hour. One such pause between the times given is enough.
    """
    pauses = [later - earlier for earlier, later in pairwise(sorted(user_times))]
    return "1h" if any(LIVES["5m"] < pause <= LIVES["1h"] for pause in pauses) else "5m"


def fit_to(thresholds: Thresholds, context_window: int) -> Thresholds:
    """Return thresholds reduced in proportion, to fit half of a small context window."""
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

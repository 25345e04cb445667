"""Read the state of a conversation from which the policy decides what is due."""

from dataclasses import replace

from construct.clock import from_text, to_text
from construct.llm.catalog import is_known
from construct.memory.config import MemoryConfig
from construct.memory.policy import (
    LEFTOVER_TOKENS,
    LIVES,
    REGROWTH,
    Situation,
    is_cold,
    is_telling,
)
from construct.memory.shown.forks import inherited_window, reach
from construct.memory.shown.transcript import window_start
from construct.store import cycles
from construct.store import observations as stored_observations
from construct.store.conversations import (
    NO_CACHE,
    get_conversation,
    get_watermarks,
    idle_with_unobserved,
)
from construct.store.driver import Connection
from construct.store.messages import LAST, is_readable, live_messages, unobserved_and_window_tokens
from construct.store.records import Message
from construct.store.sync.machines import is_written_elsewhere
from construct.store.usage import spent_on_memory, unpriced_tokens_of_memory
from construct.vocabulary import CycleKind, CycleStatus, Role


def unobserved(
    db: Connection, conversation_id: int, *, until: int = LAST, at_rest: bool
) -> list[Message]:
    """Return the messages that an observer may pass now, up to and including `until`.

    Those that it must not read are among them (`is_readable`). User messages at the end
    that have no answer yet are left out unless `at_rest`.
    """
    if is_written_elsewhere(db, conversation_id):
        return []  # the machine that writes it observes it
    observed = get_watermarks(db, conversation_id).observed
    messages = live_messages(db, conversation_id, observed, until)
    while not at_rest and messages and messages[-1].role == Role.USER:
        messages.pop()
    return messages


def read_situation(
    db: Connection, conversation_id: int, config: MemoryConfig, *, leaving: bool = False
) -> Situation:
    """Return the situation of a conversation."""
    return replace(
        read_window(db, conversation_id, config, leaving=leaving),
        tokens_in_sight=stored_observations.tokens_in_sight(
            db, reach(db, config.scope, conversation_id), config.plans_from
        ),
        reflect_from=reflect_from(db, conversation_id, config),
    )


def read_window(
    db: Connection, conversation_id: int, config: MemoryConfig, *, leaving: bool = False
) -> Situation:
    """Return the situation without the counts that only reflecting needs.

    Those counts get slower as observations accumulate.
    """
    watermarks = get_watermarks(db, conversation_id)
    unobserved_tokens, own_tokens = unobserved_and_window_tokens(db, conversation_id, watermarks)
    conversation = get_conversation(db, conversation_id)
    if is_written_elsewhere(db, conversation_id):
        unobserved_tokens = 0
    inherited_tokens = sum(m.token_count for m in inherited_window(db, conversation))
    last_request = conversation.last_request_at
    last = from_text(last_request) if last_request else None
    window = live_messages(db, conversation_id, watermarks.window)
    return Situation(
        unobserved_tokens=unobserved_tokens,
        window_tokens=own_tokens + inherited_tokens,
        compactable=watermarks.observed > watermarks.compacted
        or window_start(window, watermarks, config.retained, config.thresholds.compact)
        > watermarks.window
        or stored_observations.has_pending(db, conversation_id),
        held=held_tokens(db, conversation_id, config) > 0,
        cold=is_cold(last, conversation.cache_life, config.clock.now()),
        leaving=leaving,
        telling=leaving and tells_something(db, conversation_id, watermarks.observed),
        in_notebook=conversation.cache_life == NO_CACHE,
    )


def tells_something(db: Connection, conversation_id: int, observed: int) -> bool:
    """Return whether a message of the user's above `observed` may say something to remember."""
    messages = live_messages(db, conversation_id, observed)
    own = (m for m in messages if m.role == Role.USER and is_readable(m))
    return any(is_telling(m.content) for m in own)


def held_tokens(db: Connection, conversation_id: int, config: MemoryConfig) -> int:
    """Return how many more tokens it takes until messages whose cycle was undone are read again.

    0 if no messages are held back.
    """
    observed = get_watermarks(db, conversation_id).observed
    last = cycles.last_over_live_messages(db, conversation_id)
    if last is None or last.held_message_id is None:
        return 0
    if last.status != CycleStatus.REVERTED or (last.last_message_id or 0) <= observed:
        return 0
    fresh = live_messages(db, conversation_id, max(observed, last.held_message_id))
    return max(0, config.thresholds.observer - sum(m.token_count for m in fresh))


def holds_against(db: Connection, parent_id: int, fork_id: int, config: MemoryConfig) -> bool:
    """Return whether messages whose cycle was undone are held back in a fork too.

    Messages sent since then, in either conversation, count as new.
    """
    undone = cycles.last_over_live_messages(db, parent_id)
    since = (undone and undone.reverted_at) or ""
    return held_tokens(db, parent_id, config) > sum(
        m.token_count for m in live_messages(db, fork_id, 0) if m.created_at > since
    )


def reflect_from(db: Connection, conversation_id: int, config: MemoryConfig) -> int:
    """Return how many tokens in sight it takes for another reflection to run."""
    last = cycles.last_cycle(
        db, CycleKind.REFLECTOR, reflector_scope(config.scope, conversation_id)
    )
    if last is None or last.base_tokens is None:
        return 0
    if last.status == CycleStatus.REVERTED:
        return last.base_tokens + config.thresholds.reflector
    return int(last.base_tokens * REGROWTH)


def reflector_scope(scope: str, conversation_id: int) -> int | None:
    """Return the conversation a reflector cycle reads; None for all conversations."""
    return None if scope == "user" else conversation_id


def conversations_at_rest(db: Connection, config: MemoryConfig, exclude: int | None) -> list[int]:
    """Return the cold conversations, except `exclude`, in which memory work is left.

    They have more than LEFTOVER_TOKENS unobserved, or pending observations. They are cold
    for any cache life: no request was sent in the last hour.
    """
    now, life = config.clock.now(), max(LIVES.values())
    since, until = to_text(now - life), to_text(now + life)
    return idle_with_unobserved(db, since, until, LEFTOVER_TOKENS, exclude)


def spent_today(db: Connection, config: MemoryConfig) -> float:
    """Return the US dollars that memory work has cost since the user's midnight.

    Usage recorded on a later day, by a wrong clock, does not count.
    """
    clock = config.clock
    return spent_on_memory(db, to_text(clock.midnight()), to_text(clock.midnight(1)))


def unpriced_tokens_today(db: Connection, config: MemoryConfig) -> int:
    """Return the tokens of today's memory work by models whose price is unknown."""
    clock = config.clock
    return unpriced_tokens_of_memory(db, to_text(clock.midnight()), to_text(clock.midnight(1)))


def reached_limit(db: Connection, config: MemoryConfig, worker: str) -> str | None:
    """Return the setting of the daily limit that a worker model has reached, or None.

    Where its price is known, tokens do not count.
    """
    if spent_today(db, config) >= config.daily_usd:
        return "CONSTRUCT_WORKER_DAILY_USD"
    if not is_known(worker) and unpriced_tokens_today(db, config) >= config.daily_tokens:
        return "CONSTRUCT_WORKER_DAILY_TOKENS"
    return None


def is_over_limit(db: Connection, config: MemoryConfig, worker: str) -> bool:
    """Return whether a worker model has reached a daily limit, in dollars or tokens."""
    return reached_limit(db, config, worker) is not None

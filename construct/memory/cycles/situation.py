"""Reading from the database what the policy decides on."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from construct.clock import Clock, from_text, to_text
from construct.config import Settings, Thresholds
from construct.memory.cycles.policy import LEFTOVER_TOKENS, LIVES, REGROWTH, Situation, fit_to, is_cold
from construct.memory.recall.meaning import Meaning, meaning_for
from construct.memory.shown.forks import inherited_window, reach
from construct.memory.shown.view import Frame
from construct.memory.shown.window import window_start
from construct.store import cycles, talk
from construct.store import observations as rows
from construct.store.records import Message


@dataclass(frozen=True, slots=True)
class Terms:
    """What memory work goes by in one process: thresholds fitted to the main model, scope, clock, limits."""

    thresholds: Thresholds
    scope: str
    clock: Clock
    daily_usd: float
    meaning: Meaning | None = field(default=None, compare=False)
    """How recall compares by meaning; None: by words alone."""

    @property
    def frame(self) -> Frame:
        """What decides which observations are shown."""
        return Frame(self.scope, self.thresholds.budget)

    @property
    def retained(self) -> int:
        """Tokens that stay raw after compacting."""
        return int(self.thresholds.retain * self.thresholds.compact)


def terms_for(settings: Settings, context_window: int) -> Terms:
    """Return the terms of memory work for a main model with this context window."""
    thresholds, meaning = fit_to(settings.thresholds, context_window), meaning_for(settings)
    return Terms(thresholds, settings.scope, settings.clock, settings.worker_daily_usd, meaning)


def unobserved(db: sqlite3.Connection, conversation_id: int, *, until: int, at_rest: bool) -> list[Message]:
    """Return what an observer may read now of a conversation, up to a message."""
    observed = talk.watermarks(db, conversation_id).observed
    return observable(talk.live_messages(db, conversation_id, observed, until), at_rest=at_rest)


def observable(messages: Sequence[Message], *, at_rest: bool) -> list[Message]:
    """Return what an observer may read now: a last question without its answer waits, unless the talk is at rest."""
    last = len(messages)
    if not at_rest:
        while last and messages[last - 1].role == "user":
            last -= 1
    return list(messages[:last])


def read_situation(db: sqlite3.Connection, conversation_id: int, terms: Terms, *, leaving: bool = False) -> Situation:
    """Return the situation of a conversation."""
    return replace(
        read_window(db, conversation_id, terms, leaving=leaving),
        active_tokens=rows.active_tokens(db, reach(db, terms.scope, conversation_id)),
        reflect_from=reflect_from(db, conversation_id, terms),
    )


def read_window(db: sqlite3.Connection, conversation_id: int, terms: Terms, *, leaving: bool = False) -> Situation:
    """Return the same but for what reflecting goes by: counting all that is remembered takes longer, and more of it."""
    marks = talk.watermarks(db, conversation_id)
    unobserved, shown = talk.tokens_above(db, conversation_id, marks)
    here = talk.conversation(db, conversation_id)
    last = from_text(here.last_request_at) if here.last_request_at else None
    return Situation(
        unobserved_tokens=unobserved,
        window_tokens=shown + sum(m.token_count for m in inherited_window(db, here)),
        compactable=marks.observed > marks.compacted
        or window_start(talk.live_messages(db, conversation_id, marks.window), marks, terms.retained) > marks.window
        or rows.has_pending(db, conversation_id),
        held=held_tokens(db, conversation_id, terms) > 0,
        cold=is_cold(last, here.cache_life, terms.clock.now()),
        leaving=leaving,
    )


def held_tokens(db: sqlite3.Connection, conversation_id: int, terms: Terms) -> int:
    """Return the tokens that must still be said before what was undone is observed again; 0 when nothing is held."""
    observed = talk.watermarks(db, conversation_id).observed
    last = cycles.last_of_living_talk(db, conversation_id)
    if last is None or last.held_message_id is None:
        return 0
    if last.status != "reverted" or (last.last_message_id or 0) <= observed:
        return 0
    fresh = talk.live_messages(db, conversation_id, max(observed, last.held_message_id))
    return max(0, terms.thresholds.observer - sum(m.token_count for m in fresh))


def holds_against(db: sqlite3.Connection, parent_id: int, fork_id: int, terms: Terms) -> bool:
    """Tell whether what was undone in a talk is held from its fork too: new tokens are those said in either since."""
    undone = cycles.last_of_living_talk(db, parent_id)
    since = (undone and undone.reverted_at) or ""
    return held_tokens(db, parent_id, terms) > sum(
        m.token_count for m in talk.live_messages(db, fork_id, 0) if m.created_at > since
    )


def reflect_from(db: sqlite3.Connection, conversation_id: int, terms: Terms) -> int:
    """Return the active tokens from which the outcome of the last reflection lets another run."""
    last = cycles.last_cycle(db, "reflector", reflector_scope(terms.scope, conversation_id))
    if last is None or last.base_tokens is None:
        return 0
    if last.status == "reverted":
        return last.base_tokens + terms.thresholds.reflector
    return int(last.base_tokens * REGROWTH)


def reflector_scope(scope: str, conversation_id: int) -> int | None:
    """Return the conversation a reflector cycle is booked under: none when it goes over all of them."""
    return None if scope == "user" else conversation_id


def conversations_at_rest(db: sqlite3.Connection, terms: Terms, but: int | None) -> list[int]:
    """Return the conversations, beside one, that are cold and have more unobserved than may be left."""
    now, life = terms.clock.now(), max(LIVES.values())
    found = db.execute(
        """SELECT c.id FROM conversations AS c
           LEFT JOIN watermarks AS w ON w.conversation_id = c.id AND w.name = 'observed'
           WHERE c.id IS NOT ? AND (c.last_request_at IS NULL OR c.last_request_at NOT BETWEEN ? AND ?)
             AND ((SELECT sum(token_count) FROM messages AS m WHERE m.conversation_id = c.id AND m.archived = 0
                   AND m.id > coalesce(w.message_id, 0)) > ?
                  OR EXISTS (SELECT 1 FROM observations WHERE conversation_id = c.id AND committed_at IS NULL
                             AND superseded_at IS NULL))""",
        (but, to_text(now - life), to_text(now + life), LEFTOVER_TOKENS),
    )
    return [row[0] for row in found]

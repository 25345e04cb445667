"""Imported messages: estimate what observing them costs, and make batches due."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from construct.llm.catalog import cost_usd
from construct.llm.types import Model
from construct.memory.learning.observer import batch_tokens
from construct.memory.shown.transcript import batches
from construct.store import backlog
from construct.store.backlog import Backlog
from construct.store.messages import LAST
from construct.tokens import Usage

# Around one call stand about as many tokens of prompt and schema; an observer writes a
# line of 80 for each 200 of talk, and a reflector reads what it wrote about once and
# writes half of it.
_PROMPT_TOKENS = 1_500
_WRITTEN, _READ_AGAIN, _CONDENSED = 0.4, 0.2, 0.2


@dataclass(frozen=True, slots=True)
class Estimate:
    """A rough estimate of what observing a backlog takes."""

    calls: int
    usd: float | None
    """None if the model's prices are unknown."""


def estimate(waiting: Sequence[Backlog], model: Model | None) -> Estimate:
    """Estimate what observing a backlog takes, reflections included."""
    if model is None:
        return Estimate(0, 0.0)
    talked = sum(b.tokens for b in waiting)
    calls = sum(ceil(b.tokens / batch_tokens(model)) for b in waiting)
    one = Usage(
        input_tokens=_PROMPT_TOKENS + ceil(talked * (1 + _READ_AGAIN) / max(1, calls)),
        output_tokens=ceil(talked * (_WRITTEN + _CONDENSED) / max(1, calls)),
    )
    each = cost_usd(model.name, one)
    return Estimate(calls, None if each is None else each * calls)


@dataclass(frozen=True, slots=True)
class Revived:
    """The messages that were taken out of the archive."""

    messages: int
    until: int
    """The last message an observer may read: later ones are still archived."""


def revive(db: sqlite3.Connection, conversation_id: int, most: int) -> Revived | None:
    """Unarchive the oldest messages of a backlog, about `most` tokens, so they are due.

    If the conversation has gone on since the import, all are unarchived at once: a batch
    of the observer must not skip messages that are still archived.
    """
    waiting = backlog.unread_above_mark(db, conversation_id)
    if not waiting:
        return None
    chosen = waiting
    if backlog.count_messages_from(db, conversation_id, waiting[0]) == len(waiting):
        chosen = [m.id for m in batches(backlog.first_messages(db, waiting), most)[0]]
    backlog.unarchive(db, chosen)
    return Revived(len(chosen), LAST if len(chosen) == len(waiting) else chosen[-1])

"""Imported talk: what observing it may cost, and making it due a batch at a time."""

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
    """What observing a backlog will take, roughly."""

    calls: int
    usd: float | None
    """None where the model's prices are not known."""


def estimate(waiting: Sequence[Backlog], model: Model | None) -> Estimate:
    """Return what observing a backlog may take, reflections included."""
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
    """Messages that are archived no more."""

    messages: int
    until: int
    """The message up to which an observer may read: behind it others are archived."""


def revive(db: sqlite3.Connection, conversation_id: int, most: int) -> Revived | None:
    """Make about `most` tokens, the oldest of a backlog, part of the living talk.

    So they are due. Where the talk has gone on since, it is all of them at once: an
    observer's batch must not step over what is still archived.
    """
    waiting = backlog.waiting_above_mark(db, conversation_id)
    if not waiting:
        return None
    chosen = waiting
    if backlog.count_from(db, conversation_id, waiting[0]) == len(waiting):
        chosen = [m.id for m in batches(backlog.first_messages(db, waiting), most)[0]]
    backlog.make_live(db, chosen)
    return Revived(len(chosen), LAST if len(chosen) == len(waiting) else chosen[-1])

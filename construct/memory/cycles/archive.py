"""Imported messages: estimate what observing them costs, and make batches due."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from construct.llm.catalog import cost_usd
from construct.llm.types import Model
from construct.memory.learning.observer_call import batch_tokens
from construct.memory.shown.transcript import batches
from construct.store import backlog
from construct.store.backlog import Backlog
from construct.store.driver import Connection
from construct.store.messages import LAST
from construct.tokens import Usage

# A call and its check have about this many tokens of prompts and known notes around the
# messages. For each token of messages, an observer writes 0.4 tokens; the verifier reads the
# messages again; a reflector then reads 0.2 and writes 0.2.
_PROMPT_TOKENS = 5_500
_WRITTEN, _READ_AGAIN, _CONDENSED = 0.4, 1.2, 0.2


@dataclass(frozen=True, slots=True)
class WorkEstimate:
    """A rough estimate of what observing a backlog takes."""

    calls: int
    usd: float | None
    """None if the model's prices are unknown."""


def estimate(waiting: Sequence[Backlog], model: Model | None) -> WorkEstimate:
    """Estimate the observer calls a backlog takes, and their cost with later reflections."""
    if model is None:
        return WorkEstimate(0, 0.0)
    message_tokens = sum(b.tokens for b in waiting)
    calls = sum(ceil(b.tokens / batch_tokens(model)) for b in waiting)
    usage = Usage(
        input_tokens=_PROMPT_TOKENS + ceil(message_tokens * (1 + _READ_AGAIN) / max(1, calls)),
        output_tokens=ceil(message_tokens * (_WRITTEN + _CONDENSED) / max(1, calls)),
    )
    usd_per_call = cost_usd(model.name, usage)
    return WorkEstimate(calls, None if usd_per_call is None else usd_per_call * calls)


@dataclass(frozen=True, slots=True)
class Revived:
    """The messages that were taken out of the archive."""

    messages: int
    until: int
    """Id of the last message an observer may read: later ones may still be archived."""


def revive(db: Connection, conversation_id: int, limit: int) -> Revived | None:
    """Unarchive the oldest messages at the end of a conversation, about `limit` tokens.

    So they are due. None if there are none: if the conversation has gone on since the
    import, its messages stay archived.
    """
    waiting = backlog.unobserved_at_end(db, conversation_id)
    if not waiting:
        return None
    chosen = [m.id for m in batches(backlog.first_messages(db, waiting), limit)[0]]
    backlog.unarchive(db, chosen)
    return Revived(len(chosen), LAST if len(chosen) == len(waiting) else chosen[-1])

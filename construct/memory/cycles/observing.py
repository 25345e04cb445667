"""One observer cycle: the oldest batch of a conversation goes to the worker, pending observations come back."""

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass

from construct.llm.types import Model
from construct.memory.cycles.commit import StaleError, store_extraction
from construct.memory.cycles.running import CHANGED, Progress, Running, Workshop, name_of
from construct.memory.learning.asking import Account
from construct.memory.learning.observer import batch_tokens, observe
from construct.memory.learning.proposals import Extraction
from construct.memory.shown.transcript import batches
from construct.store import cycles, talk
from construct.store.database import transaction
from construct.store.records import Message

Find = Callable[[sqlite3.Connection, int], list[Message]]
"""Returns which messages of a conversation should be observed."""


@dataclass(frozen=True, slots=True)
class _Batch(Running):
    messages: list[Message]
    based_on: int


async def run_observer(shop: Workshop, conversation_id: int, find: Find) -> int | None:
    """Observe the oldest batch of what is found; return how many observations were made.

    None when there is nothing to observe, or another process is at it.
    """
    model = await shop.affordable()
    batch = await shop.begun(shop.store.call(_begin, shop, conversation_id, model, find))
    if batch is None:
        return None
    shop.report(Progress("observing"))
    async with shop.lease(batch):
        readable = [m for m in batch.messages if talk.is_readable(m)]
        found = await observe(model, readable, shop.terms.clock, batch.account)
        stored = await shop.store.call(_end, shop, batch, found, name_of(model, batch.account))
    shop.report(Progress("remembered", stored or 0))
    return stored


def _begin(
    db: sqlite3.Connection, shop: Workshop, conversation_id: int, model: Model | None, find: Find
) -> _Batch | None:
    with transaction(db):
        cycles.abandon_dead(db, shop.now())
        observed = talk.watermarks(db, conversation_id).observed
        messages = find(db, conversation_id)
        if not messages:
            return None
        batch = batches(messages, batch_tokens(model))[0]
        span = batch[0].id, batch[-1].id
        cycle_id = cycles.start_cycle(db, "observer", conversation_id, shop.now(), span=span, model=name_of(model))
        return None if cycle_id is None else _Batch(cycle_id, Account("observer"), conversation_id, batch, observed)


def _end(db: sqlite3.Connection, shop: Workshop, batch: _Batch, found: Extraction, name: str) -> int | None:
    try:
        with transaction(db):
            stored = store_extraction(db, batch.cycle_id, found, batch.messages, batch.based_on, shop.now())
            shop.finish(db, batch, "succeeded", name)
            return stored
    except StaleError:
        batch.account.problems.append(CHANGED)
        with transaction(db):
            shop.finish(db, batch, "failed", name)
        return None

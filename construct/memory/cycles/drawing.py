"""Runs one graph cycle: unread memories go to the worker model, entities and relations come back."""

import sqlite3
from dataclasses import dataclass

from construct.llm.types import Model
from construct.memory.cycles.commit import StaleError
from construct.memory.cycles.running import CHANGED, Progress, Running, Workshop
from construct.memory.graph import cycle
from construct.memory.graph.answers import GraphProposal
from construct.memory.graph.cycle import GraphBatch, GraphOccasion
from construct.memory.learning.asking import Account
from construct.store.database import transaction


@dataclass(frozen=True, slots=True)
class _RunningGraph(Running):
    batch: GraphBatch


async def run_graph(shop: Workshop, occasion: GraphOccasion) -> None:
    """Read the unread memories if that is due; the extractive worker draws no graph."""
    if shop.model is None or not await shop.store.call(cycle.is_due, occasion):
        return
    model = await shop.affordable()
    running = None if model is None else await shop.begun(shop.store.call(_begin, shop, model))
    if model is None or running is None:
        return
    shop.report(Progress("drawing"))
    async with shop.lease(running):
        found = await cycle.draw(model, running.batch, running.account)
        await shop.store.call(_end, shop, running, found, model.name)


def _begin(db: sqlite3.Connection, shop: Workshop, model: Model) -> _RunningGraph | None:
    batch = cycle.begin(db, model, shop.now())
    return None if batch is None else _RunningGraph(batch.cycle_id, Account("graph"), None, batch)


def _end(
    db: sqlite3.Connection,
    shop: Workshop,
    running: _RunningGraph,
    found: GraphProposal | None,
    name: str,
) -> None:
    try:
        with transaction(db):
            notes = cycle.store(db, running.batch, found, shop.now())
            shop.finish(db, running, "failed" if found is None else "succeeded", name, notes)
    except StaleError:
        running.account.problems.append(CHANGED)
        with transaction(db):
            shop.finish(db, running, "failed", name)

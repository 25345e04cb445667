"""One graph cycle: memories that none has read yet go to the worker, entities and relations come back."""

import sqlite3

from construct.memory.cycles.commit import StaleError
from construct.memory.cycles.running import CHANGED, Progress, Running, Workshop
from construct.memory.graph import cycle
from construct.memory.graph.answers import Drawing
from construct.memory.graph.cycle import GraphLot
from construct.memory.learning.asking import Account
from construct.store.database import transaction


async def run_graph(shop: Workshop, *, compacted: bool) -> None:
    """Draw what is due; the extractive worker draws no graph."""
    if shop.model is None or not await shop.store.call(cycle.is_due, compacted=compacted):
        return
    model = await shop.affordable()
    lot = None if model is None else await shop.store.call(cycle.begin, model, shop.now())
    if model is None or lot is None:
        return
    shop.report(Progress("drawing"))
    running = Running(lot.cycle_id, Account("graph"), None)
    async with shop.lease(running):
        found = await cycle.draw(model, lot, running.account)
        await shop.store.call(_end, shop, running, lot, found, model.name)


def _end(
    db: sqlite3.Connection, shop: Workshop, running: Running, lot: GraphLot, found: Drawing | None, name: str
) -> None:
    try:
        with transaction(db):
            notes = cycle.store(db, lot, found, shop.now())
            shop.finish(db, running, "failed" if found is None else "succeeded", name, notes)
    except StaleError:
        running.account.problems.append(CHANGED)
        with transaction(db):
            shop.finish(db, running, "failed", name)

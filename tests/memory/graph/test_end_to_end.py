"""The graph cycle of a running companion, against the strict fake over HTTP."""

import sqlite3
from pathlib import Path

import pytest

from construct.memory.keeping import keep_for_user
from construct.store import graph as rows
from construct.store.database import transaction
from tests.memory.cycles.scripted import query
from tests.memory.graph.drawing import CLOCK
from tests.support.fake_api import FakeApi, adversarial, faults
from tests.support.talks import LOW, Talk, facts, talking

FAULTS = {
    "500": faults.http(500),
    "drop before": faults.drop_before(),
    "silent end": faults.silent_end(),
    "garbage": faults.garbage(),
    "refusal": faults.refusal(),
}


async def keep(t: Talk, text: str) -> None:
    """Keep a note by hand."""

    def store(db: sqlite3.Connection) -> None:
        with transaction(db):
            keep_for_user(db, text, None, CLOCK)

    await t.companion.store.call(store)


async def drawn(t: Talk) -> list[str]:
    """Return the names of all entities but the user."""
    return [
        row[0]
        for row in await query(t, "SELECT name FROM entities WHERE name <> 'User' ORDER BY name")
    ]


async def test_notes_are_drawn_and_the_call_is_booked(tmp_path: Path, api: FakeApi) -> None:
    """All notes are read in one call, and none twice.

    The call comes when the talk is left or with many notes.
    """
    api.reflector = adversarial.silent
    async with talking(tmp_path, api, **LOW) as t:
        await t.live(facts(12))
        assert not api.of("graph")
        for _ in range(2):
            await t.companion.worker.run_due(t.id, leaving=True)
        t.check()
        assert {"Tea1", "Tea11"} <= set(await drawn(t))
        assert await t.companion.store.call(rows.count_unread) == 0
        booked = """SELECT u.cost_usd > 0, c.kind, c.attempts
                    FROM usage AS u JOIN cycles AS c ON c.id = u.cycle_id"""
        assert await query(t, f"{booked} WHERE purpose = 'graph'") == [(1, "graph", 1)]
    assert len(api.of("graph")) == 1


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
async def test_a_graph_that_fails_is_drawn_with_the_next_note(
    tmp_path: Path, api: FakeApi, fault: faults.Fault
) -> None:
    """It stops nothing, and is not tried again for the same notes."""
    api.fail("graph", fault, times=None)
    async with talking(tmp_path, api) as t:
        await keep(t, "User visits the Gulbenkian")
        assert (await t.say("Hello.")).complete
        await t.companion.worker.run_due(t.id, leaving=True)
        api.heal()
        asked = len(api.of("graph"))
        await t.companion.worker.run_due(t.id, leaving=True)
        assert len(api.of("graph")) == asked
        assert await query(t, "SELECT status FROM cycles WHERE kind = 'graph'") == [("failed",)]
        await keep(t, "User plays the Cavaquinho")
        await t.companion.worker.run_due(t.id, leaving=True)
        assert await drawn(t) == ["Cavaquinho", "Gulbenkian"]
        t.check()


@pytest.mark.parametrize(
    "setting",
    [{"MEMORY_WORKER_MODEL": "extractive"}, {"CONSTRUCT_WORKER_DAILY_USD": "0"}],
    ids=["by rule", "limit"],
)
async def test_without_a_worker_model_no_graph_is_drawn(
    tmp_path: Path, api: FakeApi, setting: dict[str, str]
) -> None:
    """Neither by the extractive worker nor past the day's limit; the notes wait."""
    async with talking(tmp_path, api, **setting) as t:
        await keep(t, "User visits the Gulbenkian")
        await t.companion.worker.run_now(t.id)
        assert await t.companion.store.call(rows.count_unread) == 1
        assert await query(t, "SELECT id FROM cycles WHERE kind = 'graph'") == []
    assert not api.of("graph")

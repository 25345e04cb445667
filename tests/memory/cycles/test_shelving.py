"""What leaves the sight and stays: shelved notes, and plans whose day is long past."""

import sqlite3
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from construct.clock import Clock
from construct.memory.trace import trace_observation
from construct.operations.context import Context
from construct.operations.memory import list_memory
from construct.store import observations as rows
from tests.memory.cycles.scripted import (
    condenses,
    learn,
    observes,
    observes_only,
    sent,
    states,
    take_back,
    writes,
)
from tests.support.fake_api import FakeApi
from tests.support.talks import Talk, talking

ANA, PEANUTS = "User has a sister called Ana", "User is allergic to peanuts"
KAYAK, LAMP = "User rented a kayak in Sines", "User repaired the lamp"
SAID = "My sister is Ana. I am allergic to peanuts. I rented a kayak in Sines. I repaired the lamp."
NOTED = (
    writes(ANA, priority="medium"),
    writes(PEANUTS),
    writes(KAYAK, priority="medium"),
    writes(LAMP, priority="low"),
)
SHELVES = condenses(shelve=["kayak", "lamp", "peanuts"])


@pytest.fixture(autouse=True)
def quiet(api: FakeApi) -> None:
    """Leave all to observer and reflector."""
    observes_only(api)


async def travel(t: Talk, days: float) -> None:
    """Let days pass."""
    now = t.companion.settings.clock.now() + timedelta(days=days)
    clock = Clock(now, UTC)
    t.companion.settings = replace(t.companion.settings, clock=clock)
    t.companion.memory_config = replace(t.companion.memory_config, clock=clock)
    t.companion.worker.config = t.companion.memory_config


async def recalled(t: Talk, note: int) -> None:
    """Have a turn for which recall brings a note back."""
    await t.say("How was it?")

    def store(db: sqlite3.Connection) -> None:
        (reply,) = db.execute("SELECT max(id) FROM messages WHERE role = 'assistant'").fetchone()
        db.execute(
            "INSERT INTO briefed (reply_id, way, observation_id) VALUES (?, 'passage', ?)",
            (reply, note),
        )

    await t.companion.store.call(store)


async def test_shelved_notes_leave_the_request_and_stay_active(
    tmp_path: Path, api: FakeApi
) -> None:
    """A `!` note is not shelved. Status counts what is in sight; undo brings all back."""
    api.enqueue("reflector", SHELVES)
    async with talking(tmp_path, api) as t:
        before = datetime.now(UTC)
        found = await learn(t, api, SAID, *NOTED)
        by_words = {o.content: o for o in found}
        assert await states(t) == {
            ANA: "active", PEANUTS: "active", KAYAK: "shelved", LAMP: "shelved"
        }  # fmt: skip
        panel = await t.status()
        assert panel.observations.count == 2
        assert panel.shelved == 2
        await t.say("Hello again.")
        assert ANA in sent(api, "chat")
        assert KAYAK not in sent(api, "chat")
        await t.say("Did I rent a kayak once?")
        assert f"Noted, {by_words[KAYAK].observation_date}" in sent(api, "chat")
        trace = await t.companion.store.call(trace_observation, by_words[LAMP].id)
        assert [one.event for one in trace.life][-1] == "shelved"
        c = t.companion
        then = await c.store.call(
            lambda db: list_memory(
                Context(db, c.settings, c.memory_config, t.id), as_of=before.isoformat()
            )
        )
        assert not then.observations
        await take_back(t)
        assert set((await states(t)).values()) == {"active"}
        await t.say("And now?")
        assert KAYAK in sent(api, "chat")


async def test_what_recall_often_brings_back_is_in_sight_again(
    tmp_path: Path, api: FakeApi
) -> None:
    """After three replies within 30 days, by the next reflection; undo shelves it again."""
    api.enqueue("reflector", SHELVES)
    async with talking(tmp_path, api) as t:
        found = await learn(t, api, SAID, *NOTED)
        kayak = next(o.id for o in found if o.content == KAYAK)
        for days in (0, 40, 1):
            await travel(t, days)
            await recalled(t, kayak)
        await t.companion.worker.run_now(t.id)
        assert (await states(t))[KAYAK] == "shelved"
        await recalled(t, kayak)
        await t.companion.worker.run_now(t.id)
        t.check()
        assert (await states(t))[KAYAK] == "active"
        assert (await states(t))[LAMP] == "shelved"
        await travel(t, 1)  # the prefix is rewritten
        await t.say("Fine.")
        assert KAYAK in sent(api, "chat")
        await take_back(t)
        assert (await states(t))[KAYAK] == "shelved"
        await t.say("Well.")
        assert f"{KAYAK}\\n" not in sent(api, "chat")


async def test_a_plan_leaves_the_sight_two_weeks_after_its_day(
    tmp_path: Path, api: FakeApi
) -> None:
    """By its date alone, when the prefix is rewritten; it stays active and is not condensed."""
    api.reflector = condenses(drop=["dentist"])
    async with talking(tmp_path, api) as t:
        day = t.companion.settings.clock.today() + timedelta(days=1)
        plan = f"User sees the dentist | planned | for {day}"
        await learn(t, api, "I see the dentist tomorrow. My sister is Ana.",
                    writes(plan), writes(ANA, priority="medium"))  # fmt: skip
        for days, is_shown in ((14, True), (1, False)):
            await travel(t, days)
            await t.say("Hello.")
            assert ("sees the dentist | planned" in sent(api, "chat")) is is_shown
        panel = await t.status()
        assert (panel.observations.count, panel.shelved, panel.past_plans) == (1, 0, 1)
        await t.companion.worker.run_now(t.id)
        assert (await states(t))["User sees the dentist"] == "active"
        found = await t.companion.store.call(rows.all_observations)
        assert [o.content for o in found if o.superseded_at] == []


async def test_the_reflector_reads_what_is_in_sight(tmp_path: Path, api: FakeApi) -> None:
    """A shelved note is not read again, and a pin takes it into sight at once."""
    api.enqueue("reflector", SHELVES)
    async with talking(tmp_path, api) as t:
        found = await learn(t, api, SAID, *NOTED)
        api.enqueue("observer", observes(writes("User has a cat called Miez", priority="medium")))
        await t.say("I have a cat called Miez.")
        await t.companion.worker.run_now(t.id)
        assert "Miez" in sent(api, "reflector")
        assert "kayak" not in sent(api, "reflector")
        kayak = next(o.id for o in found if o.content == KAYAK)
        await t.companion.store.call(lambda db: rows.set_pinned(db, kayak, pinned=True))
        assert (await states(t))[KAYAK] == "active"
        assert (await t.status()).shelved == 1

"""What was undone in a talk, as its fork goes on with it."""

from pathlib import Path

from construct.clock import to_text
from construct.memory.shown.forks import fork
from construct.memory.undo import undo
from construct.store.conversations import get_watermarks
from construct.store.messages import NewMessage, add_message
from tests.support.fake_api import FakeApi
from tests.support.talks import LOW, Talk, facts, talking

BY_RULE = LOW | {"MEMORY_WORKER_MODEL": "extractive"}


async def store_turns(t: Talk, here: int, texts: list[str]) -> None:
    """Store what was said and answered, with no model asked."""
    for role, text in ((role, text) for text in texts for role in ("user", "assistant")):
        now = to_text(t.companion.settings.clock.now())
        await t.companion.store.call(add_message, here, NewMessage(role, text), now)


async def fork_of_an_undone_talk(t: Talk) -> int:
    """Observe a talk, take that back, and fork it."""
    await store_turns(t, t.id, facts(5))
    await t.companion.worker.run_due(t.id, leaving=True)
    await t.companion.store.call(undo, t.companion.settings.clock)
    return await t.companion.store.call(fork, t.id, t.companion.settings.clock)


async def test_what_was_undone_is_held_from_the_fork_until_a_threshold_was_said_there(
    tmp_path: Path, api: FakeApi
) -> None:
    """The fork can compact without waiting for its parent.

    The parent may never go on.
    """
    async with talking(tmp_path, api, **BY_RULE) as t:
        child = await fork_of_an_undone_talk(t)
        await store_turns(t, child, facts(3, start=5))
        await t.companion.worker.run_due(child, leaving=True)
        assert (await t.companion.store.call(get_watermarks, t.id)).observed == 0
        await store_turns(t, child, facts(3, start=8))
        await t.companion.worker.run_due(child, leaving=True)
        assert (await t.companion.store.call(get_watermarks, t.id)).observed == 10
        assert (await t.companion.store.call(get_watermarks, child)).compacted == 22
        t.check()


async def test_compacting_a_fork_observes_what_was_undone(tmp_path: Path, api: FakeApi) -> None:
    """It stands in the fork's window, and was asked for."""
    async with talking(tmp_path, api, **BY_RULE) as t:
        child = await fork_of_an_undone_talk(t)
        await store_turns(t, child, facts(1, start=5))
        made, compacted, _ = await t.companion.worker.run_now(child)
        assert made > compacted.committed > 0
        assert (await t.companion.store.call(get_watermarks, t.id)).compacted == 10
        t.check()

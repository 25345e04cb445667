"""Imported talk that nobody has observed, where its conversation has gone on."""

import sqlite3
from contextlib import closing
from pathlib import Path

from construct.memory.cycles.situation import held_tokens
from construct.memory.undo import undo
from construct.store import backlog
from construct.store import observations as rows
from construct.store.conversations import get_conversation, get_watermarks
from construct.store.database import open_database, transaction
from construct.store.messages import NewMessage, add_message, live_ids, live_messages
from construct.store.records import Watermarks
from tests.store.transfer_world import bring as bring_file
from tests.store.transfer_world import exported
from tests.support.database import new_database
from tests.support.fake_api import FakeApi
from tests.support.fake_types import Answer, Json
from tests.support.talks import LOW, Talk, facts, talking


def bring(db: sqlite3.Connection, conversation_id: int, *texts: str) -> list[int]:
    """Store imported messages at the end of a conversation."""
    with transaction(db):
        ids = [
            add_message(
                db, conversation_id, NewMessage("user", text), "2026-03-01T10:00:00+00:00"
            ).id
            for text in texts
        ]
        db.executemany("UPDATE messages SET archived = 1 WHERE id = ?", [(i,) for i in ids])
    return ids


async def state(t: Talk) -> tuple[Watermarks, list[int], str | None]:
    """Return the marks, what is raw in the window, and what the talk is at."""
    call = t.companion.store.call
    marks = await call(get_watermarks, t.id)
    raw = [m.id for m in await call(live_messages, t.id, marks.window)]
    return marks, raw, (await call(get_conversation, t.id)).current_task


async def test_what_the_mark_has_passed_is_read_where_it_stands(
    tmp_path: Path, api: FakeApi
) -> None:
    """Between living talk: no mark moves, each is read once, and undo takes it back."""
    async with talking(tmp_path, api, **LOW) as t:
        call, worker = t.companion.store.call, t.companion.worker
        first = await call(
            bring, t.id, "I was born in Guarda in 1980.", "My brother Rui was born in 1983."
        )
        await t.live(facts(2))
        second = await call(bring, t.id, "I studied physics in Coimbra until 2003.")
        await t.live(facts(2, start=2))
        await worker.run_now(t.id)
        before = await state(t)
        assert await call(backlog.count_unobserved, t.id) == 3
        assert [m.id for m in await call(backlog.unobserved_in_between, t.id)] == first
        assert await worker.catch_up_archived(t.id)
        assert [m.id for m in await call(backlog.unobserved_in_between, t.id)] == second
        assert await worker.catch_up_archived(t.id)
        assert await worker.catch_up_archived(t.id) is None
        assert (await call(backlog.count_unobserved, t.id), await state(t)) == (0, before)
        read = {i for o in await call(rows.unsuperseded) for i in await call(source_ids, o.id)}
        assert read >= {*first, *second}
        t.check()
        with closing(new_database(tmp_path / "other.db")) as other:
            whole = await call(exported)
            bring_file(other, tmp_path, whole)
            assert (exported(other), backlog.count_unobserved(other, t.id)) == (whole, 0)
        while await call(backlog.count_unobserved, t.id) < 3:
            await call(undo, t.companion.settings.clock)
        assert await state(t) == before
        t.check()


async def test_what_is_revived_while_an_observer_reads_past_it_is_read_too(
    tmp_path: Path, api: FakeApi
) -> None:
    """The mark does not pass what another process has made part of the living talk."""
    async with talking(tmp_path, api, **LOW) as t:
        call, worker = t.companion.store.call, t.companion.worker
        imported = await call(bring, t.id, "I was born in Guarda in 1980.")
        await t.say("My locker is number 7.")

        def observer(body: Json) -> Answer:
            with closing(open_database(t.companion.settings.db)) as db, transaction(db):
                backlog.unarchive(db, imported)
            return observed(body)

        observed, api.observer = api.observer, observer
        await worker.run_now(t.id)
        t.check()
        await worker.run_now(t.id)
        t.check()
        assert await call(live_ids, t.id, (await call(get_watermarks, t.id)).observed) == []
        assert imported[0] in {
            i for o in await call(rows.unsuperseded) for i in await call(source_ids, o.id)
        }


def source_ids(db: sqlite3.Connection, observation_id: int) -> list[int]:
    """Return the messages an observation comes from."""
    found = db.execute(
        "SELECT message_id FROM observation_messages WHERE observation_id = ?", (observation_id,)
    )
    return [row[0] for row in found]


async def test_reading_it_lets_nothing_else_be_due_that_was_undone(
    tmp_path: Path, api: FakeApi
) -> None:
    """An undone batch stays held while imported messages before it are read.

    Undoing that reading does not release it either.
    """
    async with talking(tmp_path, api, **LOW) as t:
        call, worker = t.companion.store.call, t.companion.worker
        await call(bring, t.id, "I was born in Guarda in 1980.")
        for text in facts(2):
            await t.say(text)
            await worker.run_now(t.id)
        while (await call(undo, t.companion.settings.clock)).cycle.kind != "observer":
            pass
        held = await call(held_tokens, t.id, t.companion.memory_config)
        assert held > 0
        assert await worker.catch_up_archived(t.id)
        assert await call(held_tokens, t.id, t.companion.memory_config) == held
        await call(undo, t.companion.settings.clock)
        assert await call(held_tokens, t.id, t.companion.memory_config) == held

"""Work in the database's thread that can be stopped."""

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator
from datetime import UTC
from pathlib import Path
from threading import Event

import pytest

from construct.clock import Clock
from construct.store.in_thread import Store
from construct.store.sql import scalar
from construct.store.transfer.importing import STORING, import_file

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
MESSAGES = "SELECT count(*) FROM messages"


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    """Return a store with an empty database."""
    store = Store(tmp_path / "construct.db")
    yield store
    store.close()


async def test_a_query_stops(store: Store) -> None:
    """The next call runs at once."""
    querying = asyncio.create_task(store.stoppable_call(lambda db: scalar(db, ENDLESS)))
    await asyncio.sleep(0.1)
    querying.cancel()
    with pytest.raises(asyncio.CancelledError):
        await querying
    assert await store.call(scalar, MESSAGES) == 0


async def test_nothing_of_it_is_left_on_the_connection(store: Store) -> None:
    """Neither an attached database with an open cursor, nor a changed setting."""

    def work(db: sqlite3.Connection) -> int:
        db.execute("PRAGMA foreign_keys = OFF")
        db.execute("ATTACH '' AS scratch")
        return int(scalar(db, ENDLESS))

    working = asyncio.create_task(store.stoppable_call(work))
    await asyncio.sleep(0.1)
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working
    assert await store.call(scalar, "PRAGMA foreign_keys") == 1
    assert await store.call(scalar, "SELECT name FROM pragma_database_list WHERE seq > 1") is None


async def test_work_that_waits_its_turn_never_begins(store: Store) -> None:
    """It is stopped like work that runs."""
    may_end, begun = Event(), Event()
    before = asyncio.create_task(store.call(lambda _: may_end.wait()))
    waiting = asyncio.create_task(store.stoppable_call(lambda _: begun.set()))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.sleep(0)
    may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert await before
    assert not begun.is_set()


async def test_too_late_to_stop(store: Store) -> None:
    """What is done is done, and the caller gets the result."""
    may_end, begun = Event(), Event()

    def work(_: object) -> str:
        begun.set()
        may_end.wait()
        return "done"

    working = asyncio.create_task(store.stoppable_call(work))
    await asyncio.to_thread(begun.wait)
    working.cancel()
    await asyncio.sleep(0)
    may_end.set()
    assert await working == "done"


async def test_an_import_that_is_stopped_adds_nothing(store: Store, tmp_path: Path) -> None:
    """Not even if it had begun to store. The same file can be imported afterwards."""
    line = {"type": "message", "conversation": "A", "role": "user", "created_at": "2026-03-01"}
    path = tmp_path / "talk.jsonl"
    path.write_text("".join(json.dumps(line | {"content": f"no. {n}"}) + "\n" for n in range(3000)))
    may_go_on, storing = Event(), Event()

    def progress(step: str, done: int, total: int) -> None:
        if step == STORING:
            storing.set()
            may_go_on.wait()

    importing = asyncio.create_task(
        store.stoppable_call(lambda db: import_file(db, path, Clock(zone=UTC), progress))
    )
    await asyncio.to_thread(storing.wait)
    importing.cancel()
    await asyncio.sleep(0)
    may_go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await importing
    assert await store.call(scalar, MESSAGES) == 0
    assert (await store.call(import_file, path, Clock(zone=UTC))).messages == 3000

"""The locks of one process's connections, seen by another process."""

import asyncio
import gc
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from construct.errors import DatabaseUnusableError
from construct.store import database, in_thread
from construct.store.conversations import create_conversation
from construct.store.database import open_database
from construct.store.in_thread import Store

_OTHER = """
import sqlite3, sys
from pathlib import Path
from construct.store.database import open_database
db = open_database(Path(sys.argv[1]))
db.execute("INSERT INTO conversations (uid, created_at) VALUES ('other', 'now')")
db.close()
"""


def test_opening_twice_keeps_the_locks_of_the_first(tmp_path: Path) -> None:
    """A second connection of this process does not release the first one's locks.

    So no other process removes its log.
    """
    path = tmp_path / "construct.db"
    with closing(open_database(path)) as first:
        first.execute("INSERT INTO conversations (uid, created_at) VALUES ('before', 'now')")
        open_database(path).close()
        subprocess.run([sys.executable, "-c", _OTHER, str(path)], check=True)
        assert path.with_name("construct.db-wal").exists()
        first.execute("INSERT INTO conversations (uid, created_at) VALUES ('after', 'now')")
    with closing(open_database(path)) as again:
        found = {row[0] for row in again.execute("SELECT uid FROM conversations")}
    assert found == {"before", "other", "after"}


async def test_a_talk_waits_longer_than_a_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While an import holds the file a talk outlasts it.

    What does not end is said to be locked.
    """
    monkeypatch.setattr(database, "_BUSY_SECONDS", 0.0)
    path = tmp_path / "construct.db"
    with closing(open_database(path)) as importing:
        importing.execute("BEGIN IMMEDIATE")
        asyncio.get_running_loop().call_later(0.1, importing.execute, "COMMIT")
        store = Store(path)
        assert await store.call(create_conversation, "now") == 1
        store.close()
        monkeypatch.setattr(in_thread, "_PATIENCE_SECONDS", 0.1)
        importing.execute("BEGIN IMMEDIATE")
        store = Store(path)
        with pytest.raises(DatabaseUnusableError, match="locked by another program"):
            await store.call(create_conversation, "now")
        store.close()


async def test_who_stops_waiting_hears_no_more(tmp_path: Path) -> None:
    """A failing call that nobody awaits any more is silent.

    asyncio would print a traceback.
    """
    heard: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: heard.append(context))
    path = tmp_path / "construct.db"
    with closing(open_database(path)) as importing:
        importing.execute("BEGIN IMMEDIATE")
        store = Store(path, patience=0.05)
        waiting = asyncio.create_task(store.call(create_conversation, "now"))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await asyncio.to_thread(store.close)
    del waiting
    gc.collect()
    assert heard == []

"""The database for async code."""

import asyncio
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from construct.store import faults
from construct.store.database import open_database

P = ParamSpec("P")
T = TypeVar("T")

_PATIENT_SECONDS = 60.0
"""Longer than others wait: an import of a million messages holds the file for half a minute.

On a busy machine it takes more.
"""


class Store:
    """One thread, one connection, calls one after the other.

    `patience`: seconds for which a call waits for another program that holds the file.
    """

    def __init__(
        self, path: Path, patience: float | None = None, *, rules: Path | None = None
    ) -> None:
        self.path = path
        self._rules = rules
        self._patience = _PATIENT_SECONDS if patience is None else patience
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="construct-db")
        self._db: sqlite3.Connection | None = None

    async def call(
        self,
        work: Callable[Concatenate[sqlite3.Connection, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Run `work(connection, ...)` in the database's thread.

        The work is finished even if the waiting task is cancelled: what began to be
        stored is stored.
        """

        def run() -> T:
            if self._db is None:
                self._db = open_database(self.path, self._rules)
                self._db.execute(f"PRAGMA busy_timeout = {int(self._patience * 1000)}")
            try:
                return work(self._db, *args, **kwargs)
            except sqlite3.Error as error:
                raise faults.explain(error, self.path) from error

        future = asyncio.get_running_loop().run_in_executor(self._thread, run)
        future.add_done_callback(_look_at)
        return await asyncio.shield(future)

    def close(self) -> None:
        """Wait for the last call, close the connection and end the thread."""

        def close() -> None:
            if self._db is not None:
                self._db.close()
                self._db = None

        self._thread.submit(close).result()
        self._thread.shutdown()


def _look_at(call: "asyncio.Future[T]") -> None:
    """Take note of an error that nobody waits for any more.

    Else asyncio would print it, traceback and all.
    """
    if not call.cancelled():
        call.exception()

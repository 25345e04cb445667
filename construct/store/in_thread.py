"""Access to the database from async code."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from construct.store import faults
from construct.store.database import open_database
from construct.store.driver import Connection, errors
from construct.user_rules import RulesFile

P = ParamSpec("P")
T = TypeVar("T")

_PATIENCE_SECONDS = 60.0
"""How long to wait for a lock by default.

An import of a million messages holds it for half a minute, longer on a busy machine.
"""
_STEPS_BETWEEN_CHECKS = 10_000
"""Steps of SQLite's virtual machine, about a millisecond, after which it looks for a stop."""


class Store:
    """One connection in a thread of its own, which runs calls one at a time.

    `patience` is how many seconds a call waits while another process has the lock.
    """

    def __init__(
        self, path: Path, patience: float | None = None, *, rules: RulesFile | None = None
    ) -> None:
        self.path = path
        self._rules = rules
        self._patience = _PATIENCE_SECONDS if patience is None else patience
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="construct-db")
        self._db: Connection | None = None

    async def call(
        self,
        work: Callable[Concatenate[Connection, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Run `work(connection, ...)` in the database's thread.

        The work is finished even if the waiting task is cancelled, so that nothing is
        left half stored.
        """

        def run() -> T:
            if self._db is None:
                self._db = open_database(self.path, self._rules)
                self._db.execute(f"PRAGMA busy_timeout = {int(self._patience * 1000)}")
            try:
                return work(self._db, *args, **kwargs)
            except errors() as error:
                raise faults.explain(error, self.path) from error

        future = asyncio.get_running_loop().run_in_executor(self._thread, copy_context().run, run)
        future.add_done_callback(_retrieve_exception)
        return await asyncio.shield(future)

    async def stoppable_call(self, work: Callable[[Connection], T]) -> T:
        """Run `work(connection)` like `call`, but stop it if the waiting task is cancelled.

        Its transaction is then rolled back, and the connection is closed, so that nothing
        of the work is left on it. If the work ends before it is stopped, the cancellation
        comes too late, and its result is returned.
        """
        stop, was_stopped = threading.Event(), threading.Event()

        def is_stopped() -> bool:
            if stop.is_set():
                was_stopped.set()
            return stop.is_set()

        def run(db: Connection) -> T:
            if is_stopped():
                raise InterruptedError
            db.set_progress_handler(is_stopped, _STEPS_BETWEEN_CHECKS)
            try:
                return work(db)
            finally:
                db.set_progress_handler(None, 0)
                if was_stopped.is_set():
                    db.close()
                    self._db = None

        calling = asyncio.ensure_future(self.call(run))
        calling.add_done_callback(_retrieve_exception)
        try:
            return await asyncio.shield(calling)
        except asyncio.CancelledError:
            stop.set()
            await asyncio.wait([calling])
            if was_stopped.is_set():
                raise
            return calling.result()

    def close(self) -> None:
        """Wait for the last call, close the connection and end the thread."""

        def close() -> None:
            if self._db is not None:
                self._db.close()
                self._db = None

        self._thread.submit(close).result()
        self._thread.shutdown()


def _retrieve_exception(call: "asyncio.Future[T]") -> None:
    """Retrieve an exception that no task awaits, or asyncio would print its traceback."""
    if not call.cancelled():
        call.exception()

"""Stop asyncio tasks, or let them end first."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")


async def stop(*tasks: "asyncio.Task[None] | None") -> None:
    """Cancel the tasks one after another, waiting for each to end; None is skipped."""
    for task in tasks:
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def finished(work: Coroutine[None, None, T], succeeded: Callable[[], None]) -> T:
    """Run work to its end and return its result, even if the caller is cancelled meanwhile.

    The caller is then cancelled after the work. `succeeded` is called before that, if the
    work did not fail.
    """
    task = asyncio.create_task(work)
    is_cancelled = False
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            is_cancelled = True
    if task.exception() is None:
        succeeded()
    if is_cancelled:
        raise asyncio.CancelledError
    return task.result()


async def in_daemon_thread(work: Callable[[], T]) -> T:
    """Run work that may hang in a thread that does not keep the process from ending."""
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[T] = loop.create_future()

    def settle(act: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(lambda: None if outcome.done() else act())

    def run() -> None:
        try:
            result = work()
        except Exception as error:  # noqa: BLE001 - passed to whoever waits
            failure = error
            settle(lambda: outcome.set_exception(failure))
        else:
            settle(lambda: outcome.set_result(result))

    threading.Thread(target=run, daemon=True).start()
    return await outcome

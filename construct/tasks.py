"""Stop asyncio tasks, or let them end first."""

import asyncio
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

"""Stop asyncio tasks."""

import asyncio
from contextlib import suppress


async def stop(*tasks: "asyncio.Task[None] | None") -> None:
    """Cancel the tasks one after another, waiting for each to end; None is skipped."""
    for task in tasks:
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

"""Tasks that have done enough."""

import asyncio
from contextlib import suppress


async def stop(*tasks: "asyncio.Task[None] | None") -> None:
    """Cancel the tasks that there are, each when the one before has ended."""
    for task in tasks:
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

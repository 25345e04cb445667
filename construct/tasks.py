"""Tasks that have done enough."""

import asyncio
from contextlib import suppress


async def stop(*tasks: "asyncio.Task[None] | None") -> None:
    """Cancel tasks, those that there are, one after the other, each when the one before has ended."""
    for task in tasks:
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

"""What takes its time, on standard error, where somebody looks and it takes longer than a moment."""

import asyncio
import sqlite3
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

from construct.cli.environment import complain
from construct.store import search_index
from construct.tasks import stop

Advance = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and of how much (0: nobody knows)."""
_MOMENT, _PATIENCE = 0.5, 1.0  # seconds


@contextmanager
def progress_bar() -> Iterator[Advance]:
    """Give what draws the bar, which is gone at the end; at once where the first step is still to be done."""
    if not sys.stderr.isatty():
        yield lambda doing, done, total: None
        return
    from rich.console import Console
    from rich.progress import Progress

    bar = Progress(console=Console(stderr=True), transient=True)
    begun = time.monotonic()

    def advance(doing: str, done: int, total: int) -> None:
        if not bar.tasks or bar.tasks[0].description != doing:
            for task in bar.task_ids:
                bar.remove_task(task)
            bar.add_task(doing, total=total or None)
        bar.update(bar.task_ids[0], completed=done)
        if (total and not done) or time.monotonic() - begun > _MOMENT:
            bar.start()

    try:
        yield advance
    finally:
        bar.stop()


@asynccontextmanager
async def waiting(words: str) -> AsyncIterator[None]:
    """Say what is waited for, where somebody looks and it takes longer than a moment; gone at the end."""
    if not sys.stderr.isatty():
        yield
        return
    spinner = asyncio.create_task(_spin(words), name="spinner")
    try:
        yield
    finally:
        await stop(spinner)


async def _spin(words: str) -> None:
    await asyncio.sleep(_MOMENT)
    from rich.console import Console

    with Console(stderr=True).status(words):
        await asyncio.get_running_loop().create_future()


def searchable(db: sqlite3.Connection) -> int:
    """Complete the search index where an import was interrupted; return how many messages were not in it."""
    total = search_index.count_missing(db)
    if not total:
        return 0
    begun, told = time.monotonic(), sys.stderr.isatty()
    with progress_bar() as advance:

        def tell(done: int, total: int) -> None:
            nonlocal told
            if not told and time.monotonic() - begun > _PATIENCE:
                told = True
                complain(f"First {total - done:,} imported messages are entered into the search index.")
            advance("Indexing", done, total)

        search_index.complete(db, tell)
    return total


def searchable_soon(db: sqlite3.Connection) -> None:
    """Complete the search index as far as it is done in a moment; say how many messages are not in it."""
    search_index.complete(db, seconds=_PATIENCE)
    left = search_index.count_missing(db)
    if left:
        complain(f"Not searched yet: {left:,} imported messages. `construct reindex` enters them.")

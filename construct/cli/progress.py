"""What long work shows on standard error, and how it is interrupted in good order."""

import signal
import sqlite3
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from types import FrameType

from construct.cli.streams import complain
from construct.errors import StoppedError
from construct.store import search_index

Advance = Callable[[str, int, int], None]
"""Called with what is being done, how much is done, and of how much (0: unknown)."""
_TOLD_TO_STOP = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
_MOMENT, _PATIENCE = 0.5, 1.0  # seconds


@contextmanager
def progress_bar() -> Iterator[Advance]:
    """Give a function that draws a bar, on a terminal and after a moment.

    Where the total is known beforehand the bar is there at once. It is gone at the end.
    """
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
    """Show what is waited for, on a terminal and after a moment, until the end."""
    if not sys.stderr.isatty():
        yield
        return
    import asyncio

    from construct.tasks import stop

    spinner = asyncio.create_task(_spin(words), name="spinner")
    try:
        yield
    finally:
        await stop(spinner)


async def _spin(words: str) -> None:
    import asyncio

    from rich.console import Console

    await asyncio.sleep(_MOMENT)
    with Console(stderr=True).status(words):
        await asyncio.get_running_loop().create_future()


def searchable(db: sqlite3.Connection) -> int:
    """Complete the search index after an interrupted import.

    Return how many messages were not in it.
    """
    total = search_index.count_missing(db)
    if not total:
        return 0
    begun, told = time.monotonic(), sys.stderr.isatty()
    with progress_bar() as advance:

        def tell(done: int, total: int) -> None:
            nonlocal told
            if not told and time.monotonic() - begun > _PATIENCE:
                told = True
                complain(f"First {total - done:,} imported messages are added to the search index.")
            advance("Indexing", done, total)

        search_index.complete(db, tell)
    return total


def searchable_soon(db: sqlite3.Connection) -> None:
    """Complete the search index for a second at most, and say what is missing then."""
    search_index.complete(db, seconds=_PATIENCE)
    left = search_index.count_missing(db)
    if left:
        complain(f"Not searched yet: {left:,} imported messages. `construct reindex` adds them.")


@contextmanager
def left_off(words: Callable[[], str]) -> Iterator[None]:
    """Let the block end in good order when it is interrupted, and say where it stands.

    Ctrl-C, SIGTERM and a closed terminal interrupt it; the interruption is raised on.
    """
    heeded = [number for number in _TOLD_TO_STOP if signal.getsignal(number) is signal.SIG_DFL]
    for number in heeded:
        signal.signal(number, _stop)
    try:
        yield
    except (KeyboardInterrupt, StoppedError):
        complain(words())
        raise
    finally:
        for number in heeded:
            signal.signal(number, signal.SIG_DFL)


def _stop(number: int, _: FrameType | None) -> None:
    signal.signal(number, signal.SIG_DFL)  # a second signal ends the process at once
    raise StoppedError(number)

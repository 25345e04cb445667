"""Progress of long work on standard error, and orderly interruption."""

import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from types import FrameType

from construct.cli.streams import complain
from construct.errors import StoppedError
from construct.program import in_shell
from construct.store import search_index
from construct.store.driver import Connection
from construct.views.words import counted

Advance = Callable[[str, int, int], None]
"""Takes the name of the step, how much of it is done, and its total (0 if unknown)."""
_STOP_SIGNALS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
_SILENT_SECONDS = 0.5
"""How long until the spinner of `waiting` appears, or a bar that does not appear at once."""
_INDEX_SECONDS = 1.0
"""How long completing the search index may delay a command unannounced."""


@contextmanager
def progress_bar() -> Iterator[Advance]:
    """Yield a function that reports progress, shown as a bar on a terminal.

    The bar appears after a moment, or at once if the total is known at the start. It
    disappears at the end.
    """
    if not sys.stderr.isatty():
        yield lambda step, done, total: None
        return
    from rich.console import Console
    from rich.progress import Progress

    bar = Progress(console=Console(stderr=True), transient=True)
    begun = time.monotonic()

    def advance(step: str, done: int, total: int) -> None:
        if not bar.tasks or bar.tasks[0].description != step:
            for task in bar.task_ids:
                bar.remove_task(task)
            bar.add_task(step, total=total or None)
        bar.update(bar.task_ids[0], completed=done)
        if (total and not done) or time.monotonic() - begun > _SILENT_SECONDS:
            bar.start()

    try:
        yield advance
    finally:
        bar.stop()


@asynccontextmanager
async def waiting(message: str) -> AsyncIterator[None]:
    """Show a message with a spinner while the block runs, on a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    import asyncio

    from construct.tasks import stop

    spinner = asyncio.create_task(_spin(message), name="spinner")
    try:
        yield
    finally:
        await stop(spinner)


@contextmanager
def working(message: str) -> Iterator[None]:
    """Show a message with a spinner while the block runs, on a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(message):
        yield


async def _spin(message: str) -> None:
    import asyncio

    from rich.console import Console

    await asyncio.sleep(_SILENT_SECONDS)
    with Console(stderr=True).status(message):
        await asyncio.get_running_loop().create_future()


def complete_index(db: Connection) -> int:
    """Complete the search index after an interrupted import.

    Return how many messages it lacked.
    """
    total = search_index.count_missing(db)
    if not total:
        return 0
    begun, announced = time.monotonic(), sys.stderr.isatty()  # a terminal shows the bar
    with progress_bar() as advance:

        def report(done: int, total: int) -> None:
            nonlocal announced
            if not announced and time.monotonic() - begun > _INDEX_SECONDS:
                announced = True
                left = counted(total - done, "imported message")
                complain(f"Adding {left} to the search index first.")
            advance("Indexing", done, total)

        search_index.complete(db, report)
    return total


def complete_index_briefly(db: Connection) -> None:
    """Spend at most a second completing the search index, and say what is still missing."""
    search_index.complete(db, seconds=_INDEX_SECONDS)
    if left := search_index.count_missing(db):
        messages = counted(left, "imported message")
        complain(f"Not searched yet: {messages}. {in_shell('reindex')} adds them.")


@contextmanager
def interruptible(message: Callable[[], str]) -> Iterator[None]:
    """Raise an exception in the block on Ctrl-C, SIGTERM or a closed terminal.

    The block can then clean up. Prints the message, which says how far the work got,
    and lets the exception pass.
    """
    handled = [number for number in _STOP_SIGNALS if signal.getsignal(number) is signal.SIG_DFL]
    for number in handled:
        signal.signal(number, _stop)
    try:
        yield
    except (KeyboardInterrupt, StoppedError):
        complain(message())
        raise
    finally:
        for number in handled:
            signal.signal(number, signal.SIG_DFL)


def _stop(number: int, _: FrameType | None) -> None:
    signal.signal(number, signal.SIG_DFL)  # a second signal ends the process at once
    raise StoppedError(number)

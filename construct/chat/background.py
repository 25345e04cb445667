"""Memory work in the background of a chat, one job at a time."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from construct.errors import ConstructError, NotFoundError
from construct.log import logger
from construct.memory.cycles.worker import MemoryWorker
from construct.tasks import stop

_PAUSE_SECONDS = 0.05
"""Pause between two pieces of work on the indexes: the chat and other programs come first."""
log = logger("memory")


@dataclass(frozen=True, slots=True)
class Job:
    """The memory work due in a conversation, or with `elsewhere` in all others at rest."""

    conversation_id: int | None
    leaving: bool = False
    elsewhere: bool = False


class BackgroundWork:
    """Runs the memory work of one chat. `complain` takes one line about a failure."""

    def __init__(
        self, worker: MemoryWorker, complain: Callable[[str], None], *, learns: bool
    ) -> None:
        self._worker = worker
        self._complain = complain
        self._learns = learns
        self._jobs: dict[Job, None] = {}  # in order, each of them once
        self._working: asyncio.Task[None] | None = None
        self._indexing: asyncio.Task[None] | None = None
        self._last_complaint = ""

    @property
    def busy(self) -> bool:
        """Whether a job is running or waiting."""
        return self._working is not None and not self._working.done()

    def add(self, job: Job) -> None:
        """Queue a job unless it is already queued, and update the search indexes.

        If the chat does not learn, only the indexes are updated.
        """
        if self._learns:
            self._jobs[job] = None
        if self._jobs and not self.busy:
            self._working = asyncio.create_task(self._work(), name="memory")
        if self._indexing is None or self._indexing.done():
            self._indexing = asyncio.create_task(self._index(), name="indexes")

    async def finish(self, seconds: float | None = None) -> bool:
        """Wait at most `seconds` for all jobs, then stop what is left.

        Returns whether all were done.
        """
        try:
            async with asyncio.timeout(seconds):
                while self._working is not None and not self._working.done():
                    await self._working
        except TimeoutError:
            await self.stop()
            return False
        return True

    async def stop(self) -> None:
        """Stop now. The rest is done later."""
        self._jobs.clear()
        await stop(self._indexing, self._working)

    async def _work(self) -> None:
        while self._jobs:
            job = next(iter(self._jobs))
            del self._jobs[job]
            try:
                if job.elsewhere:
                    await self._worker.run_due_at_rest(exclude=job.conversation_id)
                elif job.conversation_id is not None:
                    with suppress(NotFoundError):  # deleted in the meantime
                        await self._worker.run_due(job.conversation_id, leaving=job.leaving)
            # Whatever is wrong with the memory, the chat goes on.
            except Exception as error:  # noqa: BLE001
                self._report(error)

    async def _index(self) -> None:
        """Update the search indexes while no job runs."""
        try:
            while True:
                if self._working is not None:
                    await asyncio.wait([self._working])
                if not await self._worker.index():
                    return
                await asyncio.sleep(_PAUSE_SECONDS)
        except ConstructError as error:
            self._report(error)
        # Without vectors, search still finds words; unmerged index segments only make it slower.
        except Exception as error:  # noqa: BLE001
            log.warning("the indexes were left as they are: %s", type(error).__name__)

    def _report(self, error: Exception) -> None:
        name = type(error).__name__
        log.warning("memory work failed: %s", name)
        words = f"something went wrong ({name})"
        if isinstance(error, ConstructError):
            words = str(error).splitlines()[0]
        if words != self._last_complaint:
            self._last_complaint = words
            self._complain(f"memory: {words}")

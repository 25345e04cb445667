"""Memory work beside a chat: asked for by name, done one after the other, never in the chat's way."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from construct.errors import ConstructError, NotFoundError
from construct.memory.cycles.worker import MemoryWorker
from construct.tasks import stop

_BREATH = 0.05  # seconds between two pieces of work on the indexes: the talk and other programs come first
log = logging.getLogger("construct.memory")


@dataclass(frozen=True, slots=True)
class Job:
    """What is due in a conversation; without one, what other talks left behind, `conversation_id` excepted."""

    conversation_id: int | None
    leaving: bool = False
    elsewhere: bool = False


class Upkeep:
    """The memory work of one chat; `complain` gets one line when some of it fails."""

    def __init__(self, worker: MemoryWorker, complain: Callable[[str], None], *, learns: bool) -> None:
        self._worker = worker
        self._complain = complain
        self._learns = learns
        self._jobs: dict[Job, None] = {}
        self._task: asyncio.Task[None] | None = None
        self._indexing: asyncio.Task[None] | None = None
        self._last_complaint = ""

    @property
    def busy(self) -> bool:
        """Whether something is being done or waits to be."""
        return self._task is not None and not self._task.done()

    def want(self, job: Job) -> None:
        """Have a job done when those before it are."""
        if self._learns:
            self._jobs[job] = None
        if self._jobs and not self.busy:
            self._task = asyncio.create_task(self._work(), name="memory")
        if self._indexing is None or self._indexing.done():
            self._indexing = asyncio.create_task(self._index(), name="indexes")

    async def finish(self, seconds: float | None = None) -> bool:
        """Wait until all that is wanted is done, `seconds` at most; False when some of it was left."""
        try:
            async with asyncio.timeout(seconds):
                while self._task is not None and not self._task.done():
                    await self._task
        except TimeoutError:
            await self.stop()
            return False
        return True

    async def stop(self) -> None:
        """Leave what is not done to the next start."""
        self._jobs.clear()
        await stop(self._indexing, self._task)

    async def _work(self) -> None:
        while self._jobs:
            job = next(iter(self._jobs))
            del self._jobs[job]
            try:
                await self._do(job)
            except Exception as error:  # noqa: BLE001 - whatever is wrong with the memory, the talk goes on
                self._failed(error)

    async def _index(self) -> None:
        """Keep the indexes in order while nothing else is to be done; nobody ever waits for it."""
        try:
            while True:
                if self._task is not None:
                    await asyncio.wait([self._task])
                if not await self._worker.index():
                    return
                await asyncio.sleep(_BREATH)
        except ConstructError as error:
            self._failed(error)
        except Exception as error:  # noqa: BLE001 - what is without a vector is found by its words; segments are only slower
            log.warning("the indexes were left as they are: %s", type(error).__name__)

    async def _do(self, job: Job) -> None:
        if job.elsewhere:
            await self._worker.rest(but=job.conversation_id)
        elif job.conversation_id is not None:
            with suppress(NotFoundError):  # deleted meanwhile
                await self._worker.run_due(job.conversation_id, leaving=job.leaving)

    def _failed(self, error: Exception) -> None:
        name = type(error).__name__
        log.warning("memory work failed: %s", name)
        is_expected = isinstance(error, ConstructError)
        words = str(error).splitlines()[0] if is_expected else f"something went wrong ({name})"
        if words != self._last_complaint:
            self._last_complaint = words
            self._complain(f"memory: {words}")

"""A cycle while it runs: what the cycles of one process share, the lease and its heartbeat, and how a cycle ends."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from construct.clock import to_text
from construct.errors import ConstructError
from construct.llm.providers import EXTRACTIVE
from construct.llm.types import Model
from construct.memory.cycles.commit import StaleError
from construct.memory.cycles.situation import Terms
from construct.memory.cycles.spending import is_over_limit
from construct.memory.learning.asking import Account
from construct.store import books, cycles
from construct.store.database import Store, transaction

CHANGED = "what it was based on has changed meanwhile"


@dataclass(frozen=True, slots=True)
class Progress:
    """Something the worker began or finished, for the screen."""

    kind: str
    """`observing`, `reflecting`, `drawing`, `compacted`, `remembered`, `condensed`, `let go`, `idle`."""
    count: int = 0


@dataclass(frozen=True, slots=True)
class Running:
    """A cycle that has been started."""

    cycle_id: int
    account: Account
    conversation_id: int | None
    """Which conversation its calls are booked under."""


R = TypeVar("R", bound=Running)


@dataclass(slots=True)
class Workshop:
    """What the cycles of one process share; `model` None means the extractive worker."""

    store: Store
    model: Model | None
    terms: Terms
    report: Callable[[Progress], None]

    def now(self) -> str:
        """Return the time as it is stored."""
        return to_text(self.terms.clock.now())

    @asynccontextmanager
    async def uncounted(self) -> AsyncIterator[None]:
        """Report without counts in the block: who asks is told at its end."""
        report = self.report
        self.report = lambda progress: report(replace(progress, count=0))
        try:
            yield
        finally:
            self.report = report

    def on_call(self, cycle_id: int) -> Callable[[str], Awaitable[None]]:
        """Return what is to be told of each call of a cycle: the file says while its work is being checked."""

        async def note(purpose: str) -> None:
            with suppress(ConstructError):  # a busy file: the phase is for the screen only
                await self.store.call(cycles.set_phase, cycle_id, "checking" if purpose == "verifier" else None)

        return note

    async def affordable(self) -> Model | None:
        """Return the worker model, or None past the day's limit: the extractive worker serves then."""
        if self.model is None or not await self.store.call(is_over_limit, self.terms):
            return self.model
        return None

    async def begun(self, begin: Coroutine[Any, Any, R | None]) -> R | None:
        """Wait for a cycle to be started; cancelled meanwhile, abandon what was started all the same."""
        task = asyncio.ensure_future(begin)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if (started := await task) is not None:
                await self.store.call(self._abandon, started)
            raise

    @asynccontextmanager
    async def lease(self, running: Running) -> AsyncIterator[None]:
        """Keep the cycle's heartbeat while the block runs; abandon it, and book its calls, when that ends badly."""
        heart = asyncio.create_task(self._beat(running.cycle_id))
        try:
            yield
        except BaseException:  # cancelled too: no cycle may stay running; it is raised again
            await self.store.call(self._abandon, running)
            raise
        finally:
            heart.cancel()
            with suppress(asyncio.CancelledError):
                await heart

    def finish(
        self,
        db: sqlite3.Connection,
        running: Running,
        status: str,
        name: str,
        notes: Sequence[str] = (),
        base_tokens: int | None = None,
    ) -> None:
        """End a cycle and book its calls under `name`; raises StaleError when another process has abandoned it."""
        account, now = running.account, self.now()
        problems = account.problems
        wrong = {
            "failed": problems[-1] if problems else "nothing could be condensed",
            "abandoned": "it was interrupted",
        }
        ended = cycles.finish_cycle(
            db, running.cycle_id, status, now, usage=account.usage, attempts=account.attempts, model=name,
            error=wrong.get(status), notes=[*problems, *notes], base_tokens=base_tokens,
        )  # fmt: skip
        if not ended and status == "succeeded":
            raise StaleError
        for call in account.calls:
            books.book(db, call, now, running.conversation_id, running.cycle_id)

    async def _beat(self, cycle_id: int) -> None:
        while True:
            await asyncio.sleep(cycles.HEARTBEAT_SECONDS)
            with suppress(ConstructError):  # a busy file: the next beat will do
                await self.store.call(cycles.beat, cycle_id)

    def _abandon(self, db: sqlite3.Connection, running: Running) -> None:
        with transaction(db):
            self.finish(db, running, "abandoned", name_of(self.model, running.account))


def name_of(model: Model | None, account: Account | None = None) -> str:
    """Return what a cycle is booked under: the model, or `extractive` when no answer of it was of use."""
    if model is None or (account is not None and not account.calls):
        return EXTRACTIVE
    return model.name

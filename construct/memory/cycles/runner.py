"""Run a cycle of the observer, the reflector or the graph extractor.

The runner takes the lease, renews its heartbeat, commits the results in one transaction
and records the usage of the calls. Each kind of cycle implements a CycleJob.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Generic, TypeVar

from construct.clock import to_text
from construct.errors import ConstructError
from construct.llm.types import Model
from construct.memory.config import MemoryConfig
from construct.memory.cycles.commit import StaleError
from construct.memory.cycles.situation import is_over_limit
from construct.memory.learning.asking import Account
from construct.store import cycles
from construct.store.database import transaction
from construct.store.driver import Connection
from construct.store.forbidden import rules_of
from construct.store.in_thread import Store
from construct.store.usage import record_usage
from construct.vocabulary import EXTRACTIVE, CycleKind, CycleStatus, Phase, Purpose

Batch = TypeVar("Batch")
Found = TypeVar("Found")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Progress:
    """A cycle that began or ended, for the screen; neither if other work is done."""

    began: CycleKind | None = None
    ended: CycleKind | None = None
    count: int = 0
    """The number of observations made or condensed."""


@dataclass(slots=True)
class RunningCycle(Generic[Batch]):
    """A started cycle, its input and its calls so far."""

    id: int
    batch: Batch
    account: Account
    has_ended: bool = False
    """Whether its end is stored."""


@dataclass(frozen=True, slots=True)
class Outcome(Generic[Result]):
    """How a cycle ended: what is stored about it, and the result for the caller."""

    result: Result | None = None
    status: CycleStatus = CycleStatus.SUCCEEDED
    notes: Sequence[str] = ()
    base_tokens: int | None = None
    """Tokens in sight at its end. The next reflection waits until there are more; None: no wait."""
    count: int = 0
    """Number of observations it made or superseded."""
    by_rule: bool = False
    """Whether fixed rules did the work, because no model gave a usable answer."""


@dataclass(frozen=True)
class CycleJob(ABC, Generic[Batch, Found, Result]):
    """What one kind of cycle reads, does and writes.

    Methods with a connection parameter run inside a transaction.
    """

    kind: ClassVar[CycleKind]
    model: Model | None
    """The worker model. None: the extractive worker is used."""
    home: int | None
    """The conversation that the cycle is recorded for."""

    @abstractmethod
    def choose(self, db: Connection) -> Batch | None:
        """Return the cycle's input, or None when there is nothing to read."""

    def span(self, batch: Batch) -> tuple[int, int] | None:
        """Return a batch's first and last message id; None if it has no messages."""
        del batch
        return None

    @abstractmethod
    async def work(self, batch: Batch, account: Account) -> Found:
        """Ask the worker."""

    @abstractmethod
    def commit(
        self, db: Connection, cycle: RunningCycle[Batch], found: Found, now: str
    ) -> Outcome[Result]:
        """Write the results.

        Raises StaleError, before anything is written, when the input has changed.
        """

    def give_up(self, db: Connection, batch: Batch, found: Found) -> Outcome[Result]:
        """Return the outcome for a cycle whose input has changed."""
        del db, batch, found
        return Outcome(status=CycleStatus.FAILED)


@dataclass(slots=True)
class CycleRunner:
    """Runs the cycles of one process and holds their shared state."""

    store: Store
    model: Model | None
    """The worker model. None: the extractive worker is used."""
    config: MemoryConfig
    report: Callable[[Progress], None]

    def now(self) -> str:
        """Return the current time in the stored format."""
        return to_text(self.config.clock.now())

    @asynccontextmanager
    async def reporting_without_counts(self) -> AsyncIterator[None]:
        """Inside the block, report cycles without counts: the code that uses it returns them."""
        report = self.report
        self.report = lambda progress: report(replace(progress, count=0))
        try:
            yield
        finally:
            self.report = report

    async def affordable_model(self) -> Model | None:
        """Return the worker model.

        None once the day's cost limit is reached: then the extractive worker is used.
        """
        if self.model is None or not await self.store.call(
            is_over_limit, self.config, self.model.name
        ):
            return self.model
        return None

    async def run(self, job: CycleJob[Batch, Found, Result]) -> Result | None:
        """Run a cycle to its end.

        None when there is nothing to do, when such a cycle is already running, or when the
        input changed and `give_up` has no result.
        """
        # If cancelled while the cycle begins, wait until it has begun, so that it can be abandoned.
        beginning = asyncio.ensure_future(self.store.call(self._begin, job))
        try:
            cycle = await asyncio.shield(beginning)
        except asyncio.CancelledError:
            if (begun := await beginning) is not None:
                await self.store.call(self._abandon, job, begun)
            raise
        if cycle is None:
            return None
        self.report(Progress(began=job.kind))
        heart = asyncio.create_task(self._keep_alive(cycle.id))
        try:
            found = await job.work(cycle.batch, cycle.account)
            outcome = await self.store.call(self._end, job, cycle, found)
        except BaseException:  # also when cancelled: no cycle may stay `running`
            await self.store.call(self._abandon, job, cycle)
            raise
        finally:
            heart.cancel()
            with suppress(asyncio.CancelledError):
                await heart
        if cycle.account.is_cancelled:
            raise asyncio.CancelledError
        self.report(Progress(ended=job.kind, count=outcome.count))
        return outcome.result

    def _begin(
        self, db: Connection, job: CycleJob[Batch, Found, Result]
    ) -> RunningCycle[Batch] | None:
        rules_of(db)  # no cycle begins while the user's rules cannot be read
        with transaction(db):
            cycles.abandon_orphaned(db, self.now())
            batch = job.choose(db)
            if batch is None:
                return None
            model = EXTRACTIVE if job.model is None else job.model.name
            cycle_id = cycles.start_cycle(
                db, job.kind, job.home, self.now(), span=job.span(batch), model=model
            )
        if cycle_id is None:
            return None
        return RunningCycle(cycle_id, batch, Account(job.kind, partial(self._note_phase, cycle_id)))

    def _end(
        self,
        db: Connection,
        job: CycleJob[Batch, Found, Result],
        cycle: RunningCycle[Batch],
        found: Found,
    ) -> Outcome[Result]:
        with transaction(db):
            try:
                outcome = job.commit(db, cycle, found, self.now())
            except StaleError:
                cycle.account.problems.append("what it was based on has changed in the meantime")
                outcome = job.give_up(db, cycle.batch, found)
            self._finish(db, job, cycle, outcome)
        cycle.has_ended = True
        return outcome

    def _abandon(
        self,
        db: Connection,
        job: CycleJob[Batch, Found, Result],
        cycle: RunningCycle[Batch],
    ) -> None:
        if cycle.has_ended:  # cancelled while its end was being stored, and stored nevertheless
            return
        with transaction(db):
            self._finish(db, job, cycle, Outcome(status=CycleStatus.ABANDONED))

    def _finish(
        self,
        db: Connection,
        job: CycleJob[Batch, Found, Result],
        cycle: RunningCycle[Batch],
        outcome: Outcome[Result],
    ) -> None:
        """End a cycle and record the usage of its calls, even if it failed."""
        account, now = cycle.account, self.now()
        error = None
        if outcome.status == CycleStatus.FAILED:
            error = account.problems[-1] if account.problems else "nothing could be condensed"
        cycles.finish_cycle(
            db,
            cycle.id,
            outcome.status,
            now,
            usage=account.usage,
            attempts=account.attempts,
            model=EXTRACTIVE if job.model is None or outcome.by_rule else job.model.name,
            error=error,
            # Problems come last, since `fallback_reason` quotes the last note.
            notes=[*outcome.notes, *account.problems],
            base_tokens=outcome.base_tokens,
        )
        booked_under = job.home if job.kind == CycleKind.OBSERVER else None
        for call in account.calls:
            record_usage(db, call, now, booked_under, cycle.id)

    async def _note_phase(self, cycle_id: int, purpose: str) -> None:
        """Record, when a call begins, whether it checks the cycle's work."""
        phase = Phase.CHECKING if purpose == Purpose.VERIFIER else None
        with suppress(ConstructError):  # the database may be busy; the phase is for the screen only
            await self.store.call(cycles.set_phase, cycle_id, phase)

    async def _keep_alive(self, cycle_id: int) -> None:
        while True:
            await asyncio.sleep(cycles.HEARTBEAT_SECONDS)
            with suppress(ConstructError):  # the database may be busy; the next beat will do
                await self.store.call(cycles.renew_heartbeat, cycle_id)

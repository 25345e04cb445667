"""The memory at work in the background: cycles with leases, one after the other, never in the talk's way.

What is due is asked of the policy before every step, so that it does not matter which
process does it, or how often this is called.
"""

import asyncio
import sqlite3
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol, TypeVar

from construct.clock import to_text
from construct.errors import ConstructError
from construct.llm.types import Model
from construct.memory.curation.memories import promote
from construct.memory.cycles import archive, policy
from construct.memory.cycles.commit import StaleError, store_extraction, store_verdict
from construct.memory.cycles.compaction import Compacted, compact
from construct.memory.cycles.situation import Terms, conversations_at_rest, read_situation, reflector_scope, unobserved
from construct.memory.cycles.spending import is_over_limit
from construct.memory.graph import cycle as graph_cycle
from construct.memory.graph.answers import Drawing
from construct.memory.graph.cycle import GraphLot
from construct.memory.learning.asking import EXTRACTIVE, Account
from construct.memory.learning.guard import Verdict
from construct.memory.learning.observer import batch_tokens, observe
from construct.memory.learning.proposals import Extraction
from construct.memory.learning.reflector import choose, input_tokens, reflect
from construct.memory.recall.indexing import index_some
from construct.memory.shown.forks import condensable, uncommitted_below
from construct.memory.shown.transcript import batches
from construct.memory.shown.view import scope_ids
from construct.store import books, cycles, search_index, talk
from construct.store import observations as rows
from construct.store.database import Store, transaction
from construct.store.records import Message, Observation
from construct.store.segments import merge_some


@dataclass(frozen=True, slots=True)
class Progress:
    """Something the worker began or finished, for the screen."""

    kind: str
    """`observing`, `reflecting`, `drawing`, `compacted`, `remembered`, `condensed`, `let go`, `idle`."""
    count: int = 0


class _Started(Protocol):
    @property
    def cycle_id(self) -> int: ...


B = TypeVar("B", bound=_Started)
_Find = Callable[[sqlite3.Connection, int], list[Message]]


@dataclass(frozen=True, slots=True)
class _Batch:
    cycle_id: int
    messages: list[Message]
    based_on: int


@dataclass(frozen=True, slots=True)
class _Lot:
    cycle_id: int
    given: list[Observation]
    newest_message: dict[int, int]


class MemoryWorker:
    """Does the memory work of one process; `model` None means the extractive worker."""

    def __init__(self, store: Store, model: Model | None, terms: Terms, report: Callable[[Progress], None]) -> None:
        self._store = store
        self._model = model
        self.terms = terms
        self._report = report
        self._turn = asyncio.Lock()
        self._observing: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def run_due(self, conversation_id: int, *, leaving: bool = False) -> None:
        """Do what is due in a conversation until nothing is, or another process is at it."""
        async with self._turn:
            await self._do_due(conversation_id, set(), leaving=leaving)

    async def rest(self, *, but: int | None = None) -> None:
        """Observe and compact the conversations that were left or went cold with something unobserved."""
        for conversation_id in await self._store.call(conversations_at_rest, self.terms, but):
            await self.run_due(conversation_id)

    async def index(self) -> bool:
        """Keep the search indexes whole and quick; False when nothing is left to do, or nothing makes it."""
        if await self._store.call(search_index.make_some) or await self._store.call(merge_some):
            return True
        return self.terms.meaning is not None and await index_some(self._store, self.terms.meaning)

    async def now(self, conversation_id: int) -> tuple[int, Compacted, Verdict | None]:
        """Observe, compact and reflect now, whatever is due; return observations made, and what changed.

        Who asks is told at the end; what is reported meanwhile has no counts.
        """
        async with self._turn, self._uncounted():
            made = 0
            while (stored := await self._observe(conversation_id, at_rest=True)) is not None:
                made += stored
            compacted = await self._compact_after_parents(conversation_id)
            verdict = await self._reflect(conversation_id)
            await self._draw(compacted=True)
            self._report(Progress("idle"))
            return made, compacted, verdict

    @asynccontextmanager
    async def _uncounted(self) -> AsyncIterator[None]:
        report = self._report
        self._report = lambda progress: report(replace(progress, count=0))
        try:
            yield
        finally:
            self._report = report

    async def catch_up(self, conversation_id: int, until: int = talk.LAST) -> int:
        """Observe what is not observed yet, up to a message, then do what that makes due; return observations made.

        What comes behind that message stays unobserved: an observer would step over what is archived in between.
        """
        made = 0
        async with self._turn:
            while (stored := await self._observe(conversation_id, at_rest=True, until=until)) is not None:
                made += stored
            await self._do_due(conversation_id, {"observe"}, leaving=True)
        return made

    async def catch_up_passed(self, conversation_id: int) -> int | None:
        """Observe a batch of the imported messages that the talk has gone past; None when none could be."""
        async with self._turn, self._observing[conversation_id]:
            made = await self._observe_some(conversation_id, archive.passed)
            await self._do_due(conversation_id, {"observe"}, leaving=True)
            return made

    async def observe_before_turn(self, conversation_id: int) -> None:
        """Observe and compact until the window is no longer past its limit, since a turn waits for that.

        It waits for an observer that is at this conversation already, whose work may be enough, and for nothing else.
        """
        async with self._observing[conversation_id]:
            while True:
                await self._compact_after_parents(conversation_id)
                situation = await self._store.call(read_situation, conversation_id, self.terms)
                if not policy.blocks(situation, self.terms.thresholds):
                    return
                if await self._observe_alone(conversation_id, at_rest=False) is None:
                    return

    async def _do_due(self, conversation_id: int, tried: set[policy.Work], *, leaving: bool) -> None:
        """Do what is due, but for what was `tried`, until nothing is."""
        while True:
            situation = await self._store.call(read_situation, conversation_id, self.terms, leaving=leaving)
            situation = replace(situation, rewriting="compact" in tried)
            todo = [w for w in policy.due(situation, self.terms.thresholds) if w not in tried]
            if not todo:
                break
            if not await self._do(todo[0], conversation_id, at_rest=situation.cold or leaving):
                tried.add(todo[0])
        await self._draw(compacted="compact" in tried)
        self._report(Progress("idle"))

    async def _do(self, work: policy.Work, conversation_id: int, *, at_rest: bool) -> bool:
        """Do one piece of work; False when it could not be done now."""
        if work == "observe":
            return await self._observe(conversation_id, at_rest=at_rest) is not None
        if work == "reflect":
            verdict = await self._reflect(conversation_id)
            return verdict is not None and verdict.shrinks
        compacted = await self._compact_after_parents(conversation_id)
        self._report(Progress("compacted", compacted.left_window))
        return False  # once is enough: it leaves nothing to compact

    async def _compact_after_parents(self, conversation_id: int) -> Compacted:
        """Compact; before a fork lets its parents' messages go, committed observations must stand for them."""
        for parent_id in await self._store.call(uncommitted_below, conversation_id):
            parent = await self._store.call(read_situation, parent_id, self.terms)
            while not parent.held and await self._observe(parent_id, at_rest=True) is not None:
                pass
            await self._store.call(self._compact, parent_id)
        return await self._store.call(self._compact_if_covered, conversation_id)

    def _compact_if_covered(self, db: sqlite3.Connection, conversation_id: int) -> Compacted:
        if uncommitted_below(db, conversation_id):  # another process reads them now, or their reading was undone
            return Compacted(0, 0, 0)
        return self._compact(db, conversation_id)

    def _compact(self, db: sqlite3.Connection, conversation_id: int) -> Compacted:
        with transaction(db):
            compacted = compact(db, conversation_id, self.terms.retained, self.terms.frame, self._now())
            promote(db, self._now())
            return compacted

    async def _observe(self, conversation_id: int, *, at_rest: bool, until: int = talk.LAST) -> int | None:
        """Run one observer cycle over the oldest batch; None when there is none, or another process has it."""
        async with self._observing[conversation_id]:
            return await self._observe_alone(conversation_id, at_rest=at_rest, until=until)

    async def _observe_alone(self, conversation_id: int, *, at_rest: bool, until: int = talk.LAST) -> int | None:
        return await self._observe_some(conversation_id, partial(unobserved, until=until, at_rest=at_rest))

    async def _observe_some(self, conversation_id: int, find: _Find) -> int | None:
        model = await self._affordable()
        batch = await self._begun(self._store.call(self._begin_observer, conversation_id, model, find))
        if batch is None:
            return None
        self._report(Progress("observing"))
        account = Account("observer")
        async with self._lease(batch.cycle_id, account, conversation_id):
            readable = [m for m in batch.messages if talk.is_readable(m)]
            found = await observe(model, readable, self.terms.clock, account)
            stored = await self._store.call(self._end_observer, batch, found, account, _name(model, account))
        self._report(Progress("remembered", stored or 0))
        return stored

    def _begin_observer(
        self, db: sqlite3.Connection, conversation_id: int, model: Model | None, find: _Find
    ) -> _Batch | None:
        with transaction(db):
            cycles.abandon_dead(db, self._now())
            observed = talk.watermarks(db, conversation_id).observed
            messages = find(db, conversation_id)
            if not messages:
                return None
            batch = batches(messages, batch_tokens(model))[0]
            cycle_id = cycles.start_cycle(
                db, "observer", conversation_id, self._now(), span=(batch[0].id, batch[-1].id), model=_name(model)
            )
            return None if cycle_id is None else _Batch(cycle_id, batch, observed)

    def _end_observer(
        self, db: sqlite3.Connection, batch: _Batch, found: Extraction, account: Account, name: str
    ) -> int | None:
        conversation_id = batch.messages[0].conversation_id
        try:
            with transaction(db):
                stored = store_extraction(db, batch.cycle_id, found, batch.messages, batch.based_on, self._now())
                self._finish(db, batch.cycle_id, "succeeded", account, conversation_id, name)
                return stored
        except StaleError:
            with transaction(db):
                account.problems.append("what it was based on has changed meanwhile")
                self._finish(db, batch.cycle_id, "failed", account, conversation_id, name)
            return None

    async def _reflect(self, conversation_id: int) -> Verdict | None:
        """Run one reflector cycle; None when there is nothing to condense or another process is at it."""
        model = await self._affordable()
        lot = await self._begun(self._store.call(self._begin_reflector, conversation_id, model))
        if lot is None:
            return None
        self._report(Progress("reflecting"))
        account = Account("reflector")
        async with self._lease(lot.cycle_id, account):
            verdict = await reflect(model, lot.given, lot.newest_message, account)
            verdict = await self._store.call(self._end_reflector, conversation_id, lot, verdict, account, _name(model))
        done = "condensed" if verdict.drafts else "let go"
        self._report(Progress(done, len(verdict.gone) if verdict.shrinks else 0))
        return verdict

    def _begin_reflector(self, db: sqlite3.Connection, conversation_id: int, model: Model | None) -> _Lot | None:
        with transaction(db):
            cycles.abandon_dead(db, self._now())
            active = rows.active_in_scope(db, scope_ids(db, self.terms.scope, conversation_id))
            if self.terms.scope == "conversation":
                active = condensable(db, conversation_id, active)
            home = reflector_scope(self.terms.scope, conversation_id)
            # By rule all may be read each time: it costs nothing.
            read_until = "" if model is None else cycles.answered_until(db, "reflector", home)
            given = choose(active, read_until, input_tokens(model))
            if len(given) < 2:
                return None
            cycle_id = cycles.start_cycle(db, "reflector", home, self._now(), model=_name(model))
            if cycle_id is None:
                return None
            return _Lot(cycle_id, given, rows.newest_message_under(db, [o.id for o in given]))

    def _end_reflector(
        self, db: sqlite3.Connection, conversation_id: int, lot: _Lot, verdict: Verdict, account: Account, name: str
    ) -> Verdict:
        scope = scope_ids(db, self.terms.scope, conversation_id)
        before = rows.active_tokens(db, scope)
        if verdict.shrinks:
            try:
                with transaction(db):
                    store_verdict(db, lot.cycle_id, verdict, lot.given, self._now())
                    promote(db, self._now())
                    left = rows.active_tokens(db, scope)
                    base = left if left > 0.75 * before else None
                    self._finish(db, lot.cycle_id, "succeeded", account, None, name, verdict.notes, base)
                    return verdict
            except StaleError:
                account.problems.append("what it was based on has changed meanwhile")
                verdict = Verdict(notes=verdict.notes)
        with transaction(db):
            self._finish(db, lot.cycle_id, "failed", account, None, name, verdict.notes, before)
        return verdict

    async def _draw(self, *, compacted: bool) -> None:
        """Run one graph cycle over memories that none has read yet; the extractive worker draws no graph."""
        if self._model is None or not await self._store.call(graph_cycle.is_due, compacted=compacted):
            return
        model = await self._affordable()
        lot = None if model is None else await self._store.call(graph_cycle.begin, model, self._now())
        if model is None or lot is None:
            return
        self._report(Progress("drawing"))
        account = Account("graph")
        async with self._lease(lot.cycle_id, account):
            found = await graph_cycle.draw(model, lot, account)
            await self._store.call(self._end_graph, lot, found, account, model.name)

    def _end_graph(
        self, db: sqlite3.Connection, lot: GraphLot, found: Drawing | None, account: Account, name: str
    ) -> None:
        try:
            with transaction(db):
                notes = graph_cycle.store(db, lot, found, self._now())
                status = "failed" if found is None else "succeeded"
                self._finish(db, lot.cycle_id, status, account, None, name, notes)
        except StaleError:
            with transaction(db):
                account.problems.append("what it was based on has changed meanwhile")
                self._finish(db, lot.cycle_id, "failed", account, None, name)

    def _finish(
        self,
        db: sqlite3.Connection,
        cycle_id: int,
        status: str,
        account: Account,
        conversation_id: int | None,
        name: str,
        notes: Sequence[str] = (),
        base_tokens: int | None = None,
    ) -> None:
        """End a cycle and book its calls; raises StaleError when another process has abandoned it."""
        problems = account.problems
        wrong = {
            "failed": problems[-1] if problems else "nothing could be condensed",
            "abandoned": "it was interrupted",
        }
        ended = cycles.finish_cycle(
            db, cycle_id, status, self._now(), usage=account.usage, attempts=account.attempts, model=name,
            error=wrong.get(status), notes=[*problems, *notes], base_tokens=base_tokens,
        )  # fmt: skip
        if not ended and status == "succeeded":
            raise StaleError
        for call in account.calls:
            books.book(db, call, self._now(), conversation_id, cycle_id)

    async def _begun(self, begin: Coroutine[Any, Any, B | None]) -> B | None:
        """Wait for a cycle to be started; cancelled meanwhile, abandon what was started all the same."""
        task = asyncio.ensure_future(begin)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            started = await task
            if started is not None:
                await self._store.call(
                    cycles.finish_cycle, started.cycle_id, "abandoned", self._now(), error="it was interrupted"
                )
            raise

    @asynccontextmanager
    async def _lease(self, cycle_id: int, account: Account, conversation_id: int | None = None) -> AsyncIterator[None]:
        """Keep the cycle's heartbeat while the block runs; abandon it, and book its calls, when that ends badly."""

        async def beat() -> None:
            while True:
                await asyncio.sleep(cycles.HEARTBEAT_SECONDS)
                with suppress(ConstructError):  # a busy file: the next beat will do
                    await self._store.call(cycles.beat, cycle_id)

        heart = asyncio.create_task(beat())
        try:
            yield
        except BaseException:  # cancelled too: no cycle may stay running; it is raised again
            await self._store.call(self._abandon, cycle_id, account, conversation_id)
            raise
        finally:
            heart.cancel()
            with suppress(asyncio.CancelledError):
                await heart

    def _abandon(self, db: sqlite3.Connection, cycle_id: int, account: Account, conversation_id: int | None) -> None:
        with transaction(db):
            self._finish(db, cycle_id, "abandoned", account, conversation_id, _name(self._model, account))

    async def _affordable(self) -> Model | None:
        """Return the worker model, or None past the day's limit: the extractive worker serves then."""
        if self._model is None or not await self._store.call(is_over_limit, self.terms):
            return self._model
        return None

    def _now(self) -> str:
        return to_text(self.terms.clock.now())


def _name(model: Model | None, account: Account | None = None) -> str:
    """Return what a cycle is booked under: the model, or `extractive` when no answer of it was of use."""
    if model is None or (account is not None and not account.calls):
        return EXTRACTIVE
    return model.name

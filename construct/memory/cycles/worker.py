"""Run due memory work in the background, one cycle after another.

The policy decides before every step what is due, so any process may do the work, and
calling `run_due` often does no harm.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial

from construct.errors import NotFoundError
from construct.llm.types import Model
from construct.memory import policy
from construct.memory.config import MemoryConfig
from construct.memory.cycles.commit import Compacted, compact
from construct.memory.cycles.graphing import BETWEEN_TURNS, run_graph
from construct.memory.cycles.observing import Find, run_observer
from construct.memory.cycles.reflecting import run_reflector
from construct.memory.cycles.runner import CycleRunner, Progress
from construct.memory.cycles.situation import (
    conversations_at_rest,
    holds_against,
    read_situation,
    unobserved,
)
from construct.memory.learning.reflection_checks import Reflection
from construct.memory.recall.indexing import index_some
from construct.memory.shown.forks import uncommitted_below
from construct.store import backlog, search_index
from construct.store.database import transaction
from construct.store.driver import Connection
from construct.store.in_thread import Store
from construct.store.messages import LAST, last_message_id
from construct.store.search_index import merge_some
from construct.vocabulary import WorkKind


class MemoryWorker:
    """Does the memory work of one process; `model` None means the extractive worker."""

    def __init__(
        self,
        store: Store,
        model: Model | None,
        config: MemoryConfig,
        report: Callable[[Progress], None],
    ) -> None:
        self._store = store
        self._runner = CycleRunner(store, model, config, report)
        self._turn = asyncio.Lock()
        self._observing: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)

    @property
    def config(self) -> MemoryConfig:
        """The settings of memory work."""
        return self._runner.config

    @config.setter
    def config(self, config: MemoryConfig) -> None:
        self._runner.config = config

    async def run_due(self, conversation_id: int, *, leaving: bool = False) -> None:
        """Do the due work until none is left or another process is doing it."""
        async with self._turn:
            await self._do_due(conversation_id, set(), leaving=leaving)

    async def went_cold(self, conversation_id: int) -> bool:
        """Return whether a conversation went cold with enough left to observe.

        Call this before a turn warms the conversation again.
        """
        situation = await self._store.call(read_situation, conversation_id, self.config)
        return situation.cold and policy.observing_is_due(situation, self.config.thresholds)

    async def run_due_at_rest(self, *, exclude: int | None = None) -> None:
        """Do the due work of conversations that went cold, except one."""
        for conversation_id in await self._store.call(conversations_at_rest, self.config, exclude):
            with suppress(NotFoundError):  # deleted in the meantime
                await self.run_due(conversation_id)

    async def index(self) -> bool:
        """Do a little work on the search indexes; return whether there may be more."""
        for work in (search_index.make_some, merge_some):
            if await self._store.call(work):
                return True
        meaning = self.config.meaning
        return meaning is not None and await index_some(self._store, meaning)

    async def run_now(self, conversation_id: int) -> tuple[int, Compacted, Reflection | None]:
        """Observe, compact and reflect now, whether it is due or not.

        Returns the number of new observations, and what compacting and reflecting changed.
        Progress reports have no counts in the meantime: the caller gets them at the end.
        """
        async with self._turn, self._runner.reporting_without_counts():
            made = 0
            parent_ids = await self._store.call(uncommitted_below, conversation_id)
            for id_ in (*parent_ids, conversation_id):
                made += await self._observe_all(id_)
            compacted = await self._compact_after_parents(conversation_id)
            reflection = await run_reflector(self._runner, conversation_id)
            await run_graph(self._runner)
            self._runner.report(Progress())
            return made, compacted, reflection

    async def catch_up(self, conversation_id: int, until: int = LAST) -> int:
        """Observe the messages up to and including `until`, then do the work that becomes due.

        Returns the number of new observations. Later messages stay unobserved, because
        an observer would skip the archived ones in between.
        """
        async with self._turn:
            made = await self._observe_all(conversation_id, until)
            await self._do_due(conversation_id, {WorkKind.OBSERVE}, leaving=True)
        return made

    async def catch_up_archived(self, conversation_id: int) -> int | None:
        """Observe a batch of imported messages, if their conversation has gone on since.

        Returns the number of new observations, or None if nothing could be observed.
        """
        async with self._turn:
            made = await self._observe(conversation_id, backlog.unobserved_in_between)
            if made is not None:
                await self._do_due(conversation_id, {WorkKind.OBSERVE}, leaving=True)
            return made

    async def observe_before_turn(self, conversation_id: int) -> None:
        """Observe and compact until the turn need not wait, or no more can be observed.

        `policy.must_wait` decides. If an observer is already reading this conversation,
        wait for it first: its work may be enough.
        """
        find = partial(unobserved, at_rest=False)
        async with self._observing[conversation_id]:
            made: int | None = 0
            while made is not None:
                await self._compact_after_parents(conversation_id)
                situation = await self._store.call(read_situation, conversation_id, self.config)
                if not policy.must_wait(situation, self.config.thresholds):
                    return
                made = await run_observer(self._runner, conversation_id, find)

    async def _do_due(self, conversation_id: int, tried: set[WorkKind], *, leaving: bool) -> None:
        """Do the due work, except kinds already `tried`, until none is left."""
        graph_minimum = 1 if leaving else BETWEEN_TURNS
        while True:
            newest, situation = await self._store.call(self._judge, conversation_id, leaving)
            situation = replace(situation, rewriting=WorkKind.COMPACT in tried)
            todo = [w for w in policy.due(situation, self.config.thresholds) if w not in tried]
            if not todo:
                break
            work, went_on = todo[0], False
            if work == WorkKind.OBSERVE:
                find = partial(unobserved, until=newest, at_rest=situation.cold or leaving)
                went_on = await self._observe(conversation_id, find) is not None
            elif work == WorkKind.COMPACT:  # once is enough: it leaves nothing to compact
                await self._compact_after_parents(conversation_id)
                self._runner.report(Progress())
            else:
                reflection = await run_reflector(self._runner, conversation_id)
                went_on = reflection is not None and reflection.shrinks
                graph_minimum = 1 if went_on else graph_minimum
            if not went_on:
                tried.add(work)
        await run_graph(self._runner, graph_minimum)
        self._runner.report(Progress())

    def _judge(
        self, db: Connection, conversation_id: int, leaving: bool
    ) -> tuple[int, policy.Situation]:
        """Return the id of the newest message, and the situation.

        An observer reads no further than that message: later ones may still be waiting for
        a reply.
        """
        newest = last_message_id(db, conversation_id)
        return newest, read_situation(db, conversation_id, self.config, leaving=leaving)

    async def _compact_after_parents(self, conversation_id: int) -> Compacted:
        """Compact a conversation, after the conversations it was forked from.

        A fork may drop its parents' messages only once committed observations replace
        them.
        """
        for parent_id in await self._store.call(uncommitted_below, conversation_id):
            if not await self._store.call(holds_against, parent_id, conversation_id, self.config):
                await self._observe_all(parent_id)
            await self._store.call(self._compact, parent_id)
        if await self._store.call(uncommitted_below, conversation_id):
            # Another process is observing them, or observing them was undone.
            return Compacted(0, 0)
        return await self._store.call(self._compact, conversation_id)

    def _compact(self, db: Connection, conversation_id: int) -> Compacted:
        config = self.config
        with transaction(db):
            return compact(
                db,
                conversation_id,
                config.retained,
                config.frame,
                config.clock,
                config.thresholds.compact,
            )

    async def _observe_all(self, conversation_id: int, until: int = LAST) -> int:
        """Observe all messages up to and including `until`, due or not.

        Returns the number of new observations.
        """
        find = partial(unobserved, until=until, at_rest=True)
        made = 0
        while (stored := await self._observe(conversation_id, find)) is not None:
            made += stored
        return made

    async def _observe(self, conversation_id: int, find: Find) -> int | None:
        """Run one observer cycle; within a process one at a time per conversation."""
        async with self._observing[conversation_id]:
            return await run_observer(self._runner, conversation_id, find)

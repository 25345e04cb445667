"""The memory at work in the background: cycles with leases, one after the other, never in the talk's way.

What is due is asked of the policy before every step, so that it does not matter which
process does it, or how often this is called.
"""

import asyncio
import sqlite3
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial

from construct.errors import NotFoundError
from construct.llm.types import Model
from construct.memory.curation.memories import promote
from construct.memory.cycles import archive, policy
from construct.memory.cycles.compaction import Compacted, compact
from construct.memory.cycles.drawing import BETWEEN_TURNS, run_graph
from construct.memory.cycles.observing import Find, run_observer
from construct.memory.cycles.reflecting import run_reflector
from construct.memory.cycles.running import Progress, Workshop
from construct.memory.cycles.situation import Terms, conversations_at_rest, holds_against, read_situation, unobserved
from construct.memory.learning.floor import Reflection
from construct.memory.recall.indexing import index_some
from construct.memory.shown.forks import uncommitted_below
from construct.store import search_index, talk
from construct.store.database import Store, transaction
from construct.store.segments import merge_some


class MemoryWorker:
    """Does the memory work of one process; `model` None means the extractive worker."""

    def __init__(self, store: Store, model: Model | None, terms: Terms, report: Callable[[Progress], None]) -> None:
        self._shop = Workshop(store, model, terms, report)
        self._turn = asyncio.Lock()
        self._observing: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)

    @property
    def terms(self) -> Terms:
        """What the memory work goes by."""
        return self._shop.terms

    @terms.setter
    def terms(self, terms: Terms) -> None:
        self._shop.terms = terms

    async def run_due(self, conversation_id: int, *, leaving: bool = False) -> None:
        """Do what is due in a conversation until nothing is, or another process is at it."""
        async with self._turn:
            await self._do_due(conversation_id, set(), leaving=leaving)

    async def went_cold(self, conversation_id: int) -> bool:
        """Tell whether a conversation went cold with something unobserved: to be asked before a turn warms it again."""
        situation = await self._shop.store.call(read_situation, conversation_id, self.terms)
        return situation.cold and policy.observing_is_due(situation, self.terms.thresholds)

    async def rest(self, *, but: int | None = None) -> None:
        """Observe and compact the conversations that were left or went cold with something unobserved."""
        for conversation_id in await self._shop.store.call(conversations_at_rest, self.terms, but):
            with suppress(NotFoundError):  # deleted meanwhile
                await self.run_due(conversation_id)

    async def index(self) -> bool:
        """Keep the search indexes whole and quick; False when nothing is left to do, or nothing makes it."""
        if await self._shop.store.call(search_index.make_some) or await self._shop.store.call(merge_some):
            return True
        return self.terms.meaning is not None and await index_some(self._shop.store, self.terms.meaning)

    async def now(self, conversation_id: int) -> tuple[int, Compacted, Reflection | None]:
        """Observe, compact and reflect now, whatever is due; return observations made, and what changed.

        Who asks is told at the end; what is reported meanwhile has no counts.
        """
        async with self._turn, self._shop.uncounted():
            inherited = await self._shop.store.call(uncommitted_below, conversation_id)
            made = sum([await self._observe_all(one) for one in (*inherited, conversation_id)])
            compacted = await self._compact_after_parents(conversation_id)
            reflection = await run_reflector(self._shop, conversation_id)
            await run_graph(self._shop)
            self._shop.report(Progress("idle"))
            return made, compacted, reflection

    async def catch_up(self, conversation_id: int, until: int = talk.LAST) -> int:
        """Observe what is not observed yet, up to a message, then do what that makes due; return observations made.

        What comes behind that message stays unobserved: an observer would step over what is archived in between.
        """
        async with self._turn:
            made = await self._observe_all(conversation_id, until)
            await self._do_due(conversation_id, {"observe"}, leaving=True)
        return made

    async def catch_up_passed(self, conversation_id: int) -> int | None:
        """Observe a batch of the imported messages that the talk has gone past; None when none could be."""
        async with self._turn:
            async with self._observing[conversation_id]:
                made = await run_observer(self._shop, conversation_id, archive.passed)
            if made is not None:
                await self._do_due(conversation_id, {"observe"}, leaving=True)
            return made

    async def observe_before_turn(self, conversation_id: int) -> None:
        """Observe and compact until the window is no longer past its limit, since a turn waits for that.

        It waits for an observer that is at this conversation already, whose work may be enough, and for nothing else.
        """
        async with self._observing[conversation_id]:
            while True:
                await self._compact_after_parents(conversation_id)
                situation = await self._shop.store.call(read_situation, conversation_id, self.terms)
                if not policy.blocks(situation, self.terms.thresholds):
                    return
                if await run_observer(self._shop, conversation_id, _living(at_rest=False)) is None:
                    return

    async def _do_due(self, conversation_id: int, tried: set[policy.Work], *, leaving: bool) -> None:
        """Do what is due, but for what was `tried`, until nothing is."""
        reflected = False
        while True:
            newest, situation = await self._shop.store.call(self._judge, conversation_id, leaving)
            situation = replace(situation, rewriting="compact" in tried)
            todo = [w for w in policy.due(situation, self.terms.thresholds) if w not in tried]
            if not todo:
                break
            if not await self._do(todo[0], conversation_id, at_rest=situation.cold or leaving, until=newest):
                tried.add(todo[0])
            elif todo[0] == "reflect":
                reflected = True
        await run_graph(self._shop, 1 if leaving or reflected else BETWEEN_TURNS)
        self._shop.report(Progress("idle"))

    def _judge(self, db: sqlite3.Connection, conversation_id: int, leaving: bool) -> tuple[int, policy.Situation]:
        """Return the newest message and the situation; what is said behind it may still wait for its answer."""
        newest = talk.last_message_id(db, conversation_id)
        return newest, read_situation(db, conversation_id, self.terms, leaving=leaving)

    async def _do(self, work: policy.Work, conversation_id: int, *, at_rest: bool, until: int) -> bool:
        """Do one piece of work, observing up to a message; False when it could not be done now."""
        if work == "observe":
            return await self._observe(conversation_id, at_rest=at_rest, until=until) is not None
        if work == "reflect":
            reflection = await run_reflector(self._shop, conversation_id)
            return reflection is not None and reflection.shrinks
        compacted = await self._compact_after_parents(conversation_id)
        self._shop.report(Progress("compacted", compacted.left_window))
        return False  # once is enough: it leaves nothing to compact

    async def _compact_after_parents(self, conversation_id: int) -> Compacted:
        """Compact; before a fork lets its parents' messages go, committed observations must stand for them."""
        for parent_id in await self._shop.store.call(uncommitted_below, conversation_id):
            if not await self._shop.store.call(holds_against, parent_id, conversation_id, self.terms):
                await self._observe_all(parent_id)
            await self._shop.store.call(self._compact, parent_id)
        return await self._shop.store.call(self._compact_if_covered, conversation_id)

    def _compact_if_covered(self, db: sqlite3.Connection, conversation_id: int) -> Compacted:
        if uncommitted_below(db, conversation_id):  # another process reads them now, or their reading was undone
            return Compacted(0, 0)
        return self._compact(db, conversation_id)

    def _compact(self, db: sqlite3.Connection, conversation_id: int) -> Compacted:
        with transaction(db):
            compacted = compact(db, conversation_id, self.terms.retained, self.terms.frame, self._shop.now())
            promote(db, self._shop.now())
            return compacted

    async def _observe_all(self, conversation_id: int, until: int = talk.LAST) -> int:
        """Observe what is not observed yet, up to a message, whatever is due; return observations made."""
        made = 0
        while (stored := await self._observe(conversation_id, at_rest=True, until=until)) is not None:
            made += stored
        return made

    async def _observe(self, conversation_id: int, *, at_rest: bool, until: int = talk.LAST) -> int | None:
        """Run one observer cycle over the oldest batch; None when there is none, or another process has it."""
        async with self._observing[conversation_id]:
            return await run_observer(self._shop, conversation_id, _living(at_rest=at_rest, until=until))


def _living(*, at_rest: bool, until: int = talk.LAST) -> Find:
    return partial(unobserved, until=until, at_rest=at_rest)

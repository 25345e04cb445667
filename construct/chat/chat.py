"""One open chat: its conversation, the companion, and the memory work beside it.

It knows no screen.
"""

import asyncio
import sqlite3
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Concatenate, ParamSpec, TypeVar

from construct.chat.background import BackgroundWork, Job
from construct.clock import Clock, to_text
from construct.companion import Companion
from construct.config import Settings
from construct.errors import ConstructError, UsageError
from construct.llm.types import Request
from construct.memory import policy
from construct.memory.cycles.runner import Progress
from construct.memory.cycles.situation import read_situation
from construct.memory.turn_context import DuePlan, due_plans
from construct.offrecord import OffRecord
from construct.operations.context import Context
from construct.operations.conversations import last_messages
from construct.operations.opening import Opening
from construct.operations.setup import ON_THIS_MACHINE, all_models
from construct.operations.status import Meters, meters
from construct.references import Reference
from construct.store import cycles
from construct.store.conversations import (
    ConversationSummary,
    conversation_exists,
    conversation_summary,
    create_conversation,
    get_conversation,
)
from construct.store.database import Store, patience, transaction
from construct.tasks import stop
from construct.turns import Listener, TurnResult

P = ParamSpec("P")
R = TypeVar("R")
BEAT_SECONDS = 20.0
LEAVING_SECONDS = 20.0
"""How long leaving waits for the memory work that is due."""
_COLD_MARGIN_SECONDS = 5.0
# Whoever leaves while another program holds the file should not wait for its end. The
# session of a process that is gone is closed by the next one.
_BRIEFLY = 1.0
_SEARCHED_FOR_REPLY = 20
_SHARED = "this talk is open in another terminal too; /new begins another"


class Chat:
    """A chat in a terminal or over a pipe.

    `conversation_id` is None until something is said in a new one.
    """

    def __init__(
        self,
        opening: Opening,
        *,
        report: Callable[[Progress], None] = lambda _: None,
        complain: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.companion = Companion(opening.settings, opening.models, report)
        self.conversation_id = opening.conversation_id
        self.shown: Reference | None = None
        """What a command showed last; `/why` and the like mean it when given no id."""
        self.off_record = OffRecord(self.companion, []) if opening.private else None
        self.background = BackgroundWork(
            self.companion.worker, complain, learns=self.companion.learns
        )
        self._complain = complain
        self._session_id: int | None = None
        self._cold_at: float | None = None
        self._beat: asyncio.Task[None] | None = None

    @property
    def settings(self) -> Settings:
        """The settings of this process."""
        return self.companion.settings

    @property
    def clock(self) -> Clock:
        """Now, and the user's days."""
        return self.settings.clock

    @property
    def store(self) -> Store:
        """The database."""
        return self.companion.store

    @property
    def model_name(self) -> str:
        """The model that talks."""
        return self.companion.models.main.name

    async def run(
        self, operation: Callable[Concatenate[Context, P], R], *args: P.args, **kwargs: P.kwargs
    ) -> R:
        """Run an operation in a thread with a connection of its own."""

        def run(db: sqlite3.Connection) -> R:
            companion = self.companion
            context = Context(
                db,
                self.settings,
                companion.memory_config,
                self.conversation_id,
                companion.models.worker_name,
                companion.models.worker_reason,
            )
            return operation(context, *args, **kwargs)

        return await self.store.call(run)

    async def start(self) -> None:
        """Open the session, clean up after dead processes, begin what is due."""
        await self.store.call(self._open_session)
        await self._arrive()
        self._beat = asyncio.create_task(self._keep_beating(), name="session")
        if self.conversation_id is not None:
            self.background.add(Job(self.conversation_id))
        self.background.add(Job(self.conversation_id, elsewhere=True))

    async def send(self, words: str, listen: Listener) -> TurnResult:
        """Send a message and return its answer."""
        if self.off_record is not None:
            return await self.off_record.turn(self.conversation_id, words, listen)
        conversation_id = await self.ensure_conversation()
        try:
            return await self.companion.turn(conversation_id, words, listen)
        finally:
            await self._spoken(conversation_id)

    async def again(self, listen: Listener) -> TurnResult | None:
        """Ask for another answer to the last message; None when there is none."""
        if self.off_record is not None:
            return await self.off_record.again(self.conversation_id, listen)
        if self.conversation_id is None:
            return None
        try:
            return await self.companion.retry(self.conversation_id, listen)
        finally:
            await self._spoken(self.conversation_id)

    async def drop(self) -> str | None:
        """Leave the last message without a whole reply out of requests.

        Returns its text, None when there is no such message.
        """
        if self.off_record is not None:
            return self.off_record.drop()
        if self.conversation_id is None:
            return None
        return await self.companion.drop(self.conversation_id)

    async def is_gone(self) -> bool:
        """Return whether another program has deleted this conversation."""
        here = self.conversation_id
        return here is not None and not await self.store.call(conversation_exists, here)

    async def move(self, conversation_id: int | None) -> None:
        """Continue in another conversation (None: a new one); observe the one left."""
        left, self.conversation_id = self.conversation_id, conversation_id
        self._cold_at = None
        if self.off_record is not None:
            self.off_record = OffRecord(self.companion, [])
        if left is not None and left != conversation_id:
            self.background.add(Job(left, leaving=True))
        if conversation_id is not None:
            self.background.add(Job(conversation_id))
        await self._arrive()

    def begin_anew(self) -> None:
        """Continue in a new conversation: this one was deleted."""
        self.conversation_id = self._cold_at = None

    async def conversation(self) -> ConversationSummary | None:
        """Return the conversation, None while a new one has nothing in it."""
        if self.conversation_id is None:
            return None
        return await self.store.call(conversation_summary, self.conversation_id)

    async def ensure_conversation(self) -> int:
        """Return the conversation's id; store a new one if there is none any more."""
        if self.conversation_id is None or await self.is_gone():
            self.conversation_id = await self.store.call(self._create)
            await self._arrive()
        return self.conversation_id

    async def use_model(self, name: str) -> None:
        """Continue with another model; NotConfiguredError if it is out of reach."""
        before = self.companion.models
        found = await asyncio.to_thread(all_models, self.settings)
        here = next((m for m in found if m.name == name and m.source in ON_THIS_MACHINE), None)
        chosen = before.with_model(name) if here is None else before.with_found(here)
        self.companion.use_models(chosen)
        if before.main not in {self.companion.models.main, before.worker}:
            await before.main.close()

    async def last_reply(self) -> str | None:
        """Return the last reply's text, None when there is none."""
        if self.off_record is not None and self.off_record.last_reply:
            return self.off_record.last_reply
        if self.conversation_id is None:
            return None
        last = await self.run(last_messages, self.conversation_id, _SEARCHED_FOR_REPLY)
        return next((m.content for m in reversed(last) if m.role == "assistant"), None)

    def refuse_in_private(self) -> None:
        """Raise UsageError in private talk, for commands that store what is typed."""
        if self.off_record is not None:
            raise UsageError("Private talk is on: nothing is stored. /private off ends it.")

    def set_private(self, wanted: bool) -> None:
        """Begin or end private talk; what was said in private before is gone."""
        self.off_record = OffRecord(self.companion, []) if wanted else None

    async def next_request(self) -> Request:
        """Return what the next message would send."""
        if self.off_record is not None:
            return await self.off_record.preview(self.conversation_id)
        return await self.companion.preview(self.conversation_id)

    async def meters(self) -> Meters:
        """Return how near the next steps of memory are."""
        return await self.run(meters)

    async def due(self) -> list[DuePlan]:
        """Return the plans that are due."""
        if self.conversation_id is None or self.settings.memory == "off":
            return []
        return await self.store.call(due_plans, self.conversation_id, self.companion.memory_config)

    async def has_work_left(self) -> bool:
        """Return whether leaving now would leave memory work undone."""
        if not self.companion.learns or self.conversation_id is None or self.background.busy:
            return self.background.busy
        config = self.companion.memory_config
        situation = await self.store.call(
            read_situation, self.conversation_id, config, leaving=True
        )
        return bool(policy.due(situation, config.thresholds))

    async def finish(self, seconds: float | None = None) -> bool:
        """Do the memory work due on leaving; false when the time was too short."""
        if self.conversation_id is not None:
            self.background.add(Job(self.conversation_id, leaving=True))
        return await self.background.finish(seconds)

    async def close(self) -> None:
        """Stop the work beside the chat and close everything."""
        await stop(self._beat)
        await self.background.stop()
        with suppress(ConstructError):
            await self.store.call(self._close_session)
        await self.companion.close()

    async def _spoken(self, conversation_id: int) -> None:
        """Begin the work a turn made due; note when the prompt cache will be cold."""
        self.background.add(Job(conversation_id))
        if await self.is_gone():
            return
        here = await self.store.call(get_conversation, conversation_id)
        life = policy.lifetime(here.cache_life)
        self._cold_at = time.monotonic() + life.total_seconds() + _COLD_MARGIN_SECONDS

    async def _arrive(self) -> None:
        """Record which conversation this chat is in; warn if another chat is in it."""
        with suppress(ConstructError):  # the next beat records it
            if await self.store.call(self._beat_once):
                self._complain(_SHARED)

    async def _keep_beating(self) -> None:
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            with suppress(ConstructError):
                await self.store.call(self._beat_once)
            if self._cold_at is not None and time.monotonic() >= self._cold_at:
                self._cold_at = None
                if self.conversation_id is not None:
                    self.background.add(Job(self.conversation_id))

    def _open_session(self, db: sqlite3.Connection) -> None:
        with transaction(db):
            cycles.abandon_dead(db, to_text(self.clock.now()))
            self._session_id = cycles.open_session(db, self.conversation_id)

    def _close_session(self, db: sqlite3.Connection) -> None:
        """Close the session that was opened, even if nobody waited for it to open."""
        if self._session_id is not None:
            with patience(db, _BRIEFLY):
                cycles.close_session(db, self._session_id)
            self._session_id = None

    def _beat_once(self, db: sqlite3.Connection) -> bool:
        """Record where the chat is open; return whether another is open there."""
        here, session = self.conversation_id, self._session_id
        if session is None:
            return False
        with patience(db, _BRIEFLY):
            cycles.beat_session(db, session, here)
        return here is not None and cycles.is_open_elsewhere(db, here, session)

    def _create(self, db: sqlite3.Connection) -> int:
        with transaction(db):
            return create_conversation(db, to_text(self.clock.now()))

"""One open chat: the talk it is in, the companion, and the memory work beside it. Knows no screen."""

import asyncio
import sqlite3
import time
from collections.abc import Callable
from contextlib import suppress

from construct.clock import Clock, to_text
from construct.companion import Companion
from construct.config import Settings
from construct.errors import ConstructError, UsageError
from construct.llm.types import Request
from construct.memory.ambience import due_plans
from construct.memory.cycles import policy
from construct.memory.cycles.running import Progress
from construct.memory.cycles.situation import read_situation
from construct.memory.inspection.status import Meters, meters
from construct.memory.shown import forks
from construct.memory.shown.ambient import DuePlan
from construct.offrecord import OffRecord
from construct.references import Reference
from construct.repl.background import Job, Upkeep
from construct.repl.start import Opening
from construct.store import cycles, talk
from construct.store.database import Store, patience, transaction
from construct.tasks import stop
from construct.turns import Listener, TurnResult

BEAT_SECONDS = 20.0
_COLD_MARGIN = 5.0
_BRIEFLY = 1.0
"""Seconds that nobody minds: who leaves while another program holds the file is not to wait for its end. The session
of a process that is gone is closed by the next one."""
_SHARED = "this talk is open in another terminal too; /new begins another"


class Chat:
    """A chat in a terminal or over a pipe; `conversation_id` is None until something is said in a new one."""

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
        """What a command showed last: what `/why` and its like mean when they are given no id."""
        self.aside = OffRecord(self.companion, []) if opening.private else None
        self.upkeep = Upkeep(self.companion.worker, complain, learns=self.companion.learns)
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

    async def start(self) -> None:
        """Say that a chat is open, put right what stopped processes left, and have done what is due."""
        await self.store.call(self._open_session)
        await self._arrive()
        self._beat = asyncio.create_task(self._keep_beating(), name="session")
        if self.conversation_id is not None:
            self.upkeep.want(Job(self.conversation_id))
        self.upkeep.want(Job(self.conversation_id, elsewhere=True))

    async def send(self, words: str, listen: Listener) -> TurnResult:
        """Have a message answered."""
        if self.aside is not None:
            return await self.aside.turn(self.conversation_id, words, listen)
        conversation_id = await self.ensure_conversation()
        try:
            return await self.companion.turn(conversation_id, words, listen)
        finally:
            await self._spoken(conversation_id)

    async def again(self, listen: Listener) -> TurnResult | None:
        """Have the last message answered again; None when there is none."""
        if self.aside is not None:
            return await self.aside.again(self.conversation_id, listen)
        if self.conversation_id is None:
            return None
        try:
            return await self.companion.retry(self.conversation_id, listen)
        finally:
            await self._spoken(self.conversation_id)

    async def drop(self) -> str | None:
        """Leave the last message without a whole reply out of requests; return its text, None when there is none."""
        if self.aside is not None:
            return self.aside.drop()
        return None if self.conversation_id is None else await self.companion.drop(self.conversation_id)

    async def is_gone(self) -> bool:
        """Tell whether another program has deleted this conversation; what is said next begins a new one."""
        here = self.conversation_id
        return here is not None and not await self.store.call(talk.is_there, here)

    async def move(self, conversation_id: int | None) -> None:
        """Go on in another conversation, None for a new one; the one that is left is observed."""
        left, self.conversation_id = self.conversation_id, conversation_id
        self._cold_at = None
        if self.aside is not None:
            self.aside = OffRecord(self.companion, [])
        if left is not None and left != conversation_id:
            self.upkeep.want(Job(left, leaving=True))
        if conversation_id is not None:
            self.upkeep.want(Job(conversation_id))
        await self._arrive()

    def begin_anew(self) -> None:
        """Go on in a new conversation: this one was deleted."""
        self.conversation_id = self._cold_at = None

    async def conversation(self) -> talk.ConversationSummary | None:
        """Return the conversation, None while a new one has nothing in it."""
        if self.conversation_id is None:
            return None
        return await self.store.call(talk.summary, self.conversation_id)

    async def ensure_conversation(self) -> int:
        """Return the conversation's id; a new one is stored by this, also for one that was deleted elsewhere."""
        if self.conversation_id is None or await self.is_gone():
            self.conversation_id = await self.store.call(self._create)
            await self._arrive()
        return self.conversation_id

    async def use_model(self, name: str) -> None:
        """Go on with another model; raises NotConfiguredError when there is no way to reach it."""
        before = self.companion.models
        self.companion.use_model(before.with_model(name).main)
        if before.main not in {self.companion.models.main, before.worker}:
            await before.main.close()

    async def last_reply(self) -> str | None:
        """Return the last reply's text, None when there is none."""
        if self.aside is not None and self.aside.last_reply:
            return self.aside.last_reply
        if self.conversation_id is None:
            return None
        last = await self.store.call(forks.last_messages, self.conversation_id, 20)
        return next((m.content for m in reversed(last) if m.role == "assistant"), None)

    def refuse_in_private(self) -> None:
        """Raise UsageError while the talk is off the record: a command that stores what is typed may not run."""
        if self.aside is not None:
            raise UsageError("Private talk is on: nothing is stored. /private off ends it.")

    def set_private(self, wanted: bool) -> None:
        """Begin to talk off the record, or end it: what was said so is gone then."""
        self.aside = OffRecord(self.companion, []) if wanted else None

    async def next_request(self) -> Request:
        """Return what the next message would send."""
        if self.aside is not None:
            return await self.aside.preview(self.conversation_id)
        return await self.companion.preview(self.conversation_id)

    async def meters(self) -> Meters:
        """Return how near the next steps of memory are."""
        if self.conversation_id is None:
            return Meters(0.0, 0.0, held=False)
        return await self.store.call(meters, self.conversation_id, self.companion.terms)

    async def due(self) -> list[DuePlan]:
        """Return the plans that are due."""
        if self.conversation_id is None or self.settings.memory == "off":
            return []
        return await self.store.call(due_plans, self.conversation_id, self.companion.terms)

    async def has_work_left(self) -> bool:
        """Tell whether leaving now would leave memory work undone."""
        if not self.companion.learns:
            return False
        if self.upkeep.busy or self.conversation_id is None:
            return self.upkeep.busy
        terms = self.companion.terms
        situation = await self.store.call(read_situation, self.conversation_id, terms, leaving=True)
        return bool(policy.due(situation, terms.thresholds))

    async def finish(self, seconds: float | None = None) -> bool:
        """Do the memory work that is due on leaving; False when the time did not suffice."""
        if self.conversation_id is not None:
            self.upkeep.want(Job(self.conversation_id, leaving=True))
        return await self.upkeep.finish(seconds)

    async def close(self) -> None:
        """Stop the work beside the chat, and let go of everything."""
        await stop(self._beat)
        await self.upkeep.stop()
        with suppress(ConstructError):
            await self.store.call(self._close_session)
        await self.companion.close()

    async def _spoken(self, conversation_id: int) -> None:
        """Have done what a turn made due, and note when the prompt cache will be cold."""
        self.upkeep.want(Job(conversation_id))
        if not await self.store.call(talk.is_there, conversation_id):  # deleted by another process
            return
        here = await self.store.call(talk.conversation, conversation_id)
        life = policy.lifetime(here.cache_life)
        self._cold_at = time.monotonic() + life.total_seconds() + _COLD_MARGIN

    async def _arrive(self) -> None:
        """Say that the chat is in its conversation now; and to the user when another is, too."""
        with suppress(ConstructError):  # the next beat says it
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
                    self.upkeep.want(Job(self.conversation_id))

    def _open_session(self, db: sqlite3.Connection) -> None:
        with transaction(db):
            cycles.abandon_dead(db, to_text(self.clock.now()))
            self._session_id = cycles.open_session(db, self.conversation_id)

    def _close_session(self, db: sqlite3.Connection) -> None:
        """Close what was opened, even if nobody waited for that to end."""
        if self._session_id is not None:
            with patience(db, _BRIEFLY):
                cycles.close_session(db, self._session_id)
            self._session_id = None

    def _beat_once(self, db: sqlite3.Connection) -> bool:
        """Show that the chat is open, and where; tell whether another is open there."""
        here, session = self.conversation_id, self._session_id
        if session is None:
            return False
        with patience(db, _BRIEFLY):
            cycles.beat_session(db, session, here)
        return here is not None and cycles.is_open_elsewhere(db, here, session)

    def _create(self, db: sqlite3.Connection) -> int:
        with transaction(db):
            return talk.create_conversation(db, to_text(self.clock.now()))

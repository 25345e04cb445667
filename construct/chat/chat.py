"""One open chat: its conversation, the companion, and memory work in the background.

It knows nothing of the screen.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from construct.chat.background import BackgroundWork, Job
from construct.clock import Clock, to_text
from construct.config import Settings
from construct.errors import ConstructError, NotFoundError, UsageError
from construct.llm.servers.types import models_named
from construct.llm.types import Request
from construct.memory import policy
from construct.memory.agenda import AgendaItem
from construct.memory.cycles.runner import Progress
from construct.memory.cycles.situation import read_situation
from construct.memory.reminders import Reminder
from construct.memory.turn_context import due_items
from construct.operations.context import Context, window_of
from construct.operations.conversations import continue_here, enter
from construct.operations.opening import Opening
from construct.operations.reminders import take_for_chat
from construct.operations.review import Evening, evening
from construct.operations.setup import LOCAL_SERVERS, all_models, own_server
from construct.operations.status import Meters, meters
from construct.pasted import Span
from construct.references import Reference
from construct.store import cycles
from construct.store.conversations import (
    ConversationSummary,
    conversation_exists,
    conversation_summary,
    create_conversation,
    enter_conversation,
    get_conversation,
)
from construct.store.database import patience, transaction
from construct.store.driver import Connection
from construct.store.in_thread import Store
from construct.store.review import newest_note
from construct.talk.companion import Companion
from construct.talk.events import Listener, Noticed, TurnResult
from construct.talk.ledger import Ledger
from construct.talk.private_ledger import PrivateLedger
from construct.talk.responder import Responder
from construct.talk.stored_ledger import StoredLedger
from construct.tasks import in_daemon_thread, stop
from construct.views.words import forked_from_elsewhere
from construct.vocabulary import MemorySetting

if TYPE_CHECKING:
    from construct.attachments import Attachment

P = ParamSpec("P")
R = TypeVar("R")
BEAT_SECONDS = 20.0
"""How often the chat records that it is alive, and in which conversation."""
_CACHE_MARGIN_SECONDS = 5.0
"""Added to the prompt cache's lifetime, so that it has surely expired."""
_SESSION_PATIENCE_SECONDS = 1.0
"""How long renewing or closing the session waits for another program's write.

Leaving must not wait longer: the next process closes sessions that were left open.
"""
_SHARED = "this conversation is open in another terminal too; /new begins a new one"


class Chat:
    """A chat in a terminal or over a pipe.

    `conversation_id` is None in a new conversation until it is stored.
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
        """What a command listed last, or the best match of `/recall`.

        `/why` and other commands use it when given no id.
        """
        self._private: PrivateLedger | None = None
        """Holds what was said in private talk; None when that is off."""
        self.set_private(opening.private)
        self.background = BackgroundWork(
            self.companion.worker, complain, learns=self.settings.learns
        )
        self._complain = complain
        self._session_id: int | None = None
        self._newest_before = 0
        """The newest observation when the chat began."""
        self._cache_expires_at: float | None = None
        """By the monotonic clock. Memory work that waits for it begins then."""
        self._beat: asyncio.Task[None] | None = None

    @property
    def settings(self) -> Settings:
        """The settings of this process."""
        return self.companion.settings

    @property
    def clock(self) -> Clock:
        """The clock, set to the user's time zone."""
        return self.settings.clock

    @property
    def store(self) -> Store:
        """The database, used in a thread."""
        return self.companion.store

    @property
    def is_private(self) -> bool:
        """Whether nothing that is said is stored."""
        return self._private is not None

    @property
    def ledger(self) -> Ledger:
        """Where messages are kept: in the database, or in private talk only here."""
        return self._private or StoredLedger(self.companion)

    @property
    def model_name(self) -> str:
        """The name of the main model."""
        return self.companion.models.main.name

    async def run(
        self, operation: Callable[Concatenate[Context, P], R], *args: P.args, **kwargs: P.kwargs
    ) -> R:
        """Run an operation in the database's thread, with this chat's context."""
        return await self.store.call(self._in_context(operation, *args, **kwargs))

    async def run_stoppable(
        self, operation: Callable[Concatenate[Context, P], R], *args: P.args, **kwargs: P.kwargs
    ) -> R:
        """Run an operation that takes long; it stops when the waiting task is cancelled."""
        return await self.store.stoppable_call(self._in_context(operation, *args, **kwargs))

    def _in_context(
        self, operation: Callable[Concatenate[Context, P], R], *args: P.args, **kwargs: P.kwargs
    ) -> Callable[[Connection], R]:
        def run(db: Connection) -> R:
            companion = self.companion
            context = Context(
                db,
                self.settings,
                companion.memory_config,
                self.conversation_id,
                companion.models.worker_name,
                companion.models.worker_reason,
                window_of(companion.models),
            )
            return operation(context, *args, **kwargs)

        return run

    async def start(self) -> None:
        """Record the session, clean up after dead processes, and begin the work that is due."""
        await self.store.call(self._open_session)
        await self._arrive()
        self._beat = asyncio.create_task(self._keep_beating(), name="session")
        if self.conversation_id is not None:
            self.background.add(Job(self.conversation_id))
        self.background.add(Job(self.conversation_id, elsewhere=True))

    async def send(
        self,
        words: str,
        listen: Listener,
        attachments: Sequence["Attachment"] = (),
        pasted: Sequence[Span] = (),
    ) -> TurnResult:
        """Send a message, parts of which were pasted, and return how its turn ended."""
        here = self.conversation_id
        if not self.is_private:
            here = await self._own_conversation(listen)
        try:
            return await Responder(self.ledger).turn(here, words, listen, attachments, pasted)
        finally:
            await self._after_turn()

    async def again(self, listen: Listener) -> TurnResult | None:
        """Ask for another reply to the last message; None when there is no message."""
        try:
            here = self.conversation_id
            if here is not None and not self.is_private:
                here = await self._own_conversation(listen)
            return await Responder(self.ledger).retry(here, listen)
        finally:
            await self._after_turn()

    async def rephrase(
        self,
        words: str,
        listen: Listener,
        attachments: Sequence["Attachment"] = (),
        pasted: Sequence[Span] = (),
    ) -> TurnResult | None:
        """Send the last message in other words; None when there is no message."""
        here = self.conversation_id
        if here is not None and not self.is_private:
            here = await self._own_conversation(listen)
        try:
            responder = Responder(self.ledger)
            return await responder.rephrase(here, words, listen, attachments, pasted)
        finally:
            await self._after_turn()

    async def drop(self) -> str | None:
        """Exclude the last message without a complete reply from later requests.

        Returns its text, or None when there is no such message.
        """
        return await self.store.call(self.ledger.drop, self.conversation_id)

    async def is_gone(self) -> bool:
        """Return whether another program has deleted this conversation."""
        here = self.conversation_id
        return here is not None and not await self.store.call(conversation_exists, here)

    async def move(self, conversation_id: int | None) -> None:
        """Continue in another conversation (None: a new one) and observe the one left."""
        left, self.conversation_id = self.conversation_id, conversation_id
        self._cache_expires_at = None
        self.set_private(self.is_private)
        if left is not None and left != conversation_id:
            self.background.add(Job(left, leaving=True))
        if conversation_id is not None:
            await self.run(enter, conversation_id)
            self.background.add(Job(conversation_id))
        await self._arrive()

    def begin_anew(self) -> None:
        """Continue in a new conversation after this one was deleted."""
        self.conversation_id = self._cache_expires_at = None

    async def conversation(self) -> ConversationSummary | None:
        """Return the conversation, or None if it is new and not stored yet."""
        if self.conversation_id is None:
            return None
        return await self.store.call(conversation_summary, self.conversation_id)

    async def ensure_conversation(self) -> int:
        """Return the conversation's id. Creates one if it is new or was deleted."""
        if self.conversation_id is None or await self.is_gone():
            self.conversation_id = await self.store.call(self._create)
            await self._arrive()
        return self.conversation_id

    async def _own_conversation(self, listen: Listener) -> int:
        """Return the conversation to speak in, which is a fork if another machine writes it."""
        before = await self.ensure_conversation()
        continued = await self.run(continue_here, before)
        if continued.writer:
            self.conversation_id = continued.conversation_id
            self._cache_expires_at = None
            notice = forked_from_elsewhere(continued.writer, before, continued.conversation_id)
            listen(Noticed(notice))
        return continued.conversation_id

    async def use_model(self, name: str) -> None:
        """Continue with another model.

        Raises NotConfiguredError if its provider is not set up, UsageError if a setting is
        wrong.
        """
        before = self.companion.models
        found = await asyncio.to_thread(all_models, self.settings)
        named = next(iter(models_named(found, name)), None)
        own = own_server(self.settings)
        if named is not None and named.source in LOCAL_SERVERS and named.server != own:
            chosen = before.with_found(named)
        else:  # in a thread: a server may be asked for the model's window
            full_name = name if named is None else named.name
            chosen = await asyncio.to_thread(before.with_model, full_name)
        self.companion.use_models(chosen)
        if before.main not in {self.companion.models.main, before.worker}:
            await before.main.close()

    async def last_reply(self) -> str | None:
        """Return the text of the last reply, or None when there is none."""
        return await self.store.call(self.ledger.last_reply, self.conversation_id)

    def refuse_in_private(self) -> None:
        """Raise UsageError in private talk. For commands that store what is typed."""
        if self.is_private:
            raise UsageError("Private talk is on: nothing you say is stored. /private off ends it.")

    def set_private(self, wanted: bool) -> None:
        """Begin or end private talk. Discards what was said in private before."""
        self._private = PrivateLedger(self.companion) if wanted else None

    async def next_request(self) -> Request:
        """Return the request that the next message would send."""
        return await self.store.call(self.ledger.preview, self.conversation_id)

    async def meters(self) -> Meters:
        """Return how near the next observation run and the next compaction are."""
        return await self.run(meters)

    async def due(self) -> list[AgendaItem]:
        """Return what to bring up now: what is due soon, and plans of unknown outcome."""
        if self.conversation_id is None or self.settings.memory == MemorySetting.OFF:
            return []
        return await self.store.call(due_items, self.conversation_id, self.companion.memory_config)

    async def take_reminders(self, seconds_since_key: float) -> list[Reminder]:
        """Return the reminders to show now; they count as delivered.

        None if no key was pressed here for a while: they go elsewhere then.
        """
        return await self.store.call(self._take_reminders, seconds_since_key)

    def _take_reminders(self, db: Connection, seconds_since_key: float) -> list[Reminder]:
        if self._session_id is None:
            return []
        with patience(db, _SESSION_PATIENCE_SECONDS):
            return take_for_chat(db, self.settings, self._session_id, seconds_since_key)

    async def has_work_left(self) -> bool:
        """Return whether leaving now would leave memory work undone."""
        if not self.settings.learns or self.conversation_id is None or self.background.busy:
            return self.background.busy
        config = self.companion.memory_config
        try:
            situation = await self.store.call(
                read_situation, self.conversation_id, config, leaving=True
            )
        except NotFoundError:  # deleted by another program
            return False
        return bool(policy.due(situation, config.thresholds))

    async def finish(self, seconds: float | None = None) -> bool:
        """Do the memory work due on leaving. Return whether the time was enough."""
        if self.conversation_id is not None:
            self.background.add(Job(self.conversation_id, leaving=True))
        return await self.background.finish(seconds)

    async def exchange(self) -> str:
        """Exchange with the user's other machines; return a line about what came in, or ""."""
        if self.settings.sync_folder is None:
            return ""
        from construct.operations.sync import exchange_quietly
        from construct.views.sync import came_in

        try:
            done = await in_daemon_thread(partial(exchange_quietly, self.settings))
        except ConstructError as error:
            return f"sync: {str(error).splitlines()[0]}"
        return "" if done is None else came_in(done)

    async def evening(self) -> Evening:
        """Return what was learned since this chat began, and how much waits for the user."""
        return await self.run(evening, self._newest_before)

    async def close(self) -> None:
        """Stop the background work and close everything."""
        await stop(self._beat)
        await self.background.stop()
        with suppress(ConstructError):
            await self.store.call(self._close_session)
        await self.companion.close()

    async def _after_turn(self) -> None:
        """After a turn, begin the work that is due and note when the prompt cache expires."""
        if self.conversation_id is None or self.is_private:
            return
        self.background.add(Job(self.conversation_id))
        if await self.is_gone():
            return
        here = await self.store.call(get_conversation, self.conversation_id)
        life = policy.lifetime(here.cache_life)
        self._cache_expires_at = time.monotonic() + life.total_seconds() + _CACHE_MARGIN_SECONDS

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
            if self._cache_expires_at is not None and time.monotonic() >= self._cache_expires_at:
                self._cache_expires_at = None
                if self.conversation_id is not None:
                    self.background.add(Job(self.conversation_id))

    def _open_session(self, db: Connection) -> None:
        with transaction(db):
            cycles.abandon_orphaned(db, to_text(self.clock.now()))
            self._session_id = cycles.open_session(db, self.conversation_id)
            self._newest_before = newest_note(db)

    def _close_session(self, db: Connection) -> None:
        """Close the session, even if `start` was cancelled while it was being opened."""
        if self._session_id is not None:
            with patience(db, _SESSION_PATIENCE_SECONDS):
                cycles.close_session(db, self._session_id)
            self._session_id = None

    def _beat_once(self, db: Connection) -> bool:
        """Record that the chat is alive. Return whether another has this conversation open."""
        here, session = self.conversation_id, self._session_id
        if session is None:
            return False
        with patience(db, _SESSION_PATIENCE_SECONDS):
            cycles.renew_session(db, session, here)
        return here is not None and cycles.is_open_elsewhere(db, here, session)

    def _create(self, db: Connection) -> int:
        with transaction(db):
            new = create_conversation(db, to_text(self.clock.now()))
            enter_conversation(db, new)
            return new

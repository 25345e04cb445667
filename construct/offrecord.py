"""Talk that is answered and never stored: what is said here lives in this process's memory only.

The model sees what it would see anyway, then what was said off the record. Nothing of it is
written, observed or recalled. What it costs is booked, summed over the day: nothing else can be told by it.
"""

import asyncio
import sqlite3
from dataclasses import dataclass, replace

from construct.clock import to_text
from construct.companion import Companion
from construct.errors import ModelError
from construct.llm.catalog import cost_usd
from construct.llm.types import CacheLife, Reply, ReplyStream, Request
from construct.memory.briefing import unstored_message
from construct.memory.shown.context import INTERRUPTED
from construct.store import books
from construct.store.database import transaction
from construct.store.records import Message
from construct.tokens import Usage
from construct.turns import WHOLE, Delta, Listener, TurnResult, heard


@dataclass(slots=True)
class OffRecord:
    """What has been said off the record, and the way to go on with it."""

    companion: Companion
    said: list[Message]

    @property
    def last_reply(self) -> str | None:
        """The last reply, None before the first."""
        return next((m.content for m in reversed(self.said) if m.role == "assistant"), None)

    async def turn(self, conversation_id: int | None, words: str, listen: Listener) -> TurnResult:
        """Ask the model; what comes is kept for the turns that follow, however it ends."""
        said = tuple(self.said)
        request = await self.companion.store.call(self.companion.unstored, conversation_id, said, words)
        request = replace(request, tools=())  # one of them stores
        self._keep("user", words)
        error: ModelError | None = None
        stream = self.companion.models.main.stream(heard(request, listen))
        try:
            async for piece in stream:
                listen(Delta(piece))
        except ModelError as failure:
            error = failure
        finally:
            self._keep_reply(stream.reply)
            await asyncio.shield(self._end(stream, request.cache_life))
        reply = stream.reply
        return TurnResult(conversation_id or 0, reply.text.strip(), None, reply.stop_reason, reply.usage, error)

    async def preview(self, conversation_id: int | None) -> Request:
        """Return what would be sent now, without a new message."""
        return replace(await self.companion.preview(conversation_id, tuple(self.said)), tools=())

    async def again(self, conversation_id: int | None, listen: Listener) -> TurnResult | None:
        """Ask for another reply to the last words; None when there are none. A broken one does not replace another."""
        at = max((i for i, m in enumerate(self.said) if m.role == "user"), default=None)
        if at is None:
            return None
        before = self.said[at:]
        del self.said[at:]
        result = None
        try:
            result = await self.turn(conversation_id, before[0].content, listen)
        finally:
            if len(before) > 1 and (result is None or not result.complete):
                self.said[at:] = before
        return result

    async def _end(self, stream: ReplyStream, life: CacheLife) -> None:
        await stream.aclose()
        await self.companion.store.call(self._book, stream.reply.usage, life)

    def _keep_reply(self, reply: Reply) -> None:
        text = reply.text.strip()
        if text:
            self._keep("assistant", text if reply.stop_reason in WHOLE else f"{text}\n\n{INTERRUPTED}")

    def _keep(self, role: str, words: str) -> None:
        self.said.append(unstored_message(role, words, to_text(self.companion.settings.clock.now())))

    def _book(self, db: sqlite3.Connection, usage: Usage, life: CacheLife) -> None:
        if usage != Usage():
            name = self.companion.models.main.name
            call = books.Call("chat", name, usage, cost_usd(name, usage, life))
            with transaction(db):
                books.book_off_record(db, call, to_text(self.companion.settings.clock.midnight()))

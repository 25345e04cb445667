"""Talk that is answered and never stored: it lives in this process's memory only.

The model sees what it would see anyway, then what was said off the record. Nothing of
it is written, observed or recalled. Only its cost is stored, summed over the day:
nothing else can be told by it.
"""

import asyncio
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from construct import notebook
from construct.clock import to_text
from construct.companion import Companion
from construct.errors import ModelError
from construct.llm.catalog import cost_usd
from construct.llm.types import CacheLife, File, Reply, ReplyStream, Request
from construct.memory.request_builder import unstored_message
from construct.memory.shown.context import INTERRUPTED
from construct.memory.shown.files import new_file
from construct.onrecord import OnRecord, last_unanswered
from construct.store.database import transaction
from construct.store.messages import is_shown
from construct.store.records import DROPPED, REFUSED, Message
from construct.store.usage import Call, book_off_record
from construct.tokens import Usage
from construct.turn import COMPLETE, Delta, Listener, Noticed, TurnResult, reporting_retries
from construct.vocabulary import Role

if TYPE_CHECKING:
    from construct.attachments import Attachment


@dataclass(frozen=True, slots=True)
class OffRecord:
    """What has been said off the record, and how the next message is answered."""

    companion: Companion
    said: list[Message]
    files: dict[int, tuple[File, ...]] = field(default_factory=dict)
    """The attachments of what was said, by message."""

    async def turn(
        self,
        conversation_id: int | None,
        text: str,
        listen: Listener,
        attachments: Sequence["Attachment"] = (),
    ) -> TurnResult:
        """Ask the model.

        What comes is kept for the turns that follow, however it ends.
        """
        said, new = self._sent(), await self._attach(text, attachments)
        if attachments and (notice := self.companion.unread_notice(attachments)):
            listen(Noticed(notice))
        request = await self.companion.store.call(
            self.companion.unstored, conversation_id, said, new, self.files
        )
        request = replace(request, tools=())  # one of them stores
        at = len(self.said)
        self.said.append(new)
        error: ModelError | None = None
        stream = self.companion.models.main.stream(reporting_retries(request, listen))
        try:
            async for piece in stream:
                listen(Delta(piece))
        except ModelError as failure:
            error = failure
        finally:
            self._keep_reply(stream.reply)
            if stream.reply.stop_reason == REFUSED:
                self.said[at:] = [m._replace(stop_reason=REFUSED) for m in self.said[at:]]
            await asyncio.shield(self._end(stream, request.cache_life))
        reply = stream.reply
        return TurnResult(
            conversation_id or 0, reply.text.strip(), None, reply.stop_reason, reply.usage, error,
            left_out=reply.stop_reason == REFUSED,
        )  # fmt: skip

    async def preview(self, conversation_id: int | None) -> Request:
        """Return what would be sent now, without a new message."""
        request = await self.companion.preview(conversation_id, self._sent(), self.files)
        return replace(request, tools=())

    async def last_reply(self, conversation_id: int | None) -> str | None:
        """Return the last reply here, or the last stored one if there is none yet."""
        at = max((i for i, m in enumerate(self.said) if m.role == Role.ASSISTANT), default=None)
        if at is None:
            return await OnRecord(self.companion).last_reply(conversation_id)
        return await self.companion.store.call(self._words, self.said[at - 1], self.said[at])

    def _words(self, db: sqlite3.Connection, question: Message, reply: Message) -> str:
        """Return a reply's words, without quotes of what was forgotten meanwhile."""
        if reply.quotes is None:
            return reply.content
        quotes, clock = notebook.quoted(db, reply), self.companion.settings.clock
        return notebook.worded(notebook.NOT_KEPT, quotes, question.content, clock)

    async def drop(self, conversation_id: int | None) -> str | None:
        """Leave the last message that got no whole reply out of requests.

        Return its text, None when there is none.
        """
        turn = last_unanswered([m for m in self.said if m.left_out is None])
        self.said[:] = [
            m._replace(stop_reason=DROPPED) if any(m is one for one in turn) else m
            for m in self.said
        ]
        return turn[0].text if turn else None

    async def retry(self, conversation_id: int | None, listen: Listener) -> TurnResult | None:
        """Ask for another reply to the last message. Returns None if there is none.

        A broken one does not replace another.
        """
        asked = (
            i for i, m in enumerate(self.said) if m.role == Role.USER and m.left_out != DROPPED
        )
        at = max(asked, default=None)
        if at is None:
            return None
        before = self.said[at:]
        del self.said[at:]
        result = None
        try:
            result = await self.turn(
                conversation_id, before[0].content, listen, self._attached_to(before[0])
            )
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
            end = "" if reply.stop_reason in COMPLETE else f"\n\n{INTERRUPTED}"
            self.said.append(self._unstored(Role.ASSISTANT, text + end))

    def _sent(self) -> tuple[Message, ...]:
        """Return the messages said here, except those left out of requests."""
        return tuple(filter(is_shown, self.said))

    async def _attach(self, text: str, attachments: Sequence["Attachment"]) -> Message:
        """Return words about to be said, with their files kept beside."""
        sized = await self.companion.sized(attachments) if attachments else ()
        new = unstored_message(Role.USER, text, self.companion.now, -1 - len(self.said), sized)
        self.files[new.id] = tuple(map(new_file, sized))
        return new

    def _attached_to(self, message: Message) -> tuple["Attachment", ...]:
        if not message.attached:
            return ()
        from construct.attachments import Attachment

        files = self.files[message.id]
        return tuple(Attachment(file.name, file.media_type, file.data) for file in files)

    def _unstored(self, role: str, words: str) -> Message:
        return unstored_message(role, words, self.companion.now)

    def _book(self, db: sqlite3.Connection, usage: Usage, life: CacheLife) -> None:
        if usage != Usage():
            name = self.companion.models.main.name
            call = Call("chat", name, usage, cost_usd(name, usage, life))
            with transaction(db):
                book_off_record(db, call, to_text(self.companion.settings.clock.midnight()))

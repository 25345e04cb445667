"""Turns with a model off the record: answered, but never stored.

The messages are kept in this process only. The model is sent what it would be sent
anyway, except the tools, followed by the messages off the record. Only their tokens and
cost are stored, summed for each day and model, so that they do not show when or how
often something was said.
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
from construct.memory.shown.files import new_file
from construct.memory.shown.transcript import last_unanswered
from construct.onrecord import OnRecord
from construct.store.database import transaction
from construct.store.messages import is_shown
from construct.store.records import DROPPED, REFUSED, Message
from construct.store.usage import Call, record_off_record_usage
from construct.tokens import Usage
from construct.turn import (
    COMPLETE_STOP_REASONS,
    Delta,
    Kept,
    Listener,
    Noticed,
    TurnResult,
    reporting_retries,
)
from construct.vocabulary import MessageStatus, Role

if TYPE_CHECKING:
    from construct.attachments import Attachment


@dataclass(frozen=True, slots=True)
class OffRecord:
    """Answers messages with the model. Messages and replies are kept in this process only."""

    companion: Companion
    messages: list[Message]
    """The messages off the record so far; each turn adds to them."""
    files: dict[int, tuple[File, ...]] = field(default_factory=dict)
    """Attachments by message id."""

    async def turn(
        self,
        conversation_id: int | None,
        text: str,
        listen: Listener,
        attachments: Sequence["Attachment"] = (),
    ) -> TurnResult:
        """Ask the model. The message and what arrives of the reply are kept for later turns."""
        sent, new = self._sent_messages(), await self._new_message(text, attachments)
        if attachments and (notice := self.companion.unread_notice(attachments)):
            listen(Noticed(notice))
        request = await self.companion.store.call(
            self.companion.unstored, conversation_id, sent, new, self.files
        )
        request = replace(request, tools=())  # tools can write to the memory
        start = len(self.messages)
        self.messages.append(new)
        listen(Kept())
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
                self._leave_out_from(start)
            await asyncio.shield(self._end(stream, request.cache_life))
        reply = stream.reply
        return TurnResult(
            conversation_id or 0,
            reply.text.strip(),
            None,
            reply.stop_reason,
            reply.usage_with_retries,
            error,
            left_out=reply.stop_reason == REFUSED,
        )

    async def preview(self, conversation_id: int | None) -> Request:
        """Return the request that would be sent now, with a stand-in for the new message."""
        request = await self.companion.preview(conversation_id, self._sent_messages(), self.files)
        return replace(request, tools=())

    async def last_reply(self, conversation_id: int | None) -> str | None:
        """Return the last reply off the record, or the last stored one if there is none yet."""
        replies = [i for i, m in enumerate(self.messages) if m.role == Role.ASSISTANT]
        if not replies:
            return await OnRecord(self.companion).last_reply(conversation_id)
        question, reply = self.messages[replies[-1] - 1 : replies[-1] + 1]
        return await self.companion.store.call(self._text_of, question, reply)

    def _text_of(self, db: sqlite3.Connection, question: Message, reply: Message) -> str:
        """Return a reply's text; the notebook's without quotes forgotten in the meantime."""
        if reply.quotes is None:
            return reply.content
        quotes, clock = notebook.quoted_messages(db, reply), self.companion.settings.clock
        return notebook.reply_text(db, notebook.NOT_KEPT, quotes, question.content, clock)

    async def drop(self, conversation_id: int | None) -> str | None:
        """Leave the last message without a complete reply out of later requests.

        Returns its text, or None if there is no such message.
        """
        turn = last_unanswered([m for m in self.messages if m.left_out is None])
        self.messages[:] = [
            m._replace(stop_reason=DROPPED) if any(m is dropped for dropped in turn) else m
            for m in self.messages
        ]
        return turn[0].text if turn else None

    async def retry(self, conversation_id: int | None, listen: Listener) -> TurnResult | None:
        """Ask for another reply to the last message; None if there is no message.

        A reply that breaks off does not replace a complete one. Without a complete one, a
        message that was refused once is left out of later requests, as on the record.
        """
        questions = [
            i for i, m in enumerate(self.messages) if m.role == Role.USER and m.left_out != DROPPED
        ]
        if not questions:
            return None
        start = questions[-1]
        question, *replies = earlier = self.messages[start:]
        is_answered = any(m.status == MessageStatus.COMPLETE for m in replies)
        del self.messages[start:]
        result = None
        try:
            attachments = self._attached_to(question)
            result = await self.turn(conversation_id, question.content, listen, attachments)
        finally:
            is_complete = result is not None and result.complete
            was_refused = question.left_out or (result is not None and result.left_out)
            is_left_out = bool(was_refused) and not is_complete and not is_answered
            has_new_reply = len(self.messages) > start + 1
            if not is_complete and (is_answered or not has_new_reply):
                self.messages[start:] = earlier
            if is_left_out:
                self._leave_out_from(start)
        return replace(result, left_out=is_left_out, keeps_reply=is_answered)

    def _leave_out_from(self, start: int) -> None:
        """Leave the messages from this index on out of later requests: they were refused."""
        self.messages[start:] = [m._replace(stop_reason=REFUSED) for m in self.messages[start:]]

    async def _end(self, stream: ReplyStream, life: CacheLife) -> None:
        await stream.aclose()
        await self.companion.store.call(self._add_usage, stream.reply.usage_with_retries, life)

    def _keep_reply(self, reply: Reply) -> None:
        text = reply.text.strip()
        if text:
            kept = self._unstored(Role.ASSISTANT, text)
            if reply.stop_reason not in COMPLETE_STOP_REASONS:
                kept = kept._replace(status=MessageStatus.INTERRUPTED)
            self.messages.append(kept)

    def _sent_messages(self) -> tuple[Message, ...]:
        """Return the messages off the record, except those left out of requests."""
        return tuple(filter(is_shown, self.messages))

    async def _new_message(self, text: str, attachments: Sequence["Attachment"]) -> Message:
        """Return a message about to be sent, and keep its attachments in `files`."""
        sized = await self.companion.sized(attachments) if attachments else ()
        new = unstored_message(Role.USER, text, self.companion.now, -1 - len(self.messages), sized)
        self.files[new.id] = tuple(map(new_file, sized))
        return new

    def _attached_to(self, message: Message) -> tuple["Attachment", ...]:
        if not message.attached:
            return ()
        from construct.attachments import Attachment

        files = self.files[message.id]
        return tuple(Attachment(file.name, file.media_type, file.data) for file in files)

    def _unstored(self, role: str, text: str) -> Message:
        return unstored_message(role, text, self.companion.now)

    def _add_usage(self, db: sqlite3.Connection, usage: Usage, life: CacheLife) -> None:
        if usage != Usage():
            name = self.companion.models.main.name
            call = Call("chat", name, usage, cost_usd(name, usage, life))
            with transaction(db):
                record_off_record_usage(db, call, to_text(self.companion.settings.clock.midnight()))

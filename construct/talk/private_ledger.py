"""The ledger of private talk: messages and replies are kept in this process only.

The model is sent what it would be sent anyway, except the tools, followed by the private
messages. Only the tokens and cost of its replies are stored, summed for each day and
model, so that they do not show when or how often something was said.
"""

from collections.abc import Collection
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from construct.clock import to_text
from construct.llm.types import File, Request
from construct.memory.request_builder import unstored_message
from construct.memory.shown.files import new_file
from construct.memory.shown.transcript import last_asked, last_unanswered
from construct.memory.turn_context import TurnContext
from construct.store.database import transaction
from construct.store.driver import Connection
from construct.store.messages import NewMessage, is_shown
from construct.store.records import DROPPED, REFUSED, Message
from construct.store.reply_context import ReplyContext
from construct.store.usage import Call, record_private_usage
from construct.talk import notebook_replies
from construct.talk.companion import Companion
from construct.talk.stored_ledger import StoredLedger
from construct.talk.turn import FirstRequest, ReplyInProgress, Turn
from construct.tokens import Usage
from construct.vocabulary import Outside, Role

if TYPE_CHECKING:
    from construct.attachments import Attachment


class PrivateLedger:
    """Keeps messages in this process only. `conversation_id` may be None."""

    is_private = True

    def __init__(self, companion: Companion) -> None:
        self.companion = companion
        self.messages: list[Message] = []
        """All private messages, oldest first. Their ids are -1, -2 and so on."""
        self._files: dict[int, tuple[File, ...]] = {}
        """Attachments by message id."""

    def begin(self, db: Connection, conversation_id: int | None, new: NewMessage) -> Turn:
        """Prepare the turn of a message of the user's, and keep the message."""
        message = self._message(conversation_id, new)
        turn = self._prepared(db, message)
        self.messages.append(message)
        return turn

    def begin_again(self, db: Connection, conversation_id: int | None) -> Turn | None:
        """Prepare another turn for the user's last message; None if there is none."""
        asked = last_asked([m for m in self._visible() if m.left_out != DROPPED])
        if not asked:
            return None
        message, *replies = asked
        turn = self._prepared(db, message._replace(conversation_id=conversation_id or 0))
        return replace(turn, replies=tuple(replies))

    def first_request(self, db: Connection, turn: Turn) -> FirstRequest:
        """Return the first request of a turn."""
        # Which passages are recalled is not recorded here, so any request may hold quoted ones.
        return FirstRequest(self.request(db, turn), ReplyContext(0, 0, ()), holds_outside_text=True)

    def request(self, db: Connection, turn: Turn) -> Request:
        """Return the request, with the private messages before the turn's own."""
        message = turn.message
        earlier = [m for m in self.messages if m.id > message.id and is_shown(m)]
        request = self.companion.builder.unstored_request(
            db, message.conversation_id or None, earlier, message, self._files
        )
        return self._without_tools(request)

    def end(self, db: Connection, reply: ReplyInProgress) -> None:
        """Keep a reply, and store its usage."""
        turn, model = reply.turn, self.companion.models.main.name
        new = reply.message(model)
        if new is not None:
            kept = self.add(db, turn.message.conversation_id, new)
            self._change(reply.replies_to_hide(kept.id), retried=1)
        if reply.leaves_out_turn:
            self._change(turn.ids, stop_reason=REFUSED)
        if reply.is_complete:
            self._change([turn.message.id], stop_reason=None)
        if reply.usage != Usage():
            call = Call("chat", model, reply.usage, reply.cost_usd(model))
            midnight = to_text(self.companion.settings.clock.midnight())
            with transaction(db):
                record_private_usage(db, call, midnight)

    def add(self, db: Connection, conversation_id: int | None, new: NewMessage) -> Message:
        """Keep a message."""
        message = self._message(conversation_id, new)
        self.messages.append(message)
        return message

    def drop(self, db: Connection, conversation_id: int | None) -> str | None:
        """Leave the user's last unanswered message out of later requests."""
        dropped = last_unanswered([m for m in self._visible() if m.left_out is None])
        self._change([m.id for m in dropped], stop_reason=DROPPED)
        return dropped[0].text if dropped else None

    def drop_last(self, db: Connection, conversation_id: int | None) -> "list[Attachment] | None":
        """Leave the user's last private message and its replies out of later requests."""
        asked = last_asked([m for m in self._visible() if m.left_out != DROPPED])
        if not asked:
            return None
        from construct.attachments import Attachment

        self._change([m.id for m in asked], stop_reason=DROPPED)
        files = self._files.get(asked[0].id, ())
        return [Attachment(file.name, file.media_type, file.data) for file in files]

    def last_reply(self, db: Connection, conversation_id: int | None) -> str | None:
        """Return the last private reply, or the last stored one if there is none yet."""
        for question, reply in reversed([*pairwise(self._visible())]):
            if reply.quotes is not None:
                return notebook_replies.reply_text(
                    db,
                    notebook_replies.NOT_KEPT,
                    notebook_replies.quoted_messages(db, reply),
                    question.content,
                    self.companion.settings.clock,
                )
            if reply.role == Role.ASSISTANT:
                return reply.content
        return StoredLedger(self.companion).last_reply(db, conversation_id)

    def last_with_results(self, db: Connection, conversation_id: int | None) -> Message | None:
        """Return the newest private reply that holds a tool's or the web's result, if any."""
        visible = self._visible()
        return next((m for m in reversed(visible) if m.outside == Outside.RESULT), None)

    def preview(self, db: Connection, conversation_id: int | None) -> Request:
        """Return the request that would be sent now, with a stand-in for the new message."""
        earlier = [m for m in self.messages if is_shown(m)]
        request = self.companion.builder.preview(db, conversation_id, earlier, self._files)
        return self._without_tools(request)

    def _prepared(self, db: Connection, message: Message) -> Turn:
        clock = self.companion.settings.clock
        turn = Turn(message, TurnContext(clock.local(clock.now())))
        return replace(turn, first=self.first_request(db, turn))

    def _message(self, conversation_id: int | None, new: NewMessage) -> Message:
        """Return a message that is about to be kept; its attachments are kept already."""
        message = unstored_message(new, self.companion.now, id=-1 - len(self.messages))
        self._files[message.id] = tuple(map(new_file, new.attachments))
        return message._replace(conversation_id=conversation_id or 0)

    def _visible(self) -> list[Message]:
        """Return the messages without the replies that others have replaced."""
        return [m for m in self.messages if not m.retried]

    def _change(self, ids: Collection[int], **columns: Any) -> None:
        self.messages = [m._replace(**columns) if m.id in ids else m for m in self.messages]

    def _without_tools(self, request: Request) -> Request:
        """Return a request without the memory's tools, which could write to it.

        Those from outside are left out too, unless the user allowed them in private talk.
        """
        tools = self.companion.tools
        if not tools.is_allowed_in_private:
            return replace(request, tools=(), searches_web=False)
        return replace(request, tools=tools.offered())

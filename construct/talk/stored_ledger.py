"""The ledger of stored talk: messages and replies are kept in the database."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from construct.errors import ConstructError
from construct.llm.types import Request
from construct.memory import policy
from construct.memory.shown import forks
from construct.memory.shown.context import request_tokens
from construct.memory.shown.files import new_attachment
from construct.memory.shown.transcript import last_asked, last_unanswered
from construct.memory.turn_context import (
    TurnContext,
    context_items,
    holds_outside_text,
    without_forgotten,
)
from construct.pasted import load_spans
from construct.store import observations
from construct.store.attachments import attachments_with_data
from construct.store.conversations import (
    NO_CACHE,
    enter_conversation,
    get_watermarks,
    note_request,
)
from construct.store.database import snapshot, transaction
from construct.store.driver import Connection
from construct.store.messages import (
    NewMessage,
    add_message,
    exclude_from_requests,
    include_again,
    is_message_available,
    mark_retried,
    newest_messages,
)
from construct.store.outside_text import any_from_outside
from construct.store.records import DROPPED, REFUSED, Message
from construct.store.replies import replies_to
from construct.store.reply_context import ReplyContext, forgotten_items, store_reply_context
from construct.store.shown import count_shown
from construct.store.usage import Call, learn_token_factor, record_usage
from construct.talk import notebook_replies
from construct.talk.companion import Companion
from construct.talk.turn import FirstRequest, ReplyInProgress, Turn
from construct.tokens import Usage
from construct.vocabulary import AgendaState, MemorySetting, Outside, Role

if TYPE_CHECKING:
    from construct.attachments import Attachment

_SEARCHED_FOR_QUESTION = 50
"""How many of the newest messages are searched for the user's last one."""
_SEARCHED_FOR_REPLY = 20
"""How many of the newest messages are searched for the last reply."""


@dataclass(frozen=True, slots=True)
class StoredLedger:
    """Keeps messages in the database.

    The user's message is stored before anything is sent. A conversation must exist before
    `begin` or `add` is called.
    """

    companion: Companion
    is_private = False

    def begin(self, db: Connection, conversation_id: int | None, new: NewMessage) -> Turn:
        """Store a message of the user's, and prepare its turn."""
        assert conversation_id is not None  # the caller creates a conversation first
        return self._begin(db, conversation_id, new)

    def begin_again(self, db: Connection, conversation_id: int | None) -> Turn | None:
        """Prepare another turn for the user's last message; None if there is none.

        In two cases the message is stored again, as a new one: if it is from before the
        fork, which then starts before that message; or if it was left out of requests and
        the observer has already passed it.
        """
        if conversation_id is None:
            return None
        newest = newest_messages(
            db, conversation_id, _SEARCHED_FOR_QUESTION, with_refused=True, with_notebook=True
        )
        asked = last_asked(newest)
        if not asked:
            with transaction(db):
                before_fork = forks.step_back(db, conversation_id)
            if before_fork is None:
                return None
            return self._begin_copy(db, conversation_id, before_fork)
        message, *replies = asked
        if message.left_out and message.id <= get_watermarks(db, conversation_id).observed:
            return self._begin_copy(db, conversation_id, message)
        context = self.companion.builder.turn_context(
            db, conversation_id, message.content, tuple(m.id for m in asked)
        )
        turn = Turn(message, context, replies=tuple(replies))
        with transaction(db):
            return replace(turn, first=self._first_request(db, turn))

    def first_request(self, db: Connection, turn: Turn) -> FirstRequest:
        """Return the first request of a turn that had to wait for room in the window."""
        conversation_id, builder = turn.message.conversation_id, self.companion.builder
        with transaction(db):
            builder.refresh(db, conversation_id, builder.situation(db, conversation_id))
            return self._first_request(db, turn)

    def request(self, db: Connection, turn: Turn) -> Request:
        """Return the request, without what was forgotten in the meantime.

        Raises ConstructError if the message itself was forgotten.
        """
        with snapshot(db):
            if not is_message_available(db, turn.message.id):
                raise ConstructError(
                    "Your message has been forgotten in the meantime, so it is not answered."
                )
            context = without_forgotten(db, turn.message.conversation_id, turn.context)
            return self.companion.builder.request(db, turn.message, context)

    def end(self, db: Connection, reply: ReplyInProgress) -> int | None:
        """Store a reply and its usage.

        Returns its id, or None if it is empty or the user's message was forgotten.
        """
        turn, now = reply.turn, self.companion.now
        with transaction(db):
            reply_id = self._add_reply(db, reply)
            if reply.leaves_out_turn:
                exclude_from_requests(db, turn.ids, REFUSED)
            if reply.is_complete:
                include_again(db, turn.message.id)
                observations.note_asked(db, _plans_asked_about(turn.context), now)
            self._record_usage(db, reply)
        return reply_id

    def add(self, db: Connection, conversation_id: int | None, new: NewMessage) -> Message:
        """Store a message of a talk with the notebook."""
        assert conversation_id is not None  # the caller creates a conversation first
        with transaction(db):
            enter_conversation(db, conversation_id)
            note_request(db, conversation_id, self.companion.now, NO_CACHE)
            return self._store(db, conversation_id, new)

    def drop(self, db: Connection, conversation_id: int | None) -> str | None:
        """Leave the user's last unanswered message out of later requests."""
        if conversation_id is None:
            return None
        with transaction(db):
            newest = newest_messages(
                db, conversation_id, _SEARCHED_FOR_QUESTION, with_notebook=True
            )
            dropped = last_unanswered(newest)
            exclude_from_requests(db, [m.id for m in dropped], DROPPED)
        return dropped[0].text if dropped else None

    def drop_last(self, db: Connection, conversation_id: int | None) -> "list[Attachment] | None":
        """Leave the user's last message and its replies out of later requests.

        A message from before the fork is left out of this fork, which then starts before it.
        """
        if conversation_id is None:
            return None
        with transaction(db):
            newest = newest_messages(
                db, conversation_id, _SEARCHED_FOR_QUESTION, with_refused=True, with_notebook=True
            )
            asked = last_asked(newest)
            exclude_from_requests(db, [m.id for m in asked], DROPPED)
            message = asked[0] if asked else forks.step_back(db, conversation_id)
            return None if message is None else _attachments(db, message)

    def last_reply(self, db: Connection, conversation_id: int | None) -> str | None:
        """Return the text of the newest reply, or None if there is none."""
        if conversation_id is None:
            return None
        newest = forks.last_said(db, conversation_id, _SEARCHED_FOR_REPLY)
        reply = next((m for m in reversed(newest) if m.role == Role.ASSISTANT), None)
        if reply is None:
            return None
        if reply.quotes is None:
            return reply.content
        return notebook_replies.stored_reply_text(db, reply, self.companion.settings.clock)

    def last_with_results(self, db: Connection, conversation_id: int | None) -> Message | None:
        """Return the newest reply that holds a tool's or the web's result, if there is one."""
        if conversation_id is None:
            return None
        newest = forks.last_said(db, conversation_id, _SEARCHED_FOR_QUESTION)
        return next((m for m in reversed(newest) if m.outside == Outside.RESULT), None)

    def preview(self, db: Connection, conversation_id: int | None) -> Request:
        """Return the request that would be sent now, with a stand-in for the new message."""
        return self.companion.builder.preview(db, conversation_id)

    def _begin(
        self,
        db: Connection,
        conversation_id: int,
        new: NewMessage,
        copied_from: tuple[Message, ...] = (),
    ) -> Turn:
        companion, builder = self.companion, self.companion.builder
        with transaction(db):
            situation = builder.situation(db, conversation_id)
            is_full = (
                companion.settings.learns
                and situation is not None
                and policy.must_wait(situation, companion.memory_config.thresholds)
            )
            if not is_full:
                builder.refresh(db, conversation_id, situation)
        # Recall takes a moment, so it runs outside the transaction: other processes can write.
        context = builder.turn_context(
            db, conversation_id, new.content, tuple(m.id for m in copied_from)
        )
        with transaction(db):
            enter_conversation(db, conversation_id)
            message = self._store(db, conversation_id, new)
            turn = Turn(message, context, copied_from=copied_from)
            return turn if is_full else replace(turn, first=self._first_request(db, turn))

    def _begin_copy(self, db: Connection, conversation_id: int, message: Message) -> Turn:
        """Store an earlier message of the user's again, with its attachments."""
        reads = self.companion.models.main.reads
        files = tuple(new_attachment(file, reads) for file in _attachments(db, message))
        pasted = load_spans(message.pasted)
        new = NewMessage(Role.USER, message.content, attachments=files, pasted=pasted)
        copied_from = (message, *replies_to(db, [message.id]))
        return self._begin(db, conversation_id, new, copied_from)

    def _store(self, db: Connection, conversation_id: int, new: NewMessage) -> Message:
        """Store a message that is written here and now."""
        offset = self.companion.settings.clock.utc_offset()
        return add_message(db, conversation_id, new, self.companion.now, offset)

    def _first_request(self, db: Connection, turn: Turn) -> FirstRequest:
        conversation_id = turn.message.conversation_id
        request = self.request(db, turn)
        note_request(db, conversation_id, self.companion.now, request.cache_life)
        blocks = lines = 0
        if self.companion.settings.memory != MemorySetting.OFF:
            blocks, lines = count_shown(db, conversation_id)
        items = context_items(turn.context)
        return FirstRequest(
            request,
            ReplyContext(blocks, lines, items),
            holds_outside_text(db, conversation_id, items),
        )

    def _add_reply(self, db: Connection, reply: ReplyInProgress) -> int | None:
        # The user's message, or an item a tool returned, may have been forgotten by now.
        if forgotten_items(db, reply.items):
            reply.rounds.clear()
        question = reply.turn.message
        new = reply.message(self.companion.models.main.name)
        if new is None or not is_message_available(db, question.id):
            return None
        if new.outside is None and any_from_outside(db, reply.items):
            new = replace(new, outside=Outside.BEFORE)
        reply_id = self._store(db, question.conversation_id, new).id
        mark_retried(db, reply.replies_to_hide(reply_id))
        store_reply_context(db, reply_id, reply.given)
        return reply_id

    def _record_usage(self, db: Connection, reply: ReplyInProgress) -> None:
        """Store what a turn cost, and compare the first request's size with its estimate."""
        model, usage = self.companion.models.main.name, reply.usage
        if usage == Usage():
            return
        call = Call("chat", model, usage, reply.cost_usd(model))
        record_usage(db, call, self.companion.now, reply.turn.message.conversation_id)
        if usage.web_searches:
            return  # the server's count holds the pages that it found
        estimated_tokens = sum(request_tokens(reply.first.request).values())
        actual_tokens = reply.first_request_usage.prompt_tokens
        learn_token_factor(db, model, estimated_tokens, actual_tokens)


def _attachments(db: Connection, message: Message) -> "list[Attachment]":
    if not message.attached:
        return []
    from construct.attachments import Attachment

    return [
        Attachment(file.name, file.media_type, data)
        for file, data in attachments_with_data(db, [message])[message.id]
    ]


def _plans_asked_about(context: TurnContext) -> list[int]:
    """Return the ids of the plans of unknown outcome that a context brings up."""
    return [item.id for item in context.due if item.state is AgendaState.OUTCOME_UNKNOWN]

"""Turns with a model on the record: build the request, run tools, store the reply.

The user's message is stored before anything is sent. Whatever arrives of the reply is
stored too, even if the turn fails or is cancelled.
"""

import asyncio
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from construct import notebook
from construct.companion import Companion
from construct.errors import ConstructError, ModelError
from construct.llm.catalog import cost_usd
from construct.llm.types import Reply, Request, ToolResult
from construct.log import logger
from construct.memory import policy
from construct.memory.shown import forks
from construct.memory.shown.context import request_tokens
from construct.memory.shown.tool_rounds import dump_rounds
from construct.memory.shown.transcript import last_unanswered
from construct.memory.tools import ToolBox, summary
from construct.memory.turn_context import TurnContext, context_items, without_forgotten
from construct.store import observations
from construct.store.attachments import attachments_with_data
from construct.store.conversations import enter_conversation, get_watermarks, note_request
from construct.store.database import snapshot, transaction
from construct.store.messages import (
    NewMessage,
    add_message,
    exclude_from_requests,
    include_again,
    is_message_available,
    mark_retried,
    newest_messages,
)
from construct.store.records import DROPPED, REFUSED, Message
from construct.store.replies import replies_to
from construct.store.reply_context import ReplyContext, forgotten_items, store_reply_context
from construct.store.shown import count_shown
from construct.store.usage import Call, learn_token_factor, record_usage
from construct.tasks import finished
from construct.tokens import Usage
from construct.turn import (
    Delta,
    Kept,
    Listener,
    Noticed,
    ReplyInProgress,
    Storing,
    ToolCalled,
    TurnResult,
    Waiting,
    reporting_retries,
)
from construct.vocabulary import AgendaState, MemorySetting, MessageStatus, Role

if TYPE_CHECKING:
    from construct.attachments import Attachment

log = logger("companion")

_SEARCHED_FOR_QUESTION = 50
"""How many of the newest messages `/retry` and `/drop` search for the user's last one."""
_SEARCHED_FOR_REPLY = 20
"""How many of the newest messages are searched for the last reply."""
_MAX_TOOL_ROUNDS = 6
"""How often the model may call tools in one turn. The last time it gets only errors."""
_NO_MORE_TOOLS = "No more tools in this turn: answer with what you have."


@dataclass(frozen=True, slots=True)
class PreparedTurn:
    """A stored user message and the request that asks for a reply to it."""

    request: Request
    message: Message
    turn_context: TurnContext
    estimated_tokens: int
    plans_asked_about: tuple[int, ...]
    """Ids of the plans of unknown outcome that the request brings up."""
    reply_context: ReplyContext
    """The memory items in the request."""
    replaces: tuple[Message, ...] = ()
    """Earlier replies to the same message."""
    copied_from: tuple[int, ...] = ()
    was_refused: bool = False
    """Both as in `OutgoingMessage`."""

    @property
    def has_complete_reply(self) -> bool:
        """Whether an earlier reply to the same message is complete."""
        return any(m.status == MessageStatus.COMPLETE for m in self.replaces)


@dataclass(frozen=True, slots=True)
class OutgoingMessage:
    """A user message that is to be sent as a new message."""

    text: str
    attachments: Sequence["Attachment"]
    copied_from: tuple[int, ...] = ()
    """Ids of an earlier message with the same words, and of the replies to it.

    Recall leaves them out, like the message itself.
    """
    was_refused: bool = False
    """Whether the model has refused that earlier message."""


@dataclass(frozen=True, slots=True)
class OnRecord:
    """Answers the user's messages with the model, and stores messages and replies."""

    companion: Companion

    async def turn(
        self,
        conversation_id: int | None,
        text: str,
        listen: Listener,
        attachments: Sequence["Attachment"] = (),
    ) -> TurnResult:
        """Store the user's message, ask the model, and store its reply.

        Cancelling stores what has arrived and passes the cancellation on.
        """
        assert conversation_id is not None  # the caller creates a conversation first
        return await self._send(conversation_id, OutgoingMessage(text, attachments), listen)

    async def retry(self, conversation_id: int | None, listen: Listener) -> TurnResult | None:
        """Ask for another reply to the user's last message; None if there is no message."""
        if conversation_id is None:
            return None
        begun = await self.companion.store.call(self._begin_retry, conversation_id)
        if begun is None:
            return None
        if isinstance(begun, OutgoingMessage):
            return await self._send(conversation_id, begun, listen)
        return await self._answer(begun, listen)

    async def _send(
        self, conversation_id: int, outgoing: OutgoingMessage, listen: Listener
    ) -> TurnResult:
        attachments, copied_from = outgoing.attachments, outgoing.copied_from
        new = await self._new_message(outgoing.text, attachments)
        if attachments and (notice := self.companion.unread_notice(attachments)):
            listen(Noticed(notice))
        call = self.companion.store.call
        beginning = call(self._begin, conversation_id, new, copied_from)
        message, turn_context, prepared = await finished(beginning, lambda: listen(Kept()))
        if prepared is None:  # the window is too full
            listen(Waiting())
            await self._make_room(conversation_id)
            prepared = await call(self._prepare_stored, message, turn_context)
        was_refused = outgoing.was_refused
        prepared = replace(prepared, copied_from=copied_from, was_refused=was_refused)
        result = await self._answer(prepared, listen)
        if attachments and (notice := self.companion.unread_notice(attachments)):
            listen(Noticed(notice))  # the server has said that it takes no pictures
        return result

    async def drop(self, conversation_id: int | None) -> str | None:
        """Exclude the user's last unanswered message from later requests.

        Returns its text, or None if there is no such message.
        """
        if conversation_id is None:
            return None
        return await self.companion.store.call(_drop, conversation_id)

    async def last_reply(self, conversation_id: int | None) -> str | None:
        """Return the text of the newest reply, or None if there is none."""
        if conversation_id is None:
            return None
        return await self.companion.store.call(self._last_reply, conversation_id)

    def _last_reply(self, db: sqlite3.Connection, conversation_id: int) -> str | None:
        newest = forks.last_said(db, conversation_id, _SEARCHED_FOR_REPLY)
        replies = [m for m in newest if m.role == Role.ASSISTANT]
        if not replies:
            return None
        return notebook.with_text(db, replies[-1:], self.companion.settings.clock)[0].content

    async def preview(self, conversation_id: int | None) -> Request:
        """Return the request that would be sent now, with a stand-in for the new message."""
        return await self.companion.preview(conversation_id)

    async def _new_message(self, text: str, attachments: Sequence["Attachment"]) -> NewMessage:
        files = await self.companion.sized(attachments) if attachments else ()
        return NewMessage(Role.USER, text, attachments=files)

    async def _make_room(self, conversation_id: int) -> None:
        """Wait for the observer, so that the window has room for another turn."""
        try:
            await self.companion.worker.observe_before_turn(conversation_id)
        except ConstructError as error:  # a failing memory must not prevent the reply
            log.warning("the turn goes on without the observer: %s", type(error).__name__)

    def _begin(
        self,
        db: sqlite3.Connection,
        conversation_id: int,
        new: NewMessage,
        copied_from: tuple[int, ...],
    ) -> tuple[Message, TurnContext, PreparedTurn | None]:
        """Store a message and prepare its turn. Not prepared if the window is too full."""
        with transaction(db):
            situation = self.companion.builder.situation(db, conversation_id)
            is_full = (
                self.companion.settings.learns
                and situation is not None
                and policy.must_wait(situation, self.companion.memory_config.thresholds)
            )
            if not is_full:
                self.companion.builder.refresh(db, conversation_id, situation)
        # Recall takes a moment, so it runs outside the transaction: other processes can write.
        turn_context = self.companion.builder.turn_context(
            db, conversation_id, new.content, copied_from
        )
        with transaction(db):
            message = self._store_message(db, conversation_id, new)
            prepared = None if is_full else self._prepare(db, message, turn_context)
        return message, turn_context, prepared

    def _prepare_stored(
        self, db: sqlite3.Connection, message: Message, turn_context: TurnContext
    ) -> PreparedTurn:
        with transaction(db):
            situation = self.companion.builder.situation(db, message.conversation_id)
            self.companion.builder.refresh(db, message.conversation_id, situation)
            return self._prepare(db, message, turn_context)

    def _store_message(
        self, db: sqlite3.Connection, conversation_id: int, new: NewMessage
    ) -> Message:
        enter_conversation(db, conversation_id)
        return add_message(db, conversation_id, new, self.companion.now)

    def _begin_retry(
        self, db: sqlite3.Connection, conversation_id: int
    ) -> PreparedTurn | OutgoingMessage | None:
        """Prepare another reply to the user's last message; None if there is none.

        A message is returned instead, to be sent again as a new one, in two cases: it is
        from before the fork, which then starts before that message; or it was left out of
        requests and the observer has already passed it.
        """
        newest = newest_messages(
            db, conversation_id, _SEARCHED_FOR_QUESTION, with_refused=True, with_notebook=True
        )
        message = next((m for m in reversed(newest) if m.role == Role.USER), None)
        if message is None:
            with transaction(db):
                before_fork = forks.step_back(db, conversation_id)
            return None if before_fork is None else _resent(db, before_fork)
        if message.left_out and message.id <= get_watermarks(db, conversation_id).observed:
            return replace(_resent(db, message), was_refused=True)
        replaced = tuple(m for m in newest if m.id > message.id)
        answering = (message.id, *(m.id for m in replaced))
        turn_context = self.companion.builder.turn_context(
            db, conversation_id, message.content, answering
        )
        with transaction(db):
            prepared = self._prepare(db, message, turn_context)
        return replace(prepared, replaces=replaced)

    def _prepare(
        self, db: sqlite3.Connection, message: Message, turn_context: TurnContext
    ) -> PreparedTurn:
        request, current = self._request(db, message, turn_context)
        note_request(db, message.conversation_id, self.companion.now, request.cache_life)
        blocks = lines = 0
        if self.companion.settings.memory != MemorySetting.OFF:
            blocks, lines = count_shown(db, message.conversation_id)
        return PreparedTurn(
            request=request,
            message=message,
            turn_context=current,
            estimated_tokens=sum(request_tokens(request).values()),
            plans_asked_about=tuple(
                item.id for item in current.due if item.state is AgendaState.OUTCOME_UNKNOWN
            ),
            reply_context=ReplyContext(blocks, lines, context_items(current)),
        )

    def _request(
        self, db: sqlite3.Connection, message: Message, turn_context: TurnContext
    ) -> tuple[Request, TurnContext]:
        """Return the request and its turn context, without items forgotten in the meantime.

        Raises ConstructError if the message itself was forgotten.
        """
        if not is_message_available(db, message.id):
            raise ConstructError(
                "Your message has been forgotten in the meantime, so it is not answered."
            )
        current = without_forgotten(db, message.conversation_id, turn_context)
        return self.companion.builder.request(db, message, current), current

    def _next_round(
        self, db: sqlite3.Connection, prepared: PreparedTurn, so_far: ReplyInProgress
    ) -> Request:
        """Return the next request, with the tools' results.

        It is built again from the database: something may have been forgotten in the meantime.
        """
        with snapshot(db):
            request, _ = self._request(db, prepared.message, prepared.turn_context)
            so_far.blank_results_with(forgotten_items(db, so_far.items))
        return replace(request, messages=request.messages + so_far.marked_rounds)

    async def _answer(self, prepared: PreparedTurn, listen: Listener) -> TurnResult:
        """Stream the reply, run the tools it calls, and store it however it ends."""
        so_far = ReplyInProgress()
        error: ModelError | None = None
        request, rounds_left = prepared.request, _MAX_TOOL_ROUNDS
        reply = Reply()
        try:
            while True:
                stream = self.companion.models.main.stream(reporting_retries(request, listen))
                reply = stream.reply
                gap = "\n\n" if so_far.texts else ""
                try:
                    async for piece in stream:
                        listen(Delta(gap + piece))
                        gap = ""
                finally:
                    so_far.add_usage(reply)
                    await asyncio.shield(stream.aclose())
                if not (rounds_left and reply.calls_tools):
                    so_far.finish(reply)
                    break
                request = await self._use_tools(prepared, so_far, reply, rounds_left, listen)
                rounds_left -= 1
        except ModelError as failure:
            so_far.finish(reply)
            error = failure
        except BaseException:  # cancelled, or `listen` failed: store what has arrived
            so_far.finish(reply)
            so_far.stop_reason = None
            await self.companion.store.call(self._end, prepared, so_far)
            raise
        listen(Storing())
        message_id = await self.companion.store.call(self._end, prepared, so_far)
        return TurnResult(
            prepared.message.conversation_id,
            "\n\n".join(so_far.texts),
            message_id,
            so_far.stop_reason,
            so_far.usage,
            error,
            left_out=_stays_left_out(prepared, so_far) or _is_left_out(prepared, so_far),
            keeps_reply=prepared.has_complete_reply,
        )

    async def _use_tools(
        self,
        prepared: PreparedTurn,
        so_far: ReplyInProgress,
        reply: Reply,
        rounds_left: int,
        listen: Listener,
    ) -> Request:
        replaced = (m.id for m in prepared.replaces)
        answering = (prepared.message.id, *replaced, *prepared.copied_from)
        tools = ToolBox(
            self.companion.store,
            self.companion.memory_config,
            prepared.message.conversation_id,
            self.companion.settings.learns,
            self.companion.forget,
            answering,
        )
        results = []
        for call in reply.tool_calls:
            listen(ToolCalled(call.name, summary(call)))
            if rounds_left == 1:
                results.append(ToolResult(call.id, _NO_MORE_TOOLS, is_error=True))
            else:
                keep_items = so_far.items_by_call[call.id].extend
                results.append(await replace(tools, keep_items=keep_items).use(call))
        so_far.add_round(reply, results)
        return await self.companion.store.call(self._next_round, prepared, so_far)

    def _end(
        self, db: sqlite3.Connection, prepared: PreparedTurn, so_far: ReplyInProgress
    ) -> int | None:
        """Store the reply and its usage.

        Returns the reply's id, or None if it is empty or the user's message has been forgotten.
        """
        with transaction(db):
            reply_id = self._store_reply(db, prepared, so_far)
            if _is_left_out(prepared, so_far):
                partial_replies = [m.id for m in prepared.replaces]
                exclude_from_requests(db, [prepared.message.id, *partial_replies], REFUSED)
            if so_far.is_complete:
                include_again(db, prepared.message.id)
                observations.note_asked(db, prepared.plans_asked_about, self.companion.now)
            elif _stays_left_out(prepared, so_far):
                replies = [] if reply_id is None else [reply_id]
                exclude_from_requests(db, [prepared.message.id, *replies], REFUSED)
            self._record_usage(db, prepared, so_far)
        return reply_id

    def _store_reply(
        self, db: sqlite3.Connection, prepared: PreparedTurn, so_far: ReplyInProgress
    ) -> int | None:
        # The user's message, or an item a tool returned, may have been forgotten by now.
        blocks = None
        if so_far.rounds and not forgotten_items(db, so_far.items):
            blocks = dump_rounds(so_far.rounds)
        is_empty = not (so_far.texts or blocks)
        if is_empty or not is_message_available(db, prepared.message.id):
            return None
        is_complete = so_far.is_complete
        reply = NewMessage(
            Role.ASSISTANT,
            "\n\n".join(so_far.texts),
            blocks,
            status=MessageStatus.COMPLETE if is_complete else MessageStatus.INTERRUPTED,
            stop_reason=so_far.stop_reason,
            model=self.companion.models.main.name,
        )
        conversation_id = prepared.message.conversation_id
        reply_id = add_message(db, conversation_id, reply, self.companion.now).id
        mark_retried(db, _replies_to_hide(reply_id, prepared.replaces, is_complete=is_complete))
        context = prepared.reply_context
        items = (*context.items, *so_far.items)
        store_reply_context(db, reply_id, replace(context, items=items))
        return reply_id

    def _record_usage(
        self, db: sqlite3.Connection, prepared: PreparedTurn, so_far: ReplyInProgress
    ) -> None:
        """Store what the turn cost, and compare the first request's size with its estimate."""
        model, usage = self.companion.models.main.name, so_far.usage
        if usage == Usage():
            return
        # Requests are priced one by one: a long prompt costs more per token.
        life = prepared.request.cache_life
        costs = [cost_usd(model, used, life) for used in so_far.usages]
        known_costs = [cost for cost in costs if cost is not None]
        cost = sum(known_costs) if len(known_costs) == len(costs) else None
        conversation_id = prepared.message.conversation_id
        record_usage(db, Call("chat", model, usage, cost), self.companion.now, conversation_id)
        actual_tokens = so_far.first_request_usage.prompt_tokens
        learn_token_factor(db, model, prepared.estimated_tokens, actual_tokens)


def _resent(db: sqlite3.Connection, message: Message) -> OutgoingMessage:
    """Return a stored message with its attachments, to be sent again."""
    copied_from = (message.id, *(reply.id for reply in replies_to(db, [message.id])))
    if not message.attached:
        return OutgoingMessage(message.content, (), copied_from)
    from construct.attachments import Attachment

    files = attachments_with_data(db, [message])[message.id]
    attachments = tuple(Attachment(file.name, file.media_type, data) for file, data in files)
    return OutgoingMessage(message.content, attachments, copied_from)


def _drop(db: sqlite3.Connection, conversation_id: int) -> str | None:
    with transaction(db):
        newest = newest_messages(db, conversation_id, _SEARCHED_FOR_QUESTION, with_notebook=True)
        turn = last_unanswered(newest)
        exclude_from_requests(db, [m.id for m in turn], DROPPED)
    return turn[0].text if turn else None


def _is_left_out(prepared: PreparedTurn, so_far: ReplyInProgress) -> bool:
    """Return whether the model refused the message and no earlier reply answers it."""
    return so_far.stop_reason == REFUSED and not prepared.has_complete_reply


def _stays_left_out(prepared: PreparedTurn, so_far: ReplyInProgress) -> bool:
    """Return whether the model had refused the message before, and has not answered it now."""
    was_refused = prepared.was_refused or prepared.message.left_out is not None
    return was_refused and not so_far.is_complete


def _replies_to_hide(new_id: int, earlier: Sequence[Message], *, is_complete: bool) -> list[int]:
    """Return the ids of the replies that no longer count once there is a new one.

    The new one replaces the earlier ones, unless it broke off and one of them is complete.
    """
    if not is_complete and any(m.status == MessageStatus.COMPLETE for m in earlier):
        return [new_id]
    return [m.id for m in earlier]

"""Run one turn: request, model, tools, ledger.

Whatever arrives of a reply is kept, even if the turn fails or is cancelled.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from construct.errors import ConstructError, ModelError, UsageError
from construct.llm.types import (
    Reply,
    ReplyStream,
    Request,
    ToolResult,
    found_on_the_web,
    web_query,
)
from construct.log import logger
from construct.memory.shown.files import new_attachment
from construct.memory.tools import MEMORY_TOOLS, ToolBox, summary
from construct.pasted import Span
from construct.program import as_typed
from construct.store.driver import Connection
from construct.store.messages import NewMessage
from construct.store.outside_text import any_from_outside
from construct.store.records import Message
from construct.store.reply_context import forgotten_items
from construct.talk import notebook_replies
from construct.talk.companion import Companion
from construct.talk.events import (
    Delta,
    Kept,
    Listener,
    Noticed,
    Storing,
    Thinking,
    ToolAnswered,
    ToolCalled,
    TurnResult,
    Waiting,
    reporting_retries,
)
from construct.talk.ledger import Ledger
from construct.talk.thinking import Speech
from construct.talk.turn import FirstRequest, ReplyInProgress, Turn
from construct.tasks import finished
from construct.text import shorten
from construct.tokens import Usage
from construct.tools.call_types import Surroundings
from construct.tools.outside_tools import call_summary
from construct.vocabulary import MemorySetting, Role

if TYPE_CHECKING:
    from construct.attachments import Attachment

log = logger("companion")

_MAX_TOOL_ROUNDS = 6
"""How often the model may call tools in one turn. The last time it gets only errors."""
_LINE_WIDTH = 100
_NO_MORE_TOOLS = "No more tools in this turn: answer with what you have."


@dataclass(frozen=True, slots=True)
class Responder:
    """Answers the user's messages, with the model or by the notebook's fixed rules.

    In stored talk a conversation must exist before `turn` is called. In private talk
    `conversation_id` may be None.
    """

    ledger: Ledger

    @property
    def _companion(self) -> Companion:
        return self.ledger.companion

    async def turn(
        self,
        conversation_id: int | None,
        text: str,
        listen: Listener,
        attachments: Sequence["Attachment"] = (),
        pasted: Sequence[Span] = (),
    ) -> TurnResult:
        """Keep the user's message, ask the model, and keep its reply.

        `pasted`: the parts of the message that are somebody else's words. Cancelling keeps
        what has arrived and passes the cancellation on.
        """
        new = replace(await self._new_message(text, attachments), pasted=tuple(pasted))
        call = self._companion.store.call
        if self._companion.models.is_notebook:
            adding = call(self.ledger.add, conversation_id, new)
            message = await finished(adding, lambda: listen(Kept()))
            result = await call(self._quote, conversation_id, message)
            listen(Delta(result.text))
            return result
        beginning = call(self.ledger.begin, conversation_id, new)
        turn = await finished(beginning, lambda: listen(Kept()))
        return await self._answer(turn, listen)

    async def retry(self, conversation_id: int | None, listen: Listener) -> TurnResult | None:
        """Ask for another reply to the user's last message; None if there is no message.

        Raises UsageError for the notebook, whose reply would be the same.
        """
        if self._companion.models.is_notebook:
            raise UsageError(
                "The notebook replies by fixed rules: trying again gives the same reply.\n"
                f"Run {as_typed('setup')} to choose a model."
            )
        turn = await self._companion.store.call(self.ledger.begin_again, conversation_id)
        return None if turn is None else await self._answer(turn, listen)

    async def rephrase(
        self,
        conversation_id: int | None,
        text: str,
        listen: Listener,
        attachments: Sequence["Attachment"] = (),
        pasted: Sequence[Span] = (),
    ) -> TurnResult | None:
        """Drop the user's last message and send it in other words, with its attachments.

        None if there is no message. `pasted` as in `turn`.
        """
        dropped = await self._companion.store.call(self.ledger.drop_last, conversation_id)
        if dropped is None:
            return None
        return await self.turn(conversation_id, text, listen, [*dropped, *attachments], pasted)

    async def _new_message(self, text: str, attachments: Sequence["Attachment"]) -> NewMessage:
        if not attachments:
            return NewMessage(Role.USER, text)
        reads = self._companion.models.main.reads
        files = await asyncio.to_thread(
            lambda: tuple(new_attachment(file, reads) for file in attachments)
        )
        return NewMessage(Role.USER, text, attachments=files)

    async def _answer(self, turn: Turn, listen: Listener) -> TurnResult:
        """Stream the reply, run the tools it calls, and keep it however it ends."""
        if notice := self._companion.unread_notice(turn.message):
            listen(Noticed(notice))
        reply = ReplyInProgress(turn, turn.first or await self._first_request(turn, listen))
        call = self._companion.store.call
        error: ModelError | None = None
        try:
            await self._stream(reply, listen)
        except ModelError as failure:
            error = failure
        except BaseException:  # cancelled, or `listen` failed: keep what has arrived
            reply.stop_reason = None
            await call(self.ledger.end, reply)
            raise
        if notice := self._companion.unread_notice(turn.message):
            listen(Noticed(notice))  # the server has said that it takes no pictures
        if not self.ledger.is_private:
            listen(Storing())
        message_id = await call(self.ledger.end, reply)
        # During the turn the server may have said that it takes no pictures.
        if notice := self._companion.unread_notice(turn.message):
            listen(Noticed(notice))
        return TurnResult(
            turn.message.conversation_id,
            reply.text,
            message_id,
            reply.stop_reason,
            reply.usage,
            error,
            left_out=reply.leaves_out_turn,
            keeps_reply=turn.has_complete_reply,
        )

    async def _first_request(self, turn: Turn, listen: Listener) -> FirstRequest:
        """Wait for the observer to make room in the window, then return the request."""
        listen(Waiting())
        try:
            await self._companion.worker.observe_before_turn(turn.message.conversation_id)
        except ConstructError as error:  # a failing memory must not prevent the reply
            log.warning("the turn goes on without the observer: %s", type(error).__name__)
        return await self._companion.store.call(self.ledger.first_request, turn)

    async def _stream(self, reply: ReplyInProgress, listen: Listener) -> None:
        """Send requests until one is answered without a call of a tool."""
        request = reply.first.request
        rounds_left = _MAX_TOOL_ROUNDS if request.tools or request.searches_web else 0
        while True:
            stream = self._companion.models.main.stream(reporting_retries(request, listen))
            try:
                await _pass_on(stream, reply, listen)
                if rounds_left and stream.reply.is_paused:
                    reply.add_pause(stream.reply)
                    request = await self._companion.store.call(self._next_request, reply)
                elif rounds_left and stream.reply.calls_tools:
                    request = await self._use_tools(reply, stream.reply, rounds_left, listen)
                else:
                    return
            finally:
                reply.finish(stream.reply)
            rounds_left -= 1

    async def _use_tools(
        self, reply: ReplyInProgress, part: Reply, rounds_left: int, listen: Listener
    ) -> Request:
        """Run the tools that the newest part of the reply calls, and return the next request."""
        companion, turn = self._companion, reply.turn
        # As it was when the model decided on these calls: before their results, after a search.
        reply.holds_outside_result |= part.holds_web_results
        around = await self._surroundings(reply)
        tools = ToolBox(
            companion.store,
            companion.memory_config,
            turn.message.conversation_id,
            companion.settings.learns,
            companion.forget,
            companion.accept,
            reply.holds_outside_text,
            lambda: reply.given.items,
            turn.answering,
            on_kept=lambda text: listen(Noticed(text)),
        )
        results, has_outside_result = [], False
        for call in part.tool_calls:
            is_own = call.name in MEMORY_TOOLS and not self.ledger.is_private
            if call.name != "remember":  # what is kept is shown once it is
                listen(ToolCalled(call.name, summary(call) if is_own else call_summary(call)))
            if rounds_left == 1:
                results.append(ToolResult(call.id, _NO_MORE_TOOLS, is_error=True))
            elif is_own:
                keep_items = reply.items_by_call[call.id].extend
                results.append(await replace(tools, keep_items=keep_items).use(call))
            else:
                used = await companion.tools.use(call, around)
                listen(ToolAnswered(call.name, used.line, is_failure=not used.is_from_outside))
                results.append(used.result)
                has_outside_result |= used.is_from_outside
        reply.add_round(part, results)
        reply.holds_outside_result |= has_outside_result
        return await companion.store.call(self._next_request, reply)

    async def _surroundings(self, reply: ReplyInProgress) -> Surroundings:
        """Return what decides about calls of tools from outside, besides the tools."""
        companion, holds_outside_text = self._companion, reply.holds_outside_text
        if not holds_outside_text:
            holds_outside_text = await companion.store.call(any_from_outside, reply.items)
        return Surroundings(
            holds_outside_text,
            is_private=self.ledger.is_private,
            is_allowed_in_private=companion.tools.is_allowed_in_private,
            ask=companion.ask_about_tool,
        )

    def _next_request(self, db: Connection, reply: ReplyInProgress) -> Request:
        """Return the next request, with the tools' results.

        It is built again: something may have been forgotten in the meantime.
        """
        request = self.ledger.request(db, reply.turn)
        reply.blank_results_with(forgotten_items(db, reply.items))
        return replace(request, messages=request.messages + reply.marked_rounds)

    def _quote(self, db: Connection, conversation_id: int | None, message: Message) -> TurnResult:
        """Answer a message by the notebook's rules, and keep the reply."""
        companion, is_private = self._companion, self.ledger.is_private
        quotes: list[Message] = []
        if companion.settings.memory != MemorySetting.OFF:
            quotes = notebook_replies.relevant_messages(
                db, message.content, companion.memory_config, conversation_id, message.id
            )
        blocks = notebook_replies.dump_quotes(quotes)
        new = NewMessage(Role.ASSISTANT, "", blocks, model=companion.models.main.name)
        reply = self.ledger.add(db, conversation_id, new)
        opening = notebook_replies.NOT_KEPT if is_private else notebook_replies.NOTED
        text = notebook_replies.reply_text(
            db, opening, quotes, message.content, companion.settings.clock
        )
        stored_id = None if is_private else reply.id
        return TurnResult(message.conversation_id, text, stored_id, "end_turn", Usage())


async def _pass_on(stream: ReplyStream, reply: ReplyInProgress, listen: Listener) -> None:
    """Report the text of one request's answer as it arrives, and add its usage."""
    gap, speech = "\n\n" if reply.texts else "", Speech()
    searches = _Searches(stream.reply)
    try:
        async for piece in stream:
            searches.report(listen)
            if words := speech.feed(piece):
                listen(Delta(gap + words))
                gap = ""
            elif speech.is_thinking:
                listen(Thinking())
        searches.report(listen)
        if rest := speech.finish():
            listen(Delta(gap + rest))
    finally:
        reply.add_usage(stream.reply)
        await asyncio.shield(stream.aclose())


class _Searches:
    """Reports the server's own searches of the web, once each."""

    def __init__(self, reply: Reply) -> None:
        self._reply = reply
        self._done = 0

    def report(self, listen: Listener) -> None:
        """Report the searches that have arrived since the last call."""
        blocks = self._reply.blocks
        for block in blocks[self._done :]:
            if query := web_query(block):
                listen(ToolCalled("web_search", shorten(f"web_search: {query}", _LINE_WIDTH)))
            elif pages := found_on_the_web(block):
                titles = ", ".join(str(page.get("title", "")) for page in pages)
                listen(ToolAnswered("web_search", shorten(f"found: {titles}", _LINE_WIDTH)))
        self._done = len(blocks)

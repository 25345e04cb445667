"""Talk with a model, on the record: context, model, tools, store.

The user's words are stored before anything is sent; what arrives of a reply is stored
however the stream ends.
"""

import asyncio
import logging
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from construct import notebook
from construct.companion import Companion
from construct.errors import ConstructError, ModelError
from construct.llm.catalog import cost_usd
from construct.llm.types import Reply, Request, ToolResult
from construct.memory import policy
from construct.memory.shown import forks
from construct.memory.shown.context import dump_rounds, request_tokens
from construct.memory.shown.transcript import turns
from construct.memory.tools import ToolBox, summary
from construct.memory.turn_context import TurnContext, context_items, without_forgotten
from construct.store import observations as rows
from construct.store.attachments import with_data
from construct.store.conversations import enter_conversation, get_watermarks, note_request
from construct.store.database import snapshot, transaction
from construct.store.messages import (
    NewMessage,
    add_message,
    leave_out,
    mark_retried,
    message_stands,
    newest_messages,
    take_back_in,
)
from construct.store.records import DROPPED, REFUSED, Message
from construct.store.reply_context import ReplyContext, forgotten_items, store_reply_context
from construct.store.shown import count_shown
from construct.store.usage import Call, book_usage, learn_token_factor
from construct.tokens import Usage
from construct.turn import (
    COMPLETE,
    Delta,
    Listener,
    Noticed,
    Replying,
    Storing,
    ToolCalled,
    TurnResult,
    Waiting,
    reporting_retries,
)
from construct.vocabulary import MessageStatus, Role

if TYPE_CHECKING:
    from construct.attachments import Attachment

log = logging.getLogger("construct.companion")

_SEARCHED_FOR_DROP = 50
"""Messages in which `/drop` looks for one without a whole reply."""
_SEARCHED_FOR_REPLY = 20
_MOST_TOOL_ROUNDS = 6
_ENOUGH_TOOLS = "No more tools in this turn: answer with what you have."


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request about to be sent."""

    request: Request
    words: Message
    turn_context: TurnContext
    estimated: int
    plans: tuple[int, ...]
    """Plans of unknown outcome that it brings up."""
    context: ReplyContext
    """What of memory it holds."""
    replaces: tuple[Message, ...] = ()
    """Earlier replies to the same words."""

    @property
    def has_answer(self) -> bool:
        """Whether an earlier reply to the same words is whole."""
        return any(m.status == MessageStatus.COMPLETE for m in self.replaces)


@dataclass(frozen=True, slots=True)
class Anew:
    """Words to be said once more, as a message of their own."""

    words: str
    attachments: tuple["Attachment", ...]


@dataclass(frozen=True, slots=True)
class OnRecord:
    """Talk with a model that is stored, observed and recalled."""

    companion: Companion

    async def turn(
        self,
        conversation_id: int | None,
        text: str,
        listen: Listener,
        attachments: Sequence["Attachment"] = (),
    ) -> TurnResult:
        """Store the user's words and files, ask the model, store its reply.

        Cancelling keeps what has arrived and passes the cancellation on.
        """
        assert conversation_id is not None  # what is stored has its place
        said = await self._said(text, attachments)
        if attachments and (notice := self.companion.unread_notice(attachments)):
            listen(Noticed(notice))
        prepared = await self.companion.store.call(self._begin, conversation_id, said)
        if prepared is None:
            prepared = await self._begin_when_read(conversation_id, said, listen)
        return await self._answer(prepared, listen)

    async def retry(self, conversation_id: int | None, listen: Listener) -> TurnResult | None:
        """Ask for another reply to the user's last words; None when there are none."""
        if conversation_id is None:
            return None
        again = await self.companion.store.call(self._begin_again, conversation_id)
        if isinstance(again, Anew):
            return await self.turn(conversation_id, again.words, listen, again.attachments)
        return None if again is None else await self._answer(again, listen)

    async def drop(self, conversation_id: int | None) -> str | None:
        """Leave the last message that got no whole reply out of requests.

        Return its text, None when there is none.
        """
        if conversation_id is None:
            return None
        return await self.companion.store.call(_drop, conversation_id)

    async def last_reply(self, conversation_id: int | None) -> str | None:
        """Return the text of the newest reply, None when there is none."""
        if conversation_id is None:
            return None
        return await self.companion.store.call(self._last_reply, conversation_id)

    def _last_reply(self, db: sqlite3.Connection, conversation_id: int) -> str | None:
        said = forks.last_said(db, conversation_id, _SEARCHED_FOR_REPLY)
        replies = [m for m in said if m.role == Role.ASSISTANT]
        words = notebook.with_words(db, replies[-1:], self.companion.settings.clock)
        return words[0].content if words else None

    async def preview(self, conversation_id: int | None) -> Request:
        """Return what would be sent now, without a new message."""
        return await self.companion.preview(conversation_id)

    async def _said(self, text: str, attachments: Sequence["Attachment"]) -> NewMessage:
        files = await self.companion.sized(attachments) if attachments else ()
        return NewMessage(Role.USER, text, attachments=files)

    async def _begin_when_read(
        self, conversation_id: int, said: NewMessage, listen: Listener
    ) -> Prepared:
        """Store the words of a turn whose window is too full, then wait for the observer."""
        words, gathered = await self.companion.store.call(self._keep, conversation_id, said)
        listen(Waiting())
        try:
            await self.companion.worker.observe_before_turn(conversation_id)
        except ConstructError as error:  # a reply is never lost to memory trouble
            log.warning("the turn goes on without the observer: %s", type(error).__name__)
        return await self.companion.store.call(self._prepare_kept, words, gathered)

    def _begin(
        self, db: sqlite3.Connection, conversation_id: int, said: NewMessage
    ) -> Prepared | None:
        """Begin a turn; None, with nothing done, when its window is too full."""
        with transaction(db):
            situation = self.companion.builder.situation(db, conversation_id)
            if (
                self.companion.learns
                and situation
                and policy.blocks(situation, self.companion.memory_config.thresholds)
            ):
                return None
            self.companion.builder.refresh(db, conversation_id, situation)
        # Recall takes a moment: no other process should wait for it to write.
        gathered = self.companion.builder.turn_context(db, conversation_id, said.content)
        with transaction(db):
            return self._prepare(db, self._store_words(db, conversation_id, said), gathered)

    def _keep(
        self, db: sqlite3.Connection, conversation_id: int, said: NewMessage
    ) -> tuple[Message, TurnContext]:
        gathered = self.companion.builder.turn_context(db, conversation_id, said.content)
        with transaction(db):
            return self._store_words(db, conversation_id, said), gathered

    def _prepare_kept(
        self, db: sqlite3.Connection, words: Message, gathered: TurnContext
    ) -> Prepared:
        with transaction(db):
            situation = self.companion.builder.situation(db, words.conversation_id)
            self.companion.builder.refresh(db, words.conversation_id, situation)
            return self._prepare(db, words, gathered)

    def _store_words(
        self, db: sqlite3.Connection, conversation_id: int, said: NewMessage
    ) -> Message:
        enter_conversation(db, conversation_id)
        return add_message(db, conversation_id, said, self.companion.now)

    def _begin_again(self, db: sqlite3.Connection, conversation_id: int) -> Prepared | Anew | None:
        """Return the request for the user's last words.

        Those from before a fork are returned, to be said in it.
        """
        last = newest_messages(db, conversation_id, 50, with_refused=True)
        words = next((m for m in reversed(last) if m.role == Role.USER), None)
        if words is None:
            with transaction(db):
                before = forks.step_back(db, conversation_id)
            return None if before is None else _anew(db, before)
        if words.left_out and words.id <= get_watermarks(db, conversation_id).observed:
            return _anew(db, words)  # the observer has passed it: said anew it is read
        replaced = tuple(m for m in last if m.id > words.id)
        answering = (words.id, *(m.id for m in replaced))
        gathered = self.companion.builder.turn_context(
            db, conversation_id, words.content, answering
        )
        with transaction(db):
            prepared = self._prepare(db, words, gathered)
        return replace(prepared, replaces=replaced)

    def _prepare(self, db: sqlite3.Connection, words: Message, gathered: TurnContext) -> Prepared:
        request, current = self._request(db, words, gathered)
        note_request(db, words.conversation_id, self.companion.now, request.cache_life)
        today = self.companion.settings.clock.today()
        plans = tuple(plan.observation_id for plan in current.due if plan.day < today)
        blocks, lines = (
            (0, 0)
            if self.companion.settings.memory == "off"
            else count_shown(db, words.conversation_id)
        )
        context = ReplyContext(blocks, lines, context_items(current))
        return Prepared(
            request, words, current, sum(request_tokens(request).values()), plans, context
        )

    def _request(
        self, db: sqlite3.Connection, words: Message, gathered: TurnContext
    ) -> tuple[Request, TurnContext]:
        """Return the request and its turn context, without what was forgotten meanwhile."""
        if not message_stands(db, words.id):
            raise ConstructError("What you said has been forgotten meanwhile: it is not answered.")
        current = without_forgotten(db, words.conversation_id, gathered)
        return self.companion.builder.request(db, words, current), current

    def _next_round(self, db: sqlite3.Connection, prepared: Prepared, so_far: Replying) -> Request:
        """Return the request that follows the tools' results.

        It is read anew, since something may have been forgotten.
        """
        with snapshot(db):
            request, _ = self._request(db, prepared.words, prepared.turn_context)
            so_far.forget(forgotten_items(db, so_far.items))
        return replace(request, messages=request.messages + so_far.marked_rounds)

    async def _answer(self, prepared: Prepared, listen: Listener) -> TurnResult:
        """Stream the reply, run the tools it calls, and store what came, however it ends."""
        so_far = Replying()
        error: ModelError | None = None
        request, rounds_left = prepared.request, _MOST_TOOL_ROUNDS
        try:
            while True:
                stream = self.companion.models.main.stream(reporting_retries(request, listen))
                gap = "\n\n" if so_far.texts else ""
                try:
                    async for piece in stream:
                        listen(Delta(gap + piece))
                        gap = ""
                except BaseException:  # cancelled too: what came is kept; it is raised again
                    so_far.finish(stream.reply)
                    raise
                finally:
                    so_far.book(stream.reply.usage)
                    await asyncio.shield(stream.aclose())
                if not (rounds_left and stream.reply.calls_tools):
                    so_far.finish(stream.reply)
                    break
                request = await self._use_tools(prepared, so_far, stream.reply, rounds_left, listen)
                rounds_left -= 1
        except ModelError as failure:
            error = failure
        except BaseException:  # cancelled, or nobody hears it any more: what came is kept
            so_far.stop_reason = None
            await self.companion.store.call(self._end, prepared, so_far)
            raise
        listen(Storing())
        message_id = await self.companion.store.call(self._end, prepared, so_far)
        return TurnResult(
            prepared.words.conversation_id,
            "\n\n".join(so_far.texts),
            message_id,
            so_far.stop_reason,
            so_far.usage,
            error,
            left_out=_is_left_out(prepared, so_far),
        )

    async def _use_tools(
        self,
        prepared: Prepared,
        so_far: Replying,
        reply: Reply,
        rounds_left: int,
        listen: Listener,
    ) -> Request:
        answering = (prepared.words.id, *(m.id for m in prepared.replaces))
        tools = ToolBox(
            self.companion.store,
            self.companion.memory_config,
            prepared.words.conversation_id,
            self.companion.learns,
            self.companion.forget,
            answering,
        )
        results = []
        for call in reply.tool_calls:
            listen(ToolCalled(call.name, summary(call)))
            if rounds_left == 1:
                results.append(ToolResult(call.id, _ENOUGH_TOOLS, is_error=True))
            else:
                brought = so_far.items_by_call[call.id].extend
                results.append(await replace(tools, brought=brought).use(call))
        so_far.add_round(reply, results)
        return await self.companion.store.call(self._next_round, prepared, so_far)

    def _end(self, db: sqlite3.Connection, prepared: Prepared, so_far: Replying) -> int | None:
        """Store what came, and book what it cost.

        Return the reply's id, None when nothing came.
        """
        conversation_id = prepared.words.conversation_id
        name, usage = self.companion.models.main.name, so_far.usage
        done = so_far.stop_reason in COMPLETE
        now = self.companion.now
        message_id = None
        with transaction(db):
            # What it answers may have been forgotten meanwhile.
            is_there = message_stands(db, prepared.words.id)
            holds_forgotten = forgotten_items(db, so_far.items)
            blocks = dump_rounds(so_far.rounds) if so_far.rounds and not holds_forgotten else None
            if is_there and (so_far.texts or blocks):
                reply = NewMessage(
                    Role.ASSISTANT,
                    "\n\n".join(so_far.texts),
                    blocks,
                    status=MessageStatus.COMPLETE if done else MessageStatus.INTERRUPTED,
                    stop_reason=so_far.stop_reason,
                    model=name,
                )
                message_id = add_message(db, conversation_id, reply, now).id
                mark_retried(db, _outdone(message_id, prepared.replaces, done=done))
                context = prepared.context
                items = (*context.items, *so_far.items)
                store_reply_context(db, message_id, replace(context, items=items))
            if _is_left_out(prepared, so_far):
                leave_out(db, [prepared.words.id], REFUSED)
            if done:
                take_back_in(db, prepared.words.id)
                rows.note_asked(db, prepared.plans, now)
            if usage != Usage():
                cost = cost_usd(name, usage, prepared.request.cache_life)
                book_usage(db, Call("chat", name, usage, cost), now, conversation_id)
                learn_token_factor(db, name, prepared.estimated, so_far.first.prompt_tokens)
        return message_id


def _anew(db: sqlite3.Connection, words: Message) -> Anew:
    if not words.attached:
        return Anew(words.content, ())
    from construct.attachments import Attachment

    files = with_data(db, [words])[words.id]
    return Anew(
        words.content, tuple(Attachment(one.name, one.media_type, data) for one, data in files)
    )


def last_unanswered(messages: Sequence[Message]) -> list[Message]:
    """Return the user's last message that got no whole reply, with what came of one.

    Nothing when all got theirs.
    """
    for turn in reversed(turns(messages)):
        words, *replies = turn
        if words.role == Role.USER and not any(m.status == MessageStatus.COMPLETE for m in replies):
            return turn
    return []


def _drop(db: sqlite3.Connection, conversation_id: int) -> str | None:
    with transaction(db):
        turn = last_unanswered(newest_messages(db, conversation_id, _SEARCHED_FOR_DROP))
        leave_out(db, [m.id for m in turn], DROPPED)
    return turn[0].text if turn else None


def _is_left_out(prepared: Prepared, so_far: Replying) -> bool:
    """Return whether the words were refused, and no earlier reply answers them."""
    return so_far.stop_reason == REFUSED and not prepared.has_answer


def _outdone(message_id: int, before: Sequence[Message], *, done: bool) -> list[int]:
    """Return the replies to take out of sight: a broken new one after a whole one.

    Else those before.
    """
    if not done and any(m.status == MessageStatus.COMPLETE for m in before):
        return [message_id]
    return [m.id for m in before]

"""Build the request of one turn from the database.

`RequestBuilder` compacts the conversation if that is due, reads what the model is shown,
and assembles the request. The caller opens a transaction for this. Turns that are stored
call `turn_context` outside it: recall takes a moment, and other processes should be able
to write.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from construct import prompts, tokens
from construct.clock import from_text, to_text
from construct.config import Settings
from construct.errors import ConstructError
from construct.llm.types import CacheLife, File, Model, Request, Text, Tool
from construct.memory import policy
from construct.memory.config import MemoryConfig
from construct.memory.cycles.commit import compact
from construct.memory.cycles.situation import read_window
from construct.memory.shown import context
from construct.memory.shown.files import sent_as, stored_file
from construct.memory.shown.forks import inherited_window, last_messages, uncommitted_below
from construct.memory.shown.view import Blocks, current_blocks, opening_blocks, take_in
from construct.memory.tools import tools_for
from construct.memory.turn_context import TurnContext, gather, render
from construct.store.attachments import attachments_with_data
from construct.store.conversations import get_conversation, get_watermarks
from construct.store.database import rehearsal, snapshot
from construct.store.driver import Connection
from construct.store.messages import (
    LAST,
    NewMessage,
    is_shown,
    live_messages,
    message_tokens,
    recent_times,
)
from construct.store.records import Message
from construct.store.usage import token_factor
from construct.user_rules import read_rules
from construct.vocabulary import MemorySetting, Role

_STAND_IN = "(your next message)"
"""The user's message in a request that is only shown, as by `/context`."""
UnstoredFiles = Mapping[int, Sequence[File]]
"""Attachments of messages that are not stored, by message id."""
_MAX_REPLY_TOKENS = 8192
_MAX_REPLY_SHARE = 8
"""The reply gets at most one eighth of the context window.

A small model may write without end, and slowly, unless it is stopped.
"""
SMALL_WINDOW = 32_768
"""Models with a smaller context window get a few sentences of instructions and no tools.

Long instructions only confuse them.
"""
_MARGIN = 300
"""Tokens that are left unused, because token counts are estimates."""


@dataclass(frozen=True, slots=True)
class RequestBuilder:
    """Builds the main model's requests with the settings of one process."""

    settings: Settings
    config: MemoryConfig
    model: Model
    outside_tools: tuple[Tool, ...] = ()
    """The tools from outside that the model is offered besides the memory's."""

    @property
    def _uses_memory(self) -> bool:
        return self.settings.memory != MemorySetting.OFF

    def situation(self, db: Connection, conversation_id: int) -> policy.Situation | None:
        """Return what decides whether compacting is due; None if memory is off."""
        return read_window(db, conversation_id, self.config) if self._uses_memory else None

    def refresh(
        self, db: Connection, conversation_id: int, situation: policy.Situation | None
    ) -> None:
        """Compact the conversation if that is due, or else show new observations.

        New ones are shown only while the prompt cache is cold, because they change the
        prefix. A fork is not compacted while it is shown messages of an ancestor that no
        committed observation stands for.
        """
        if situation is None:
            return
        is_due = self.settings.learns and policy.compacting_is_due(
            situation, self.config.thresholds
        )
        if is_due and not uncommitted_below(db, conversation_id):
            config = self.config
            compact(
                db,
                conversation_id,
                config.retained,
                config.frame,
                config.clock,
                config.thresholds.compact,
            )
        elif situation.cold:
            take_in(db, conversation_id, self.config.frame)

    def turn_context(
        self,
        db: Connection,
        conversation_id: int,
        words: str,
        answering: tuple[int, ...] = (),
    ) -> TurnContext:
        """Return the context of a turn with these words; `answering` as in `gather`."""
        if not self._uses_memory:
            return self._bare_context()
        with snapshot(db):  # one read lock for many queries, and SQLite keeps its page cache
            return gather(db, conversation_id, words, self.config, answering)

    def request(self, db: Connection, message: Message, turn_context: TurnContext) -> Request:
        """Return the request that ends with a stored message."""
        conversation_id = message.conversation_id
        messages = self._messages(db, conversation_id, message.id)
        if all(m.id != message.id for m in messages):  # answered again after it left the window
            messages.append(message)
        return self._assemble(
            db,
            self._blocks(db, conversation_id),
            messages,
            turn_context,
            self._cache_life(db, conversation_id),
        )

    def unstored_request(
        self,
        db: Connection,
        conversation_id: int | None,
        earlier: Sequence[Message],
        new: Message,
        files: UnstoredFiles = MappingProxyType({}),
    ) -> Request:
        """Return the request that ends with a message that is not stored. Writes nothing.

        `earlier`: the messages before it that are not stored either. Without a
        conversation, it is what the first turn of a new one would send, but without due
        plans and passages.
        """
        if conversation_id is None:
            blocks = opening_blocks(db, self.config.frame) if self._uses_memory else ()
            life = policy.choose_life([])
            return self._assemble(db, blocks, [*earlier, new], self._bare_context(), life, files)
        with rehearsal(db):
            self.refresh(db, conversation_id, self.situation(db, conversation_id))
            messages = [*self._messages(db, conversation_id, LAST), *earlier, new]
            words = "" if new.content == _STAND_IN else new.content
            turn_context = self.turn_context(db, conversation_id, words)
            return self._assemble(
                db,
                self._blocks(db, conversation_id),
                messages,
                turn_context,
                self._cache_life(db, conversation_id),
                files,
            )

    def preview(
        self,
        db: Connection,
        conversation_id: int | None,
        earlier: Sequence[Message] = (),
        files: UnstoredFiles = MappingProxyType({}),
    ) -> Request:
        """Return the request that would be sent now, with a stand-in for the new message.

        `earlier` and `files` as in `unstored_request`.
        """
        now = to_text(self.settings.clock.now())
        stand_in = unstored_message(NewMessage(Role.USER, _STAND_IN), now)
        return self.unstored_request(db, conversation_id, earlier, stand_in, files)

    def _bare_context(self) -> TurnContext:
        clock = self.settings.clock
        return TurnContext(clock.local(clock.now()))

    def _assemble(
        self,
        db: Connection,
        blocks: Blocks,
        messages: Sequence[Message],
        turn_context: TurnContext,
        life: CacheLife,
        unstored_files: UnstoredFiles = MappingProxyType({}),
    ) -> Request:
        """Return the request, without the oldest turns if the context window is too small.

        Once turns are left out, every request begins differently. Then the last cache mark
        is removed, since its cache entry would be written and never read.
        """
        system, tools, ambient = self._system(), self._tools(), render(turn_context)
        window = self.model.context_window
        reply_tokens = min(_MAX_REPLY_TOKENS, window // _MAX_REPLY_SHARE)
        fixed_tokens = sum(tokens.count(part.text) for part in system) + tokens.count(ambient)
        fixed_tokens += sum(map(context.tool_tokens, tools))
        for block in blocks:
            fixed_tokens += sum(o.token_count for o in block)
        factor = token_factor(db, self.model.name)
        room = int((window - reply_tokens) / factor) - fixed_tokens - _MARGIN
        shown = context.fit(messages[-self._max_messages :], room)
        request = context.assemble(
            system,
            blocks,
            shown,
            ambient,
            self.settings.clock,
            tools=tools,
            life=life,
            max_tokens=reply_tokens,
            files=self._files(db, shown, unstored_files),
        )
        if self.settings.web and window >= SMALL_WINDOW:
            request = replace(request, searches_web=True)
        return request if len(shown) == len(messages) else context.without_last_mark(request)

    def _files(
        self, db: Connection, messages: Sequence[Message], unstored: UnstoredFiles
    ) -> context.Files:
        """Return the attachments of these messages that the model is sent."""
        if not any(m.attached for m in messages):
            return {}
        stored = attachments_with_data(db, [m for m in messages if m.id > 0])
        files: dict[int, Sequence[File]] = dict(unstored)
        for message_id, attachments in stored.items():
            files[message_id] = [stored_file(attached, data) for attached, data in attachments]
        return {
            message_id: [sent_as(file, self.model.reads) for file in of_message]
            for message_id, of_message in files.items()
        }

    @property
    def _max_messages(self) -> int:
        return LAST if self._uses_memory else self.settings.recent_messages

    def _messages(self, db: Connection, conversation_id: int, until: int) -> list[Message]:
        if not self._uses_memory:
            return last_messages(db, conversation_id, self._max_messages + 1, until)
        window = get_watermarks(db, conversation_id).window
        own = live_messages(db, conversation_id, window, until)
        inherited = inherited_window(db, get_conversation(db, conversation_id))
        return [*inherited, *filter(is_shown, own)]

    def _blocks(self, db: Connection, conversation_id: int) -> Blocks:
        if not self._uses_memory:
            return ()
        return current_blocks(db, conversation_id, self.config.frame)

    def _system(self) -> tuple[Text, ...]:
        persona_file = self.settings.persona_file
        if self.model.context_window < SMALL_WINDOW:
            guide = prompts.prompt("small_memory")
            return context.system_text(prompts.persona(persona_file, "small"), guide, "")
        guide, continuation = prompts.prompt("memory"), prompts.prompt("continuation")
        return context.system_text(prompts.persona(persona_file), guide, continuation)

    def _tools(self) -> tuple[Tool, ...]:
        if self.model.context_window < SMALL_WINDOW:
            return ()
        own = tools_for(self.config.scope, self._tracked()) if self._uses_memory else ()
        return (*own, *self.outside_tools)

    def _tracked(self) -> tuple[str, ...]:
        """Return what the user's rules follow; nothing while they cannot be read."""
        try:
            return read_rules(self.config.rules_file).track
        except ConstructError:
            return ()

    def _cache_life(self, db: Connection, conversation_id: int) -> CacheLife:
        return policy.choose_life([from_text(t) for t in recent_times(db, conversation_id)])


def unstored_message(new: NewMessage, now: str, id: int = 0) -> Message:
    """Return a message that is not stored; `id` must be 0 or negative."""
    sent_tokens = sum(file.sent_tokens for file in new.attachments)
    return Message(
        id=id,
        uid="",
        conversation_id=0,
        role=new.role,
        content=new.content,
        blocks=new.blocks,
        status=new.status,
        archived=0,
        token_count=message_tokens(new.content) + sent_tokens,
        created_at=now,
        stop_reason=new.stop_reason,
        model=new.model,
        retried=0,
        withheld=0,
        attached="\n".join(file.file.line for file in new.attachments) or None,
        outside=new.outside,
    )

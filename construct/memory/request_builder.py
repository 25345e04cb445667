"""Build the request of one turn from the database.

Refreshes what a conversation's model is shown where that is due (compacting included),
reads it, and assembles the request. All of it runs inside the caller's transaction.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from construct import prompts, tokens
from construct.clock import from_text, to_text
from construct.config import Settings
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
from construct.store.attachments import NewAttachment, attachments_with_data
from construct.store.conversations import get_conversation, get_watermarks
from construct.store.database import snapshot
from construct.store.messages import LAST, is_shown, live_messages, message_tokens, recent_times
from construct.store.records import Message
from construct.store.usage import token_factor
from construct.vocabulary import MemorySetting

STAND_IN = "(your next message)"
UnstoredFiles = Mapping[int, Sequence[File]]
"""Attachments of messages that are not stored, by message."""
_REPLY_TOKENS = 8192
_REPLY_SHARE = 8
"""The reply gets this part of the context window at most.

A small model that is not stopped goes on for ever, and slowly.
"""
SMALL_WINDOW = 32_768
"""Models below this get a few plain sentences to go by: long guidance only confuses
them.
"""
_MARGIN = 300


@dataclass(frozen=True, slots=True)
class RequestBuilder:
    """Builds the main model's requests with the settings of one process."""

    settings: Settings
    config: MemoryConfig
    model: Model

    @property
    def _uses_memory(self) -> bool:
        return self.settings.memory != MemorySetting.OFF

    def situation(self, db: sqlite3.Connection, conversation_id: int) -> policy.Situation | None:
        """Return the situation that decides about compacting; None without memory."""
        return read_window(db, conversation_id, self.config) if self._uses_memory else None

    def refresh(
        self, db: sqlite3.Connection, conversation_id: int, situation: policy.Situation | None
    ) -> None:
        """Compact what is due: when the window is full, or the cache is cold anyway."""
        if situation is None:
            return
        is_due = self.settings.memory == MemorySetting.ON and policy.compacting_is_due(
            situation, self.config.thresholds
        )
        if is_due and not uncommitted_below(db, conversation_id):
            now = to_text(self.settings.clock.now())
            compact(db, conversation_id, self.config.retained, self.config.frame, now)
        elif situation.cold:
            take_in(db, conversation_id, self.config.frame)

    def turn_context(
        self,
        db: sqlite3.Connection,
        conversation_id: int,
        words: str,
        answering: tuple[int, ...] = (),
    ) -> TurnContext:
        """Return what holds for a turn with these words; `answering` as in `gather`."""
        if not self._uses_memory:
            return self._bare_context()
        with snapshot(db):  # one read lock for many queries, and SQLite keeps its page cache
            return gather(db, conversation_id, words, self.config, answering)

    def request(self, db: sqlite3.Connection, words: Message, turn_context: TurnContext) -> Request:
        """Return the request that ends with a stored message."""
        conversation_id = words.conversation_id
        messages = self._messages(db, conversation_id, words.id)
        if all(m.id != words.id for m in messages):  # asked again after it left the window
            messages.append(words)
        return self._assemble(
            db,
            self._blocks(db, conversation_id),
            messages,
            turn_context,
            self._cache_life(db, conversation_id),
        )

    def unstored(
        self,
        db: sqlite3.Connection,
        conversation_id: int | None,
        said: Sequence[Message],
        new: Message,
        files: UnstoredFiles = MappingProxyType({}),
    ) -> Request:
        """Return the request for words that are not stored, after others (`said`).

        Without a conversation it is what the first turn of a new one would send.
        """
        words = new.content
        if conversation_id is None:
            blocks = opening_blocks(db, self.config.frame) if self._uses_memory else ()
            life = policy.choose_life([])
            return self._assemble(db, blocks, [*said, new], self._bare_context(), life, files)
        self.refresh(db, conversation_id, self.situation(db, conversation_id))
        messages = [*self._messages(db, conversation_id, LAST), *said, new]
        gathered = self.turn_context(db, conversation_id, "" if words == STAND_IN else words)
        return self._assemble(
            db,
            self._blocks(db, conversation_id),
            messages,
            gathered,
            self._cache_life(db, conversation_id),
            files,
        )

    def _bare_context(self) -> TurnContext:
        clock = self.settings.clock
        return TurnContext(clock.local(clock.now()))

    def _assemble(
        self,
        db: sqlite3.Connection,
        blocks: Blocks,
        messages: Sequence[Message],
        turn_context: TurnContext,
        life: CacheLife,
        unstored_files: UnstoredFiles = MappingProxyType({}),
    ) -> Request:
        """Return the request, without the oldest turns where the window is too small.

        Once turns are left out, every request begins differently: the last cache mark
        is taken off, since that entry would be written and never read.
        """
        system = self._system()
        window = self.model.context_window
        reply = min(_REPLY_TOKENS, window // _REPLY_SHARE)
        fixed = sum(o.token_count for block in blocks for o in block)
        fixed += sum(tokens.count(part.text) for part in system)
        factor = token_factor(db, self.model.name)
        room = int((window - reply) / factor) - fixed - _MARGIN
        shown = context.fit(messages[-self._most_messages :], room)
        request = context.assemble(
            system,
            blocks,
            shown,
            render(turn_context),
            self.settings.clock,
            tools=self._tools(),
            life=life,
            max_tokens=reply,
            files=self._files(db, shown, unstored_files),
        )
        return request if len(shown) == len(messages) else context.without_last_mark(request)

    def _files(
        self, db: sqlite3.Connection, messages: Sequence[Message], unstored: UnstoredFiles
    ) -> context.Files:
        """Return the attachments of these messages that the model is sent."""
        if not any(m.attached for m in messages):
            return {}
        stored = attachments_with_data(db, [m for m in messages if m.id > 0])
        found: dict[int, Sequence[File]] = {
            message: [stored_file(one, data) for one, data in of] for message, of in stored.items()
        }
        return {
            message: [sent_as(file, self.model.reads) for file in files]
            for message, files in (found | dict(unstored)).items()
        }

    @property
    def _most_messages(self) -> int:
        return LAST if self._uses_memory else self.settings.recent_messages

    def _messages(self, db: sqlite3.Connection, conversation_id: int, until: int) -> list[Message]:
        if not self._uses_memory:
            return last_messages(db, conversation_id, self._most_messages + 1, until)
        window = get_watermarks(db, conversation_id).window
        own = live_messages(db, conversation_id, window, until)
        inherited = inherited_window(db, get_conversation(db, conversation_id))
        return [*inherited, *filter(is_shown, own)]

    def _blocks(self, db: sqlite3.Connection, conversation_id: int) -> Blocks:
        if not self._uses_memory:
            return ()
        return current_blocks(db, conversation_id, self.config.frame)

    def _system(self) -> tuple[Text, ...]:
        own = self.settings.persona_file
        if self.model.context_window < SMALL_WINDOW:
            return context.system_text(prompts.persona(own, "small"), "", "")
        guide, continuation = prompts.prompt("memory"), prompts.prompt("continuation")
        return context.system_text(prompts.persona(own), guide, continuation)

    def _tools(self) -> tuple[Tool, ...]:
        if self._uses_memory and self.model.context_window >= SMALL_WINDOW:
            return tools_for(self.config.scope)
        return ()

    def _cache_life(self, db: sqlite3.Connection, conversation_id: int) -> CacheLife:
        return policy.choose_life([from_text(t) for t in recent_times(db, conversation_id)])


def unstored_message(
    role: str, words: str, now: str, id: int = 0, attachments: Sequence[NewAttachment] = ()
) -> Message:
    """Return a message that is not stored; its id is 0 or negative."""
    return Message(
        id=id,
        uid="",
        conversation_id=0,
        role=role,
        content=words,
        blocks=None,
        status="complete",
        archived=0,
        token_count=message_tokens(words) + sum(new.sent_tokens for new in attachments),
        created_at=now,
        stop_reason=None,
        model=None,
        retried=0,
        withheld=0,
        attached="\n".join(new.file.line for new in attachments) or None,
    )

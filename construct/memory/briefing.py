"""From the database to the request of one turn: what is shown, refreshed where that is due, and assembled.

Reads, decides by the pure modules, and writes only what a conversation is shown (compacting
included); inside the caller's transaction.
"""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from construct import prompts, tokens
from construct.clock import from_text, to_text
from construct.config import Settings
from construct.llm.types import CacheLife, Model, Request, Text, Tool
from construct.memory.ambience import gather
from construct.memory.cycles import policy
from construct.memory.cycles.compaction import compact
from construct.memory.cycles.situation import Terms, read_window
from construct.memory.shown import ambient, context
from construct.memory.shown.forks import inherited_window, last_messages, uncommitted_below
from construct.memory.shown.view import Blocks, current_blocks, opening_blocks, take_in
from construct.memory.tools import tools_for
from construct.store import books, talk
from construct.store.database import snapshot
from construct.store.records import Message

STAND_IN = "(your next message)"
_REPLY_TOKENS = 8192
_REPLY_SHARE = 32
"""Of the context window; a small model that is not stopped goes on for ever, and slowly."""
SMALL_WINDOW = 32_768
"""Models below this get a few plain sentences to go by: long guidance only confuses them."""
_MARGIN = 300


@dataclass(frozen=True, slots=True)
class Briefing:
    """What the main model is told, by the settings of one process."""

    settings: Settings
    terms: Terms
    model: Model

    def situation(self, db: sqlite3.Connection, conversation_id: int) -> policy.Situation | None:
        """Return the situation of a conversation, as far as a turn goes by it; None when memory is off."""
        return None if self.settings.memory == "off" else read_window(db, conversation_id, self.terms)

    def refresh(self, db: sqlite3.Connection, conversation_id: int, situation: policy.Situation | None) -> None:
        """Compact what is due: at once when the window is full, for nothing when the prompt cache is cold."""
        if situation is None:
            return
        is_due = self.settings.memory == "on" and policy.compacting_is_due(situation, self.terms.thresholds)
        if is_due and not uncommitted_below(db, conversation_id):
            compact(db, conversation_id, self.terms.retained, self.terms.frame, to_text(self._now()))
        elif situation.cold:
            take_in(db, conversation_id, self.terms.frame)

    def extras(
        self, db: sqlite3.Connection, conversation_id: int, words: str, answering: tuple[int, ...] = ()
    ) -> ambient.Ambience:
        """Return what holds for a turn with these words of the user's; `answering` as in `gather`."""
        if self.settings.memory == "off":
            return ambient.Ambience(self.settings.clock.local(self._now()))
        with snapshot(db):  # quicker too: what is cached of the file need not be doubted at every step
            return gather(db, conversation_id, words, self.terms, answering)

    def request(self, db: sqlite3.Connection, words: Message, extras: ambient.Ambience) -> Request:
        """Return the request that ends with a stored message."""
        conversation_id = words.conversation_id
        messages = self._messages(db, conversation_id, words.id)
        if not any(m.id == words.id for m in messages):  # asked again, though it has left the window
            messages.append(words)
        return self._assemble(db, self._blocks(db, conversation_id), messages, extras, self._life(db, conversation_id))

    def unstored(
        self, db: sqlite3.Connection, conversation_id: int | None, said: Sequence[Message], words: str
    ) -> Request:
        """Return the request for words that are stored nowhere, behind others `said` likewise.

        Without a conversation it is what the first turn of a new one would send.
        """
        new = unstored_message("user", words, to_text(self._now()))
        if conversation_id is None:
            blocks = () if self.settings.memory == "off" else opening_blocks(db, self.terms.frame)
            here = ambient.Ambience(self.settings.clock.local(self._now()))
            return self._assemble(db, blocks, [*said, new], here, policy.choose_life([]))
        self.refresh(db, conversation_id, self.situation(db, conversation_id))
        messages = [*self._messages(db, conversation_id, talk.LAST), *said, new]
        extras = self.extras(db, conversation_id, "" if words == STAND_IN else words)
        return self._assemble(db, self._blocks(db, conversation_id), messages, extras, self._life(db, conversation_id))

    def _assemble(
        self,
        db: sqlite3.Connection,
        blocks: Blocks,
        messages: Sequence[Message],
        extras: ambient.Ambience,
        life: CacheLife,
    ) -> Request:
        """Return the request, the oldest turns left out where the model's window is too small for them.

        Once some are left out, each request begins another way: a cache would be written, and never read.
        """
        system = self._system()
        reply = min(_REPLY_TOKENS, self.model.context_window // _REPLY_SHARE)
        fixed = sum(o.token_count for block in blocks for o in block) + sum(tokens.count(t.text) for t in system)
        room = int((self.model.context_window - reply) / books.token_factor(db, self.model.name)) - fixed - _MARGIN
        shown = context.fit(messages[-self._most_messages :], room)
        request = context.assemble(
            system, blocks, shown, ambient.render(extras), self.settings.clock,
            tools=self._tools(), life=life, max_tokens=reply,
        )  # fmt: skip
        return request if len(shown) == len(messages) else context.without_last_mark(request)

    @property
    def _most_messages(self) -> int:
        return self.settings.recent_messages if self.settings.memory == "off" else talk.LAST

    def _messages(self, db: sqlite3.Connection, conversation_id: int, until: int) -> list[Message]:
        if self.settings.memory == "off":
            return last_messages(db, conversation_id, self._most_messages + 1, until)
        marks = talk.watermarks(db, conversation_id)
        own = [m for m in talk.live_messages(db, conversation_id, marks.window, until) if talk.is_shown(m)]
        return [*inherited_window(db, talk.conversation(db, conversation_id)), *own]

    def _blocks(self, db: sqlite3.Connection, conversation_id: int) -> Blocks:
        return () if self.settings.memory == "off" else current_blocks(db, conversation_id, self.terms.frame)

    def _system(self) -> tuple[Text, ...]:
        if self.model.context_window < SMALL_WINDOW:
            return context.system_text(prompts.persona(self.settings.config_dir, "small"), "", "")
        return context.system_text(
            prompts.persona(self.settings.config_dir), prompts.prompt("memory"), prompts.prompt("continuation")
        )

    def _tools(self) -> tuple[Tool, ...]:
        has_memory = self.settings.memory != "off" and self.model.context_window >= SMALL_WINDOW
        return tools_for(self.terms.scope) if has_memory else ()

    def _life(self, db: sqlite3.Connection, conversation_id: int) -> CacheLife:
        return policy.choose_life([from_text(t) for t in talk.recent_times(db, conversation_id)])

    def _now(self) -> datetime:
        return self.settings.clock.now()


def unstored_message(role: str, words: str, now: str) -> Message:
    """Return a message that is in no database."""
    return Message(0, "", 0, role, words, None, "complete", 0, talk.message_tokens(words), now, None, None, 0, 0)

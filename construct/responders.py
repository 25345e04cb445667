"""Choose who answers: a model or the notebook, on or off the record."""

import sqlite3
from collections.abc import Sequence
from typing import TYPE_CHECKING

from construct import notebook
from construct.companion import Companion
from construct.errors import UsageError
from construct.llm.types import File
from construct.offrecord import OffRecord
from construct.onrecord import OnRecord
from construct.program import in_shell
from construct.store.conversations import NO_CACHE, note_request
from construct.store.database import transaction
from construct.store.messages import NewMessage, add_message
from construct.store.records import Message
from construct.tasks import finished
from construct.tokens import Usage
from construct.turn import Delta, Kept, Listener, TurnResult
from construct.vocabulary import MemorySetting, Role

if TYPE_CHECKING:
    from construct.attachments import Attachment


def _same_reply() -> UsageError:
    return UsageError(
        "The notebook replies by fixed rules: trying again gives the same reply.\n"
        f"Run {in_shell('setup')} to choose a model."
    )


class NotebookOnRecord(OnRecord):
    """The notebook on the record: messages are stored and searchable."""

    async def turn(
        self,
        conversation_id: int | None,
        text: str,
        listen: Listener,
        attachments: Sequence["Attachment"] = (),
    ) -> TurnResult:
        """Store the user's message, and which messages the reply quotes."""
        assert conversation_id is not None  # the caller creates a conversation first
        new = await self._new_message(text, attachments)
        call = self.companion.store.call
        storing = call(self._store_question, conversation_id, new)
        message = await finished(storing, lambda: listen(Kept()))
        reply, reply_text = await call(self._store_reply_to, message)
        listen(Delta(reply_text))
        return TurnResult(conversation_id, reply_text, reply.id, "end_turn", Usage())

    async def retry(self, conversation_id: int | None, listen: Listener) -> TurnResult | None:
        """Raise UsageError: the reply would be the same."""
        raise _same_reply()

    def _store_question(
        self, db: sqlite3.Connection, conversation_id: int, new: NewMessage
    ) -> Message:
        with transaction(db):
            message = self._store_message(db, conversation_id, new)
            note_request(db, conversation_id, self.companion.now, NO_CACHE)
        return message

    def _store_reply_to(self, db: sqlite3.Connection, message: Message) -> tuple[Message, str]:
        companion, conversation_id = self.companion, message.conversation_id
        quotes = _relevant_messages(db, companion, message.content, conversation_id, message.id)
        answer = NewMessage(
            Role.ASSISTANT, "", notebook.dump_quotes(quotes), model=companion.models.main.name
        )
        with transaction(db):
            reply = add_message(db, conversation_id, answer, companion.now)
        return reply, notebook.stored_reply_text(db, reply, companion.settings.clock)


class NotebookOffRecord(OffRecord):
    """The notebook off the record: nothing is stored."""

    async def turn(
        self,
        conversation_id: int | None,
        text: str,
        listen: Listener,
        attachments: Sequence["Attachment"] = (),
    ) -> TurnResult:
        """Quote relevant earlier messages, and say that this one is not kept."""
        reply, reply_text = await self.companion.store.call(self._reply_to, conversation_id, text)
        self.messages.extend([await self._new_message(text, attachments), reply])
        listen(Kept())
        listen(Delta(reply_text))
        return TurnResult(conversation_id or 0, reply_text, None, "end_turn", Usage())

    async def retry(self, conversation_id: int | None, listen: Listener) -> TurnResult | None:
        """Raise UsageError: the reply would be the same."""
        raise _same_reply()

    def _reply_to(
        self, db: sqlite3.Connection, conversation_id: int | None, text: str
    ) -> tuple[Message, str]:
        companion = self.companion
        quotes = _relevant_messages(db, companion, text, conversation_id)
        reply = self._unstored(Role.ASSISTANT, "")._replace(blocks=notebook.dump_quotes(quotes))
        clock = companion.settings.clock
        return reply, notebook.reply_text(db, notebook.NOT_KEPT, quotes, text, clock)


Responder = OnRecord | OffRecord
"""Answers messages. On the record a conversation must exist before `turn` is called;
off the record `conversation_id` may be None.
"""


def on_record(companion: Companion) -> Responder:
    """Return the responder for messages that are stored."""
    if companion.models.is_notebook:
        return NotebookOnRecord(companion)
    return OnRecord(companion)


def off_record(
    companion: Companion, messages: list[Message], files: dict[int, tuple[File, ...]] | None = None
) -> Responder:
    """Return the responder for messages that are not stored.

    `messages` holds the messages off the record so far and grows with each turn; `files`
    holds their attachments by message id.
    """
    files = {} if files is None else files
    if companion.models.is_notebook:
        return NotebookOffRecord(companion, messages, files)
    return OffRecord(companion, messages, files)


def _relevant_messages(
    db: sqlite3.Connection,
    companion: Companion,
    text: str,
    conversation_id: int | None,
    *excluded: int,
) -> list[Message]:
    if companion.settings.memory == MemorySetting.OFF or not text.strip():
        return []
    return notebook.relevant_messages(db, text, companion.memory_config, conversation_id, *excluded)

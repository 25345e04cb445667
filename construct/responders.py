"""Who answers: a model or the notebook, which goes by rule, on the record or off it."""

import sqlite3
from collections.abc import Sequence
from typing import TYPE_CHECKING

from construct import notebook
from construct.companion import Companion
from construct.errors import UsageError
from construct.llm.types import File
from construct.offrecord import OffRecord
from construct.onrecord import OnRecord
from construct.store.conversations import NO_CACHE, note_request
from construct.store.database import transaction
from construct.store.messages import NewMessage, add_message
from construct.store.records import Message
from construct.tokens import Usage
from construct.turn import Delta, Listener, TurnResult
from construct.vocabulary import Role

if TYPE_CHECKING:
    from construct.attachments import Attachment

_THE_SAME = (
    "The notebook replies by rule: asked again, it would say the same.\n"
    "Run `construct setup` to choose a model."
)


class NotebookOnRecord(OnRecord):
    """The notebook, where what is said is stored, observed and searchable."""

    async def turn(
        self,
        conversation_id: int | None,
        text: str,
        listen: Listener,
        attachments: Sequence["Attachment"] = (),
    ) -> TurnResult:
        """Store the user's words and which messages the reply quotes."""
        assert conversation_id is not None  # what is stored has its place
        said = await self._said(text, attachments)
        reply, words = await self.companion.store.call(self._note, conversation_id, said)
        listen(Delta(words))
        return TurnResult(conversation_id, words, reply.id, "end_turn", Usage())

    async def retry(self, conversation_id: int | None, listen: Listener) -> TurnResult | None:
        """Raise UsageError: the reply would be the same."""
        raise UsageError(_THE_SAME)

    def _note(
        self, db: sqlite3.Connection, conversation_id: int, new: NewMessage
    ) -> tuple[Message, str]:
        companion = self.companion
        with transaction(db):
            said = self._store_words(db, conversation_id, new)
            note_request(db, conversation_id, companion.now, NO_CACHE)
        quotes = _quotes(db, companion, new.content, conversation_id, said.id)
        answer = NewMessage(
            Role.ASSISTANT, "", notebook.dump(quotes), model=companion.models.main.name
        )
        with transaction(db):
            reply = add_message(db, conversation_id, answer, companion.now)
        return reply, notebook.rendered(db, reply, companion.settings.clock)


class NotebookOffRecord(OffRecord):
    """The notebook, where nothing that is said is stored."""

    async def turn(
        self,
        conversation_id: int | None,
        text: str,
        listen: Listener,
        attachments: Sequence["Attachment"] = (),
    ) -> TurnResult:
        """Quote what bears on the words, and say that they are not kept."""
        reply, words = await self.companion.store.call(self._answer_by_rule, conversation_id, text)
        self.said.extend([await self._attach(text, attachments), reply])
        listen(Delta(words))
        return TurnResult(conversation_id or 0, words, None, "end_turn", Usage())

    async def retry(self, conversation_id: int | None, listen: Listener) -> TurnResult | None:
        """Raise UsageError: the reply would be the same."""
        raise UsageError(_THE_SAME)

    def _answer_by_rule(
        self, db: sqlite3.Connection, conversation_id: int | None, text: str
    ) -> tuple[Message, str]:
        companion = self.companion
        quotes = _quotes(db, companion, text, conversation_id)
        reply = self._unstored(Role.ASSISTANT, "")._replace(blocks=notebook.dump(quotes))
        words = notebook.worded(notebook.NOT_KEPT, quotes, text, companion.settings.clock)
        return reply, words


Responder = OnRecord | OffRecord
"""A way to answer. `conversation_id` is None in a new conversation.

What is stored has one before `turn`.
"""


def on_record(companion: Companion) -> Responder:
    """Return the responder for messages that are stored."""
    way = NotebookOnRecord if companion.models.is_notebook else OnRecord
    return way(companion)


def off_record(
    companion: Companion, said: list[Message], files: dict[int, tuple[File, ...]] | None = None
) -> Responder:
    """Return who answers what is not stored, after what has been `said` so, with which files."""
    way = NotebookOffRecord if companion.models.is_notebook else OffRecord
    return way(companion, said, {} if files is None else files)


def _quotes(
    db: sqlite3.Connection,
    companion: Companion,
    text: str,
    conversation_id: int | None,
    *but: int,
) -> list[Message]:
    if companion.settings.memory == "off" or not text.strip():
        return []
    return notebook.bearing_on(db, text, companion.memory_config, conversation_id, *but)

"""What every turn works with: the settings, the models, the database and the memory worker."""

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from construct.clock import to_text
from construct.config import Settings
from construct.llm.providers import Models
from construct.llm.types import Request
from construct.memory.config import MemoryConfig, memory_config_for
from construct.memory.cycles.runner import StepReport
from construct.memory.cycles.worker import MemoryWorker
from construct.memory.request_builder import (
    STAND_IN,
    RequestBuilder,
    UnstoredFiles,
    unstored_message,
)
from construct.memory.shown.files import new_attachment
from construct.memory.tools import Forget
from construct.store.attachments import NewAttachment
from construct.store.database import rehearsal
from construct.store.in_thread import Store
from construct.store.records import Message
from construct.vocabulary import AttachmentKind, Role

if TYPE_CHECKING:
    from construct.attachments import Attachment

_WORKER_PATIENCE = 10.0
"""Seconds the memory worker waits for a locked database. Short, since its work can be
done later and closing the program waits for it.
"""


class Companion:
    """The settings, models and database of one process; close it when done."""

    def __init__(
        self, settings: Settings, models: Models, report: Callable[[StepReport], None] | None = None
    ) -> None:
        self.settings = settings
        self.models = models
        self.store = Store(settings.db, rules=settings.memory_rules)
        self._worker_store = Store(settings.db, _WORKER_PATIENCE, rules=settings.memory_rules)
        self.memory_config: MemoryConfig = memory_config_for(settings, models.main.context_window)
        self.worker = MemoryWorker(
            self._worker_store, models.worker, self.memory_config, report or (lambda _: None)
        )
        self.forget: Forget | None = None
        """Asks the user, then forgets an observation: the model's tool for forgetting.

        None outside a chat on a terminal.
        """
        self._unread_noticed: set[tuple[str, AttachmentKind]] = set()
        """The models, each with a kind of file that the user has been told it cannot read."""

    @property
    def now(self) -> str:
        """The present moment, in the form that is stored."""
        return to_text(self.settings.clock.now())

    @property
    def builder(self) -> RequestBuilder:
        """Builds the main model's requests."""
        return RequestBuilder(self.settings, self.memory_config, self.models.main)

    def use_models(self, models: Models) -> None:
        """Switch to another main model, and fit memory to its context window.

        The memory worker keeps its own model.
        """
        self.models = models
        self.memory_config = memory_config_for(self.settings, models.main.context_window)
        self.worker.config = self.memory_config

    def unstored(
        self,
        db: sqlite3.Connection,
        conversation_id: int | None,
        earlier: Sequence[Message],
        new: Message,
        files: UnstoredFiles = MappingProxyType({}),
    ) -> Request:
        """Return the request for a message that is not stored. Writes nothing.

        `earlier` are earlier messages off the record, `files` their attachments.
        """
        with rehearsal(db):
            return self.builder.unstored_request(db, conversation_id, earlier, new, files)

    async def preview(
        self,
        conversation_id: int | None,
        earlier: Sequence[Message] = (),
        files: UnstoredFiles = MappingProxyType({}),
    ) -> Request:
        """Return the request that would be sent now, with a stand-in for the new message.

        `earlier` are the messages off the record so far, `files` their attachments.
        """
        new = unstored_message(Role.USER, STAND_IN, self.now)
        return await self.store.call(self.unstored, conversation_id, earlier, new, files)

    async def sized(self, attachments: Sequence["Attachment"]) -> tuple[NewAttachment, ...]:
        """Return attachments ready to be stored, with their size in tokens."""
        reads = self.models.main.reads
        return await asyncio.to_thread(
            lambda: tuple(new_attachment(file, reads) for file in attachments)
        )

    def unread_notice(self, attachments: Sequence["Attachment"]) -> str:
        """Return a notice that the model cannot read some of these files.

        Empty if it can, if the user has already been told so about each kind of file, and
        for the notebook.
        """
        model = self.models.main
        if self.models.is_notebook:
            return ""
        unread = {file.kind for file in attachments} - model.reads - {AttachmentKind.TEXT}
        new = sorted(kind for kind in unread if (model.name, kind) not in self._unread_noticed)
        if not new:
            return ""
        self._unread_noticed |= {(model.name, kind) for kind in new}
        example = next(file.line for file in attachments if file.kind in new)
        kinds = " or ".join({"image": "pictures", "pdf": "PDFs"}[kind] for kind in new)
        return f"{model.name} cannot read {kinds}: it is sent only the name, {example}."

    async def close(self) -> None:
        """Close models and database."""
        await self.models.close()
        await asyncio.to_thread(self._close_stores)

    def _close_stores(self) -> None:
        self._worker_store.close()
        self.store.close()

"""The companion: its settings, its models and its database, while a talk lasts."""

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from construct.clock import to_text
from construct.config import Settings
from construct.llm.providers import Models
from construct.llm.types import Request
from construct.memory.cycles.runner import Progress
from construct.memory.cycles.situation import MemoryConfig, memory_config_for
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
"""Seconds: memory work can be done later, and who leaves waits for it."""


class Companion:
    """The settings, models and database of one process; close it when done."""

    def __init__(
        self, settings: Settings, models: Models, report: Callable[[Progress], None] | None = None
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
        """Asks the user and forgets an observation, for the model's tool.

        None where nobody can be asked.
        """
        self._told: set[tuple[str, AttachmentKind]] = set()
        """Which model's user knows that it does not read which files."""

    @property
    def now(self) -> str:
        """This moment, as it is stored."""
        return to_text(self.settings.clock.now())

    @property
    def builder(self) -> RequestBuilder:
        """Builds the main model's requests."""
        return RequestBuilder(self.settings, self.memory_config, self.models.main)

    @property
    def learns(self) -> bool:
        """Whether memory work is done at all."""
        return self.settings.memory == "on"

    def use_models(self, models: Models) -> None:
        """Switch to another main model."""
        self.models = models
        self.memory_config = memory_config_for(self.settings, models.main.context_window)
        self.worker.config = self.memory_config

    def unstored(
        self,
        db: sqlite3.Connection,
        conversation_id: int | None,
        said: Sequence[Message],
        new: Message,
        files: UnstoredFiles = MappingProxyType({}),
    ) -> Request:
        """Return the request for words that are not stored, after others (`said`).

        Writes nothing.
        """
        with rehearsal(db):
            return self.builder.unstored(db, conversation_id, said, new, files)

    async def preview(
        self,
        conversation_id: int | None,
        said: Sequence[Message] = (),
        files: UnstoredFiles = MappingProxyType({}),
    ) -> Request:
        """Return what would be sent now, without a new message.

        It stands behind what was `said` off the record.
        """
        new = unstored_message(Role.USER, STAND_IN, self.now)
        return await self.store.call(self.unstored, conversation_id, said, new, files)

    async def sized(self, attachments: Sequence["Attachment"]) -> tuple[NewAttachment, ...]:
        """Return files about to be stored, with the tokens they take."""
        reads = self.models.main.reads
        return await asyncio.to_thread(
            lambda: tuple(new_attachment(file, reads) for file in attachments)
        )

    def unread_notice(self, attachments: Sequence["Attachment"]) -> str:
        """Return, once for each model, that it is sent only the names of some of these files."""
        model = self.models.main
        if self.models.is_notebook:
            return ""
        unread = {file.kind for file in attachments} - model.reads - {AttachmentKind.TEXT}
        news = sorted(unread - {kind for name, kind in self._told if name == model.name})
        if not news:
            return ""
        self._told |= {(model.name, kind) for kind in news}
        example = next(file.line for file in attachments if file.kind in news)
        what = " or ".join({"image": "pictures", "pdf": "PDF"}[kind] for kind in news)
        return f"{model.name} cannot read {what}: it is sent only the name, {example}."

    async def close(self) -> None:
        """Close models and database."""
        await self.models.close()
        await asyncio.to_thread(self._close_stores)

    def _close_stores(self) -> None:
        self._worker_store.close()
        self.store.close()

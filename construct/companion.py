"""The companion: its settings, its models and its database, for as long as it is talked to."""

import asyncio
import sqlite3
from collections.abc import Callable, Sequence

from construct.clock import to_text
from construct.config import Settings
from construct.llm.providers import Models
from construct.llm.types import Request
from construct.memory.cycles.runner import Progress
from construct.memory.cycles.situation import MemoryConfig, memory_config_for
from construct.memory.cycles.worker import MemoryWorker
from construct.memory.request_builder import STAND_IN, RequestBuilder
from construct.memory.tools import Forget
from construct.store.database import Store, rehearsal
from construct.store.records import Message

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

    @property
    def now(self) -> str:
        """This moment, as it is stored."""
        return to_text(self.settings.clock.now())

    @property
    def builder(self) -> RequestBuilder:
        """What the main model is told."""
        return RequestBuilder(self.settings, self.memory_config, self.models.main)

    @property
    def learns(self) -> bool:
        """Tell whether memory work is done at all."""
        return self.settings.memory == "on"

    def use_models(self, models: Models) -> None:
        """Go on with another main model."""
        self.models = models
        self.memory_config = memory_config_for(self.settings, models.main.context_window)
        self.worker.config = self.memory_config

    def unstored(
        self,
        db: sqlite3.Connection,
        conversation_id: int | None,
        said: Sequence[Message],
        words: str,
    ) -> Request:
        """Return the request for words that are not stored, after others (`said`) likewise.

        Writes nothing.
        """
        with rehearsal(db):
            return self.builder.unstored(db, conversation_id, said, words)

    async def preview(self, conversation_id: int | None, said: Sequence[Message] = ()) -> Request:
        """Return what would be sent now, without a new message, behind what was `said` off the record."""
        return await self.store.call(self.unstored, conversation_id, said, STAND_IN)

    async def close(self) -> None:
        """Let go of models and database."""
        await self.models.close()
        await asyncio.to_thread(self._close_stores)

    def _close_stores(self) -> None:
        self._worker_store.close()
        self.store.close()

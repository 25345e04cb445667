"""What every operation works with."""

import sqlite3
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from construct.clock import Clock
from construct.config import Settings
from construct.memory.cycles.situation import MemoryConfig, memory_config_for
from construct.store.conversations import current_conversation
from construct.vocabulary import EXTRACTIVE

if TYPE_CHECKING:
    from construct.llm.providers import Models


@dataclass(frozen=True, slots=True)
class Context:
    """An open database, the settings, and where the user is."""

    db: sqlite3.Connection
    settings: Settings
    memory: MemoryConfig
    """How the memory works in this process."""
    conversation_id: int | None = None
    """The conversation the user is in. None: nothing has been said in it yet."""
    worker: str = EXTRACTIVE
    """The worker model's name."""
    worker_reason: str = ""
    """Why memory is made by rule; empty when a model makes it."""

    @property
    def clock(self) -> Clock:
        """Now, and the user's days."""
        return self.settings.clock

    def at_current(self) -> "Context":
        """Return the same in the conversation where the user was last."""
        return replace(self, conversation_id=current_conversation(self.db))

    def with_models(self, models: "Models") -> "Context":
        """Return the same with the memory fitted to these models."""
        memory = memory_config_for(self.settings, models.main.context_window)
        return replace(
            self, memory=memory, worker=models.worker_name, worker_reason=models.worker_reason
        )

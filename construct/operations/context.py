"""The context that most operations take as their first argument."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from construct.clock import Clock
from construct.config import Settings
from construct.memory.config import MemoryConfig, memory_config_for
from construct.store.conversations import current_conversation
from construct.store.driver import Connection
from construct.vocabulary import EXTRACTIVE

if TYPE_CHECKING:
    from construct.llm.providers import Models


@dataclass(frozen=True, slots=True)
class ModelWindow:
    """How many tokens a model can read at once."""

    model: str
    tokens: int
    is_assumed: bool
    """Whether the model's server does not say, and neither does CONSTRUCT_CONTEXT_WINDOW."""


@dataclass(frozen=True, slots=True)
class Context:
    """An open database, the settings, and where the user is."""

    db: Connection
    settings: Settings
    memory: MemoryConfig
    """Settings of the memory; in a command, for a large window until `with_models`."""
    conversation_id: int | None = None
    """The conversation the user is in; None in a new one without messages."""
    worker: str = EXTRACTIVE
    """The name of the worker model, or `EXTRACTIVE` without one; known after `with_models`."""
    worker_reason: str = ""
    """Why no model is used for memory work; empty if one is. Known after `with_models`."""
    window: ModelWindow | None = None
    """How much the main model can read; None without a model, and before `with_models`."""

    @property
    def clock(self) -> Clock:
        """The clock, in the user's time zone."""
        return self.settings.clock

    def at_current(self) -> "Context":
        """Return a copy that points to the user's most recent conversation."""
        return replace(self, conversation_id=current_conversation(self.db))

    def with_models(self, models: "Models") -> "Context":
        """Return a copy with memory settings for these models, and the worker's name."""
        memory = memory_config_for(self.settings, models.main.context_window)
        return replace(
            self,
            memory=memory,
            worker=models.worker_name,
            worker_reason=models.worker_reason,
            window=window_of(models),
        )


def window_of(models: "Models") -> ModelWindow | None:
    """Return how much the main model can read; None for the notebook."""
    if models.is_notebook:
        return None
    return ModelWindow(models.main.name, models.main.context_window, models.is_window_assumed)

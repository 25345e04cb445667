"""What every turn works with: the settings, the models, the database and the memory worker."""

import asyncio
from collections.abc import Callable

from construct.clock import to_text
from construct.config import Settings
from construct.llm.providers import Models
from construct.memory.config import MemoryConfig, memory_config_for
from construct.memory.cycles.runner import Progress
from construct.memory.cycles.worker import MemoryWorker
from construct.memory.request_builder import RequestBuilder
from construct.memory.tools import Accept, Forget
from construct.store.in_thread import Store
from construct.store.records import Message
from construct.tools.call_types import AskAboutTool
from construct.tools.outside_tools import OutsideTools
from construct.vocabulary import AttachmentKind

_WORKER_PATIENCE = 10.0
"""Seconds the memory worker waits for a locked database. Short, since its work can be
done later and closing the program waits for it.
"""


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
        """Asks the user, then forgets an observation: the model's tool for forgetting.

        None outside a chat on a terminal.
        """
        self.accept: Accept | None = None
        """Asks the user whether what the model keeps is their own word; None as above."""
        self.tools = OutsideTools(settings.config_dir)
        """The tools of the servers that the user configured and allowed."""
        self.ask_about_tool: AskAboutTool | None = None
        """Asks the user before such a tool is called; None as above."""
        self._unread_noticed: set[tuple[str, AttachmentKind]] = set()
        """The models, each with a kind of file that the user has been told it cannot read."""

    @property
    def now(self) -> str:
        """The present moment, in the form that is stored."""
        return to_text(self.settings.clock.now())

    @property
    def builder(self) -> RequestBuilder:
        """Builds the main model's requests."""
        return RequestBuilder(
            self.settings, self.memory_config, self.models.main, self.tools.offered()
        )

    def use_models(self, models: Models) -> None:
        """Switch to another main model, and fit memory to its context window.

        The memory worker keeps its own model.
        """
        self.models = models
        self.memory_config = memory_config_for(self.settings, models.main.context_window)
        self.worker.config = self.memory_config

    def unread_notice(self, message: Message) -> str:
        """Return a notice that the model cannot read files that came with a message.

        Empty if it can, or if the user has already been told so about each kind of file.
        """
        model = self.models.main
        lines = (message.attached or "").splitlines()
        kind_of = {line: AttachmentKind(line[1:].partition(":")[0]) for line in lines}
        unread = set(kind_of.values()) - model.reads - {AttachmentKind.TEXT}
        new = sorted(kind for kind in unread if (model.name, kind) not in self._unread_noticed)
        if not new:
            return ""
        self._unread_noticed |= {(model.name, kind) for kind in new}
        example = next(line for line, kind in kind_of.items() if kind in new)
        kinds = " or ".join({"image": "pictures", "pdf": "PDFs"}[kind] for kind in new)
        return f"{model.name} cannot read {kinds}: it is sent only the name, {example}."

    async def close(self) -> None:
        """Close models, tool servers and database."""
        await self.tools.close()
        await self.models.close()
        await asyncio.to_thread(self._close_stores)

    def _close_stores(self) -> None:
        self._worker_store.close()
        self.store.close()

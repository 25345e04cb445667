"""A companion over the fake API, in process, with a database of its own."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from construct.clock import to_text
from construct.config import Settings, load_settings
from construct.llm.providers import choose_models
from construct.memory.cycles.runner import StepReport
from construct.operations.context import Context
from construct.operations.status import Status, status
from construct.store.conversations import create_conversation
from construct.store.database import open_database
from construct.store.invariants import index_violations, violations
from construct.talk.companion import Companion
from construct.talk.events import TurnResult
from construct.talk.ledger import Ledger
from construct.talk.responder import Responder
from construct.talk.stored_ledger import StoredLedger
from tests.support.database import new_database
from tests.support.fake_api import FakeApi

LOW = {
    "CONSTRUCT_OBSERVER_THRESHOLD": "300",
    "CONSTRUCT_COMPACT_THRESHOLD": "600",
    "CONSTRUCT_REFLECTOR_THRESHOLD": "400",
    "CONSTRUCT_OBSERVATION_BUDGET": "1600",
}
"""Thresholds that a talk of a dozen short turns reaches."""


class Talk:
    """One conversation with the companion."""

    def __init__(
        self, companion: Companion, conversation_id: int, progress: list[StepReport]
    ) -> None:
        self.companion = companion
        self.id = conversation_id
        self.progress = progress
        self.heard: list[object] = []

    @property
    def ledger(self) -> Ledger:
        """Where what is said is stored."""
        return StoredLedger(self.companion)

    @property
    def responder(self) -> Responder:
        """Who answers what is stored."""
        return Responder(self.ledger)

    async def say(self, text: str) -> TurnResult:
        """Send one message and return how the turn ended; memory work is left alone."""
        return await self.responder.turn(self.id, text, self.heard.append)

    async def status(self) -> Status:
        """Return the memory panel."""
        c = self.companion
        name = c.models.worker_name
        return await c.store.call(
            lambda db: status(Context(db, c.settings, c.memory_config, self.id, name))
        )

    async def live(self, texts: Iterable[str]) -> list[TurnResult]:
        """Send messages, doing the memory work that is due after each."""
        results = []
        for text in texts:
            results.append(await self.say(text))
            await self.companion.worker.run_due(self.id)
        return results

    def check(self) -> None:
        """Assert that the invariants hold and the indexes are in step."""
        db = open_database(self.companion.settings.db)
        try:
            assert violations(db) == []
            assert index_violations(db) == []
        finally:
            db.close()


def settings_for(folder: Path, api: FakeApi, **more: str) -> Settings:
    """Return settings with a database in the folder and the fake as the server."""
    return load_settings({"CONSTRUCT_DB": str(folder / "construct.db"), **api.env(), **more})


@asynccontextmanager
async def talking(folder: Path, api: FakeApi, **more: str) -> AsyncIterator[Talk]:
    """Open a companion and a new conversation."""
    settings = settings_for(folder, api, **more)
    new_database(settings.db).close()
    progress: list[StepReport] = []
    companion = Companion(settings, choose_models(settings), progress.append)
    try:
        now = to_text(settings.clock.now())
        yield Talk(companion, await companion.store.call(create_conversation, now), progress)
    finally:
        await companion.close()


def facts(count: int, start: int = 0) -> list[str]:
    """Return messages with one planted fact each, about thirty tokens long."""
    return [
        f"My locker number {i} has the code {1000 + i}, and I keep the Tea{i} there. "
        "Please remember that for later."
        for i in range(start, start + count)
    ]

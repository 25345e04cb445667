"""A companion over the fake API, in process, with a database of its own."""

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from construct.config import Settings
from construct.llm.providers import choose_models
from construct.load_settings import load_settings
from construct.memory.cycles.runner import Progress
from construct.operations.context import Context
from construct.operations.status import Status, status
from construct.store.conversations import create_conversation
from construct.store.database import open_database
from construct.store.invariants import index_violations, violations
from construct.store.messages import messages_of
from construct.store.records import Message
from construct.talk.companion import Companion
from construct.talk.events import TurnResult
from construct.talk.ledger import Ledger
from construct.talk.private_ledger import PrivateLedger
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
    """One conversation with the companion: stored, or with a private ledger private."""

    def __init__(self, ledger: Ledger, conversation_id: int, progress: list[Progress]) -> None:
        self.ledger = ledger
        self.id = conversation_id
        self.progress = progress
        self.heard: list[object] = []

    @property
    def companion(self) -> Companion:
        """The settings, models and database."""
        return self.ledger.companion

    @property
    def responder(self) -> Responder:
        """Who answers."""
        return Responder(self.ledger)

    async def say(self, text: str) -> TurnResult:
        """Send one message and return how the turn ended; memory work is left alone."""
        return await self.responder.turn(self.id, text, self.heard.append)

    async def retry(self) -> TurnResult:
        """Ask for another reply to the last message, which must be there."""
        result = await self.responder.retry(self.id, self.heard.append)
        assert result is not None
        return result

    async def drop(self) -> str | None:
        """Leave the last unanswered message out of later requests."""
        return await self.companion.store.call(self.ledger.drop, self.id)

    async def said(self) -> list[Message]:
        """Return what was said, without the replies that others have replaced."""
        if isinstance(self.ledger, PrivateLedger):
            messages = self.ledger.messages
        else:
            messages = await self.companion.store.call(messages_of, self.id)
        return [m for m in messages if not m.retried]

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


def talking(folder: Path, api: FakeApi, **more: str) -> AbstractAsyncContextManager[Talk]:
    """Open a companion and a new conversation, which is stored."""
    return talking_in(StoredLedger, folder, api, **more)


@asynccontextmanager
async def talking_in(
    ledger: Callable[[Companion], Ledger], folder: Path, api: FakeApi, **more: str
) -> AsyncIterator[Talk]:
    """Open a companion, and a new conversation with a ledger of this kind."""
    settings = settings_for(folder, api, **more)
    new_database(settings.db).close()
    progress: list[Progress] = []
    companion = Companion(settings, choose_models(settings), progress.append)
    try:
        here = await companion.store.call(create_conversation, companion.now)
        yield Talk(ledger(companion), here, progress)
    finally:
        await companion.close()


def facts(count: int, start: int = 0) -> list[str]:
    """Return messages with one planted fact each, about thirty tokens long."""
    return [
        f"My locker number {i} has the code {1000 + i}, and I keep the Tea{i} there. "
        "Please remember that for later."
        for i in range(start, start + count)
    ]

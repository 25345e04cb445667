"""What a turn costs besides the model: assembling, storing and recall."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from construct.clock import to_text
from construct.config import Settings
from construct.llm.providers import Models
from construct.llm.types import Reply, Request, Text, WorkReply, WorkRequest
from construct.store.conversations import create_conversation
from construct.talk.companion import Companion
from construct.talk.responder import Responder
from construct.talk.stored_ledger import StoredLedger
from construct.tokens import Usage
from construct.vocabulary import AttachmentKind

WARMING = 5


class ReadyReply:
    """The stream of a reply that arrives at once, in one piece."""

    def __init__(self, reply: Reply) -> None:
        self.reply = reply

    async def __aiter__(self) -> AsyncIterator[str]:
        """Yield the text."""
        yield self.reply.text

    async def aclose(self) -> None:
        """Nothing is open."""


class Nodding:
    """A model that costs nothing."""

    name, context_window = "nodding", 200_000
    parameters: int | None = None
    reads: frozenset[AttachmentKind] = frozenset()

    def stream(self, request: Request) -> ReadyReply:
        """Return the same reply to everything."""
        words = "I see, go on."
        return ReadyReply(Reply(words, [Text(words)], Usage(1_000, 0, 0, 5), "end_turn"))

    async def complete(self, request: WorkRequest) -> WorkReply:
        """Never called: the worker works by rule."""
        raise NotImplementedError

    async def close(self) -> None:
        """Nothing is open."""


def turn_times(path: Path, texts: Sequence[str]) -> list[float]:
    """Say these things in a new conversation.

    Return the CPU milliseconds of each turn after the first five, ascending.
    """
    return asyncio.run(_play(path, texts))


async def _play(path: Path, texts: Sequence[str]) -> list[float]:
    settings = Settings(path, config_dir=path.parent, worker_model="extractive")
    companion = Companion(settings, Models(Nodding(), None, "extractive", settings))
    times = []
    try:
        here = await companion.store.call(create_conversation, to_text(settings.clock.now()))
        for text in texts:
            start = time.process_time()
            await Responder(StoredLedger(companion)).turn(here, text, lambda _: None)
            times.append((time.process_time() - start) * 1000)
    finally:
        await companion.close()
    return sorted(times[WARMING:])

"""A chat over plain streams, line by line."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from construct.chat.chat import Chat
from construct.chat.dialogue import Dialogue
from construct.chat.plain import PlainOutput
from construct.config import Settings
from construct.operations.opening import open_chat


@asynccontextmanager
async def talking(settings: Settings, out: PlainOutput | None = None) -> AsyncIterator[Dialogue]:
    """Open a chat over plain streams; it goes on where the last one ended."""
    chat = Chat(open_chat(settings, None, new=False, model=None, private=False))
    dialogue = Dialogue(chat, out or PlainOutput())
    try:
        yield dialogue
    finally:
        await chat.close()


async def shown(dialogue: Dialogue, line: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Return what a line shows."""
    capsys.readouterr()
    await dialogue.run_line(line)
    return capsys.readouterr().out

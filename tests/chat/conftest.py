"""A chat in a terminal in memory, answered by the fake API over HTTP."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from threading import Event
from typing import TextIO, cast

import pytest
from prompt_toolkit.completion import DummyCompleter
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.input.base import PipeInput
from prompt_toolkit.output.vt100 import Vt100_Output

from construct.chat.app import Session
from construct.chat.commands import all_commands
from construct.chat.prompt import Prompt
from construct.config import Settings
from construct.operations.opening import open_chat
from construct.program import in_shell_or_chat, write_commands_as
from tests.support.database import new_database
from tests.support.emulator import Emulator
from tests.support.fake_api import FakeApi
from tests.support.fake_types import Answer, Json


@pytest.fixture(autouse=True)
def _like_xterm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the chat treat the emulator as a colour terminal that does not rewrap."""
    for name in ("TMUX", "STY", "NO_COLOR", "INPUTRC"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("XTERM_VERSION", "XTerm(390)")


@pytest.fixture(autouse=True)
def _slash_commands() -> Iterator[None]:
    """Let views name commands as the chat does."""
    write_commands_as(all_commands().as_slash)
    yield
    write_commands_as(in_shell_or_chat)


@pytest.fixture
def settings(api: FakeApi, tmp_path: Path) -> Settings:
    """Return settings for the fake, with the extractive worker and a new database."""
    db = tmp_path / "construct.db"
    return Settings(
        db, config_dir=tmp_path, api_key="test-key", base_url=api.url, worker_model="extractive"
    )


def hold_reply(api: FakeApi) -> tuple[Event, Event]:
    """Hold back the next reply. Return two events: it was asked for, and it may come."""
    asked, may_answer = Event(), Event()

    def answer(_: Json) -> Answer:
        asked.set()
        may_answer.wait(30)
        return "Here it is."

    api.enqueue("chat", answer)
    return asked, may_answer


@pytest.fixture
def prompt() -> Prompt:
    """Return a prompt without a screen, whose history is empty."""

    async def read_history() -> list[str]:
        return []

    return Prompt(read_history, DummyCompleter(), lambda: None, lambda: None)


class Seat:
    """Somebody before the terminal."""

    def __init__(self, session: Session, screen: Emulator, keys: PipeInput) -> None:
        self.session = session
        self.screen = screen
        self._keys = keys
        self.ending = asyncio.create_task(session.run())

    def type(self, text: str) -> None:
        """Press keys; a carriage return is Enter."""
        self._keys.send_text(text)

    async def see(self, what: str | Callable[[], bool], seconds: float = 30.0) -> None:
        """Wait until a text is on the screen, or a condition holds.

        Fail with the screen otherwise.
        """
        met = what if callable(what) else lambda: what in self.screen.text
        try:
            async with asyncio.timeout(seconds):
                while not met():
                    if self.ending.done():
                        await self.ending
                        break
                    await asyncio.sleep(0.01)
        except TimeoutError:
            raise AssertionError(f"{what!r} was not seen on:\n{self.screen.text}") from None
        assert met(), f"the chat ended without {what!r}:\n{self.screen.text}"

    async def idle(self) -> None:
        """Wait until no line is running, so that Ctrl-C clears the line."""
        prompt = self.session.screen.prompt
        await self.see(lambda: prompt.running is None and not prompt.sent)

    async def leave(self) -> int:
        """Press Ctrl-D and wait for the end."""
        self.type("\x04")
        async with asyncio.timeout(30):
            return await self.ending


@asynccontextmanager
async def seated(
    settings: Settings,
    *,
    conversation: int | None = None,
    new: bool = False,
    model: str | None = None,
    private: bool = False,
    columns: int = 80,
    rows: int = 24,
) -> AsyncIterator[Seat]:
    """Open a chat in a terminal of this size.

    It is left at the end if it has not been.
    """
    new_database(settings.db).close()
    opening = open_chat(settings, conversation, new=new, model=model, private=private)
    screen = Emulator(columns, rows)
    stream = cast(TextIO, screen)
    output = Vt100_Output(
        stream, lambda: Size(rows=screen.rows, columns=screen.columns), enable_cpr=False
    )
    with create_pipe_input() as keys:
        seat = Seat(Session(opening, (keys, output)), screen, keys)
        try:
            await seat.see("›")
            yield seat
        finally:
            if not seat.ending.done():
                seat.session.screen.leave()
                await seat.ending


def stored(settings: Settings, query: str) -> list[tuple[object, ...]]:
    """Return what a query finds in the database."""
    with closing(sqlite3.connect(settings.db)) as db:
        return db.execute(query).fetchall()

"""Tools in a chat on a terminal: what the screen shows, and what it asks."""

from dataclasses import replace
from pathlib import Path

import pytest

from construct.config import Settings
from tests.chat.conftest import _like_xterm, seated, stored
from tests.support.fake_api import FakeApi, Reply
from tests.support.tool_server import HttpToolServer
from tests.tools.conftest import configure

like_xterm = _like_xterm


@pytest.fixture
def settings(api: FakeApi, tmp_path: Path, server: HttpToolServer) -> Settings:
    """Settings for the fake, with one tool server and an extractive worker."""
    configure(tmp_path, {"web": server.entry})
    return Settings(
        tmp_path / "construct.db", config_dir=tmp_path, api_key="test-key", base_url=api.url,
        worker_model="extractive",
    )  # fmt: skip


async def test_a_tool_from_the_first_look_to_the_result(
    api: FakeApi, settings: Settings, server: HttpToolServer
) -> None:
    """A new server is said, allowed, offered; its tool is asked about; its result is one line."""
    (server.folder / "mail").write_text("First line.\nSecond \x1b[31mline.")
    call = ("web__page", {"title": "mail"})
    async with seated(settings, rows=50, columns=100) as seat:
        await seat.see("web in mcp.json is a new server: http://127.0.0.1")
        seat.type("/tools\r")
        await seat.see("not allowed yet")
        seat.type("/tools allow web\r")
        await seat.see("web__page  (asks)  Return a page.")
        api.enqueue("chat", Reply(tool_calls=(call,)), "It has two lines.")
        seat.type("Read my mail.\r")
        await seat.see('The model wants to call web__page with {"title": "mail"}')
        await seat.see("It says of itself: Return a page.")
        await seat.see("once, always, never; Enter: not now")
        seat.type("What?\r")
        await seat.see("Not sent: “What?”. Please answer first.")
        seat.type("always\r")
        await seat.see("24 characters: First line. Second line.")
        await seat.see("It has two lines.")
        api.enqueue("chat", Reply(tool_calls=(call,)), "I may not.")
        seat.type("Again.\r")
        await seat.see("A text that is not yours is before the model.")
        await seat.see("Call it? [y/N]")
        seat.type("n\r")
        await seat.see("The user declined this call.")
        await seat.see("I may not.")
        seat.type("/tools show\r")
        await seat.see("Second line.")
        seat.type("/tools allow web__page --harmless\r")
        await seat.see("web__page  (always, sends nothing out)")
        await seat.idle()
        assert await seat.leave() == 0
    assert server.calls() == [("page", {"title": "mail"})]
    assert stored(settings, "SELECT outside FROM messages WHERE role = 'assistant'") == [
        ("result",),
        ("before",),
    ]


async def test_ctrl_c_stops_a_tool_that_hangs(
    api: FakeApi, settings: Settings, server: HttpToolServer
) -> None:
    """The chat goes on, and so do the tools."""
    async with seated(replace(settings), rows=40) as seat:
        seat.type("/tools allow web --harmless\r")
        await seat.see("web__hang  (always, sends nothing out)")
        api.enqueue("chat", Reply(tool_calls=(("web__hang", {}),)))
        seat.type("Wait.\r")
        await seat.see("web__hang {}")
        seat.type("\x03")
        await seat.see("interrupted")
        api.enqueue("chat", Reply(tool_calls=(("web__page", {"title": "x"}),)), "It says hello.")
        seat.type("Read x.\r")
        await seat.see("It says hello.")
        await seat.idle()
        assert await seat.leave() == 0
    assert server.calls() == [("page", {"title": "x"})]

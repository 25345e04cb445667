"""Leaving the chat: the memory is finished, nothing is lost, nothing stays open."""

import asyncio
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest

from construct.chat import chat
from construct.config import Settings
from construct.store.database import open_database
from construct.talk import companion
from tests.chat.conftest import hold_reply, seated, stored
from tests.support.fake_api import FakeApi, Reply


async def test_leaving_finishes_the_memory(api: FakeApi, settings: Settings) -> None:
    """Leaving observes what has been said, and no session stays open."""
    async with seated(settings) as seat:
        for number in range(6):
            address = f"1{number} Elm Street in Porto"
            seat.type(f"My number {number} cousin lives at {address} since 200{number}.\r")
            await seat.see(lambda n=number: seat.screen.text.count("whenever you like") == n + 1)  # type: ignore[misc]
        assert await seat.leave() == 0
    assert stored(settings, "SELECT count(*) FROM observations")[0][0] == 6
    assert stored(settings, "SELECT count(*) FROM sessions") == [(0,)]
    assert stored(settings, "SELECT count(*) FROM cycles WHERE status = 'running'") == [(0,)]


async def test_leaving_at_once(settings: Settings) -> None:
    """Leaving before everything is loaded works, and no session stays open."""
    for pause in (0.0, 0.06, 0.1):
        async with seated(settings) as seat:
            await asyncio.sleep(pause)
            assert await seat.leave() == 0
    assert stored(settings, "SELECT count(*) FROM sessions") == [(0,)]


async def test_leaving_while_a_reply_comes(api: FakeApi, settings: Settings) -> None:
    """Ctrl-D during a reply leaves, keeps what came, and says what was not sent."""
    api.enqueue("chat", Reply("on and on " * 200, chunk_delay=0.02, chunk_size=10))
    async with seated(settings) as seat:
        seat.type("talk\r")
        await seat.see("on and on")
        seat.type("wait\r")
        await seat.see("queued: wait")
        await seat.leave()
        assert "not sent: wait" in seat.screen.text
    assert stored(settings, "SELECT status FROM messages WHERE role = 'assistant'") == [
        ("interrupted",)
    ]


async def test_leaving_shows_what_was_not_sent(api: FakeApi, settings: Settings) -> None:
    """Whole, even before the chat is loaded, and also the line that is being typed."""
    long = " ".join(f"word{number}" for number in range(30))
    async with seated(settings, columns=400) as seat:
        seat.type(f"{long}\r\x04")
        await seat.ending
        assert f"not sent: {long}" in seat.screen.text
    api.enqueue("chat", Reply("on and on " * 20, chunk_delay=0.02, chunk_size=10))
    async with seated(settings) as seat:
        seat.type("talk\r")
        await seat.see("on and on")
        seat.type("/quit\rone\x1b\rtwo")
        await seat.ending
        assert "not sent: one\ntwo" in seat.screen.text
    assert stored(settings, "SELECT content FROM messages WHERE role = 'user'") == [("talk",)]


@pytest.mark.parametrize(
    "more", [{}, {"base_url": None, "api_key": None}], ids=["model", "notebook"]
)
async def test_an_interrupted_message_is_kept_or_comes_back(
    settings: Settings, more: dict[str, Any]
) -> None:
    """Whenever Ctrl-C or Ctrl-D is pressed, the message is stored, or said not to be."""
    settings = replace(settings, **more)
    for number in range(24):
        async with seated(settings) as seat:
            await seat.see("observe")
            words = f"message {number}"
            seat.type(f"{words}\r")
            for _ in range(number):
                await asyncio.sleep(0.0005)
            seat.type("\x04" if number % 2 else "\x03")
            await asyncio.sleep(0.01)
            seat.session.screen.leave()
            await seat.ending
            query = f"SELECT count(*) FROM messages WHERE role = 'user' AND content = '{words}'"
            is_said = f"not sent: {words}" in seat.screen.text
            assert stored(settings, query) == [(0 if is_said else 1,)]


async def test_two_terminals_in_one_talk(api: FakeApi, settings: Settings) -> None:
    """Who joins a talk that is open in another terminal is told so, by /switch too.

    In a new one nobody is.
    """
    async with seated(settings) as first:
        first.type("hello\r")
        await first.see("whenever you like")
        async with seated(settings) as second:
            await second.see(
                "this conversation is open in another terminal too; /new begins a new one"
            )
            second.type("/new\r")
            await second.see("A new conversation.")
            second.type("/switch 1\r")
            await second.see(lambda: second.screen.text.count("in another terminal") == 2)
        async with seated(settings, new=True) as third:
            third.type("hello again\r")
            await third.see("whenever you like")
            assert "another terminal" not in third.screen.text
        assert "another terminal" not in first.screen.text


async def test_a_reply_that_cannot_be_stored_yet(api: FakeApi, settings: Settings) -> None:
    """While another program holds the file, the screen says what is waited for."""
    asked, may_answer = hold_reply(api)
    async with seated(settings) as seat:
        seat.type("hello\r")
        await seat.see(asked.is_set)
        with closing(open_database(settings.db)) as importing:
            importing.execute("BEGIN IMMEDIATE")
            may_answer.set()
            seat.type("/new\r")
            await seat.see("storing the reply")
            assert "queued: /new" in seat.screen.text
        await seat.see("A new conversation.")
        assert "storing the reply" not in seat.screen.text
    assert stored(settings, "SELECT content FROM messages WHERE role = 'assistant'") == [
        ("Here it is.",)
    ]


async def test_while_another_program_holds_the_file(
    api: FakeApi, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody who moves on or leaves has to wait for an import to end."""
    monkeypatch.setattr(chat, "_SESSION_PATIENCE_SECONDS", 0.05)
    monkeypatch.setattr(companion, "_WORKER_PATIENCE", 0.05)
    async with seated(settings) as seat:
        seat.type("hello\r")
        replies = "SELECT count(*) FROM messages WHERE role = 'assistant'"
        await seat.see(lambda: stored(settings, replies) == [(1,)])
        with closing(open_database(settings.db)) as importing:
            importing.execute("BEGIN IMMEDIATE")
            seat.type("/new\r")
            await seat.see("A new conversation.")
            assert await seat.leave() == 0

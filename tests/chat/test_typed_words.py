"""Nothing that is typed is lost, and no key answers a question that it was not meant for."""

import asyncio
import sqlite3
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest

from construct.chat.prompt import Prompt
from construct.config import Settings
from construct.store.database import open_database, transaction
from construct.tasks import finished
from tests.chat.conftest import Seat, hold_reply, seated, stored
from tests.support.fake_api import FakeApi, Reply

SAID = "SELECT content FROM messages WHERE role = 'user'"
UP = "\x1b[A"
NOTEBOOK = {"base_url": None, "api_key": None}
FOREVER = Reply("on and on " * 200, chunk_delay=0.02, chunk_size=10)


def line(seat: Seat) -> str:
    """Return the line at the prompt."""
    return seat.session.screen.prompt.buffer.text


async def asked(seat: Seat) -> None:
    """Say something, and bring up a question about deleting it."""
    seat.type("hello\r")
    await seat.see("You said")
    seat.type("/forget message:1\r")
    await seat.see("[y/N]")


@pytest.mark.parametrize("more", [{}, NOTEBOOK], ids=["model", "notebook"])
async def test_a_message_that_cannot_be_stored_comes_back(
    settings: Settings, more: dict[str, Any]
) -> None:
    """With the error. It is not said to be sent."""
    async with seated(replace(settings, **more)) as seat:
        seat.type("/new Tea\r")
        await seat.see("A new conversation: Tea.")
        with closing(sqlite3.connect(settings.db)) as db, db:
            db.execute(
                "CREATE TRIGGER full BEFORE INSERT ON messages"
                " BEGIN SELECT RAISE(ABORT, 'the disk is full'); END"
            )
        seat.type("precious words\r")
        await seat.see(lambda: line(seat) == "precious words")
    assert "not sent: precious words" in seat.screen.text
    assert stored(settings, SAID) == []


async def test_interrupted_while_another_program_writes(settings: Settings) -> None:
    """The message is stored first: `/retry` then asks for its reply, not for an earlier one."""
    async with seated(settings) as seat:
        seat.type("/new Tea\r")
        await seat.see("A new conversation: Tea.")
        with closing(open_database(settings.db)) as importing, transaction(importing):
            seat.type("hello\r")
            await seat.see("thinking")
            await asyncio.sleep(0.1)
            seat.type("\x03")
            await asyncio.sleep(0.1)
        await seat.see("interrupted before the reply began; /retry asks again")
        assert stored(settings, SAID) == [("hello",)]


def ask_to_forget(db: sqlite3.Connection) -> None:
    """Let a request to forget the first message wait for its answer."""
    db.execute(
        """INSERT INTO questions (id, uid, kind, created_at, withheld_at)
           VALUES (1, 'q', 'forget', '2026-01-01', '2026-01-01T00:00:00+00:00')"""
    )
    db.execute("INSERT INTO question_items (uid, question_id, message_id) VALUES ('i', 1, 1)")


async def test_leaving_asks_nothing(api: FakeApi, settings: Settings) -> None:
    """A request to forget that has just come is asked about in the next chat."""
    api.enqueue("chat", FOREVER)
    async with seated(settings) as seat:
        seat.type("talk\r")
        await seat.see("on and on")
        with closing(open_database(settings.db)) as db, transaction(db):
            ask_to_forget(db)
        await seat.leave()
    async with seated(settings) as seat:
        await seat.see("Forget it for good? [y/N]")


async def test_keys_after_an_answer_go_to_the_next_message(
    api: FakeApi, settings: Settings
) -> None:
    """Also when all arrive at once, as over a slow connection."""
    async with seated(settings) as seat:
        await asked(seat)
        seat.type("n\rthe next message\rand a draft")
        await seat.see("Nothing was deleted.")
        await seat.see(lambda: line(seat) == "and a draft")
        await seat.see(lambda: len(api.of("chat")) == 2)
    assert stored(settings, SAID) == [("hello",), ("the next message",)]


@pytest.mark.parametrize("key", ["\r", "\x03"], ids=["Enter", "Ctrl-C"])
async def test_words_typed_as_an_answer_are_kept(settings: Settings, key: str) -> None:
    """The arrow key brings them back, and the line that was being typed stays."""
    async with seated(settings) as seat:
        seat.type("hello\r")
        await seat.see("You said")
        seat.type("/forget message:1\rMy sister")
        await seat.see("[y/N]")
        seat.type(f" lives in Porto{key}")
        if key == "\r":
            await seat.see("Not sent: “lives in Porto”.")
            seat.type("n\r")
        await seat.see("Nothing was deleted.")
        await seat.see("› My sister")
        seat.type(UP)
        await seat.see(lambda: line(seat) == "lives in Porto")


async def test_a_question_leaves_the_line_and_its_history(api: FakeApi, settings: Settings) -> None:
    """Whoever looks through earlier messages still has the line that they had begun."""
    async with seated(settings) as seat:
        seat.type("hello\r")
        await seat.see("You said")
        came, may_answer = hold_reply(api)
        seat.type("again\r")
        await seat.see(came.is_set)
        seat.type("/forget message:1\rmy draft")
        await seat.see("› my draft")
        seat.type(UP + UP)
        await seat.see(lambda: line(seat) == "again")
        may_answer.set()
        await seat.see("[y/N]")
        seat.type("n\r")
        await seat.see("Nothing was deleted.")
        seat.type("\x1b[B\x1b[B")
        await seat.see(lambda: line(seat) == "my draft")
        seat.type(UP + UP)
        await seat.see(lambda: line(seat) == "again")
        seat.session.screen.leave()
        await seat.ending
        assert "not sent: my draft" in seat.screen.text
        assert "not sent: again" not in seat.screen.text


async def test_leaving_right_after_a_resize(api: FakeApi, settings: Settings) -> None:
    """What is printed then is shown, and long pastes in full."""
    api.enqueue("chat", FOREVER)
    async with seated(settings, rows=60) as seat:
        seat.type("talk\r")
        await seat.see("on and on")
        seat.type("\x1b[200~" + "\n".join(["word"] * 19) + "\nLAST\x1b[201~\r")
        await seat.see("queued: [pasted 20 lines #1]")
        seat.screen.resize(78, 60)
        seat.session.screen.app._on_resize()
        await seat.leave()
        assert "interrupted" in seat.screen.text
        assert "not sent: word\nword" in seat.screen.text
        assert "LAST" in seat.screen.text


async def test_early_words_do_not_empty_the_history(settings: Settings) -> None:
    """Earlier messages come by the arrow key, also after a line sent at once."""
    async with seated(settings) as seat:
        seat.type("an old message\r")
        await seat.see("You said")
        await seat.leave()
    async with seated(settings) as seat:
        seat.type("quick\r")
        await seat.see(lambda: stored(settings, SAID) == [("an old message",), ("quick",)])
        seat.type(UP + UP)
        await seat.see(lambda: line(seat) == "an old message")


async def test_a_macro_from_private_talk_is_gone(settings: Settings) -> None:
    """The keys that were recorded do not come back."""
    async with seated(settings) as seat:
        seat.type("/private on\r")
        await seat.see("From here on nothing")
        for keys in ("\x18(", "a secret", "\x18)", "\x15/private off\r"):
            seat.type(keys)
            await asyncio.sleep(0.05)
        await seat.see("stored again")
        seat.type("\x18eand")
        await seat.see(lambda: line(seat) == "and")


async def test_a_question_waits_while_the_next_message_is_typed(prompt: Prompt) -> None:
    """Also between two messages, when the line is empty for a moment."""
    prompt.fill("first")
    prompt.count_key()
    assert prompt.send()
    asking = asyncio.create_task(prompt.ask("d done · q stop:", "dq"))
    await asyncio.sleep(0)
    assert not prompt.question.text
    prompt.buffer.insert_text("dinner")
    while not prompt.question.text:
        await asyncio.sleep(0.01)
    prompt.question.answer("")
    assert await asking == ""
    assert prompt.text == "dinner"


async def test_a_question_does_not_come_between_two_keys(settings: Settings) -> None:
    """Neither in a search nor on an empty line: it waits for a pause."""
    async with seated(settings) as seat:
        seat.type("hello\r")
        await seat.see("You said")
        seat.type("/forget message:1\r\x12hel")
        await seat.see("I-search")
        await seat.see("[y/N]")
        await seat.see(lambda: "I-search" not in seat.screen.text)
        seat.type("n\r")
        await seat.see("Nothing was deleted.")
        seat.type("\x12")
        await seat.see(lambda: seat.screen.lines[-2].endswith("I-search backward:"))


async def test_work_is_finished_however_often_it_is_cancelled() -> None:
    """Then the cancellation is raised."""
    may_end, ended = asyncio.Event(), []

    async def work() -> None:
        await may_end.wait()

    task = asyncio.create_task(finished(work(), lambda: ended.append(True)))
    for _ in range(3):
        await asyncio.sleep(0)
        task.cancel()
    may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended == [True]


async def test_a_search_in_private_is_forgotten(settings: Settings) -> None:
    """Neither what was searched for nor a macro that was begun comes back."""
    async with seated(settings) as seat:
        seat.type("/private on\r")
        await seat.see("From here on nothing")
        for keys in ("\x12love", "\x07", "\x18(", "a secret", "\x15/private off\r"):
            seat.type(keys)
            await asyncio.sleep(0.05)
        await seat.see("stored again")
        for keys in ("\x18)", "\x18e", "\x12", "\x10"):
            seat.type(keys)
            await asyncio.sleep(0.05)
        assert "love" not in seat.screen.lines[-2]
        assert not line(seat)


async def test_a_half_typed_answer_is_shown_on_leaving(settings: Settings) -> None:
    """It may be the beginning of a message. So may a sentence without spaces."""
    async with seated(settings) as seat:
        await asked(seat)
        seat.type("我姐姐住在波尔图\r")
        await seat.see("Not sent: “我姐姐住在波尔图”.")
        seat.type("and she")
        await seat.see("[y/N] and she")
        seat.session.screen.leave()
        await seat.ending
    assert "not sent: and she" in seat.screen.text


async def test_a_changed_message_stays_when_the_history_is_loaded_again(
    api: FakeApi, settings: Settings
) -> None:
    """It stands after the line that was being typed before."""
    async with seated(settings) as seat:
        seat.type("hello\r")
        await seat.see("You said")
        came, may_answer = hold_reply(api)
        seat.type("again\r")
        await seat.see(came.is_set)
        seat.type("/forget message:1 --yes\rdraft")
        await seat.see("› draft")
        seat.type(UP + UP + " and again")
        await seat.see(lambda: line(seat) == "again and again")
        may_answer.set()
        await seat.see(lambda: line(seat) == "draft\nagain and again")


@pytest.mark.parametrize("key", ["\r", "\x03"])
async def test_a_draft_behind_an_earlier_message_comes_back(settings: Settings, key: str) -> None:
    """Sending or clearing the earlier message does not lose it."""
    async with seated(settings) as seat:
        seat.type("hello\r")
        await seat.see("You said")
        await seat.idle()
        seat.type("draft" + UP)
        await seat.see(lambda: line(seat) == "hello")
        seat.type(key)
        await seat.see(lambda: line(seat) == "")
        seat.type(UP)
        await seat.see(lambda: line(seat) == "draft")


async def test_the_first_question_waits_for_a_pause_too(api: FakeApi, settings: Settings) -> None:
    """Lines that are typed at once after the start are sent, not taken as its answer."""
    async with seated(settings) as seat:
        seat.type("talk\r")
        await seat.see("You said")
        await seat.leave()
    with closing(open_database(settings.db)) as db, transaction(db):
        ask_to_forget(db)
    async with seated(settings) as seat:
        for key in "good morning\rthanks\r":
            seat.type(key)
            await asyncio.sleep(0.02)
        await seat.see("[y/N]")
        seat.type("n\r")
        await seat.see("Keep it after all? [y/N]")
        seat.type("n\r")
        await seat.see(lambda: len(api.of("chat")) == 3)
    assert "Not sent" not in seat.screen.text


async def test_a_letter_that_is_left_does_not_answer(prompt: Prompt) -> None:
    """Neither after a deletion nor from the clipboard: only a key does."""
    asking = asyncio.create_task(prompt.ask("d done · q stop:", "dq"))
    await asyncio.sleep(0)
    prompt.paste("d")
    prompt.question.line.insert_text("!")
    prompt.question.line.delete_before_cursor()
    assert prompt.question.text
    prompt.question.answer("")
    assert await asking == ""

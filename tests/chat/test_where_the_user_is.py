"""`construct` continues where the user last was, and shows what was said there last."""

from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from construct.clock import Clock
from construct.config import Settings
from construct.operations.opening import open_chat
from construct.store.database import open_database
from tests.chat.commands.plainly import talking
from tests.chat.conftest import seated
from tests.support.fake_api import FakeApi


def here(settings: Settings) -> int | None:
    """Return the conversation that the next start continues."""
    return open_chat(settings, None, new=False, model=None, private=False).conversation_id


async def test_after_switching(settings: Settings, api: FakeApi) -> None:
    """Without a word said there, it is the one that was switched to."""
    async with talking(settings) as dialogue:
        for line in ("Tea.", "/new", "Garden."):
            await dialogue.run_line(line)
    assert here(settings) == 2
    async with talking(settings) as dialogue:
        await dialogue.run_line("/switch 1")
    assert here(settings) == 1
    async with talking(settings) as dialogue:
        await dialogue.run_line("More tea.")
    assert here(settings) == 1


async def test_after_forking(settings: Settings, api: FakeApi) -> None:
    """It is the fork; once that is deleted, the one talked in last."""
    async with talking(settings) as dialogue:
        for line in ("Tea.", "/fork Aside"):
            await dialogue.run_line(line)
    assert here(settings) == 2
    async with talking(settings) as dialogue:
        await dialogue.run_line("/conversations delete 2 --yes")
    assert here(settings) == 1


async def test_a_clock_that_was_wrong_leads_nowhere_else(settings: Settings, api: FakeApi) -> None:
    """What was said with the clock a year ahead is not where the user is ever after."""
    ahead = replace(settings, clock=Clock(datetime.now(UTC) + timedelta(days=366)))
    async with talking(ahead) as dialogue:
        await dialogue.run_line("Next year.")
    async with talking(settings) as dialogue:
        for line in ("/new", "This year."):
            await dialogue.run_line(line)
    assert here(settings) == 2


async def test_a_new_one_counts_once_something_is_said(settings: Settings, api: FakeApi) -> None:
    """/new alone stores nothing: the next start goes on where something was said."""
    async with talking(settings) as dialogue:
        for line in ("Tea.", "/new"):
            await dialogue.run_line(line)
    assert here(settings) == 1


async def test_private_talk_does_not_move(settings: Settings, api: FakeApi) -> None:
    """What is said in private leaves no trace, not even where it was said."""
    async with talking(settings) as dialogue:
        for line in ("Tea.", "/new", "Garden."):
            await dialogue.run_line(line)
    async with seated(settings, conversation=1, private=True) as seat:
        seat.type("Nobody knows.\r")
        await seat.see("You said")
        await seat.leave()
    assert here(settings) == 2


async def test_the_last_exchange_is_shown(settings: Settings, api: FakeApi) -> None:
    """Coming back, one sees what was said last, and no more."""
    api.enqueue("chat", "Green or black?", "With **milk**.")
    async with seated(settings) as seat:
        seat.type("Tea, please.\r")
        await seat.see("Green or black?")
        seat.type("Black.\r")
        await seat.see("With milk.")
        await seat.leave()
    async with seated(settings) as seat:
        await seat.see("› Black.")
        await seat.see("With milk.")
        assert "Green or black?" not in seat.screen.text


async def test_what_was_emptied_greets_nobody(settings: Settings, api: FakeApi) -> None:
    """An exchange that was forgotten with its words is not shown again."""
    async with seated(settings) as seat:
        seat.type("Tea, please.\r")
        await seat.see("You said")
        await seat.leave()
    with closing(open_database(settings.db)) as db:
        db.execute("UPDATE messages SET content = '[removed]', blocks = NULL, withheld = 1")
    async with seated(settings) as seat:
        seat.type("/help\r")
        await seat.see("/persona")
        assert "[removed]" not in seat.screen.text
        assert "Tea" not in seat.screen.text


async def test_replies_of_the_small_model_are_named_once(settings: Settings, api: FakeApi) -> None:
    """On the first start back, the user is told that the small model is gone.

    The next start says nothing.
    """
    gone = "the small built-in model, which is gone"
    async with talking(settings) as dialogue:
        await dialogue.run_line("Tea.")
    with closing(open_database(settings.db)) as db:
        db.execute("UPDATE messages SET model = 'local:SmolLM2-360M' WHERE role = 'assistant'")
    async with seated(settings) as seat:
        await seat.see(gone)
    async with seated(settings) as seat:
        seat.type("/help\r")
        await seat.see("/help all: every command")
        assert gone not in seat.screen.text

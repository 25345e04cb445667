"""Reminders in a chat: a line above the prompt, when the user is there."""

from contextlib import closing
from dataclasses import replace

import pytest

from construct.chat import app
from construct.clock import Clock
from construct.config import Settings
from construct.operations.reminders import take_for_chat
from construct.store import cycles
from construct.store.database import open_database
from tests.chat.conftest import seated, stored
from tests.memory.builders import Life, stated
from tests.support.fake_api import FakeApi, Reply


@pytest.fixture
def due(settings: Settings) -> Settings:
    """A chat at nine, with a reminder that was due at eight."""
    life = Life(settings.db.parent, "due.db")
    here = life.talk()
    said = life.exchange(here, "I hand in the tax form on 3 March.")
    note = replace(stated("User hands in the tax form", [said.id]), label="Tax form")
    life.observe(here, replace(note, stance="planned", referenced_date="2026-03-03"))
    life.compact(here)
    life.pass_days(2)
    life.db.close()
    return replace(settings, db=life.path, clock=Clock(life.now, life.clock.zone))


async def test_what_is_due_is_shown_above_the_prompt(due: Settings) -> None:
    """Once, with the terminal's own notification; another chat does not show it again."""
    async with seated(due) as seat:
        await seat.see("⏰ Tax form, today")
        assert "\x1b]9;Tax form, today" in seat.screen.raw
        assert await seat.leave() == 0
    assert stored(due, "SELECT due FROM deliveries WHERE delivered_at IS NOT NULL") == [
        ("2026-03-03 08:00",)
    ]
    async with seated(due) as seat:
        await seat.idle()
        assert await seat.leave() == 0
        assert "⏰" not in seat.screen.text


async def test_it_comes_while_the_user_types(
    due: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was typed stays at the prompt."""
    monkeypatch.setattr(app, "REMIND_SECONDS", 0.05)
    db = open_database(due.db)
    db.execute("UPDATE observations SET referenced_date = '2026-03-30'")
    async with seated(due) as seat:
        seat.type("Hello")
        await seat.see("› Hello")
        db.execute("UPDATE observations SET remind_at = '2026-03-03 09:00'")
        await seat.see("⏰ Tax form, in 4 weeks")
        await seat.see("› Hello")
    db.close()


async def test_somebody_who_is_away_is_reminded_elsewhere(due: Settings) -> None:
    """Nobody pressed a key for ten minutes: the reminder stays due."""
    db = open_database(due.db)
    session = cycles.open_session(db, None)
    assert take_for_chat(db, due, session, 601) == []
    assert [r.text for r in take_for_chat(db, due, session, 599)] == ["Tax form"]
    assert take_for_chat(db, due, session, 0) == []
    db.close()


async def test_the_user_says_whether_a_reminder_is_their_own(
    api: FakeApi, settings: Settings
) -> None:
    """A text from outside is in sight when the model wants to set it."""
    call = ("remind", {"text": "Call Otto", "when": "2099-03-03 09:00"})
    async with seated(settings, rows=40) as seat:
        seat.type("What does this letter of Otto's want?\r")
        await seat.see("You said")
        with closing(open_database(settings.db)) as db:
            db.execute("UPDATE messages SET pasted = '[[0, 4]]'")
        api.enqueue("chat", Reply("Wait.", tool_calls=[call]), "I will remind you.")
        seat.type("Remind me to call him.\r")
        await seat.see("wants to keep: “Call Otto")
        await seat.see("Keep it as your own? [y/N]")
        seat.type("y\r")
        await seat.see("I will remind you.")
    assert stored(settings, "SELECT stance, remind_at FROM observations") == [
        ("planned", "2099-03-03 09:00")
    ]

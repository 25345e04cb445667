"""`/review`: one key answers, and leaving loses nothing."""

from dataclasses import replace

import pytest

from construct.chat.plain import PlainOutput
from construct.clock import Clock
from construct.config import Settings
from construct.store.sql import insert
from tests.chat.commands.plainly import shown, talking
from tests.chat.commands.test_agenda import Pressing
from tests.chat.conftest import seated, stored
from tests.memory.builders import Life

NOTES = "SELECT content FROM observations WHERE superseded_at IS NULL ORDER BY id"
OPEN = "SELECT text FROM questions WHERE answered_at IS NULL"


@pytest.fixture
def waiting(settings: Settings) -> Settings:
    """Three facts of another program's list wait; one note was learned."""
    life = Life(settings.db.parent, "lists.db")
    life.learn(life.talk(), "Ana lives in Porto")
    for number, text in enumerate(("Sings alto", "Owns a tandem", "Is allergic to figs")):
        row = {"uid": f"q{number}", "kind": "list", "text": text, "created_at": life.tick()}
        insert(life.db, "questions", row)
    life.db.close()
    return replace(settings, db=life.path, clock=Clock(life.now, life.clock.zone))


class Answering(Pressing):
    """A user who also answers yes or no."""

    async def ask(self, question: str) -> bool:
        """Press the next key."""
        return next(self._keys) == "y"


@pytest.mark.parametrize(
    ("keys", "words", "notes", "left"),
    [
        ("kkkn", "", ["Sings alto", "Owns a tandem", "Is allergic to figs"], []),
        ("q", "", [], ["Sings alto", "Owns a tandem", "Is allergic to figs"]),
        (" ", "", [], ["Sings alto", "Owns a tandem", "Is allergic to figs"]),
        ("klq", "", ["Sings alto"], ["Owns a tandem", "Is allergic to figs"]),
        ("nfen", "Figs?", ["Figs?"], []),
        ("e kq", "", ["Sings alto"], ["Owns a tandem", "Is allergic to figs"]),
        ("kayn", "", ["Sings alto", "Owns a tandem", "Is allergic to figs"], []),
        ("kanq", "", ["Sings alto"], ["Owns a tandem", "Is allergic to figs"]),
        ("kkkynq", "", ["Sings alto", "Owns a tandem", "Is allergic to figs"], []),
    ],
)
async def test_a_key_answers(
    waiting: Settings, keys: str, words: str, notes: list[str], left: list[str]
) -> None:
    """Keep, edit, not true, forget, later, leave; then what was learned, if the user goes on."""
    async with talking(waiting, Answering(keys.replace("e k", "ek"), words)) as dialogue:
        await dialogue.run_line("/review")
        assert not dialogue.failed
    learned = [] if "kyn" in keys else ["Ana lives in Porto"]
    assert [row[0] for row in stored(waiting, NOTES)] == [*learned, *notes]
    assert [row[0] for row in stored(waiting, OPEN)] == left


async def test_a_pipe_only_lists(waiting: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody is there to press a key."""
    async with talking(waiting, PlainOutput()) as dialogue:
        listed = await shown(dialogue, "/review", capsys)
    assert "From a list of memories: Sings alto" in listed
    assert len(stored(waiting, OPEN)) == 3


async def test_leaving_says_what_waits(waiting: Settings) -> None:
    """In one line; it asks nothing."""
    async with seated(waiting) as seat:
        seat.type("/review\r")
        await seat.see(
            "k keep · a keep all · e edit · p pin · n not true · f forget · l later · q leave"
        )
        seat.type("k")
        await seat.see("Owns a tandem")
        seat.type("q")
        await seat.leave()
        assert "2 questions wait for you: `construct review`" in seat.screen.text
    assert len(stored(waiting, OPEN)) == 2

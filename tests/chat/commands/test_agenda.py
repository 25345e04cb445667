"""`/agenda`: what is ahead, and one key settles an item."""

from dataclasses import replace

import pytest

from construct.chat.plain import PlainOutput
from construct.clock import Clock
from construct.config import Settings
from tests.chat.commands.plainly import shown, talking
from tests.chat.conftest import seated, stored
from tests.memory.builders import Life, stated

ACTIVE = "SELECT content, referenced_date FROM observations WHERE superseded_at IS NULL ORDER BY id"


class Pressing(PlainOutput):
    """A user who presses these keys, one a question, and types these days when asked."""

    interactive = True

    def __init__(self, keys: str, days: str = "") -> None:
        super().__init__()
        self._keys = iter(keys)
        self._days = iter(days.split())

    async def answer_to(self, question: str, keys: str = "") -> str:
        """Press the next key, or type the next day."""
        return next(self._keys) if keys else next(self._days, "")


@pytest.fixture
def planned(settings: Settings) -> Settings:
    """Two plans that have passed, 1 and 2, and one ahead, 3."""
    life = Life(settings.db.parent, "plans.db")
    here = life.talk()
    for text, when in (
        ("User files the form", "2026-02-20"),
        ("User calls Ana", "2026-02-27"),
        ("User goes to Porto", "2099-03-06"),
    ):
        said = life.exchange(here, text)
        fact = replace(stated(text, [said.id]), stance="planned", referenced_date=when)
        life.observe(here, fact)
    life.compact(here)
    life.db.close()
    return replace(settings, db=life.path, clock=Clock(life.now, life.clock.zone))


@pytest.mark.parametrize(
    ("line", "keys", "day", "left"),
    [
        ("/agenda", "dc", "", [("User files the form (done)", "2026-02-20"),
                               ("User calls Ana (cancelled)", "2026-02-27")]),
        ("/agenda", " d", "", [("User calls Ana (done)", "2026-02-27")]),
        ("/agenda", "q", "", []),
        ("/agenda", "mq", "2099-03-09",
         [("User files the form (moved to 2099-03-09)", "2099-03-09")]),
        ("/agenda", "mq", "nonsense 2099-03-09",
         [("User files the form (moved to 2099-03-09)", "2099-03-09")]),
        ("/agenda", "mq", "", []),
        ("/agenda 3", "c", "", [("User goes to Porto (cancelled)", "2099-03-06")]),
        ("/agenda done 3", "", "", [("User goes to Porto (done)", "2099-03-06")]),
        ("/agenda moved 3 March 15, 2099", "", "",
         [("User goes to Porto (moved to 2099-03-15)", "2099-03-15")]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
async def test_a_key_settles(
    planned: Settings, line: str, keys: str, day: str, left: list[tuple[str, str]]
) -> None:
    """The question is about what has passed, or the named one. Enter leaves it."""
    before = stored(planned, ACTIVE)
    async with talking(planned, Pressing(keys, day)) as dialogue:
        await dialogue.run_line(line)
        assert not dialogue.failed
        assert [row for row in stored(planned, ACTIVE) if row not in before] == left
        for _ in left:
            await dialogue.run_line("/undo --yes")
    assert stored(planned, ACTIVE) == before


async def test_a_month_stands_last_and_is_named_when_it_is_asked_about(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    """`/why` without an id is about the item shown last."""
    life = Life(settings.db.parent, "plans.db")
    here = life.talk()
    for text, when in (("User sees Rome", "2099-12"), ("User marries", "2100-03-05")):
        said = life.exchange(here, text)
        fact = replace(stated(text, [said.id]), stance="planned", referenced_date=when)
        life.observe(here, fact)
    life.compact(here)
    life.db.close()
    async with talking(replace(settings, db=life.path), Pressing("q")) as dialogue:
        agenda = await shown(dialogue, "/agenda", capsys)
        assert agenda.index("User marries") < agenda.index("Sometime in December 2099")
        assert "User sees Rome" in await shown(dialogue, "/why", capsys)
        assert "User sees Rome · December 2099\n" in await shown(dialogue, "/agenda 1", capsys)


async def test_nothing_is_asked_where_nobody_can_answer(
    planned: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    """Over plain streams it only shows; in a private talk nothing is stored."""
    before = stored(planned, ACTIVE)
    async with talking(planned) as dialogue:
        assert "Passed, outcome unknown" in await shown(dialogue, "/agenda", capsys)
        await dialogue.run_line("/agenda 1")
        assert "No terminal to ask on. Type /agenda done 1, " in capsys.readouterr().err
        dialogue.failed = False
        await dialogue.run_line("/private on")
        assert not dialogue.failed
        await dialogue.run_line("/agenda done 3")
        assert dialogue.failed
    assert stored(planned, ACTIVE) == before


async def test_one_key_at_the_prompt_is_enough(planned: Settings) -> None:
    """No Enter is needed, and q ends the questions."""
    async with seated(planned) as seat:
        seat.type("/agenda\r")
        await seat.see("d done · m moved")
        seat.type("d")
        await seat.see("User files the form (done)")
        await seat.see(lambda: seat.screen.lines[-2].startswith("d done"))
        seat.type("q")
        await seat.see(lambda: seat.screen.lines[-2] == "›")
        assert await seat.leave() == 0
    assert ("User files the form (done)", "2026-02-20") in stored(planned, ACTIVE)
    assert ("User calls Ana", "2026-02-27") in stored(planned, ACTIVE)


async def test_nothing_advises_memory_work_while_it_is_off(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    """/compact would refuse, so neither /agenda nor /memory names it."""
    empty = replace(settings, db=settings.db.parent / "empty.db")
    async with talking(empty) as dialogue:
        await dialogue.run_line("I fly to Porto on 3 March 2099.")
        assert "/compact" in await shown(dialogue, "/agenda", capsys)
        assert "/compact" in await shown(dialogue, "/memory", capsys)
    async with talking(replace(empty, memory="off")) as dialogue:
        assert "/compact" not in await shown(dialogue, "/agenda", capsys)
        assert "CONSTRUCT_MEMORY is off" in await shown(dialogue, "/memory", capsys)

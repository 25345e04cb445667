"""A request to forget, made in conversation, is confirmed at the next prompt."""

import sqlite3
from contextlib import closing

import pytest

from construct.chat.plain import PlainOutput
from construct.config import Settings
from construct.memory.promotion import remember
from construct.store import cycles, forget_requests
from construct.store.conversations import set_watermark
from construct.store.database import open_database, transaction
from construct.store.messages import last_message_id
from construct.vocabulary import MemoryOrigin
from tests.chat.commands.plainly import talking

NOW = "2026-03-01T10:00:00.000000+00:00"


class Asked(PlainOutput):
    """A user who answers what they are asked, in this order."""

    interactive = True

    def __init__(self, *answers: bool) -> None:
        super().__init__()
        self.questions: list[str] = []
        self._answers = [*answers]

    async def ask(self, question: str) -> bool:
        """Answer the next question."""
        self.questions.append(question)
        return self._answers.pop(0)


def withhold(db: sqlite3.Connection) -> None:
    """Let the only note be withheld, as if its user had asked to forget it."""
    with transaction(db):
        (cycle,) = db.execute("SELECT id FROM cycles WHERE kind = 'observer'").fetchone()
        forget_requests.add(db, cycle, [1], [])
        set_watermark(db, 1, "window", last_message_id(db, 1), NOW)
        forget_requests.withhold_committed(db, 1, NOW)


@pytest.mark.parametrize(
    ("answers", "left"),
    [((True,), []), ((False, True), [(0, 0)]), ((False, False), [(1, 1)])],
    ids=["forget", "keep", "leave"],
)
async def test_the_user_decides(
    settings: Settings,
    capsys: pytest.CaptureFixture[str],
    answers: tuple[bool, ...],
    left: list[tuple[int, int]],
) -> None:
    """Forgotten with its words, kept, or left as it is; asked once, with the words."""
    with closing(open_database(settings.db)) as db:
        withhold(db)
        out = Asked(*answers)
        async with talking(settings, out) as dialogue:
            await dialogue.before_prompt()
            await dialogue.before_prompt()
        assert len(out.questions) == len(answers)
        assert "“My sister Rosa lives in Porto since 2001.”" in capsys.readouterr().out
        assert (
            db.execute(
                "SELECT withheld, (SELECT max(withheld) FROM messages) FROM observations"
            ).fetchall()
            == left
        )
        assert bool(
            db.execute("SELECT 1 FROM messages WHERE content = '[removed]'").fetchall()
        ) == (not left)


async def test_nobody_is_asked_by_a_pipe(settings: Settings) -> None:
    """Without a terminal it stays withheld, and is asked about in the next chat."""
    with closing(open_database(settings.db)) as db:
        withhold(db)
        async with talking(settings) as dialogue:
            await dialogue.before_prompt()
        assert len(forget_requests.unanswered(db)) == 1


async def test_each_request_is_a_question_of_its_own(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    """With all that it would empty.

    What went with an earlier answer is not asked about again.
    """
    with closing(open_database(settings.db)) as db:
        with transaction(db):
            (first,) = db.execute("SELECT id FROM cycles WHERE kind = 'observer'").fetchone()
            second = cycles.start_cycle(db, "observer", 1, NOW)
            assert second is not None
            assert cycles.finish_cycle(db, second, "succeeded", NOW)
            forget_requests.add(db, first, [1], [])
            forget_requests.add(db, second, [], [2])
            set_watermark(db, 1, "window", last_message_id(db, 1), NOW)
            forget_requests.withhold_committed(db, 1, NOW)
        assert [request.cycle_id for request in forget_requests.unanswered(db)] == [first, second]
        out = Asked(True)
        async with talking(settings, out) as dialogue:
            await dialogue.before_prompt()
        assert out.questions == ["Forget it for good?"]
        asked = capsys.readouterr().out
        assert "“My sister Rosa" in asked.partition("deletes every word of these:")[2]
        assert forget_requests.unanswered(db) == []


async def test_a_request_for_a_message_lists_what_was_drawn_from_it(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every observation that a yes deletes is in the question."""
    with closing(open_database(settings.db)) as db:
        with transaction(db):
            (cycle,) = db.execute("SELECT id FROM cycles WHERE kind = 'observer'").fetchone()
            forget_requests.add(db, cycle, [], [1])
            set_watermark(db, 1, "window", last_message_id(db, 1), NOW)
            forget_requests.withhold_committed(db, 1, NOW)
        async with talking(settings, Asked(False, True)) as dialogue:
            await dialogue.before_prompt()
        shown = capsys.readouterr().out
        (note,) = db.execute("SELECT content FROM observations").fetchone()
        assert note in shown.partition("also deletes:")[2]


async def test_memories_kept_on_request_are_listed_before_they_are_deleted(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    """A memory that says the same goes along with what was asked for."""
    kept = "My sister Rosa lives in Porto since 2001, in a blue house."
    with closing(open_database(settings.db)) as db:
        withhold(db)
        with transaction(db):
            remember(db, kept, None, MemoryOrigin.USER, settings.clock)
        async with talking(settings, Asked(True)) as dialogue:
            await dialogue.before_prompt()
        assert db.execute("SELECT content FROM memories").fetchall() == []
        assert kept in capsys.readouterr().out.partition("also deletes:")[2]

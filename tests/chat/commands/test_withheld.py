"""A request to forget, made in conversation, is confirmed at the next prompt."""

import sqlite3
from contextlib import closing

import pytest

from construct.chat.plain import PlainOutput
from construct.config import Settings
from construct.store import cycles, questions
from construct.store.conversations import set_watermark
from construct.store.database import open_database, transaction
from construct.store.messages import last_message_id
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
        questions.add_forget(db, cycle, [1], [], NOW)
        set_watermark(db, 1, "window", last_message_id(db, 1), NOW)
        questions.withhold_committed(db, 1, NOW)


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
        assert len(questions.unanswered_requests(db)) == 1


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
            questions.add_forget(db, first, [1], [], NOW)
            questions.add_forget(db, second, [], [2], NOW)
            set_watermark(db, 1, "window", last_message_id(db, 1), NOW)
            questions.withhold_committed(db, 1, NOW)
        assert len(questions.unanswered_requests(db)) == 2
        out = Asked(True)
        async with talking(settings, out) as dialogue:
            await dialogue.before_prompt()
        assert out.questions == ["Forget it for good?"]
        asked = capsys.readouterr().out
        assert "“My sister Rosa" in asked.partition("deletes every word of these:")[2]
        assert questions.unanswered_requests(db) == []


async def test_a_request_for_a_message_lists_what_was_drawn_from_it(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every observation that a yes deletes is in the question."""
    with closing(open_database(settings.db)) as db:
        with transaction(db):
            (cycle,) = db.execute("SELECT id FROM cycles WHERE kind = 'observer'").fetchone()
            questions.add_forget(db, cycle, [], [1], NOW)
            set_watermark(db, 1, "window", last_message_id(db, 1), NOW)
            questions.withhold_committed(db, 1, NOW)
        async with talking(settings, Asked(False, True)) as dialogue:
            await dialogue.before_prompt()
        shown = capsys.readouterr().out
        (note,) = db.execute("SELECT content FROM observations").fetchone()
        assert note in shown.partition("also deletes:")[2]

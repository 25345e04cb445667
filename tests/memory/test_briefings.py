"""What the last reply was given of memory: by id, as long as it exists."""

import sqlite3
from pathlib import Path

import pytest

from construct.clock import Clock
from construct.errors import NotFoundError
from construct.memory.forgetting import delete_conversation, forget
from construct.operations.why import ReplyTrace, why_last
from construct.store.database import open_database
from construct.store.records import Message, Observation
from construct.store.reply_context import ContextItem, forgotten_items
from tests.memory.builders import Life
from tests.support.context import context
from tests.support.fake_api import FakeApi, Reply
from tests.support.talks import Talk, talking


def call(name: str, **given: object) -> Reply:
    """Return a reply that calls a tool."""
    return Reply("Let me look.", tool_calls=((name, given),))


async def last(t: Talk) -> ReplyTrace:
    """Return what the last reply was given."""
    return await t.companion.store.call(lambda db: why_last(context(db, here=t.id)))


def words(what: Observation | Message) -> str:
    """Return what a thing says, with its kind."""
    return f"{type(what).__name__}: {what.content}"


@pytest.fixture
def locker(tmp_path: Path) -> int:
    """Return an observation about a locker.

    The same talk is also about bees, but nothing was noted about them.
    """
    life = Life(tmp_path, "construct.db")
    here = life.talk("Earlier")
    life.exchange(here, "My grandmother Ermelinda kept bees behind the old mill in Vouzela.")
    found = life.learn(here, "My second locker has the code 1002")
    life.db.close()
    return found.id


async def test_what_a_reply_was_given_is_noted_and_forgotten_with_its_sources(
    tmp_path: Path, api: FakeApi, locker: int
) -> None:
    """What came by itself, what tools brought, and the lines before the talk.

    Not a trace of what is deleted.
    """
    api.enqueue(
        "chat",
        call("recall", query="locker code"),
        call("source", id=str(locker)),
        "Behind the mill.",
    )
    async with talking(tmp_path, api) as t:
        reply = await t.say("Where did my grandmother Ermelinda keep her bees?")
        found = await last(t)
        assert (found.reply.id, found.blocks, found.lines) == (reply.message_id, 1, 1)
        told = [f"{given.way} {words(given.item)}" for given in found.given]
        assert told == sorted(told, key=lambda line: line.split()[0])
        assert (
            "passage Message: My grandmother Ermelinda kept bees behind the old mill in Vouzela."
            in told
        )
        assert "recall Observation: My second locker has the code 1002" in told
        assert "source Message: My second locker has the code 1002" in told

        await t.companion.store.call(
            forget, ("observation", locker), Clock(), words=False, wait=0.0
        )
        left = str((await last(t)).given)
        assert "Vouzela" in left
        assert "1002" not in left
        t.check()
        await t.companion.store.call(delete_conversation, t.id, Clock(), wait=0.0)
        assert await t.companion.store.call(_noted) == 0


async def test_the_reply_that_stands_counts(tmp_path: Path, api: FakeApi) -> None:
    """Without a reply there is nothing to say; a retried reply is not the last one.

    Memory off shows no lines.
    """
    async with talking(tmp_path, api, CONSTRUCT_MEMORY="off") as t:
        with pytest.raises(NotFoundError):
            await last(t)
        await t.say("Hello.")
        again = await t.responder.retry(t.id, t.heard.append)
        found = await last(t)
    assert again is not None
    assert found.reply.id == again.message_id
    assert (found.blocks, found.lines, found.given) == (0, 0, ())


@pytest.mark.usefixtures("locker")
async def test_with_memory_off_no_observation_was_given(tmp_path: Path, api: FakeApi) -> None:
    """Not even one that the conversation was shown before."""
    async with talking(tmp_path, api) as t:
        await t.say("Hello.")
        assert len((await last(t)).still_shown) == 1
    async with talking(tmp_path, api, CONSTRUCT_MEMORY="off") as later:
        again = Talk(later.ledger, t.id, later.progress)
        await again.say("Hello again.")
        assert (await last(again)).still_shown == ()


async def test_a_reply_forgotten_with_its_question_is_not_shown(
    tmp_path: Path, api: FakeApi
) -> None:
    """The last reply is the one before the forgotten one, or none."""
    api.enqueue("chat", "Hello, Ana.", "Your code is 1002.")
    async with talking(tmp_path, api) as t:
        await t.say("Hello.")
        await t.say("My code is 1002.")
        withhold = "UPDATE messages SET withheld = 1 WHERE content LIKE ?"
        await t.companion.store.call(lambda db: db.execute(withhold, ("%1002%",)).rowcount)
        assert (await last(t)).reply.content == "Hello, Ana."
        await t.companion.store.call(lambda db: db.execute(withhold, ("%",)).rowcount)
        with pytest.raises(NotFoundError):
            await last(t)


def _noted(db: sqlite3.Connection) -> int:
    (count,) = db.execute(
        "SELECT (SELECT count(*) FROM briefings) + (SELECT count(*) FROM briefed)"
    ).fetchone()
    return int(count)


def test_what_is_withheld_in_the_meantime_is_not_sent(tmp_path: Path, locker: int) -> None:
    """Neither the observation nor its message; other messages stay."""
    db = open_database(tmp_path / "construct.db")
    given = [
        ContextItem("recall", "observation", locker),
        ContextItem("source", "message", 3),
        ContextItem("source", "message", 1),
    ]
    assert forgotten_items(db, given) == set()
    db.execute("UPDATE observations SET withheld = 1")
    db.execute("UPDATE messages SET withheld = 1 WHERE id = 3")
    assert forgotten_items(db, given) == set(given[:2])
    db.close()

"""What is forgotten while a turn is under way is not sent or stored again."""

import asyncio
import json
from pathlib import Path

import pytest

from construct.errors import ConstructError, NotFoundError
from construct.memory.forgetting import forget
from construct.memory.shown.forks import fork
from construct.store.database import open_database
from construct.store.messages import NewMessage, add_message, messages_of, newest_messages
from construct.talk.events import Waiting
from tests.support.fake_api import FakeApi, Reply
from tests.support.talks import LOW, Talk, facts, talking

CODE = "SELECT id FROM observations WHERE content LIKE '%1002%' AND superseded_at IS NULL"


def call(name: str, **given: object) -> Reply:
    """Return a reply that calls a tool."""
    return Reply("Let me look.", tool_calls=((name, given),))


def forget_code(t: Talk) -> None:
    """Forget the third locker's code and its sources, as another process does."""
    db = open_database(t.companion.settings.db)
    try:
        for (number,) in db.execute(CODE).fetchall():
            forget(db, ("observation", number), t.companion.settings.clock, words=True)
    finally:
        db.close()


def sent(api: FakeApi, at: int = -1) -> str:
    """Return all that a chat request said."""
    return json.dumps(api.of("chat")[at].body)


async def test_what_the_tool_forgets_is_not_sent_again_and_not_stored(
    tmp_path: Path, api: FakeApi
) -> None:
    """What the model's tool forgets is not in the next round or the file.

    The model has just looked it up.
    """
    async with talking(tmp_path, api, **LOW) as t:
        await t.live(facts(12))
        ((number,),) = await t.companion.store.call(lambda db: db.execute(CODE).fetchall())

        async def willing(_: int) -> str:
            await asyncio.to_thread(forget_code, t)
            return "Deleted."

        t.companion.forget = willing
        api.enqueue(
            "chat", call("recall", query="locker 2 code"), call("forget", id=number), "It is gone."
        )
        assert (await t.say("Forget what my second locker is.")).complete
        t.check()
        kept = (await t.companion.store.call(messages_of, t.id))[-1]
    assert "code 1002" in sent(api, -2)
    assert "code 1002" not in sent(api)
    assert "Deleted." in sent(api)
    assert kept.content.endswith("It is gone.")
    assert kept.blocks is None
    # Not the digits alone: they come up in random uids.
    assert b"code 1002" not in b"".join(
        file.read_bytes() for file in tmp_path.glob("construct.db*")
    )


async def test_what_is_forgotten_during_the_wait_is_not_sent(tmp_path: Path, api: FakeApi) -> None:
    """What is forgotten while a turn waits for the observer is left out.

    The turn has read what to recall before the wait.
    """
    async with talking(tmp_path, api, **LOW) as t:
        await t.live(facts(12))
        await t.say("My words fill the window. " * 200)

        def listen(event: object) -> None:
            if isinstance(event, Waiting):
                forget_code(t)

        tomorrow = (
            f"UPDATE observations SET referenced_date = date('now', '+1 day') WHERE id IN ({CODE})"
        )
        await t.companion.store.call(lambda db: db.execute(tomorrow).rowcount)
        assert "Due tomorrow" in str(await t.companion.store.call(t.ledger.preview, t.id))
        result = await t.responder.turn(t.id, "Hello.", listen)
        assert result.complete
    assert "code 1002" not in sent(api)


@pytest.mark.parametrize("words", [True, False])
async def test_words_forgotten_while_they_wait_are_not_sent(
    tmp_path: Path, api: FakeApi, words: bool
) -> None:
    """A message forgotten while it waits is not sent, and the error says why.

    Another process observed it and deleted it.
    """
    async with talking(tmp_path, api, **LOW) as t:
        await t.say("My words fill the window. " * 200)

        def listen(event: object) -> None:
            if isinstance(event, Waiting):
                db = open_database(t.companion.settings.db)
                content = "[removed]" if words else "My secret is 77."
                db.execute(
                    "UPDATE messages SET withheld = 1, content = ? WHERE content LIKE '%77%'",
                    (content,),
                )
                db.close()

        with pytest.raises(ConstructError, match="forgotten in the meantime"):
            await t.responder.turn(t.id, "My secret is 77.", listen)
        assert len(api.of("chat")) == 1


async def test_no_reply_is_kept_to_words_forgotten_while_it_streams(
    tmp_path: Path, api: FakeApi
) -> None:
    """It would say again what was said."""
    api.enqueue("chat", Reply("Your secret is 77, I see.", delay=0.5))
    async with talking(tmp_path, api) as t:
        turn = asyncio.create_task(t.say("My secret is 77."))
        await asyncio.to_thread(api.wait_for, 1)
        await t.companion.store.call(
            lambda db: db.execute("UPDATE messages SET withheld = 1").rowcount
        )
        result = await turn
        assert result.message_id is None
        assert len(await t.companion.store.call(messages_of, t.id)) == 1


@pytest.mark.parametrize("memory", ["on", "off"])
async def test_nothing_is_said_in_a_conversation_deleted_meanwhile(
    tmp_path: Path, api: FakeApi, memory: str
) -> None:
    """Another process deleted it: that is said, and nothing is wrong with the file."""
    async with talking(tmp_path, api, CONSTRUCT_MEMORY=memory) as t:
        await t.companion.store.call(lambda db: db.execute("DELETE FROM conversations").rowcount)
        with pytest.raises(NotFoundError):
            await t.say("Hello.")
    assert not api.of("chat")


async def test_words_from_before_a_fork_are_asked_again_though_the_window_is_full(
    tmp_path: Path, api: FakeApi
) -> None:
    """All that was said in the fork itself was forgotten.

    The turn waits for the observer, and is not lost.
    """
    async with talking(tmp_path, api, **LOW) as t:
        for text in ("My words fill the window. " * 200, "Where was I?"):
            await t.say(text)
        call = t.companion.store.call
        child = await call(fork, t.id, t.companion.settings.clock)
        await call(add_message, child, NewMessage("user", "My secret is 77."), "2026-03-01")
        await call(
            lambda db: (
                db.execute("UPDATE messages SET withheld = 1 WHERE content LIKE '%77%'").rowcount
            )
        )
        again = await t.responder.retry(child, t.heard.append)
        assert again is not None
        assert again.complete
        assert [m.content for m in await call(newest_messages, child, 2)] == [
            "Where was I?",
            again.text,
        ]

"""Commands that make, leave, name and delete conversations.

Also what happens to the conversations that the user leaves.
"""

import asyncio
import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest

from construct.chat.background import Job
from construct.clock import Clock
from construct.config import Settings
from construct.memory.forgetting import delete_conversation
from construct.store.database import open_database
from tests.chat.commands.plainly import shown, talking
from tests.support.fake_api import FakeApi, faults
from tests.support.model_servers import ModelServer, vllm


async def test_a_talk_without_a_title_has_one_name(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    """It goes by its first words, in its panel as in the list.

    A fork by the same, which mean the other one in it.
    """
    async with talking(settings) as dialogue:
        await dialogue.run_line("/new")
        await dialogue.run_line("Which tea goes with figs?")
        assert "› 2  Which tea goes with figs?" in await shown(dialogue, "/conversations", capsys)
        assert "Memory · Which tea goes with figs?" in await shown(dialogue, "/status", capsys)
        await dialogue.run_line("/fork")
        assert "› 3  Which tea goes with figs?" in await shown(dialogue, "/conversations", capsys)
        assert "Which tea goes with figs? · last talked" in await shown(
            dialogue, "/switch figs", capsys
        )


async def test_a_deleted_conversation_is_gone(
    settings: Settings, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what was learned from it.

    Whoever was in it goes on in a new one, and work that was due there is none.
    """
    async with talking(settings) as dialogue:
        said = await shown(dialogue, "/conversations delete 1 --yes", capsys)
        assert "Deleted conversation 1: 2 messages and 1 observation." in said
        assert "Nothing is remembered" in await shown(dialogue, "/memory", capsys)
        complaints: list[str] = []
        work = dialogue._chat.background
        monkeypatch.setattr(work, "_complain", complaints.append)
        work.add(Job(1, leaving=True))
        assert await work.finish(5)
        assert complaints == []
        await dialogue.run_line("Hello.")
        assert "› 2  Hello." in await shown(dialogue, "/conversations", capsys)


@pytest.mark.parametrize("private", ["off", "on"])
async def test_a_conversation_that_was_deleted_elsewhere_is_no_end(
    settings: Settings, capsys: pytest.CaptureFixture[str], private: str
) -> None:
    """What is said next is answered, in a new one. In private too, where none is stored."""
    async with talking(settings) as dialogue:
        await dialogue.run_line(f"/private {private}")
        with closing(open_database(settings.db)) as db:
            delete_conversation(db, 1, Clock(), wait=0)
        answer = await shown(dialogue, "Hello.", capsys)
        assert answer.index("deleted by another program") < answer.index("You said")
        answer = await shown(dialogue, "Again.", capsys)
        assert answer.startswith("You said")
        listed = await shown(dialogue, "/conversations", capsys)
        assert ("› 2  Hello." in listed) == (private == "off")


async def test_a_talk_that_is_taken_up_shows_where_it_stood(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its last exchange, as it was shown then, with its time."""
    async with talking(settings) as dialogue:
        await dialogue.run_line("/new Garden")
        text = await shown(dialogue, "/switch sister", capsys)
        assert text.index("last talked") < text.index("› My sister Rosa") < text.index("You said")
        assert await shown(dialogue, "/switch garden", capsys) == "Garden · nothing said yet\n"


async def test_a_fork_goes_on_from_what_it_shows(
    settings: Settings, api: FakeApi, capsys: pytest.CaptureFixture[str]
) -> None:
    """A fork without messages has its parent's last reply, watermarks and question."""
    async with talking(settings) as dialogue:
        marks = await shown(dialogue, "/watermarks", capsys)
        await dialogue.run_line("/fork Another way")
        await dialogue.run_line("/fork And one more")
        assert await shown(dialogue, "/watermarks", capsys) == marks
        assert "up to message 2" in marks
        assert "You said" in await shown(dialogue, "/why last", capsys)
        await dialogue.run_line("/copy")
        assert "no reply" not in capsys.readouterr().err
        api.enqueue("chat", "Said otherwise.")
        assert "Said otherwise." in await shown(dialogue, "/retry", capsys)
    with closing(sqlite3.connect(settings.db)) as db:
        said = db.execute(
            "SELECT conversation_id, content, retried FROM messages WHERE role = 'user'"
        ).fetchall()
        assert [one[0] for one in said] == [1, 3]
        assert said[0][1] == said[1][1]
        assert db.execute("SELECT count(*) FROM messages WHERE retried").fetchone() == (0,)
        assert db.execute(
            "SELECT forked_at_message_id FROM conversations WHERE id = 3"
        ).fetchone() == (None,)


async def test_new_leaves_the_old_conversation_observed(api: FakeApi, settings: Settings) -> None:
    """Leaving a conversation with enough unobserved text observes it.

    The new conversation is made when it is first used.
    """
    async with talking(settings) as dialogue:
        for number in range(6):
            await dialogue.run_line(
                f"In 200{number} I moved to house {number}1 in Porto, with my brother Rui Costa."
            )
        await dialogue.run_line("/new")
        chat = dialogue._chat
        assert chat.conversation_id is None
        assert await chat.background.finish(5)
        panel = await chat.store.call(_unobserved)
        assert panel == 0
        await dialogue.run_line("hello there")
        assert chat.conversation_id == 2


def _unobserved(db: sqlite3.Connection) -> int:
    found: tuple[int] = db.execute(
        """SELECT count(*) FROM messages JOIN watermarks USING (conversation_id)
           WHERE name = 'observed' AND messages.id > message_id"""
    ).fetchone()
    return found[0]


async def test_a_conversation_that_goes_cold_is_seen_to(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the prompt cache expires, the memory work that is due is done.

    While the chat is open its session is kept alive.
    """
    monkeypatch.setattr("construct.chat.chat.BEAT_SECONDS", 0.02)
    async with talking(settings) as dialogue:
        chat = dialogue._chat
        await chat.start()
        await chat.background.finish(5)
        before = await chat.store.call(_heartbeat)
        wanted: list[Job] = []
        monkeypatch.setattr(chat.background, "add", wanted.append)
        chat._cache_expires_at = 0.0
        while not wanted:
            await asyncio.sleep(0.02)
        assert wanted == [Job(1)]
        assert chat._cache_expires_at is None
        assert await chat.store.call(_heartbeat) > before


def _heartbeat(db: sqlite3.Connection) -> float:
    found: tuple[float] = db.execute("SELECT heartbeat FROM sessions").fetchone()
    return found[0]


async def test_what_failed_goes_along_until_it_is_dropped(
    settings: Settings, api: FakeApi, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error says so and how to drop it; /drop and /history say what was left out.

    In private too.
    """
    async with talking(settings) as dialogue:
        for private in (False, True):
            await dialogue.run_line(f"/private {'on' if private else 'off'}")
            capsys.readouterr()
            api.fail("chat", faults.http(401))
            await dialogue.run_line("Wrongheaded.")
            error = capsys.readouterr().err
            assert error.endswith(
                "\nYour message will be sent with the next one; /drop takes it out.\n"
            )
            dropped = await shown(dialogue, "/drop", capsys)
            assert dropped.startswith("Left out of requests: “Wrongheaded.”.")
            assert ("stays stored" in dropped) is not private
            assert "Wrongheaded" not in await shown(dialogue, "/context full", capsys)
        await dialogue.run_line("/private off")
        api.heal()
        await dialogue.run_line("Hello.")
        api.fail("chat", faults.http(401))
        await dialogue.run_line("/retry")
        assert capsys.readouterr().err.endswith("\nThe earlier reply stays.\n")
        assert "left out of requests: dropped" in await shown(dialogue, "/history", capsys)


@pytest.mark.parametrize("private", ["off", "on"])
async def test_a_failed_retry_says_what_becomes_of_the_message(
    settings: Settings, api: FakeApi, capsys: pytest.CaptureFixture[str], private: str
) -> None:
    """A refused one stays left out; a complete reply stays if the new one breaks off."""
    async with talking(settings) as dialogue:
        await dialogue.run_line(f"/private {private}")
        await dialogue.run_line("Tell me of figs.")
        api.fail("chat", faults.silent_end(after=3))
        await dialogue.run_line("/retry")
        assert "The reply broke off. The earlier reply stays.\n" in capsys.readouterr().err
        api.fail("chat", faults.refusal())
        await dialogue.run_line("Poison.")
        api.fail("chat", faults.http(401))
        await dialogue.run_line("/retry")
        assert capsys.readouterr().err.endswith(
            "\nLater requests still leave your message out; /retry sends it again.\n"
        )
        assert "Poison" not in await shown(dialogue, "/context full", capsys)


async def test_a_refusal_says_what_becomes_of_the_message(
    settings: Settings, api: FakeApi, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is left out; /history says so, and the next context does not have it."""
    async with talking(settings) as dialogue:
        api.fail("chat", faults.refusal())
        await dialogue.run_line("Poison.")
        assert "Later requests leave your message out." in capsys.readouterr().err
        assert "the model declined to answer" in await shown(dialogue, "/history", capsys)
        assert "Poison" not in await shown(dialogue, "/context full", capsys)


async def test_another_model_of_the_users_server_gets_the_key(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    """A key is sent to the server that it was given for, whatever runs there."""
    with ModelServer(vllm({"qwen3:32b": 32_768, "gemma4": 32_768})) as server:
        keyed = replace(settings, base_url=server.url, model="gemma4")
        async with talking(keyed) as dialogue:
            await shown(dialogue, "/model qwen3:32b", capsys)
            await shown(dialogue, "Hello", capsys)
            assert "has no model 'qwen3:32b'" in await shown(dialogue, "/doctor", capsys)
        sent = dict(zip(server.asked, server.headers, strict=True))
    assert sent["POST /v1/messages"]["Authorization"] == f"Bearer {settings.api_key}"


async def test_other_words_of_a_paste_are_marked(settings: Settings) -> None:
    """The paste is where it stands in the new words, not in the line with the command."""
    async with talking(settings) as dialogue:
        await dialogue.run_line("Read thsi.")
        line = "/retry  Read this.\n\nThe ferry is late."
        await dialogue.run_line(line, pasted=[(line.index("The"), len(line))])
        assert not dialogue.failed
    with closing(sqlite3.connect(settings.db)) as db:
        said = db.execute("SELECT content, pasted FROM messages WHERE role = 'user'").fetchall()
    assert said[-2:] == [("Read thsi.", None), ("Read this.\n\nThe ferry is late.", "[[12, 30]]")]

"""Files that go along with a message: what is sent of them, stored, shown and forgotten."""

import base64
from pathlib import Path

import pytest

from construct.llm.providers import choose_models
from construct.memory.shown.context import request_tokens
from construct.offrecord import OffRecord
from construct.store.database import open_database
from construct.turn import Noticed
from tests.support.attaching import attachments, cat, lease, notes, shapes
from tests.support.fake_api import FakeApi, faults
from tests.support.model_servers import ModelServer, ollama
from tests.support.program import Program
from tests.support.talks import Talk, settings_for, talking

LOOK = "Look at these."


@pytest.fixture
def program(tmp_path: Path, api: FakeApi) -> Program:
    """The program with the fake as its server."""
    return Program(tmp_path, api.env())


async def attach(t: Talk, text: str, *paths: Path) -> None:
    """Say something with files."""
    await t.responder.turn(t.id, text, t.heard.append, attachments(*paths))


async def test_files_stand_before_the_words(tmp_path: Path, api: FakeApi) -> None:
    """They are sent as blocks, again in each turn with the same bytes, while they are shown."""
    async with talking(tmp_path, api) as t:
        await attach(t, LOOK, cat(tmp_path), lease(tmp_path), notes(tmp_path))
        await t.say("And now?")
    first, second = api.of("chat")
    assert shapes(first.body["messages"][0]) == ["image", "document", "document", LOOK]
    image, pdf, text, *_ = first.body["messages"][0]["content"]
    assert base64.b64decode(image["source"]["data"]).startswith(b"\x89PNG")
    assert (pdf["title"], text["source"]["type"]) == ("lease.pdf", "text")
    assert second.body["messages"][0]["content"][:3] == [image, pdf, text]
    report = api.cache_report()
    assert report.shared_read == report.shared


async def test_a_file_without_words_is_a_message(tmp_path: Path, api: FakeApi) -> None:
    """Its last block has the mark for the cache."""
    async with talking(tmp_path, api) as t:
        await attach(t, "", cat(tmp_path))
        await t.say("What is it?")
    first, second = api.of("chat")
    assert shapes(first.body["messages"][0]) == ["image"]
    assert first.body["messages"][0]["content"][0]["cache_control"]
    assert "cache_control" not in second.body["messages"][0]["content"][0]


async def test_their_tokens_count(tmp_path: Path, api: FakeApi) -> None:
    """In the window, and in `/context`."""
    async with talking(tmp_path, api) as t:
        await attach(t, LOOK, cat(tmp_path, size=(1500, 1000)))
        status = await t.status()
        request = await t.responder.preview(t.id)
    assert status.compaction.tokens > 2000
    assert request_tokens(request)["attachments"] == 2000


@pytest.mark.parametrize(
    ("capabilities", "sent"),
    [
        (["completion"], ["[image: cat.png]", "[pdf: lease.pdf]"]),
        (["completion", "vision"], ["image", "[pdf: lease.pdf]"]),
    ],
)
async def test_a_model_gets_the_line_of_what_it_does_not_read(
    tmp_path: Path, api: FakeApi, capabilities: list[str], sent: list[str]
) -> None:
    """Text it gets as text. The user is told once."""
    answers = ollama({"llava:7b": {"loaded": 16_384, "capabilities": capabilities}})
    with ModelServer(answers) as server:
        settings = settings_for(
            tmp_path, api, ANTHROPIC_BASE_URL=server.url, CONSTRUCT_MODEL="llava:7b"
        )
        models = choose_models(settings)
    async with talking(tmp_path, api) as t:
        t.companion.models.main.reads = models.main.reads
        for _ in range(2):
            await attach(t, LOOK, cat(tmp_path), lease(tmp_path), notes(tmp_path))
        await models.close()
    text = "[text: notes.txt]\nRent is 950 euros.\nPets are welcome.\n"
    assert shapes(api.of("chat")[0].body["messages"][0]) == [*sent, text, LOOK]
    told = [event.text for event in t.heard if isinstance(event, Noticed)]
    assert len(told) == 1
    assert "[pdf: lease.pdf]" in told[0] or "[image: cat.png]" in told[0]


async def test_another_try_has_the_files_again(tmp_path: Path, api: FakeApi) -> None:
    """After an error, and in a fork, where the words are said anew."""
    async with talking(tmp_path, api) as t:
        api.fail("chat", faults.http(400))
        await attach(t, LOOK, cat(tmp_path))
        await t.responder.retry(t.id, t.heard.append)
    assert [shapes(one.body["messages"][0])[:1] for one in api.of("chat")] == [["image"]] * 2


async def test_off_the_record(tmp_path: Path, api: FakeApi) -> None:
    """They are sent as long as the talk goes on, tried again too, and nothing is stored."""
    async with talking(tmp_path, api) as t:
        aside = OffRecord(t.companion, [])
        await aside.turn(None, LOOK, t.heard.append, attachments(cat(tmp_path)))
        await aside.turn(None, "And now?", t.heard.append)
        await aside.turn(None, "", t.heard.append, attachments(notes(tmp_path)))
        await aside.retry(None, t.heard.append)
    sent = [one.body["messages"] for one in api.of("chat")]
    assert all(shapes(messages[0]) == ["image", LOOK] for messages in sent)
    assert shapes(sent[2][-1]) == shapes(sent[3][-1]) == ["document"]
    with open_database(tmp_path / "construct.db") as db:
        assert db.execute("SELECT count(*) FROM attachments").fetchone() == (0,)


def test_ask_attaches(program: Program, api: FakeApi) -> None:
    """Each `-a` is a file; without words too. A file that cannot be attached sends nothing."""
    folder = program.folder
    done = program.run("ask", LOOK, "-a", str(cat(folder)), "-a", str(notes(folder)))
    assert (done.returncode, done.stderr) == (0, "")
    assert program.run("ask", "-a", str(lease(folder))).returncode == 0
    failed = program.run("ask", LOOK, "-a", str(folder))
    assert (failed.returncode, len(failed.stderr.splitlines())) == (1, 1)
    sent = [shapes(one.body["messages"][-1]) for one in api.of("chat")]
    assert sent == [["image", "document", LOOK], ["document"]]

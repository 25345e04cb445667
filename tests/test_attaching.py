"""Files that are sent with a message: what is sent, stored, shown, forgotten."""

import base64
import json
import os
from contextlib import closing
from pathlib import Path

import pytest
from PIL import Image

from construct.llm.providers import choose_models
from construct.memory.cycles import observing
from construct.memory.shown import forks
from construct.memory.shown.context import request_tokens
from construct.store.attachments import attachment_violations, digest
from construct.store.database import open_database
from construct.store.invariants import index_violations, violations
from construct.talk.events import Noticed
from construct.talk.private_ledger import PrivateLedger
from construct.talk.responder import Responder
from tests.support.attaching import attachments, cat, lease, notes, shapes
from tests.support.fake_api import FakeApi, adversarial, faults
from tests.support.fake_types import blocks_of
from tests.support.fake_worker import note, observer_answer, read_groups
from tests.support.files import pdf, picture
from tests.support.model_servers import ModelServer, ollama
from tests.support.program import Program
from tests.support.talks import LOW, Talk, facts, settings_for, talking

LOOK = "Look at these."


@pytest.fixture
def program(tmp_path: Path, api: FakeApi) -> Program:
    """The program with the fake as its server."""
    return Program(tmp_path, api.env())


async def attach(t: Talk, text: str, *paths: Path) -> None:
    """Say something with files."""
    await t.responder.turn(t.id, text, t.heard.append, attachments(*paths))


async def test_files_stand_before_the_words(tmp_path: Path, api: FakeApi) -> None:
    """Files are sent as blocks, with the same bytes in each turn that shows them."""
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
        request = await t.companion.store.call(t.ledger.preview, t.id)
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


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (500, "image input is not supported - hint: you may need to provide the mmproj"),
        (400, "At most 0 image(s) may be provided in one request."),
        (400, "Model does not support images. Please use a model that does."),
        (404, "No endpoints found that support image input"),
        (400, "this model is missing data required for image input"),
        (400, "messages[0]: unknown variant `image_url`, expected `text`"),
        (400, "qwen3 is not a multimodal model"),
    ],
)
async def test_a_server_that_says_it_takes_no_pictures_is_believed(
    tmp_path: Path, api: FakeApi, status: int, said: str
) -> None:
    """The turn goes on with the picture's name in its place; the user is told once."""
    async with talking(tmp_path, api) as t:
        api.fail("chat", faults.http(status, text=said))
        await attach(t, LOOK, cat(tmp_path))
        await attach(t, LOOK, cat(tmp_path))
    sent = [shapes(one.body["messages"][-1])[0] for one in api.of("chat")]
    assert sent == ["image", "[image: cat.png]", "[image: cat.png]"]
    told = [event.text for event in t.heard if isinstance(event, Noticed)]
    assert len(told) == 1
    assert "cannot read pictures" in told[0]


@pytest.mark.parametrize("said", ["Could not process image", "image exceeds 5 MB maximum"])
async def test_one_bad_picture_is_an_error(tmp_path: Path, api: FakeApi, said: str) -> None:
    """It says nothing of other pictures."""
    async with talking(tmp_path, api) as t:
        api.fail("chat", faults.http(400, text=said))
        await attach(t, LOOK, cat(tmp_path))
    assert len(api.of("chat")) == 1
    assert t.companion.models.main.reads


async def test_another_try_has_the_files_again(tmp_path: Path, api: FakeApi) -> None:
    """After an error, and in a fork, where the words are said anew."""
    async with talking(tmp_path, api) as t:
        api.fail("chat", faults.http(400))
        await attach(t, LOOK, cat(tmp_path))
        await t.responder.retry(t.id, t.heard.append)
    assert [shapes(one.body["messages"][0])[:1] for one in api.of("chat")] == [["image"]] * 2


async def test_private_talk_has_files_too(tmp_path: Path, api: FakeApi) -> None:
    """Files are sent while the talk goes on, also on a retry, and never stored."""
    async with talking(tmp_path, api) as t:
        aside = Responder(PrivateLedger(t.companion))
        await aside.turn(None, LOOK, t.heard.append, attachments(cat(tmp_path)))
        await aside.turn(None, "And now?", t.heard.append)
        await aside.turn(None, "", t.heard.append, attachments(notes(tmp_path)))
        await aside.retry(None, t.heard.append)
    sent = [one.body["messages"] for one in api.of("chat")]
    assert all(shapes(messages[0]) == ["image", LOOK] for messages in sent)
    assert shapes(sent[2][-1]) == shapes(sent[3][-1]) == ["document"]
    with closing(open_database(tmp_path / "construct.db")) as db:
        assert db.execute("SELECT count(*) FROM attachments").fetchone() == (0,)


def test_ask_attaches(program: Program, api: FakeApi) -> None:
    """Each `-a` attaches a file, also without a text.

    A file that cannot be attached sends nothing.
    """
    folder = program.folder
    done = program.run("ask", LOOK, "-a", str(cat(folder)), "-a", str(notes(folder)))
    assert (done.returncode, done.stderr) == (0, "")
    assert program.run("ask", "-a", str(lease(folder))).returncode == 0
    failed = program.run("ask", LOOK, "-a", str(folder))
    assert (failed.returncode, len(failed.stderr.splitlines())) == (1, 1)
    sent = [shapes(one.body["messages"][-1]) for one in api.of("chat")]
    assert sent == [["image", "document", LOOK], ["document"]]


async def test_the_observer_sees_a_file_once(tmp_path: Path, api: FakeApi) -> None:
    """The transcript has lines and quoted text; pictures and PDFs follow in order.

    What the observer notes of a picture or text is quoted. What the user says stays the
    user's.
    """
    api.enqueue(
        "observer",
        observer_answer(
            [
                note("User's train to Porto leaves at 14:32", ["M1"]),
                note("User pays 950 euros of rent", ["M1"]),
                note("User calls the cat Miso", ["M1"]),
            ]
        ),
    )
    async with talking(tmp_path, api, **LOW) as t:
        files = cat(tmp_path), notes(tmp_path), cat(tmp_path, "ticket.png"), lease(tmp_path)
        await attach(t, "Here is Miso.\n" + "word " * 400, *files)
        await t.say("Thanks.")
        await t.companion.worker.run_due(t.id)
        t.check()
    (request,) = api.of("observer")
    assert shapes(api.of("verifier")[0].body["messages"][0]) == ["image", "image", "document"]
    assert shapes(request.body["messages"][0]) == ["image", "image", "document"]
    said = request.body["messages"][0]["content"][0]["text"]
    assert (
        "user:\n[image: cat.png]\n[text: notes.txt]\n> Rent is 950 euros.\n> Pets are welcome.\n"
        "[image: ticket.png]\n[pdf: lease.pdf]\nHere is Miso." in said
    )
    with closing(open_database(tmp_path / "construct.db")) as db:
        noted = dict(db.execute("SELECT content, stance FROM observations").fetchall())
    assert noted == {
        "User's train to Porto leaves at 14:32": "quoted",
        "User pays 950 euros of rent": "quoted",
        "User calls the cat Miso": "stated",
    }


async def test_the_observer_reads_no_long_pdf(
    tmp_path: Path, api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A book of a hundred pages would cost more than all talk about it."""
    monkeypatch.setattr(observing, "_MAX_PDF_TOKENS", 10)
    async with talking(tmp_path, api, **LOW) as t:
        await attach(t, "word " * 400, lease(tmp_path))
        await t.companion.worker.run_due(t.id)
    assert isinstance(api.of("observer")[0].body["messages"][0]["content"], str)


async def test_a_blind_observer_invents_nothing(tmp_path: Path, api: FakeApi) -> None:
    """Without the picture, the verifier is told what nobody said.

    The file's line is not taken for a fact.
    """
    api.observer = lambda _body: observer_answer([note("User's train leaves at 14:32", ["M1"])])
    api.verifier = adversarial.always_no
    async with talking(tmp_path, api, **LOW) as t:
        assert t.companion.models.worker is not None
        t.companion.models.worker.reads = frozenset()
        await attach(t, "word " * 400, cat(tmp_path, "img_2034.png"))
        await t.companion.worker.run_due(t.id)
    assert isinstance(api.of("observer")[0].body["messages"][0]["content"], str)
    assert read_groups(api.of("verifier")[0].body)[0].look == ["14:32"]
    with closing(open_database(tmp_path / "construct.db")) as db:
        (noted,) = db.execute("SELECT content FROM observations").fetchone()
    assert set(noted.split()) == {"word"}


def test_by_rule_a_line_is_no_sentence(program: Program, api: FakeApi) -> None:
    """The notebook keeps the file and shows its line, but learns only from the text."""
    program.env |= {"CONSTRUCT_PROVIDER": "notebook"}
    program.run("ask", "My cat is called Miso.", "-a", str(cat(program.folder, "IMG_2034.png")))
    program.run("compact")
    shown = program.run("conversations", "show", "1").stdout
    assert "[image: IMG_2034.png]" in shown
    assert {one["text"] for one in program.json("memory", "list")} == {"My cat is called Miso."}
    found = program.json("memory", "search", "IMG_2034")
    assert found[0]["text"] == "[image: IMG_2034.png]\nMy cat is called Miso."


def lived(program: Program, api: FakeApi) -> Program:
    """Return the program with a talk about a cat, a text and a lease behind it."""
    api.observer = lambda body: observer_answer([note("User's cat is called Miso", ["M1"])])
    folder = program.folder
    files = cat(folder, "miso.png"), notes(folder, f"{SECRET}\n" * 50), lease(folder)
    program.run("ask", "My cat is called Miso.", *[part for f in files for part in ("-a", str(f))])
    assert program.run("compact").returncode == 0
    return program


SECRET = "The alarm code is 8841-quince"


def test_why_leads_to_the_file(program: Program, api: FakeApi, tmp_path: Path) -> None:
    """By its id it is given back as it was kept, and replaces no file of the user's."""
    lived(program, api)
    why = program.json("memory", "why", "1")
    assert why["attachments"][0] == {"id": 1, "name": "miso.png", "media_type": "image/png"}
    assert len(why["attachments"]) == 3
    assert "construct attachment 3" in program.run("memory", "why", "1").stdout
    shown = program.json("conversations", "show", "1")
    assert shown["messages"][0]["attachments"] == why["attachments"]
    target = tmp_path / "back.png"
    assert program.run("attachment", "1", "-o", str(target)).returncode == 0
    assert target.read_bytes() == attachments(program.folder / "miso.png")[0].data
    assert target.stat().st_mode & 0o777 == 0o600
    assert program.run("attachment", "2", "-o", str(target)).returncode == 2
    assert program.run("attachment", "2", "-o", str(target), "--force").returncode == 0
    assert SECRET in target.read_text()
    copy = tmp_path / "copy.db"
    assert program.run("export", "--format", "sqlite", "-o", str(copy)).returncode == 0
    before = copy.read_bytes()
    for force in ((), ("--force",)):
        assert program.run("attachment", "2", "-o", str(copy), *force).returncode == 2
    assert copy.read_bytes() == before
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    assert program.run("attachment", "2", "-o", str(pipe)).returncode == 0
    assert os.read(reader, 10_000) == f"{SECRET}\n".encode() * 50
    os.close(reader)
    piped = program.process("attachment", "2", "-o", "-")
    assert (piped.returncode, piped.stdout) == (0, f"{SECRET}\n" * 50)
    assert program.run("attachment", "9", "-o", "-").returncode == 1


@pytest.mark.parametrize(
    "way",
    [
        ("memory", "forget", "message:1"),
        ("memory", "forget", "message:1", "--words"),
        ("conversations", "delete", "1"),
    ],
)
def test_not_a_byte_stays(program: Program, api: FakeApi, way: tuple[str, ...]) -> None:
    """Forgetting a message or deleting the conversation removes its files.

    Undo does not.
    """
    lived(program, api)
    assert program.run("undo", "--yes").returncode == 0
    kept = attachments(program.folder / "miso.png")[0].data
    assert kept in whole(program)
    assert program.run("undo", "--yes").returncode == 1
    assert program.run(*way, "--yes").returncode == 0
    left = whole(program)
    assert kept[-200:] not in left
    assert SECRET.encode() not in left
    assert b"miso.png" not in left
    assert program.run("attachment", "1", "-o", "-").returncode == 1


def test_forgetting_says_first_which_files_go(program: Program, api: FakeApi) -> None:
    """They go with a note that rests on their message, also where its words stay."""
    lived(program, api)
    plan = program.run("memory", "forget", "1", stdin="").stderr
    assert "These files would be deleted: [image: miso.png], [text: notes.txt]," in plan
    done = program.run("memory", "forget", "1", "--yes")
    assert done.stdout.startswith(
        "Deleted: 1 observation, 1 relation, 3 attached files. No longer recalled"
    )
    assert SECRET.encode() not in whole(program)
    assert "My cat is called Miso." in program.run("conversations", "show", "1").stdout
    assert program.run("doctor").returncode == 0


def test_a_file_alone_is_deleted_for_good(program: Program, api: FakeApi) -> None:
    """Nothing was noted of it; it is counted in the JSON."""
    program.run("ask", "-a", str(notes(program.folder)))
    gone = program.json("memory", "forget", "message:1", "--yes")["forgotten"]
    assert (gone["attachments"], gone["observations"]) == (1, 0)


def whole(program: Program) -> bytes:
    """Return every byte of the database and of what stands beside it."""
    return b"".join(p.read_bytes() for p in sorted(program.folder.glob("construct.db*")))


@pytest.mark.parametrize("form", ["jsonl", "sqlite"])
def test_an_export_carries_them(program: Program, api: FakeApi, tmp_path: Path, form: str) -> None:
    """Imported and exported again it is the same, bytes and ids; twice adds nothing."""
    lived(program, api)
    first, again = tmp_path / f"first.{form}", tmp_path / "again.jsonl"
    program.run("export", "-o", str(tmp_path / "first.jsonl"))
    program.run("export", "--format", form, "-o", str(first), "--force")
    other = ("--db", str(tmp_path / "other.db"))
    for _ in range(2):
        assert program.run(*other, "import", str(first)).returncode == 0
    program.run(*other, "export", "-o", str(again))
    assert again.read_bytes() == (tmp_path / "first.jsonl").read_bytes()
    piped = program.process(*other, "attachment", "2", "-o", "-")
    assert piped.stdout == f"{SECRET}\n" * 50
    with closing(open_database(tmp_path / "other.db")) as db:
        assert attachment_violations(db) == violations(db) == index_violations(db) == []
    assert "> [image: miso.png]" in program.run("export", "--format", "markdown").stdout


@pytest.mark.parametrize("deleted_too", [False, True])
def test_what_was_forgotten_does_not_come_back(
    program: Program, api: FakeApi, tmp_path: Path, deleted_too: bool
) -> None:
    """With an older export neither the words nor the files return."""
    lived(program, api)
    program.run("export", "-o", str(tmp_path / "old.jsonl"))
    program.run("memory", "forget", "message:1", "--words", "--yes")
    if deleted_too:
        program.run("conversations", "delete", "1", "--yes")
    assert program.run("import", str(tmp_path / "old.jsonl")).returncode == 0
    assert SECRET.encode() not in whole(program)


@pytest.mark.parametrize(
    "data",
    [
        b"\x89PNG\r\n\x1a\n and no picture",
        picture(Image.new("L", (1600, 4)), "PNG"),
        b"\xff\xd8\xff",
        pdf(101),
        pdf(1).replace(b"trailer <<", b"trailer <</Encrypt 9 0 R"),
        b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        b" \n",
    ],
)
def test_an_import_takes_no_file_that_could_not_be_attached(
    program: Program, api: FakeApi, tmp_path: Path, data: bytes
) -> None:
    """One that a server refuses would make every request of its conversation fail."""
    lived(program, api)
    path = tmp_path / "export.jsonl"
    program.run("export", "-o", str(path))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    one = next(line for line in lines if line["type"] == "attachment")
    kind = {b"\x89": "image/png", b"\xff": "image/jpeg", b"%": "application/pdf"}
    one["media_type"] = kind.get(data[:1], "text/plain")
    one |= {"data": base64.b64encode(data).decode(), "size": len(data), "sha256": digest(data)}
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = program.run("--db", str(tmp_path / "other.db"), "import", str(path))
    assert (done.returncode, "Nothing was imported" in done.stderr) == (1, True)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("data", "!!"),
        ("data", "aGVsbG8="),
        ("size", 3),
        ("sha256", "0" * 64),
        ("media_type", "image/svg+xml"),
        ("media_type", "application/pdf"),
        ("name", "a]b"),
        ("name", "a" * 256),
    ],
)
def test_what_does_not_hold_is_refused(
    program: Program, api: FakeApi, tmp_path: Path, key: str, value: object
) -> None:
    """Nothing is imported, and one line says why."""
    lived(program, api)
    path = tmp_path / "export.jsonl"
    program.run("export", "-o", str(path))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    next(line for line in lines if line["type"] == "attachment")[key] = value
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = program.run("--db", str(tmp_path / "other.db"), "import", str(path))
    assert done.returncode == 1
    assert "Nothing was imported" in done.stderr


def test_doctor_checks_them(program: Program, api: FakeApi) -> None:
    """What another program changed is named."""
    lived(program, api)
    with closing(open_database(program.db)) as db:
        db.execute("UPDATE attachments SET data = x'00' WHERE id = 2")
    done = program.run("doctor")
    assert done.returncode == 1
    assert "Attachment 2 (notes.txt)" in " ".join(done.stdout.split())


async def test_a_fork_says_it_anew_with_the_files(tmp_path: Path, api: FakeApi) -> None:
    """What it inherits is shown with its files, and tried again it has them too."""
    async with talking(tmp_path, api) as t:
        await attach(t, LOOK, cat(tmp_path), notes(tmp_path))
        clock = t.companion.settings.clock
        t.id = await t.companion.store.call(forks.fork, t.id, clock, None)
        await t.say("Go on.")
        t.id = await t.companion.store.call(forks.fork, 1, clock, None)
        await t.responder.retry(t.id, t.heard.append)
        t.check()
    sent = [shapes(one.body["messages"][0]) for one in api.of("chat")]
    assert sent == [["image", "document", LOOK]] * 3


async def test_a_talk_with_files_from_end_to_end(tmp_path: Path, api: FakeApi) -> None:
    """Four pictures, a PDF and a text are seen, observed and found again.

    After fifteen turns they have left the window.
    """
    names = ("miso.png", "flat.png", "ticket.png", "garden.png")
    files = {2 * i: cat(tmp_path, name, (600, 500)) for i, name in enumerate(names)}
    files |= {9: lease(tmp_path), 11: notes(tmp_path)}
    async with talking(tmp_path, api, **LOW, MEMORY_WORKER_MODEL="claude-haiku-5-5") as t:
        for i, fact in enumerate(facts(15)):
            await attach(t, fact, *([files[i]] if i in files else []))
            await t.companion.worker.run_due(t.id)
        t.check()
        status = await t.status()
    assert status.watermarks.window > 0
    seen = [shape for one in api.of("observer") for shape in shapes(one.body["messages"][0])]
    assert (seen.count("image"), seen.count("document")) == (len(names), 1)
    contents = [one.body["messages"][0]["content"] for one in api.of("observer")]
    texts = [blocks_of(content)[0]["text"] for content in contents]
    told = "\n".join(text.partition("[M1]")[2] for text in texts)  # what came before is told twice
    assert all(told.count(f"[image: {name}]") == 1 for name in names)
    assert told.count("[pdf: lease.pdf]") == told.count("> Rent is 950 euros.") == 1
    last = api.of("chat")[-1].body["messages"]
    assert "image" not in [shape for message in last for shape in shapes(message)]
    report = api.cache_report()
    assert report.shared_read == report.shared
    program = Program(tmp_path, api.env())
    found = program.json("memory", "search", "ticket")
    assert found[0]["text"].startswith("[image: ticket.png]\n")
    message = found[0]["id"]
    traced = program.json("memory", "why", message)
    assert [one["name"] for one in traced["attachments"]] == ["ticket.png"]
    assert traced["observations"]
    assert program.run("memory", "forget", message, "--words", "--yes").returncode == 0
    assert b"ticket.png" not in whole(program)
    program.run("export", "-o", str(tmp_path / "all.jsonl"))
    other = ("--db", str(tmp_path / "other.db"))
    assert program.run(*other, "import", str(tmp_path / "all.jsonl")).returncode == 0
    program.run(*other, "export", "-o", str(tmp_path / "again.jsonl"))
    assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "all.jsonl").read_bytes()


async def test_a_long_message_is_cut_and_its_picture_seen_once(
    tmp_path: Path, api: FakeApi
) -> None:
    """Of several observer calls only the first has the picture.

    When a worker fails, no file's line is noted as a sentence.
    """
    api.enqueue("observer", *["Nothing in the right form."] * 4)
    async with talking(tmp_path, api, **LOW) as t:
        files = cat(tmp_path, "IMG_2034.png"), notes(tmp_path, "My rent is 950 euros.\n" * 4000)
        await attach(t, "I live in Porto.", *files)
        await t.companion.worker.run_due(t.id)
    calls = [shapes(one.body["messages"][0]) for one in api.of("observer")]
    assert len(calls) > 4
    assert [call for call in calls if "image" in call] == [["image"]] * 2
    with closing(open_database(tmp_path / "construct.db")) as db:
        noted = [row[0] for row in db.execute("SELECT content FROM observations")]
    assert not any("IMG_2034" in fact and "image" in fact for fact in noted)

"""The notebook: replies by rule, stored as what they quote."""

import json
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from construct.llm.notebook import Notebook
from construct.llm.providers import choose_models
from construct.load_settings import load_settings
from construct.memory.shown.tool_rounds import stored_rounds
from construct.prompts import shipped
from construct.store.conversations import create_conversation
from construct.store.database import open_database, transaction
from construct.store.in_thread import Store
from construct.store.messages import is_readable, messages_of, prompt_history
from construct.store.records import Message
from construct.talk.companion import Companion
from construct.talk.events import Delta
from construct.talk.notebook_replies import NOTED, stored_reply_text
from construct.talk.private_ledger import PrivateLedger
from construct.talk.responder import Responder
from construct.talk.stored_ledger import StoredLedger
from construct.vocabulary import Provider
from tests.support.fake_api import FakeApi
from tests.support.program import Program
from tests.support.talks import talking


class Notes:
    """A conversation with the notebook."""

    def __init__(self, db: Path) -> None:
        self.environ = {"CONSTRUCT_DB": str(db), "CONSTRUCT_NOW": "2026-03-01T10:00:00+00:00"}
        settings = load_settings(self.environ)
        self.clock = settings.clock
        self.companion = Companion(settings, choose_models(settings))
        self.store: Store = self.companion.store
        self.here = 0

    async def say(self, text: str) -> str:
        """Say something and return the reply."""
        if not self.here:
            self.here = await self.store.call(_begin)
        heard: list[str] = []
        result = await Responder(StoredLedger(self.companion)).turn(
            self.here,
            text,
            lambda event: heard.append(event.text) if isinstance(event, Delta) else None,
        )
        assert result.complete
        assert heard == [result.text]
        return result.text

    async def messages(self) -> list[Message]:
        """Return what is stored."""
        return await self.store.call(messages_of, self.here)


def _begin(db):  # type: ignore[no-untyped-def]
    with transaction(db):
        return create_conversation(db, "2026-03-01T10:00:00+00:00")


@pytest.fixture
async def notes(tmp_path: Path) -> AsyncIterator[Notes]:
    """A new notebook."""
    made = Notes(tmp_path / "a.db")
    yield made
    await made.companion.close()


async def test_what_bears_on_a_question_is_quoted(notes: Notes) -> None:
    """With its day and its id, and no word that was not said."""
    assert await notes.say("My dentist is Dr. Sousa in Rua das Flores.") == NOTED
    await notes.say("I planted tomatoes today.")
    reply = await notes.say("Who was my dentist?")
    assert "- 2026-03-01, you: “My dentist is Dr. Sousa in Rua das Flores.” (message:1)" in reply
    assert "tomatoes" not in reply


async def test_a_question_of_other_words_is_answered_by_those_it_shares(notes: Notes) -> None:
    """Nobody asks in the very words of the answer; an earlier question is none."""
    await notes.say("My mother Clara is 67 and lives in Braga.")
    await notes.say("I planted tomatoes today.")
    for question in ("How old is my mother?", "What year was my mother born?"):
        reply = await notes.say(question)
        assert "“My mother Clara is 67 and lives in Braga.” (message:1)" in reply
        assert reply.count("message:") == 1
    assert "No message to quote" in await notes.say("Who repairs bicycles?")


def test_an_observation_answers_with_the_message_behind_it(tmp_path: Path) -> None:
    """A moved plan comes before its old day, whose observation was replaced."""
    program = Program(tmp_path, {"CONSTRUCT_NOW": "2026-06-22T10:00:00+00:00"})
    assert program.run("import", str(shipped("data/demo.jsonl"))).returncode == 0
    first = program.run("ask", "--new", "When do I see the dentist?").stdout.splitlines()[2]
    assert "they've moved the dentist to 23 June" in first


def test_a_correction_stands_beside_what_it_corrects(tmp_path: Path) -> None:
    """An edit and a moved plan, until they are undone."""
    program = program_in(tmp_path / "one")
    said = "I plan to see the dentist on 2026-12-03 at 09:00.\nI'm allergic to bees.\n/compact\n"
    done = "/agenda moved 1 2026-12-10\n/edit 2 It is Sven who is allergic to bees\n"
    assert program.run("chat", "--commands", stdin=said + done).returncode == 0
    reply = program.run("ask", "When is the dentist?").stdout
    assert "2026-12-03 at 09:00.” (message:1)\n  - now: “I plan to see the dentist" in reply
    assert "(moved to 2026-12-10)” (3)\n" in reply
    assert "now: “It is Sven who is allergic to bees” (4)" in program.run("ask", "Bees?").stdout
    assert program.run("undo", "--yes").returncode == 0
    assert "now:" not in program.run("ask", "Am I allergic to bees?").stdout


@pytest.mark.parametrize("asked", ["who is Derek", "tell me about Derek", "Where's Derek from"])
async def test_questions_without_a_mark(notes: Notes, asked: str) -> None:
    """They are answered like those that have one."""
    await notes.say("My neighbour Derek is from Leeds.")
    assert (await notes.say(asked)).startswith("From before:")


async def test_a_request_to_forget_is_no_answer(notes: Notes) -> None:
    """It has the words of the question, and tells nothing."""
    await notes.say("Please forget what I said about Petra.")
    assert "message:" not in await notes.say("Who is Petra?")


@pytest.mark.parametrize(
    ("said", "question"),
    [
        ("How are you? I moved to Braga with Clara.", "Where did I move?"),
        ("Have you heard the news? My sister Ana is pregnant.", "Who is pregnant?"),
        ("Tell me about it! I got the job at Siemens.", "Where did I get a job?"),
        ("Can you believe it, I got the job at Siemens!", "Where did I get a job?"),
        ("What is this?\n> Ana is my sister", "Who is my sister?"),
    ],
)
async def test_a_message_that_opens_with_a_question_is_an_answer(
    notes: Notes, said: str, question: str
) -> None:
    """It says something, too, and the notebook must not deny that."""
    await notes.say(said)
    assert "(message:1)" in await notes.say(question)


def test_an_observation_answers_with_a_message_that_opens_with_a_question(tmp_path: Path) -> None:
    """The observation's words match, and the message behind it is quoted."""
    program = program_in(tmp_path / "one")
    said = "How are you? I moved to Braga with Clara.\n/compact\n/edit 1 I live in Faro now\n"
    assert program.run("chat", "--commands", stdin=said).returncode == 0
    assert "(message:1)\n  - now: “I live in Faro now”" in program.run("ask", "Faro?").stdout


async def test_a_message_asks_if_its_last_sentence_does(notes: Notes) -> None:
    """What opens with a question and then says something is noted."""
    assert await notes.say("How are you? I moved to Braga with Clara.") == NOTED
    assert (await notes.say("Where did I move? 😀")).startswith("From before:")
    assert (await notes.say("Where did I move?")).count("message:") == 1


async def test_a_request_to_forget_is_told_how(notes: Notes) -> None:
    """The notebook cannot do it, and does not quote what is to go."""
    await notes.say("I gave up smoking in May.")
    reply = await notes.say("Please forget what I said about smoking.")
    assert "/forget ID --words" in reply
    assert "May" not in reply


@pytest.mark.parametrize(
    "said", ["I don't like coriander. Don't save that.", "My code is 6655. Ok? Don't save this."]
)
async def test_what_is_not_to_be_kept_is_not_noted(notes: Notes, said: str) -> None:
    """Saying "Noted." would be the opposite of what was asked."""
    assert (await notes.say(said)).startswith("The notebook deletes nothing by itself.")


async def test_what_is_said_beside_a_request_to_forget_is_noted(notes: Notes) -> None:
    """The reply says that it is kept, answers it, and then explains how to forget."""
    reply = await notes.say("I met Joana in Porto. My PIN is 1234. Don't save that.")
    assert reply.startswith("Noted. The notebook deletes nothing by itself.")
    reply = await notes.say("Forget my PIN. Where did I meet Joana?")
    assert reply.startswith("From before:\n\n- 2026-03-01, you: “I met Joana in Porto.")
    assert reply.endswith(
        "`/forget ID --words` deletes it. After `/private on`, nothing you say is kept."
    )
    reply = await notes.say("Went to the bank, don't remember my code. Met Joana there.")
    assert "deletes nothing" not in reply


def test_a_memory_hides_no_message(tmp_path: Path) -> None:
    """A memory matches the question, but only messages can be quoted."""
    program = program_in(tmp_path / "one")
    said = "The dentist hurt me on Tuesday.\n/remember The name of my dentist is Moura\n"
    assert program.run("chat", "--commands", stdin=said).returncode == 0
    assert "hurt me on Tuesday" in program.run("ask", "What is the name of my dentist?").stdout


def test_a_memory_is_not_denied(tmp_path: Path) -> None:
    """It cannot be quoted, so the reply says where to look."""
    program = program_in(tmp_path / "one")
    program.run("chat", "--commands", stdin="/remember I am allergic to bees\n")
    reply = program.run("ask", "What am I allergic to?").stdout
    assert "Nothing you wrote before" not in reply
    assert "`/recall WORDS`" in reply


async def test_a_reply_is_stored_as_what_it_quotes(notes: Notes) -> None:
    """Its words are nowhere in the file; a model would be sent nothing of it."""
    await notes.say("My dentist is Dr. Sousa.")
    await notes.say("Who is my dentist?")
    said, noted, _, answer = await notes.messages()
    assert [noted.content, answer.content] == ["", ""]
    assert json.loads(answer.blocks or "") == {"type": "notebook", "quotes": [said.uid]}
    assert not is_readable(answer)
    assert stored_rounds(answer.blocks) == []


async def test_what_is_forgotten_disappears_from_it(notes: Notes) -> None:
    """The reply is made anew each time that it is shown."""
    await notes.say("My dentist is Dr. Sousa.")
    await notes.say("Who is my dentist?")
    *_, answer = await notes.messages()
    assert "Sousa" in await notes.store.call(stored_reply_text, answer, notes.clock)
    await notes.store.call(lambda db: db.execute("UPDATE messages SET withheld = 1 WHERE id = 1"))
    after = await notes.store.call(stored_reply_text, answer, notes.clock)
    assert after.startswith(NOTED)
    assert "Sousa" not in after


LONG = "I went to the market. " * 40 + "The plumber is Rui Costa. " + "Then I went home. " * 40


async def test_a_long_message_is_quoted_where_it_bears_on_the_words(notes: Notes) -> None:
    """The part around the matching words is quoted, now and when shown again."""
    await notes.say(LONG)
    reply = await notes.say("Who is the plumber?")
    assert "The plumber is Rui Costa." in reply
    assert len(reply) < 320
    *_, answer = await notes.messages()
    assert await notes.store.call(stored_reply_text, answer, notes.clock) == reply


async def test_a_reply_costs_a_model_nothing(notes: Notes) -> None:
    """What it quotes is never sent, so it brings no observer nearer."""
    await notes.say("My dentist is Dr. Sousa.")
    await notes.say("Who is my dentist?")
    _, noted, _, answer = await notes.messages()
    assert answer.token_count == noted.token_count


ASKED = "My dentist is Dr. Sousa.\nI planted tomatoes today.\nWho is my dentist?\n"
QUOTE = "“My dentist is Dr. Sousa.”"


def program_in(folder: Path) -> Program:
    """Return a program without a model, with a database of its own."""
    folder.mkdir()
    return Program(folder, {"CONSTRUCT_NOW": "2026-03-01T10:00:00+00:00"})


@pytest.fixture
def asked(tmp_path: Path) -> Program:
    """A program without a model, in whose file the notebook has quoted something."""
    program = program_in(tmp_path / "one")
    assert QUOTE in program.run("chat", stdin=ASKED).stdout
    return program


@pytest.mark.parametrize(
    "arguments",
    [
        ("conversations", "show", "1"),
        ("memory", "show", "message:6"),
        ("memory", "why", "message:6"),
    ],
)
def test_a_reply_is_read_with_its_words(asked: Program, arguments: tuple[str, ...]) -> None:
    """Wherever messages are read."""
    done = asked.run(*arguments)
    assert done.returncode == 0, done.stderr
    assert "From before" in done.stdout
    assert QUOTE in done.stdout


@pytest.mark.parametrize("line", ["/history all", "/why message:6", "/why last"])
def test_a_reply_is_read_with_its_words_in_the_chat(asked: Program, line: str) -> None:
    """There, too."""
    done = asked.run("chat", "--commands", stdin=line)
    assert done.returncode == 0, done.stderr
    assert QUOTE in done.stdout


def test_its_words_are_in_no_export(asked: Program, tmp_path: Path) -> None:
    """Neither in JSONL nor in Markdown nor in the file itself."""
    for form in ("jsonl", "markdown"):
        out = asked.run("export", "--format", form).stdout
        assert "Noted" not in out
        assert "From before" not in out
    copy = tmp_path / "copy.db"
    assert asked.run("export", "--format", "sqlite", "-o", str(copy)).returncode == 0
    assert b"From before" not in copy.read_bytes()
    assert "From before" not in asked.run("memory", "search", "from before noted").stdout


def test_an_export_comes_back_the_same(asked: Program, tmp_path: Path) -> None:
    """The reply quotes the same in the other file and is exported the same."""
    lines = asked.run("export").stdout
    other = program_in(tmp_path / "other")
    file = other.folder / "all.jsonl"
    file.write_text(lines, "utf-8")
    done = other.run("import", str(file))
    assert done.returncode == 0, done.stderr
    assert QUOTE in other.run("conversations", "show", "1").stdout
    assert other.run("export").stdout == lines


def test_the_talk_goes_on(asked: Program) -> None:
    """The next start continues the conversation and the prompt's history."""
    assert asked.run("ask", "And the tomatoes?").returncode == 0
    assert len(json.loads(asked.run("conversations", "list", "--json").stdout)) == 1
    with closing(open_database(asked.db)) as db:
        assert prompt_history(db)[0] == "And the tomatoes?"


def test_retry_says_why_not(asked: Program) -> None:
    """The reply would be the same, and nothing is stored."""
    done = asked.run("chat", "--commands", stdin="/retry")
    assert "trying again gives the same reply" in done.stderr
    assert "`construct setup`" in done.stderr
    with closing(open_database(asked.db)) as db:
        assert len(messages_of(db, 1)) == 6


PRIVATE = "Who is my dentist?\nMy secret is xylophone.\n/retry\n/drop\n"


@pytest.mark.parametrize("more", [(), ("--new",)], ids=["in the conversation", "in a new one"])
def test_private_talk_is_answered_and_not_kept(asked: Program, more: tuple[str, ...]) -> None:
    """The reply quotes what was stored before, and says that it is not kept."""
    done = asked.run("chat", "--private", "--commands", *more, stdin=PRIVATE)
    quoting, secret = done.stdout.split("Not kept: private talk is on.")[1:]
    assert QUOTE in quoting
    assert "From before" not in secret
    assert "trying again gives the same reply" in done.stderr
    assert "no message said here waits" in done.stderr
    assert b"xylophone" not in asked.db.read_bytes()
    with closing(open_database(asked.db)) as db:
        assert len(messages_of(db, 1)) == 6


def test_private_talk_is_not_kept_if_one_asks(asked: Program) -> None:
    """A request gets the answer that is true there, then what holds for the rest."""
    done = asked.run("chat", "--private", stdin="Don't save this.\n")
    assert "Not kept: private talk is on. The notebook deletes nothing" in done.stdout


async def test_private_words_go_on_with_a_model_and_the_replies_do_not(
    tmp_path: Path, api: FakeApi
) -> None:
    """A model chosen in the middle is sent the user's messages only.

    Nothing of the notebook's is sent.
    """
    api.enqueue("chat", "Good.")
    async with talking(tmp_path, api) as t:
        with_model = t.companion.models
        await t.say("My dentist is Dr. Sousa.")
        t.companion.use_models(replace(with_model, main=Notebook(), provider=Provider.NOTEBOOK))
        aside = Responder(PrivateLedger(t.companion))
        await aside.turn(t.id, "Who is my dentist?", t.heard.append)
        assert await t.companion.store.call(aside.ledger.last_reply, t.id) == (
            "Not kept: private talk is on. From before:\n\n"
            f"- {t.companion.settings.clock.today()}, you: {QUOTE} (message:1)"
        )
        t.companion.use_models(with_model)
        await aside.turn(t.id, "Thank you.", t.heard.append)
    sent = json.dumps(api.of("chat")[-1].body)
    assert "Who is my dentist?" in sent
    assert "Not kept" not in sent


async def test_a_model_later_is_sent_nothing_of_the_replies(tmp_path: Path, api: FakeApi) -> None:
    """It sees what the user said, and with memory off too.

    The replies do not count as messages in the window.
    """
    for memory in ("on", "off"):
        folder = tmp_path / memory
        folder.mkdir()
        more = {"CONSTRUCT_MEMORY": memory, "CONSTRUCT_RECENT_MESSAGES": "3"}
        async with talking(folder, api, **more) as t:
            with_model = t.companion.models
            t.companion.use_models(replace(with_model, main=Notebook(), provider=Provider.NOTEBOOK))
            await t.say("My dentist is Dr. Sousa.")
            await t.say("Who is my dentist?")
            assert (await t.status()).messages.window == 2
            t.companion.use_models(with_model)
            await t.say("Thank you.")
            t.check()
        body = api.of("chat")[-1].body
        assert [m["role"] for m in body["messages"]] == ["user"]
        assert "My dentist is Dr. Sousa." in json.dumps(body["messages"])
        assert "Who is my dentist?" in json.dumps(body["messages"])
        for words in ("Noted", "From before", "quotes"):
            assert words not in json.dumps(body["messages"])


async def test_a_model_later_answers_the_notebooks_words_again(
    tmp_path: Path, api: FakeApi
) -> None:
    """/retry then gets a model's reply, which replaces the notebook's."""
    async with talking(tmp_path, api) as t:
        with_model = t.companion.models
        t.companion.use_models(replace(with_model, main=Notebook(), provider=Provider.NOTEBOOK))
        await t.say("Who is my dentist?")
        t.companion.use_models(with_model)
        api.enqueue("chat", "I do not know.")
        again = await t.responder.retry(t.id, t.heard.append)
        assert again is not None
        assert again.complete
        assert [m.retried for m in await t.companion.store.call(messages_of, t.id)] == [0, 1, 0]


def test_what_is_forgotten_with_its_words_is_gone(asked: Program) -> None:
    """No byte of a quoted message stays, and the reply does not quote it any more."""
    assert asked.run("compact").returncode == 0
    notes = json.loads(asked.run("memory", "list", "--json").stdout)
    dentist = next(str(n["id"]) for n in notes if "Sousa" in n["text"])
    done = asked.run("memory", "forget", dentist, "--words", "--yes")
    assert done.returncode == 0, done.stderr
    assert b"Sousa" not in asked.db.read_bytes()
    shown = asked.run("conversations", "show", "1").stdout
    assert "Sousa" not in shown
    assert "Noted." in shown
    assert "Sousa" not in asked.run("export").stdout


def test_forgetting_a_notebook_leaves_the_notebooks_replies(tmp_path: Path) -> None:
    """What they quote is no tool's round, whatever word is forgotten."""
    program = program_in(tmp_path / "one")
    program.run("chat", stdin="My red notebook lies in Porto.\nAna is my sister.\nWho is Ana?\n")
    program.run("compact")
    notes = json.loads(program.run("memory", "list", "--json").stdout)
    wanted = next(str(n["id"]) for n in notes if "notebook" in n["text"])
    assert program.run("memory", "forget", wanted, "--words", "--yes").returncode == 0
    assert "“Ana is my sister.”" in program.run("conversations", "show", "1").stdout


def test_a_fork_and_an_undo_leave_the_replies(asked: Program) -> None:
    """The fork's last messages have their words, and so have they after an undo."""
    assert asked.run("compact").returncode == 0
    assert asked.run("undo", "--yes").returncode == 0
    assert QUOTE in asked.run("conversations", "show", "1").stdout
    assert asked.run("conversations", "fork", "1").returncode == 0
    shown = asked.run("chat", "--conversation", "2", "--commands", stdin="/history all")
    assert QUOTE in shown.stdout
    assert QUOTE in asked.run("ask", "--conversation", "2", "Who is my dentist?").stdout


def test_the_report_has_none_of_its_words(asked: Program, tmp_path: Path) -> None:
    """No observation comes from a reply of the notebook."""
    assert asked.run("compact").returncode == 0
    page = tmp_path / "memory.html"
    assert asked.run("report", "-o", str(page)).returncode == 0
    assert "Sousa" in page.read_text("utf-8")
    assert "From before" not in page.read_text("utf-8")


@pytest.mark.parametrize(
    ("blocks", "content"),
    [
        ('{"type": "notebook"}', ""),
        ('{"type": "note", "quotes": []}', ""),
        ('{"type": "notebook", "quotes": "a"}', ""),
        ('{"type": "notebook", "quotes": ["a b"]}', ""),
        ('{"type": "notebook", "quotes": [1]}', ""),
        ('{"type": "notebook", "quotes": [], "words": "Noted."}', ""),
        ('{"type": "notebook", "quotes": []}', "Noted."),
    ],
)
def test_only_a_whole_reply_is_imported(
    asked: Program, tmp_path: Path, blocks: str, content: str
) -> None:
    """A file with anything else in its place is refused, and says where."""
    lines = [json.loads(line) for line in asked.run("export").stdout.splitlines()]
    reply = next(one for one in lines if one.get("uid") and one.get("blocks"))
    reply |= {"blocks": blocks, "content": content}
    other = program_in(tmp_path / "other")
    file = other.folder / "all.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    done = other.run("import", str(file))
    assert done.returncode == 1
    assert "line " in done.stderr


async def test_a_question_that_nothing_answers(notes: Notes) -> None:
    """It is told so, and an earlier question is no answer to it."""
    await notes.say("Who is my dentist?")
    reply = await notes.say("Who is my dentist in Lisbon?")
    assert "No message to quote" in reply
    assert "message:" not in reply

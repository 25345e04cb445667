"""The chat on the screen: what is typed, what is answered, what stands where."""

import asyncio
import os
import shutil
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from unicodedata import normalize

import pytest

from construct.clock import Clock
from construct.config import Settings
from construct.memory.cycles.runner import Progress
from construct.memory.forgetting import delete_conversation
from construct.store.database import open_database
from construct.views.markdown import render_markdown
from construct.views.themes import PLAIN
from construct.vocabulary import CycleKind
from tests.chat.conftest import hold_reply, seated, stored
from tests.chat.documents import DOCUMENTS
from tests.support.fake_api import FakeApi, Reply, faults

LONG = "# Head\n\nSome *words* first.\n\n" + "\n".join(
    f"- item number {n} of many" for n in range(40)
)
HARD = "Some **words\n\n" + "\n\n".join(
    DOCUMENTS[name]
    for name in (
        "nested lists with all that can be in them",
        "a table of wide and combining characters",
        "a fence in an item, longer than the screen",
        "a late definition",
        "emphasis that is never closed",
    )
)


async def test_answers_what_is_typed(api: FakeApi, settings: Settings) -> None:
    """A line is echoed, answered below and stored, and the prompt comes back."""
    api.enqueue("chat", "Hello *Ana*.")
    async with seated(settings) as seat:
        seat.type("Good morning\r")
        await seat.see("Hello Ana.")
        await seat.see(lambda: len(stored(settings, "SELECT id FROM messages")) == 2)
        await seat.see(lambda: seat.screen.lines[-2] == "›")
        lines = seat.screen.lines
        at = lines.index("› Good morning")
        assert lines[at : at + 5] == ["› Good morning", "", "Hello Ana.", "", "›"]
        assert await seat.leave() == 0
    assert stored(settings, "SELECT role, content, status FROM messages") == [
        ("user", "Good morning", "complete"),
        ("assistant", "Hello *Ana*.", "complete"),
    ]


@pytest.mark.parametrize(
    ("document", "columns", "rows"),
    [(LONG, 80, 12), (HARD, 40, 15), (HARD, 200, 50)],
    ids=["long", "narrow", "wide"],
)
async def test_leaves_the_scrollback_of_one_render(
    api: FakeApi, settings: Settings, document: str, columns: int, rows: int
) -> None:
    """A streamed reply is in the scrollback once, as if rendered whole."""
    api.enqueue("chat", Reply(f"{document}\n\nThe end.", chunk_size=11, chunk_delay=0.003))
    async with seated(settings, columns=columns, rows=rows) as seat:
        seat.type("list them\r")
        await seat.see("Some")
        seat.type("half a line")
        seat.session._show_progress(Progress(began=CycleKind.OBSERVER))
        await seat.see("The end.")
        seat.type("\x15")
        await seat.see(lambda: seat.screen.lines[-2] == "›")
        lines = seat.screen.lines
        whole = (
            normalize("NFC", render_markdown(f"{document}\n\nThe end.", columns, PLAIN))
            .rstrip("\n")
            .split("\n")
        )
        at = lines.index("› list them") + 2
        assert lines[at:-3] == [line.rstrip() for line in whole]


async def test_ctrl_c_keeps_what_came(api: FakeApi, settings: Settings) -> None:
    """Ctrl-C stops the reply, keeps what has arrived, says so, and the chat goes on."""
    api.enqueue(
        "chat", Reply("Once upon a time " * 200, chunk_delay=0.02, chunk_size=20), "Back again."
    )
    async with seated(settings) as seat:
        seat.type("a story\r")
        await seat.see("Once upon")
        seat.type("\x03")
        await seat.see("interrupted")
        seat.type("and?\r")
        last = "SELECT status, content FROM messages WHERE id = 4"
        await seat.see(lambda: stored(settings, last) == [("complete", "Back again.")])
    rows = stored(settings, "SELECT status, content FROM messages ORDER BY id")
    assert [row[0] for row in rows] == ["complete", "interrupted", "complete", "complete"]
    assert str(rows[1][1]).startswith("Once upon a time")


async def test_type_ahead_is_kept_and_queued(api: FakeApi, settings: Settings) -> None:
    """What is typed while a reply comes in stands at the prompt.

    What is sent then is answered afterwards.
    """
    api.enqueue("chat", Reply("first answer " * 20, chunk_delay=0.02), "second answer")
    async with seated(settings) as seat:
        seat.type("one\r")
        await seat.see("first answer")
        seat.type("two\r")
        await seat.see("queued: two")
        seat.type("half a li")
        await seat.see("second answer")
        await seat.see(lambda: seat.screen.lines[-2] == "› half a li")
        text = seat.screen.text
        assert text.index("first answer") < text.index("› two") < text.index("second answer")
        assert "queued" not in text


async def test_interrupting_sends_what_is_queued(api: FakeApi, settings: Settings) -> None:
    """Ctrl-C stops only the reply: what was sent meanwhile is answered next."""
    api.enqueue("chat", Reply("long " * 500, chunk_delay=0.02, chunk_size=10), "short")
    async with seated(settings) as seat:
        seat.type("one\r")
        await seat.see("long long")
        seat.type("two\r")
        await seat.see("queued: two")
        seat.type("\x03")
        await seat.see("short")


async def test_ctrl_c_at_the_prompt(settings: Settings) -> None:
    """Ctrl-C clears the line.

    Where there is none it says how to leave, until something is typed.
    """
    async with seated(settings) as seat:
        seat.type("oops")
        await seat.see("› oops")
        seat.type("\x03")
        await seat.see(lambda: seat.screen.lines[-2] == "›")
        assert "Ctrl-D leaves" not in seat.screen.text
        seat.type("\x03")
        await seat.see("Ctrl-D leaves")
        seat.type("x")
        await seat.see(lambda: "Ctrl-D leaves" not in seat.screen.text)


async def test_several_lines(api: FakeApi, settings: Settings) -> None:
    """Alt-Enter and Ctrl-J make new lines; Enter sends them as one message.

    A paste of two lines is folded and marked as pasted; Tab unfolds it, and makes it one's own.
    """
    async with seated(settings) as seat:
        for keys in ("one", "\x1b\r", "two", "\n", "three \x1b[200~four\rfive\x1b[201~"):
            seat.type(keys)
            await asyncio.sleep(0.1)
        await seat.see("three [pasted 2 lines #1]")
        seat.type("\r")
        await seat.see("You said")
        seat.type("\x1b[200~six\rseven\x1b[201~")
        await seat.see("[pasted 2 lines #2]")
        seat.type("\t eight\r")
        await seat.see(lambda: seat.screen.text.count("You said") == 2)
    assert stored(settings, "SELECT content, pasted FROM messages WHERE role = 'user'") == [
        ("one\ntwo\nthree four\nfive", "[[14, 23]]"),
        ("six\nseven eight", None),
    ]


async def test_programs_may_end_a_line_as_they_like(api: FakeApi, settings: Settings) -> None:
    """A line that arrives at once with a line feed is sent as with Enter.

    Programs type like that.
    """
    async with seated(settings) as seat:
        seat.type("hello\n")
        await seat.see("You said")
        seat.type("/rename Tea\n/usage\n")
        await seat.see("cached")
    assert stored(settings, "SELECT title FROM conversations") == [("Tea",)]


async def test_long_pastes_are_folded(api: FakeApi, settings: Settings) -> None:
    """A paste of thousands of lines is one word at the prompt, and sent whole."""
    pasted = "\n".join(map(str, range(3000)))
    async with seated(settings) as seat:
        seat.type(f"look: \x1b[200~{pasted}\x1b[201~")
        await seat.see("› look: [pasted 3,000 lines #1]")
        seat.type("\r")
        await seat.see("2,990 more lines")
        await seat.see("You said")
    assert stored(settings, "SELECT content, pasted FROM messages WHERE role = 'user'") == [
        (f"look: {pasted}", f"[[6, {6 + len(pasted)}]]")
    ]


async def test_notices_do_not_tear_the_line(settings: Settings) -> None:
    """Background notices are printed above the line that is being typed."""
    async with seated(settings) as seat:
        await seat.see("observe 0%")
        seat.type("half a li")
        await seat.see("› half a li")
        seat.session._show_progress(Progress(ended=CycleKind.OBSERVER, count=3))
        await seat.see("· 3 new observations")
        seat.type("ne")
        await seat.see("› half a line")
        lines = seat.screen.lines
        assert [line for line in lines if "half" in line] == ["› half a line"]
        assert lines.index("· 3 new observations") < lines.index("› half a line")


async def test_resize_while_a_reply_comes(api: FakeApi, settings: Settings) -> None:
    """After a resize the rest of the reply is wrapped for the new width."""
    words = "word " * 30
    api.enqueue(
        "chat", Reply(f"{words}\n\n{words}\n\n{words}\n\nThe end.", chunk_delay=0.02, chunk_size=10)
    )
    async with seated(settings) as seat:
        seat.type("go\r")
        await seat.see("word word")
        seat.screen.resize(40, 24)
        seat.session.screen.app._on_resize()
        await seat.see("The end.")
        await seat.see(lambda: seat.screen.lines[-2] == "›")
        last = seat.screen.text.split("\n\n")[-4]
        assert last.replace("\n", " ").split() == ["word"] * 30
        assert max(map(len, last.split("\n"))) <= 40


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux wraps anew, as pyte does not")
@pytest.mark.parametrize("rows", [24, 40])
def test_no_line_is_twice_in_a_window_made_narrow(tmp_path: Path, api: FakeApi, rows: int) -> None:
    """From 100 columns to 40 while a long paragraph streams in."""
    words = [f"word{n}" for n in range(300)]
    api.enqueue("chat", Reply(f"{' '.join(words)}\n\nThe end.", chunk_delay=0.02, chunk_size=20))
    env = {"CONSTRUCT_DB": str(tmp_path / "construct.db"), "LANG": "C.UTF-8", **api.env()}

    def tmux(*arguments: str) -> str:
        command = ["tmux", "-S", str(tmp_path / "tmux"), "-f", os.devnull, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def see(what: str) -> str:
        for _ in range(200):
            shown = tmux("capture-pane", "-p", "-S", "-")
            if what in shown:
                return shown
            time.sleep(0.1)
        raise AssertionError(f"{what!r} was not seen on:\n{shown}")

    settings = [f"{name}={value}" for name, value in env.items()]
    command = ["env", *settings, sys.executable, "-m", "construct"]
    tmux("new-session", "-d", "-x", "100", "-y", str(rows), *command)
    try:
        see("›")
        tmux("send-keys", "go", "Enter")
        see("word100")
        tmux("resize-window", "-x", "40", "-y", str(rows))
        shown = see("The end.")
    finally:
        tmux("kill-server")
    assert [word for word in shown.split() if word.startswith("word")] == words


async def test_a_tall_terminal_shows_more_of_what_comes(api: FakeApi, settings: Settings) -> None:
    """The beginning of a long list item is still in sight when its end comes in."""
    item = "- a dozen:\n" + "".join(f"  - number {n}\n" for n in range(12))
    api.enqueue("chat", Reply(f"{item}  - and more to come", delay=0.0, chunk_size=20))
    api.fail("chat", faults.hang(60, after=10))
    async with seated(settings, rows=50) as seat:
        seat.type("hello\r")
        await seat.see("number 11")
        assert "• a dozen:" in seat.screen.text


async def test_a_model_that_fails(api: FakeApi, settings: Settings) -> None:
    """An error of the model is a line or two.

    The chat goes on, and /retry asks again.
    """
    api.fail("chat", faults.http(401))
    api.enqueue("chat", "There you are.")
    async with seated(settings) as seat:
        seat.type("hello\r")
        await seat.see("ANTHROPIC_API_KEY")
        assert "Traceback" not in seat.screen.text
        seat.type("/retry\r")
        await seat.see("There you are.")
    assert stored(settings, "SELECT role, content FROM messages") == [
        ("user", "hello"),
        ("assistant", "There you are."),
    ]


async def test_a_reply_that_breaks_off(api: FakeApi, settings: Settings) -> None:
    """Of a reply that breaks off what came is shown, and what to do."""
    api.enqueue("chat", Reply("Half of what I wanted to say", chunk_size=5))
    api.fail("chat", faults.silent_end(after=2))
    async with seated(settings) as seat:
        seat.type("hello\r")
        await seat.see("Half of wh")
        await seat.see("/retry")


async def test_the_first_words_are_drawn_when_they_arrive(
    api: FakeApi, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long a frame is, the first words do not wait for its end."""
    monkeypatch.setattr("construct.chat.terminal.FRAME_SECONDS", 60.0)
    api.enqueue("chat", Reply("First " + "and more " * 40, chunk_size=6, chunk_delay=0.05))
    async with seated(settings) as seat:
        seat.type("hello\r")
        await seat.see("First")
        assert "and more and more" not in seat.screen.text


async def test_a_tool_is_one_quiet_line(api: FakeApi, settings: Settings) -> None:
    """A tool call is one line between the text before and after it."""
    api.enqueue(
        "chat", Reply("Let me look.", tool_calls=[("recall", {"query": "dentist"})]), "Found it."
    )
    async with seated(settings) as seat:
        seat.type("when was it?\r")
        await seat.see("Found it.")
        text = seat.screen.text
        assert (
            text.index("Let me look.") < text.index("· recall: dentist") < text.index("Found it.")
        )


async def test_the_model_may_ask_to_forget(api: FakeApi, settings: Settings) -> None:
    """When the model wants something forgotten, the user is asked.

    After that the reply goes on.
    """
    async with seated(settings, rows=40) as seat:
        seat.type("My sister Rosa lives in Porto since 2001.\r")
        await seat.see("You said")
        seat.type("/compact\r")
        await seat.see("1 new observation")
        api.enqueue("chat", Reply("Wait.", tool_calls=[("forget", {"id": 1})]), "It is gone.")
        seat.type("forget that\r")
        await seat.see("Delete this for good? [y/N]")
        seat.type("y\r")
        await seat.see("It is gone.")
    assert stored(settings, "SELECT count(*) FROM observations") == [(0,)]


async def test_history_comes_from_the_database(api: FakeApi, settings: Settings) -> None:
    """Messages of earlier chats are found with the arrow key.

    Commands are kept nowhere.
    """
    async with seated(settings) as seat:
        seat.type("remember the milk\r")
        await seat.see("You said")
        seat.type("/usage\r")
        await seat.see("cached")
        await seat.leave()
    async with seated(settings) as seat:
        await seat.see("observe")
        await asyncio.sleep(0.05)
        seat.type("\x1b[A")
        await seat.see("› remember the milk")


async def test_completion(settings: Settings) -> None:
    """A slash brings up the commands with what they do."""
    async with seated(settings) as seat:
        seat.type("/wat")
        await seat.see("/watermarks")
        await seat.see("progress of memory work")


async def test_private_talk_is_not_stored(api: FakeApi, settings: Settings) -> None:
    """Private talk is answered with memory in mind and stands nowhere in the file."""
    async with seated(settings, private=True) as seat:
        await seat.see("private: not stored")
        seat.type("My secret is Xylophone\r")
        await seat.see("You said")
        seat.type("What is it?\r")
        await seat.see(lambda: len(api.of("chat")) == 2)
        await seat.see(lambda: seat.screen.text.count("You said") == 2)
        seat.type("/remember Xylophone\r")
        await seat.see("Private talk is on")
        seat.type("/retry\r")
        await seat.see(lambda: len(api.of("chat")) == 3)
        seat.type("/private off\r")
        await seat.see("messages are stored again")
        await seat.leave()
    assert "Xylophone" in str(api.of("chat")[1].body)
    assert stored(settings, "SELECT count(*) FROM messages") == [(0,)]
    assert b"Xylophone" not in settings.db.read_bytes()


async def test_what_was_typed_in_private_leaves_the_history(
    api: FakeApi, settings: Settings
) -> None:
    """At /private off, from Ctrl-R and from the arrow keys.

    What was said before stays in both.
    """
    async with seated(settings) as seat:
        seat.type("My sister is Rosa\r")
        await seat.see("You said")
        seat.type("/private on\r")
        await seat.see("From here on nothing you say is stored")
        seat.type("My secret is Xylophone\r")
        await seat.see(lambda: seat.screen.text.count("You said") == 2)
        seat.type("\x1b[A")
        await seat.see(lambda: seat.session.screen.prompt.buffer.text == "My secret is Xylophone")
        seat.type("\x15/private off\r")
        await seat.see("messages are stored again")
        seat.type("\x12Xylo")
        await asyncio.sleep(0.3)
        assert "Xylophone" not in seat.session.screen.prompt.buffer.text
        seat.type("\x07")
        for _ in range(6):
            seat.type("\x1b[A")
            await asyncio.sleep(0.1)
            assert "Xylophone" not in seat.session.screen.prompt.buffer.text
        assert seat.session.screen.prompt.buffer.text == "My sister is Rosa"


async def test_forgetting_asks(api: FakeApi, settings: Settings) -> None:
    """/forget shows what goes and asks.

    Only a yes deletes, and Ctrl-D is none: it does not leave the chat.
    """
    async with seated(settings) as seat:
        seat.type("My sister Rosa lives in Porto since 2001.\r")
        await seat.see("You said")
        seat.type("/compact\r")
        await seat.see("1 new observation")
        seat.type("/forget 1\r")
        await seat.see("Delete this for good? [y/N]")
        assert "would be deleted" in seat.screen.text
        seat.type("n\r")
        await seat.see("Nothing was deleted.")
        seat.type("/forget 1\r")
        await seat.see(lambda: seat.screen.text.count("Delete this for good? [y/N]") == 1)
        seat.type("\x04")
        await seat.see(lambda: seat.screen.text.count("Nothing was deleted.") == 2)
        seat.type("/forget 1\r")
        await seat.see(lambda: seat.screen.text.count("Delete this for good? [y/N]") == 1)
        seat.type("y\r")
        await seat.see("Deleted: 1 observation")
    assert stored(settings, "SELECT count(*) FROM observations") == [(0,)]


async def test_text_from_elsewhere_is_made_printable(api: FakeApi, settings: Settings) -> None:
    """Neither a reply nor an echoed line can move the cursor or set the title."""
    api.enqueue("chat", "safe\x1b]0;owned\x07 \x9b31m and \u202esound")
    async with seated(settings) as seat:
        seat.type("hi \x1b[200~there\x1b]0;mine\x07\x1b[201~\r")
        await seat.see("sound")
        assert "owned" not in seat.screen.raw
        assert "\x1b]0" not in seat.screen.raw
        assert "\u202e" not in seat.screen.raw


async def test_first_run_and_coming_back(api: FakeApi, settings: Settings) -> None:
    """The first start says what is stored and where.

    The next one which talk goes on.
    """
    async with seated(settings, columns=200) as seat:
        assert str(settings.db) in seat.screen.text
        assert "/forget ID" in seat.screen.text
        seat.type("hello\r")
        await seat.see("You said")
        seat.type("/rename Garden plans\r")
        await seat.see("is now called Garden plans")
        await seat.leave()
    async with seated(settings) as seat:
        assert "Construct · Garden plans · last talked" in seat.screen.text
        assert "/forget ID" not in seat.screen.text


async def test_unknown_command(settings: Settings) -> None:
    """A name that is no command gets the nearest one."""
    async with seated(settings) as seat:
        seat.type("/memmory\r")
        await seat.see("Unknown command /memmory. Did you mean /memory?")


async def test_a_server_that_is_asked_again(api: FakeApi, settings: Settings) -> None:
    """Whoever waits while the model is asked again sees why.

    Then the reply is there.
    """
    api.fail("chat", faults.http(529, retry_after=0.8))
    async with seated(settings) as seat:
        seat.type("hello\r")
        await seat.see("is busy, trying again")
        await seat.see("You said")
        assert "trying again" not in seat.screen.text


async def test_a_reply_whose_question_is_deleted_meanwhile(
    api: FakeApi, settings: Settings
) -> None:
    """It is shown, and the user sees that it was not stored."""
    asked, may_answer = hold_reply(api)
    async with seated(settings) as seat:
        seat.type("hello\r")
        await seat.see(asked.is_set)
        with closing(open_database(settings.db)) as db:
            delete_conversation(db, 1, Clock(), wait=0)
        may_answer.set()
        await seat.see("the reply was not stored: your message was deleted meanwhile")
        assert "Here it is." in seat.screen.text


async def test_a_command_at_a_question_is_no_answer(settings: Settings, api: FakeApi) -> None:
    """It is said that it was not run, and the question stays until it is answered."""
    async with seated(settings) as seat:
        seat.type("My sister Rosa lives in Porto.\r")
        await seat.see("You said")
        seat.type("/forget message:1\r")
        await seat.see("[y/N]")
        seat.type("/memory\r")
        await seat.see("Not sent: “/memory”. Please answer y or n; Ctrl-C cancels.")
        await seat.see(lambda: seat.screen.lines[-2].endswith("[y/N]"))
        seat.type("no\r")
        await seat.see("Nothing was deleted.")
    assert stored(settings, "SELECT withheld FROM messages WHERE id = 1") == [(0,)]


async def test_a_question_wider_than_the_window_is_wrapped(
    settings: Settings, api: FakeApi
) -> None:
    """It stands above the line on which it is answered."""
    async with seated(settings, columns=34, rows=24) as seat:
        seat.type("My sister Rosa lives in Porto.\r")
        await seat.see("You said")
        seat.type("/forget message:1\r")
        await seat.see("Never show this to the model")
        await seat.see("[y/N]")
        seat.type("no\r")
        await seat.see("Nothing was deleted.")
        assert "[y/N]" not in seat.screen.text

"""Commands: that there are those of the contract, and that each shows what it says."""

import asyncio
import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from construct.chat.commands import all_commands
from construct.chat.commands.arguments import number_in
from construct.chat.commands.registry import Registry, split_command
from construct.chat.plain import PlainOutput
from construct.clock import Clock
from construct.config import Settings
from construct.operations import memory_filter
from construct.store import search_index
from construct.store.database import open_database, transaction
from construct.store.messages import NewMessage, add_message
from construct.store.records import Message
from tests.chat.commands.plainly import shown, talking
from tests.chat.commands.test_withheld import Asked
from tests.chat.conftest import seated
from tests.support.fake_api import FakeApi, Reply

CONTRACT = (
    "/help /memory /profile /persona /rules /compact /undo /watermarks /generations /context "
    "/recall /remember /review /why /forget /edit /pin /agenda /diff /detach /doors /drop /private "
    "/status /track /usage /model /new /conversations /switch /rename /fork /graph /export /editor "
    "/retry /copy /quit"
)

ADDED = ("/doctor", "/history", "/import", "/remind", "/report", "/timeline", "/tools")

SHOWN = {
    "/help": "/memory",
    "/help all": "/watermarks",
    "/help recall": "Also: /search",
    "/help forget": "For example: /forget",
    "/help keys": "Ctrl-R",
    "/agenda": "Nothing on the agenda",
    "/remind": "No reminders",
    "/tools": "There are no tools",
    "/remind 2099-03-05 9am call Rosa": "Will remind you in 7",
    "/memory": "Rosa",
    "/memory rosa": "My sister Rosa",
    "/memory zebra": "No matches: “zebra”. /recall searches everything",
    "/memory stated high medium low since 7d": "My sister Rosa",
    "/memory reflections": "/recall searches everything",
    "/profile": "1 thing known",
    "/timeline": "1 observation learned in 1 week; 1 known today",
    "/timeline all": "week of",
    "/compact": "No new observations",
    "/undo": "Taken back",
    "/watermarks": "observed",
    "/generations": "generation 0",
    "/context": "would be sent to claude-sonnet-5-5",
    "/context full": "You are Construct",
    "/recall Rosa": "message:1",
    "/why 1": "message:1",
    "/why message:1": "Rosa",
    "/why last": "nothing from memory",
    "/forget 1 --yes": "Deleted: 1 observation",
    "/edit 1 Rosa is my cousin.": "Rosa is my cousin.  yours",
    "/pin 1": "pinned",
    "/diff": "Learned",
    "/diff yesterday today": "+ 1",
    "/private on": "nothing you say is stored",
    "/private off": "already off",
    "/review": "Nothing waits for your decision",
    "/track": "Nothing is followed yet",
    "/status": "next observation",
    "/usage": "claude-sonnet-5-5",
    "/doors": "No other program has read",
    "/doctor": "nothing is lost or out of place",
    "/model": "claude-haiku-5-5",
    "/model claude-opus-5-5": "claude-opus-5-5 answers from now on; observations",
    "/new": "A new conversation",
    "/new Garden": "Garden",
    "/conversations": "› 1",
    "/history": "› My sister Rosa lives in Porto since 2001.",
    "/history 1": "You said",
    "/switch 1": "already in it",
    "/switch sister": "already in it",
    "/rename Family": "is now called Family",
    "/fork Aside": "Forked conversation 1 into",
    "/remember Rosa sings alto": "Kept as ",
    "/retry": "You said",
    "/search Rosa": "message:1",
    "/cost": "claude-sonnet-5-5",
    "/clear": "A new conversation",
}


@pytest.fixture(scope="module")
def registry() -> Registry:
    """Return all commands."""
    return all_commands()


def test_commands_are_those_of_the_contract(registry: Registry) -> None:
    """The commands are the contract's and few others.

    Each says what it does and gives an example.
    """
    commands = [command for group in registry.groups for command in group.commands]
    assert sorted(f"/{command.name}" for command in commands) == sorted([*CONTRACT.split(), *ADDED])
    for command in commands:
        assert command.usage.startswith(f"/{command.name}")
        assert command.help
        assert command.details.endswith(".")
        assert f"/{command.name}" in command.example
        takes_argument = command.usage != f"/{command.name}"
        assert takes_argument or command.example == command.usage


def test_help_on_memory_names_all_that_narrows(registry: Registry) -> None:
    """The words are those that are understood, each list on a line of its own."""
    memory = registry.find("memory")
    assert memory is not None
    for known in (memory_filter.PRIORITIES, memory_filter.STANCES, memory_filter.MARKS):
        assert f"\n  {', '.join(known)};\n" in memory.details


def test_every_command_is_tried(registry: Registry) -> None:
    """Each command is in the table of this file, or tested by itself."""
    tried = {split_command(line)[0] for line in SHOWN} | {
        "export",
        "import",
        "report",
        "quit",
        "editor",
        "copy",
        "graph",
        "drop",
        "detach",
        "persona",
        "rules",
    }
    assert set(registry.names) <= tried


@pytest.mark.parametrize("line", SHOWN)
async def test_shows_what_it_says(
    line: str, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    """A command shows what it is for, in plain text when there is no terminal."""
    async with talking(settings) as dialogue:
        capsys.readouterr()
        assert await dialogue.run_line(line)
        printed = capsys.readouterr()
    assert SHOWN[line] in printed.out + printed.err
    assert "\x1b" not in printed.out
    assert not dialogue.failed


@pytest.mark.parametrize(
    "line",
    ["/why", "/why x", "/why 99", "/why message:99", "/why memory:9", "/edit",
     '/edit 1 ""', "/remember …", "/edit 99 x",
     "/pin 1 maybe", "/forget", "/agenda 1", "/agenda done", "/agenda done 1", "/agenda moved 1",
     "/agenda moved 1 friday", "/agenda soon", "/forget 1 --all", "/forget 1", "/forget message:1",
     "/forget 99 --yes", "/diff soon", "/diff a b c", "/private maybe", "/switch", "/switch zebra",
     "/rename", "/export", "/export jsonl", "/export talk.md html",
     "/import", "/report", "/context all", "/recall",
     "/undo 5", "/help zebra", "/memory since 2026-3", "/timeline 3", "/forget --yes", "/pin off",
     "/conversations maybe", "/conversations delete", "/conversations delete 1",
     "/conversations delete 99 --yes", "/history x", "/history 0", "/editor", "/copy", "/detach",
     "/drop", "/remember", "/remind Rosa", "/remind tomorrow", "/remind 2020-03-05 9:30 Rosa",
     "/remind in 5 minutes …", "/tools allow x", "/tools show", "/tools x",
     "/graph", "/graph Zebra", "/nothing", "/export ~nobody-here/x.jsonl",
     "/import ~nobody-here/x.jsonl", "/report ~nobody-here/x.html", f"/export /tmp/{'x' * 300}",
     f"/import /tmp/{'x' * 300}"],
)  # fmt: skip
async def test_wrong_use_is_one_error(
    line: str, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    """What cannot be done is one or two lines of error, and the chat goes on."""
    async with talking(settings) as dialogue:
        capsys.readouterr()
        assert await dialogue.run_line(line)
        printed = capsys.readouterr()
    assert dialogue.failed
    assert printed.out == ""
    assert 1 <= len(printed.err.splitlines()) <= 2
    assert "went wrong" not in printed.err


async def test_exit_leaves(settings: Settings) -> None:
    """Another name of /quit."""
    async with talking(settings) as dialogue:
        assert not await dialogue.run_line("/exit")


async def test_a_long_history_can_be_stopped(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is shown piece by piece, and keys are heeded in between."""
    with closing(open_database(settings.db)) as db:
        db.execute(
            """INSERT INTO messages (uid, conversation_id, role, content, token_count, created_at)
               WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
               SELECT 'n' || i, 1, 'user', 'Zebra ' || i, 3, '2026-03-02T10:00:00+00:00' FROM n"""
        )
    async with talking(settings) as dialogue:

        def show_and_stop(_: PlainOutput, messages: Sequence[Message], clock: Clock) -> None:
            pieces.append(len(messages))
            dialogue.stop()

        pieces: list[int] = []
        monkeypatch.setattr(PlainOutput, "replay", show_and_stop)
        await dialogue.run_line("/history all")
    assert 0 < sum(pieces) < 1000


@pytest.mark.parametrize(
    "line",
    ["/fork", "/fork Zebra", "/new Zebra", "/rename Zebra", "/remember Zebra", "/edit 1 Zebra"],
)
async def test_in_private_no_command_stores_what_is_typed(
    line: str, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    """It says so, and there are no more conversations than before."""
    async with talking(settings) as dialogue:
        await dialogue.run_line("/private on")
        await dialogue.run_line(line)
    assert (
        capsys.readouterr().err
        == "Private talk is on: nothing you say is stored. /private off ends it.\n"
    )
    with closing(sqlite3.connect(settings.db)) as db:
        assert db.execute("SELECT count(*) FROM conversations").fetchone() == (1,)
        assert "Zebra" not in "\n".join(db.iterdump())


def test_a_number_is_one_that_a_row_can_have() -> None:
    """However long it is, it is no defect."""
    assert [number_in(text) for text in ("12", "0", "x", "-1", "", "٣", "9" * 5000)] == [
        12,
        0,
        *[None] * 5,
    ]


async def test_what_is_kept_by_hand_is_listed(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    """What /remember kept is in /memory under its own id.

    It can be looked into and forgotten.
    """
    async with talking(settings) as dialogue:
        await dialogue.run_line("/remember Zebras are my favourite")
        await dialogue.run_line("/memory zebra")
        number = capsys.readouterr().out.split("Kept as ")[1].split(":")[0]
        assert f"{number} Zebras are my favourite" in await shown(dialogue, "/memory", capsys)
        assert "you wrote: Zebras" in await shown(dialogue, f"/why {number}", capsys)
        await dialogue.run_line(f"/forget {number}")
        assert f"Add --yes: /forget {number} --yes" in capsys.readouterr().err
        assert "1 observation" in await shown(dialogue, f"/forget {number} --yes", capsys)
        assert "Zebras" not in await shown(dialogue, "/memory", capsys)


async def test_what_was_shown_last_needs_no_id(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    """/why, /pin and /forget take the line that stands next to the prompt.

    Once it is gone they need an id.
    """
    async with talking(settings) as dialogue:
        await shown(dialogue, "/memory", capsys)
        assert "message:1" in await shown(dialogue, "/why", capsys)
        assert "pinned" in await shown(dialogue, "/pin", capsys)
        assert "pinned" not in await shown(dialogue, "/pin off", capsys)
        assert "kept by you" not in await shown(dialogue, "/recall Rosa", capsys)
        await dialogue.run_line("/forget")
        assert "Add --yes: /forget message:1 --yes" in capsys.readouterr().err
        await dialogue.run_line("/forget message:1 --words")
        assert "Add --yes: /forget message:1 --words --yes" in capsys.readouterr().err
        await dialogue.run_line("/diff")
        await dialogue.run_line("/forget")
        assert "Add --yes: /forget 1 --yes" in capsys.readouterr().err
        await dialogue.run_line("/forget 1 --yes")
        await dialogue.run_line("/why")
        assert "Which one? Usage: /why [ID|last]. /memory shows the ids." in capsys.readouterr().err


async def test_errors_name_what_can_be_typed_here(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the layers below say of the command line is said of the slash command."""
    async with talking(settings) as dialogue:
        for line in ("/why 99", "/why memory:9"):
            await dialogue.run_line(line)
            error = capsys.readouterr().err
            assert "/memory shows the ids" in error
            assert "construct" not in error


async def test_quit_ends_the_chat(settings: Settings) -> None:
    """After /quit no line is wanted any more."""
    async with talking(settings) as dialogue:
        assert not await dialogue.run_line("/quit")


async def test_export_writes_what_the_ending_says(settings: Settings, tmp_path: Path) -> None:
    """The format follows from the file's name, or from the word behind it."""
    async with talking(settings) as dialogue:
        (tmp_path / "v1.b copy").mkdir()
        for line in ("my talk.md", "talk.db", "talk.txt", "talk.md jsonl", "v1.b copy/talk"):
            await dialogue.run_line(f"/export {tmp_path / line}")
        await dialogue.run_line(f'/export "{tmp_path}/in quotes.md"')
        await dialogue.run_line(rf"/export {tmp_path}/es\ caped.md jsonl")
        assert not dialogue.failed
        await dialogue.run_line(f"/export {tmp_path / 'my talk.md'} jsonl")
        assert dialogue.failed  # it exists, and nobody can be asked
    assert (tmp_path / "my talk.md").read_text().startswith("#")
    assert (tmp_path / "in quotes.md").read_text().startswith("#")
    with closing(sqlite3.connect(tmp_path / "talk.db")) as db:
        assert db.execute("SELECT count(*) FROM messages").fetchone() == (2,)
    for name in ("talk.txt", "talk.md", "v1.b copy/talk", "es caped.md"):
        assert (
            json.loads((tmp_path / name).read_text().splitlines()[0])["type"] == "construct-export"
        )


async def test_import_brings_in_a_file(
    settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """/import says what came in and what learns from it.

    The same file again adds nothing.
    """
    talk = {"type": "message", "conversation": "Rowing", "role": "user", "content": "We rowed."}
    talk["created_at"] = "2026-03-01"
    (tmp_path / "talk.jsonl").write_text(json.dumps(talk))
    async with talking(settings) as dialogue:
        said = await shown(dialogue, f"/import {tmp_path / 'talk.jsonl'}", capsys)
        assert said.startswith("Imported 1 message, 1 new conversation.")
        assert "`construct observe` learns from them" in said
        assert "Rowing" in await shown(dialogue, "/conversations", capsys)
        said = await shown(dialogue, f"/import {tmp_path / 'talk.jsonl'}", capsys)
        assert said == "Nothing new. Already here: 1 message.\n"
        assert not dialogue.failed


class Copying(PlainOutput):
    """Output with a clipboard."""

    copied = ""

    def copy(self, text: str) -> None:
        """Copy a text."""
        self.copied = text


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        ("```py\nprint(1)\n```\n\n~~~\na\n```\n~~~\nDone.", "a\n```\n"),
        ("1. Run this:\n\n   ```sh\n   ls\n     -l\n   ```\n\n2. Done.", "ls\n  -l\n"),
        ("Broken off:\n```py\nprint(1)\n", "print(1)\n"),
        ("Only `words`.", ""),
    ],
)
async def test_copying_code(api: FakeApi, settings: Settings, reply: str, code: str) -> None:
    """/copy code takes the last code block as it is shown; another word copies nothing."""
    out = Copying()
    api.enqueue("chat", reply)
    async with talking(settings, out) as dialogue:
        await dialogue.run_line("how?")
        await dialogue.run_line("/copy code")
        assert out.copied == code
        await dialogue.run_line("/copy")
        assert out.copied.strip() == reply.strip()
        out.copied = ""
        await dialogue.run_line("/copy cdoe")
        assert dialogue.failed
        assert out.copied == ""


async def test_an_edit_is_not_put_over_what_is_typed(settings: Settings) -> None:
    """It says why it is not at the prompt."""
    async with seated(settings) as seat:
        await seat.see("observe")
        seat.type("/edit 1\rtyped ahead")
        await seat.see("The prompt is not empty.")
        assert seat.screen.lines[-2] == "› typed ahead"
        seat.type("\x15/edit 1\r")
        await seat.see("› /edit 1 My sister Rosa")


async def test_report_is_a_page(settings: Settings, tmp_path: Path) -> None:
    """/report writes a page and does not replace a file without confirmation."""
    async with talking(settings) as dialogue:
        await dialogue.run_line(f"/report {tmp_path / 'memory.html'}")
        written = (tmp_path / "memory.html").read_text()
        assert "My sister Rosa lives in Porto" in written
        (tmp_path / "memory.html").write_text("mine")
        await dialogue.run_line(f"/report {tmp_path / 'memory.html'}")
        assert (tmp_path / "memory.html").read_text() == "mine"


async def test_a_defect_in_a_command_does_not_end_the_chat(
    settings: Settings, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a command raises is one line; no traceback is shown."""
    async with talking(settings) as dialogue:
        monkeypatch.setattr(dialogue._chat, "run", None)
        assert await dialogue.run_line("/status")
        assert "TypeError" in capsys.readouterr().err
        assert await dialogue.run_line("/help")


async def test_stopping_a_reply(
    api: FakeApi, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    """`stop` ends what is being done and nothing else; what came stays."""
    api.enqueue("chat", Reply("one two three " * 100, chunk_delay=0.02))
    async with talking(settings) as dialogue:
        line = asyncio.create_task(dialogue.run_line("count"))
        while "one two" not in capsys.readouterr().out:
            await asyncio.sleep(0.02)
        dialogue.stop()
        assert await line
        assert not dialogue.failed
        assert not dialogue.busy


def test_splitting_a_command() -> None:
    """The name ends at the first blank or line end.

    The argument keeps its inner lines.
    """
    assert split_command("/new  My title ") == ("new", "My title")
    assert split_command("/edit 1 a\nb") == ("edit", "1 a\nb")
    assert split_command("/edit\n1") == ("edit", "1")
    assert split_command("/") == ("", "")


def test_the_nearest_name(registry: Registry) -> None:
    """An unknown name gets one that it begins, or else the one most like it."""
    assert registry.unknown("wat").endswith("Did you mean /watermarks?")
    assert registry.unknown("find").endswith("Did you mean /recall?")
    assert registry.unknown("bye").endswith("Did you mean /quit?")
    assert registry.unknown("memroy").endswith("Did you mean /memory?")
    assert registry.unknown("\x1b[31m").startswith("Unknown command /. Did you mean /")
    assert "@ before a path attaches the file" in registry.unknown("tmp/note.txt")
    assert registry.unknown("?") == "Unknown command /?. /help lists the commands."


async def test_what_no_search_has_reached_is_said(
    settings: Settings, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Searching and forgetting say how much of an import is not indexed yet."""
    monkeypatch.setattr(search_index, "_BATCH_MESSAGES", 0)
    with (
        closing(open_database(settings.db)) as db,
        transaction(db),
        search_index.deferred_indexing(db),
    ):
        add_message(db, 1, NewMessage("user", "Rosa rows"), "2026-01-01T10:00:00+00:00")
    async with talking(settings) as dialogue:
        for line in ("/recall Rosa", "/forget 1 --yes"):
            assert "Not searched yet: 1 imported message " in await shown(dialogue, line, capsys)


async def test_undo_shows_what_it_would_take_back_and_asks(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    """In which conversation.

    Where nobody can be asked, or with --yes, it does it at once.
    """
    out = Asked(False, True)
    async with talking(settings, out) as dialogue:
        refused = await shown(dialogue, "/undo", capsys)
        assert "This would be taken back: an observation run, in conversation 1" in refused
        assert "My sister Rosa" in refused
        assert refused.endswith("Nothing was taken back.\n")
        assert "My sister Rosa" in await shown(dialogue, "/memory", capsys)
        assert "Taken back: an observation run, in conversation 1" in await shown(
            dialogue, "/undo", capsys
        )
        assert out.questions == ["Take this back?"] * 2
        await dialogue.run_line("/undo --yes")
        assert capsys.readouterr().err == "Nothing to undo.\n"


async def test_an_edit_warns_of_what_it_leaves_out(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    """Names and numbers, as they were written."""
    async with talking(settings) as dialogue:
        warned = await shown(dialogue, "/edit 1 My sister Rosa lives in Faro.", capsys)
        note = (
            "Note: the old line had “Porto” and “2001”; the new one does not. "
            "/undo takes the edit back.\n"
        )
        assert warned.endswith(note)
        assert "Note:" not in await shown(
            dialogue, "/edit 2 Rosa, my sister, lives in Faro!", capsys
        )


async def test_recall_says_what_else_it_searched(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    """And what its marks mean."""
    async with talking(settings) as dialogue:
        found = await shown(dialogue, "/recall sisster", capsys)
        assert "“sisster” occurs nowhere; “sister” was searched for instead." in found.splitlines()
        assert "respelt: has a word with a similar spelling" in found.splitlines()
        loose = await shown(dialogue, "/recall Rosa wheels repair", capsys)
        assert (
            "loose: lacks the phrase or half the words, is similar, or is next to a match"
            in loose.splitlines()
        )

"""The keys at the prompt: taking back a waiting line, vi's keys, the search."""

import asyncio
import re
from dataclasses import replace
from pathlib import Path

import pytest

from construct.chat.editor import edit_text
from construct.chat.mentions import shell_words
from construct.chat.prompt import Prompt
from construct.config import Settings
from construct.errors import ConstructError, UsageError
from construct.llm.anthropic_model import AnthropicModel
from construct.operations.rules import rules_in_force
from construct.user_rules import EXAMPLE, RulesFile
from construct.views.rules import rules_view
from tests.chat.conftest import hold_reply, seated, stored
from tests.support.fake_api import FakeApi, Reply

UP = "\x1b[A"


async def test_a_queued_line_can_be_taken_back(api: FakeApi, settings: Settings) -> None:
    """The arrow up takes the newest waiting line back to an empty prompt.

    A paste stays folded, and is sent whole.
    """
    pasted = "\n".join(map(str, range(100)))
    api.enqueue("chat", Reply("first answer " * 40, chunk_delay=0.02, chunk_size=10))
    async with seated(settings) as seat:
        seat.type("one\r")
        await seat.see("first answer")
        seat.type("two\r")
        seat.type(f"see \x1b[200~{pasted}\x1b[201~\r")
        await seat.see("queued: see [pasted 100 lines #1] · ↑ takes it back")
        seat.type(UP)
        await seat.see("› see [pasted 100 lines #1]")
        assert "queued: see" not in seat.screen.text
        seat.type("!\r")
        await seat.see("queued: see [pasted 100 lines #1]!")
        seat.type(UP)
        await seat.see("› see [pasted 100 lines #1]!")
        seat.type("\x15")
        await seat.see(lambda: seat.screen.lines[-2] == "›")
        seat.type(UP)
        await seat.see("› two")
        seat.type("\x15\x03")
        await seat.see("interrupted")
        seat.type(f"{UP}\r")
        await seat.see("You said")
    said = stored(settings, "SELECT content FROM messages WHERE role = 'user'")
    assert said == [("one",), (f"see {pasted}!",)]


async def test_interrupted_before_a_word_came(api: FakeApi, settings: Settings) -> None:
    """Stopping a reply before it begins says how to have the question answered."""
    api.enqueue("chat", Reply("too late", delay=20), "in time")
    async with seated(settings) as seat:
        seat.type("well?\r")
        await seat.see(lambda: bool(api.of("chat")))
        seat.type("\x03")
        await seat.see("interrupted before the reply began; /retry asks again")
        seat.type("/retry\r")
        await seat.see("in time")
    assert stored(settings, "SELECT content FROM messages") == [("well?",), ("in time",)]


async def test_vi_keys(api: FakeApi, settings: Settings) -> None:
    """With vi keys Escape, Enter sends, and the next line begins in insert mode."""
    async with seated(replace(settings, editing_mode="vi")) as seat:
        await seat.see("vi")
        seat.type("one twoo")
        await seat.see("› one twoo")
        seat.type("\x1b")
        await seat.see("vi normal")
        seat.type("x")
        await seat.see(lambda: "› one two" in seat.screen.lines)
        seat.type("\r")
        await seat.see('You said: "one two')
        await seat.see(lambda: "vi normal" not in seat.screen.text)
        for keys in ("three", "\n", "four\r"):
            seat.type(keys)
            await asyncio.sleep(0.1)
        await seat.see(lambda: len(api.of("chat")) == 2)
        seat.type("\x1bOS")
        await seat.see(lambda: "· vi" not in seat.screen.text)
    assert ("three\nfour",) in stored(settings, "SELECT content FROM messages WHERE role = 'user'")


@pytest.mark.parametrize(
    ("keys", "left"),
    [
        ("cwfour", "one four, three"),
        ("cWfour", "one four three"),
        ("llcwne", "one twne, three"),
        ("hcw, ", "one, two, three"),
        ("Wcwfour", "one two, four"),
        ("0" + "2cwfour", "four, three"),
    ],
)
async def test_cw_keeps_the_space(settings: Settings, keys: str, left: str) -> None:
    """As in vi, `cw` changes up to the end of the word.

    On a space it changes up to the next word.
    """
    async with seated(replace(settings, editing_mode="vi")) as seat:
        seat.type("one two, three")
        await seat.see("› one two, three")
        seat.type("\x1b")
        await seat.see("vi normal")
        seat.type("0w")
        await asyncio.sleep(0.1)
        seat.type(keys)
        await seat.see(lambda: f"› {left}" in seat.screen.lines)


async def test_vi_states(settings: Settings) -> None:
    """The toolbar tells typing over from commands."""
    async with seated(replace(settings, editing_mode="vi")) as seat:
        seat.type("one\x1b")
        await seat.see("vi normal")
        seat.type("R")
        await seat.see("vi replace")


async def test_the_editor(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-X Ctrl-E opens the editor on the prompt, folds unfolded.

    What is saved stands there, to be sent.
    """
    script = tmp_path / "my editor"
    script.write_text('#!/bin/sh\ntest "$(wc -l < "$1")" = 99 && echo saved > "$1"\n')
    script.chmod(0o700)
    monkeypatch.setenv("EDITOR", f"'{script}'")
    monkeypatch.delenv("VISUAL", raising=False)
    async with seated(settings) as seat:
        await seat.see("observe 0%")
        seat.type("see \x1b[200~" + "\n".join("x" * 100) + "\x1b[201~")
        await seat.see("[pasted 100 lines #1]")
        seat.type("\x18\x05")
        await seat.see("› saved")


async def test_the_editor_leaves_the_draft(
    api: FakeApi, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was typed while /editor waited for a reply stands after what was written."""
    script = tmp_path / "editor"
    script.write_text('#!/bin/sh\necho edited > "$1"\n')
    script.chmod(0o700)
    monkeypatch.setenv("EDITOR", str(script))
    monkeypatch.delenv("VISUAL", raising=False)
    api.enqueue("chat", Reply("first answer " * 40, chunk_delay=0.02, chunk_size=10))
    async with seated(settings) as seat:
        seat.type("one\r")
        await seat.see("first answer")
        seat.type("/editor\rmy draft")
        await seat.see("› my draft")
        await seat.see(lambda: seat.screen.lines[-3:-1] == ["› edited", "  my draft"])


async def test_a_question_that_comes_while_the_editor_is_open(
    api: FakeApi, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waits. What is saved is the line, and Ctrl-C in the editor stops nothing."""
    goes_on = tmp_path / "go on"
    script = tmp_path / "editor"
    script.write_text(
        f"#!/bin/sh\nuntil test -e '{goes_on}'; do sleep 0.01; done; echo edited > \"$1\"\n"
    )
    script.chmod(0o700)
    monkeypatch.setenv("EDITOR", str(script))
    monkeypatch.delenv("VISUAL", raising=False)
    asked, may_answer = hold_reply(api)
    async with seated(settings) as seat:
        seat.type("one\r")
        await seat.see(asked.is_set)
        seat.type("/forget message:1\rdraft\x18\x05")
        await seat.see(lambda: seat.session.screen.is_editing)
        seat.session._interrupt()
        may_answer.set()
        await seat.see(lambda: (2,) in stored(settings, "SELECT count(*) FROM messages"))
        goes_on.touch()
        await seat.see("[y/N]")
        seat.type("n\r")
        await seat.see("Nothing was deleted.")
        assert "Here it is." in seat.screen.text
        await seat.see("› edited")


def test_no_editor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any editor, or with one that is no command, it is said what to set.

    One that fails changes nothing.
    """
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(UsageError, match="Set EDITOR"):
        edit_text("x", {"EDITOR": "/nonexistent/editor"})
    for command in ("'half a quote", "vim\\"):
        with pytest.raises(
            UsageError, match="VISUAL has an unmatched quotation mark or a backslash"
        ):
            edit_text("x", {"VISUAL": command})
    assert edit_text("as it was\n", {"EDITOR": "/bin/false"}) == "as it was\n"


def test_command_lines_of_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A backslash is part of a path there."""
    with monkeypatch.context() as windows:
        windows.setattr("os.name", "nt")
        assert shell_words(r"C:\vi.exe -w") == [r"C:\vi.exe", "-w"]
        assert shell_words(r'"C:\My Editor\vi.exe" -w') == [r"C:\My Editor\vi.exe", "-w"]


async def test_a_search_through_what_was_said(api: FakeApi, settings: Settings) -> None:
    """Ctrl-R finds an earlier message by any part of it.

    Enter takes it to the prompt.
    """
    async with seated(settings) as seat:
        for words in ("The dentist is on Monday", "something else"):
            seat.type(f"{words}\r")
            await seat.see(lambda words=words: f'You said: "{words}' in seat.screen.text)  # type: ignore[misc]
        seat.type("\x12DENT")
        await seat.see("› The dentist is on Monday")
        await asyncio.sleep(0)
        seat.type("\r")
        seat.type("!\r")
        await seat.see(lambda: len(api.of("chat")) == 3)


async def test_vi_keys_begin_in_insert_mode(settings: Settings) -> None:
    """F4 switches to them there, also after a search, which ends in normal mode."""
    async with seated(settings) as seat:
        seat.type("hello\r")
        await seat.see("You said")
        seat.type("\x12hel")
        await seat.see("› hello")
        await asyncio.sleep(0)
        seat.type("\r")
        await seat.see(lambda: "I-search" not in seat.screen.text)
        seat.type("\x03\x1bOS")
        await seat.see("· vi")
        assert "vi normal" not in seat.screen.text
        seat.type("one")
        await seat.see("› one")


async def test_an_earlier_line_is_offered_once_it_is_likely(settings: Settings) -> None:
    """A command by its first letter, a sentence only when more of it has been typed.

    → takes it.
    """
    async with seated(settings) as seat:
        seat.type("We walk to the sea every morning.\r")
        await seat.see("You said")
        seat.type("We")
        await seat.see(lambda: seat.screen.lines[-2] == "› We")
        seat.type(" walk to the")
        await seat.see(lambda: seat.screen.lines[-2] == "› We walk to the sea every morning.")
        seat.type("\x1b[C\r")
        await seat.see(lambda: seat.screen.text.count("You said") == 2)
    said = stored(settings, "SELECT DISTINCT content FROM messages WHERE role = 'user'")
    assert said == [("We walk to the sea every morning.",)]


async def test_rules_open_in_the_editor(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is made with an example and readable for the user only.

    What is saved holds at once.
    """
    script = tmp_path / "my editor"
    script.write_text('#!/bin/sh\nprintf "never: salary\\n" >> "$1"\n')
    script.chmod(0o700)
    monkeypatch.setenv("EDITOR", f"'{script}'")
    monkeypatch.delenv("VISUAL", raising=False)
    file = tmp_path / "home" / "memory-rules.md"
    async with seated(replace(settings, memory_rules=RulesFile(file))) as seat:
        seat.type("/rules\r")
        await seat.see("Never in an observation: salary.")
        await seat.see("No model does the memory work, so only never: lines have an effect.")
        assert file.read_text() == f"{EXAMPLE}never: salary\n"
        assert file.stat().st_mode & 0o777 == 0o600
        seat.type("/remember My salary is 4,000\r")
        await seat.see("though your rules say never: salary")
    with pytest.raises(ConstructError, match="is not a file"):
        rules_in_force(replace(settings, memory_rules=RulesFile(tmp_path)))


def test_rules_that_the_worker_cannot_read_whole(settings: Settings, tmp_path: Path) -> None:
    """The user sees how much of them counts."""
    file = tmp_path / "memory-rules.md"
    file.write_text("Note what I cook.\n" * 1000)
    worker = AnthropicModel("claude-haiku-5-5")
    shown = rules_view(rules_in_force(replace(settings, memory_rules=RulesFile(file))), worker)
    assert re.search(r"reads only the first \d{3} of 1000 lines", shown)
    file.write_text("Note what I cook. " * 1000)
    shown = rules_view(rules_in_force(replace(settings, memory_rules=RulesFile(file))), worker)
    assert "reads none of them. Write shorter lines." in shown


async def test_nothing_typed_in_private_comes_back(api: FakeApi, settings: Settings) -> None:
    """After private talk neither Ctrl-Y nor the label of a long paste holds its words."""
    pasted = "\n".join(["secret"] * 100)
    async with seated(settings) as seat:
        seat.type("/private ON\r")
        await seat.see("From here on nothing")
        seat.type(f"\x1b[200~{pasted}\x1b[201~\r")
        await seat.see("You said")
        seat.type("another secret\x15/private Off\r")
        await seat.see("From here on messages are stored again")
        seat.type("\x19\x19[pasted 100 lines #1]\r")
        await seat.see(lambda: len(api.of("chat")) == 2)
        await seat.see(lambda: seat.screen.text.count("You said") == 2)
        seat.type(f"\x1b[200~{pasted}\x1b[201~\r")
        await seat.see(lambda: seat.screen.text.count("You said") == 3)
    said = stored(settings, "SELECT content FROM messages WHERE role = 'user'")
    assert said == [("[pasted 100 lines #1]",), (pasted,)]


async def press(prompt: Prompt, key: str) -> str:
    """Ask a one-key question, press the key and return the answer."""
    asking = asyncio.create_task(prompt.ask("d done · q stop:", "dq"))
    await asyncio.sleep(0)
    prompt.question.line.insert_text(key)
    return await asking


async def test_a_key_between_two_questions_is_dropped(prompt: Prompt) -> None:
    """Pressed twice, a key answers one question, and the draft stays as it was."""
    prompt.fill("a draft")
    assert await press(prompt, "d") == "d"
    prompt.buffer.insert_text("d")
    assert await press(prompt, "q") == "q"
    assert prompt.text == "a draft"


async def test_a_question_waits_for_a_pause_in_typing(prompt: Prompt) -> None:
    """Otherwise the rest of a message would answer it."""
    prompt.fill("Anna is read")
    prompt.count_key()
    asking = asyncio.create_task(prompt.ask("Forget it for good? [y/N]"))
    await asyncio.sleep(0)
    assert not prompt.question.text
    prompt.buffer.insert_text("y")
    assert prompt.send()
    while not prompt.question.text:
        await asyncio.sleep(0.01)
    prompt.question.answer("")
    assert await asking == ""
    assert (await prompt.next_line()).words == "Anna is ready"


async def test_a_draft_typed_before_the_first_question_stays(prompt: Prompt) -> None:
    """After a line was sent, what is typed is a draft again.

    What was asked before makes no difference.
    """
    assert await press(prompt, "q") == "q"
    prompt.fill("/agenda")
    assert prompt.send()
    await prompt.next_line()
    prompt.buffer.insert_text("do")
    assert await press(prompt, "q") == "q"
    assert prompt.text == "do"


async def test_a_line_sent_between_two_questions_is_no_draft(prompt: Prompt) -> None:
    """It does not come back to the prompt after the next question."""
    prompt.fill("a draft")
    assert await press(prompt, "d") == "d"
    assert prompt.send()
    assert await press(prompt, "q") == "q"
    assert not prompt.text

"""Files at the prompt.

What `@path` names is shown above the prompt before Enter, and sent with the line.
"""

import asyncio
import os
import stat
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from construct.attachments import Attachment
from construct.chat import clipboard
from construct.chat.chat import Chat
from construct.chat.clipboard import read_clipboard
from construct.chat.completion import path_choices
from construct.chat.mentions import (
    mention_of,
    mentions,
    pasted_paths,
    path_being_typed,
    without_detach,
    without_mentions,
)
from construct.config import Settings
from construct.talk.events import Listener, TurnResult
from tests.chat.conftest import seated, stored
from tests.support.attaching import shapes
from tests.support.fake_api import FakeApi, Reply
from tests.support.files import pdf, picture

UP = "\x1b[A"
DOWN = "\x1b[B"
CHIP = "[image: cat.png, 1 token]"
Sent = list[tuple[str, list[str]]]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with files to attach, which is the current one."""
    folder = tmp_path / "files"
    folder.mkdir()
    png = picture(Image.new("RGB", (30, 30), "teal"), "PNG")
    for name in ("cat.png", "my cat.png", ".hidden.png"):
        (folder / name).write_bytes(png)
    (folder / "notes.txt").write_text("Rosa sings alto.")
    (folder / "paper.pdf").write_bytes(pdf(2))
    (folder / "photo.heic").write_bytes(b"\0\0\0\x18ftypheic")
    (folder / "sub folder").mkdir()
    (folder / "sub folder" / "deep.txt").write_text("deep")
    monkeypatch.chdir(folder)
    for name in ("WAYLAND_DISPLAY", "DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Sent:
    """Return what is sent: words, and lines of files."""
    found: Sent = []
    send = Chat.send

    async def record(
        self: Chat, words: str, listen: Listener, attachments: Sequence[Attachment] = ()
    ) -> TurnResult:
        found.append((words, [attachment.line for attachment in attachments]))
        return await send(self, words, listen, attachments)

    monkeypatch.setattr(Chat, "send", record)
    return found


async def test_a_file_is_shown_before_it_is_sent(settings: Settings, sent: Sent) -> None:
    """It goes with the line in which it stands by its name, and not with the next."""
    async with seated(settings) as seat:
        seat.type("compare @cat.png with @notes.txt.")
        await seat.see(CHIP)
        await seat.see("[text: notes.txt, 4 tokens] · /detach removes it")
        seat.type("\r")
        await seat.see("› [image: cat.png]")
        await seat.see("You said")
        assert CHIP not in seat.screen.text
        seat.type("thanks\r")
        await seat.see(lambda: len(sent) == 2)
    assert sent == [
        ("compare cat.png with notes.txt.", ["[image: cat.png]", "[text: notes.txt]"]),
        ("thanks", []),
    ]


async def test_typed_and_sent_at_once(settings: Settings, sent: Sent) -> None:
    """Enter does not wait for the disk: files are read after it too."""
    async with seated(settings) as seat:
        seat.type('@"my cat.png" @my\rhello\r')
        await seat.see(lambda: len(sent) == 2)
    assert sent == [("my cat.png @my", ["[image: my cat.png]"]), ("hello", [])]


async def test_a_file_without_words(api: FakeApi, settings: Settings) -> None:
    """The files alone are a message: the model is sent them, and they are kept."""
    async with seated(settings) as seat:
        seat.type("@cat.png @paper.pdf @cat.png\r")
        await seat.see("[pdf: paper.pdf]")
        await seat.see(lambda: bool(stored(settings, "SELECT id FROM messages WHERE id = 2")))
    assert shapes(api.of("chat")[-1].body["messages"][-1]) == ["image", "document"]
    assert stored(settings, "SELECT name FROM attachments") == [("cat.png",), ("paper.pdf",)]
    assert stored(settings, "SELECT content FROM messages WHERE role = 'user'") == [("",)]


async def test_words_that_are_no_files(settings: Settings, sent: Sent, folder: Path) -> None:
    """Names, addresses, folders and pipes stay text. What is meant as a path is said to be none."""
    os.mkfifo(folder / "pipe")
    line = "@rosa, ana@cat.png @nowhere.png @. @pipe @~nobody/x @"
    async with seated(settings) as seat:
        seat.type(f"{line}\r")
        await seat.see(lambda: len(sent) == 1)
        await seat.see("not attached; there is no such file: nowhere.png")
        assert seat.screen.text.count("not attached") == 1
    assert sent == [(line, [])]


async def test_a_file_that_cannot_be_attached(settings: Settings, sent: Sent) -> None:
    """One line says why, before Enter and behind it; the text stays at the prompt."""
    async with seated(settings) as seat:
        seat.type("see @photo.heic")
        await seat.see("photo.heic cannot be attached: only PNG")
        seat.type("\r!")
        await seat.see("› see @photo.heic!")
        seat.type("\x15see @photo.heic\r")
        await seat.see("text can. · /detach removes it")
        await seat.see("› see @photo.heic")
        seat.type(" /detach\r\r")
        await seat.see(lambda: len(sent) == 1)
    assert sent == [("see @photo.heic", [])]


async def test_detach_takes_off_the_newest(settings: Settings, sent: Sent) -> None:
    """Typed behind the message or before it; the path stays as text."""
    async with seated(settings) as seat:
        seat.type("@notes.txt and ")
        await seat.see("[text: notes.txt")
        seat.type("@cat.png")
        await seat.see(CHIP)
        seat.type(" /detach\r")
        await seat.see(lambda: CHIP not in seat.screen.text)
        await seat.see("› @notes.txt and @cat.png")
        seat.type("\x01/detach \r")
        await seat.see(lambda: "[text: notes.txt" not in seat.screen.text)
        seat.type("\r")
        await seat.see(lambda: len(sent) == 1)
        seat.type("/detach\r")
        await seat.see("No file is attached")
        seat.type("@cat.png")
        await seat.see(CHIP)
        await seat.idle()
        seat.type("\x03")
        await seat.see(lambda: CHIP not in seat.screen.text)
    assert sent == [("@notes.txt and @cat.png", [])]


async def test_what_is_queued_keeps_its_files(
    api: FakeApi, settings: Settings, sent: Sent, folder: Path
) -> None:
    """They are as they were at Enter. Taken back, the line has them again."""
    api.enqueue("chat", Reply("first answer " * 40, chunk_delay=0.02, chunk_size=10))
    async with seated(settings) as seat:
        seat.type("one\r")
        await seat.see("first answer")
        seat.type("@notes.txt?\r")
        await seat.see("queued: @notes.txt?")
        seat.type(UP)
        await seat.see("[text: notes.txt, 4 tokens]")
        seat.type("\r@cat.png\r")
        await seat.see("queued: @cat.png")
        await asyncio.sleep(0.2)
        (folder / "cat.png").unlink()
        seat.type("\x03")
        await seat.see(lambda: len(sent) == 3)
    assert sent[1:] == [("notes.txt?", ["[text: notes.txt]"]), ("", ["[image: cat.png]"])]


async def test_a_pasted_path_is_offered(settings: Settings, sent: Sent, folder: Path) -> None:
    """Whatever the terminal makes of it, Tab attaches it; without Tab it is text."""
    path = folder / "my cat.png"
    async with seated(settings) as seat:
        for pasted in (f"'{path}'", str(path).replace(" ", r"\ "), path.as_uri(), str(path)):
            seat.type(f"see \x1b[200~{pasted}\x1b[201~")
            await seat.see("Tab attaches my cat.png")
            assert "[image:" not in seat.screen.text
            seat.type("\t")
            await seat.see("[image: my cat.png, 1 token]")
            assert "Tab attaches" not in seat.screen.text
            seat.type("\x03")
            await seat.see(lambda: "[image:" not in seat.screen.text)
        seat.type("see \x1b[200~@cat.png\x1b[201~")
        await seat.see("Tab attaches cat.png")
        seat.type("\r")
        await seat.see(lambda: len(sent) == 1)
        seat.type(f"@\x1b[200~'{path}'\x1b[201~")
        await seat.see("[image: my cat.png, 1 token]")
    assert sent == [("see @cat.png", [])]


async def test_a_path_stays_text_until_the_line_is_sent_or_cleared(
    settings: Settings, sent: Sent
) -> None:
    """Whatever brings it back, a path that was detached or pasted attaches nothing by itself."""
    async with seated(settings) as seat:
        seat.type("hello\r")
        await seat.see("You said")
        seat.type("look @cat.png")
        await seat.see(CHIP)
        seat.type(" /detach\r")
        await seat.see(lambda: CHIP not in seat.screen.text)
        seat.type("\x03new @cat.png")
        await seat.see(CHIP)
        seat.type("\x15\x1b[200~see @cat.png\x1b[201~")
        await seat.see("Tab attaches cat.png")
        seat.type(UP)
        await seat.see(lambda: seat.screen.lines[-2] == "› hello")
        seat.type(DOWN)
        await seat.see("› see @cat.png")
        await asyncio.sleep(0.2)
        assert CHIP not in seat.screen.text
        seat.type("\x15what is this? \x19")
        await seat.see("› what is this? see @cat.png")
        await asyncio.sleep(0.2)
        assert CHIP not in seat.screen.text
        seat.type("\x03see @cat.png")
        await seat.see(CHIP)
        assert "Tab attaches" not in seat.screen.text
        seat.type(" \x1b[200~and @cat.png\x1b[201~")
        await seat.see("› see @cat.png and @cat.png")
        await asyncio.sleep(0.2)
        assert CHIP in seat.screen.text
        assert "Tab attaches" not in seat.screen.text
        seat.type("\r")
        await seat.see(lambda: len(sent) == 2)
        seat.type("\x1b[200~open @cat.png now\x1b[201~")
        await seat.see("Tab attaches cat.png")
        assert CHIP not in seat.screen.text
        seat.type("\r")
        await seat.see(lambda: len(sent) == 3)
    assert sent[1:] == [
        ("see cat.png and cat.png", ["[image: cat.png]"]),
        ("open @cat.png now", []),
    ]


@pytest.mark.parametrize(
    ("first", "again"),
    [
        ("detached", "\x15@cat.png"),
        ("detached", "\x7f" * 20 + "@cat.png"),
        ("detached", "\x7f\x7fng"),
        ("detached", "\x01\x04@"),
        ("detached", "\x05 @cat.png."),
        ("pasted", "\x15@cat.png"),
        ("pasted", "\x15@cat.png."),
        ("pasted", " @cat.png"),
        ("pasted", "\x15@\x1b[200~{}/cat.png\x1b[201~"),
        ("pasted", "\x15@ca|\t"),
    ],
)
async def test_a_path_typed_again_is_attached(
    settings: Settings, sent: Sent, folder: Path, first: str, again: str
) -> None:
    """Also in the line in which it was detached or pasted, and without an offer of Tab."""
    async with seated(settings) as seat:
        if first == "detached":
            seat.type("@cat.png")
            await seat.see(CHIP)
            seat.type(" /detach\r")
            await seat.see(lambda: CHIP not in seat.screen.text)
        else:
            path = folder / "cat.png" if "{}" in again else "cat.png"
            seat.type(f"\x1b[200~see @{path}\x1b[201~")
            await seat.see("Tab attaches cat.png")
        for keys in again.format(folder).split("|"):
            seat.type(keys)
            await asyncio.sleep(0.2)
        await seat.see(CHIP)
        assert "Tab attaches" not in seat.screen.text
        seat.type("\r")
        await seat.see(lambda: len(sent) == 1)
    assert sent[0][1] == ["[image: cat.png]"]


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        (" ", "see @cat.png"),
        (",", "see @cat.png,"),
        ("\x7f\x1f", "see @cat.png"),
        ("\x15\x1f", "see @cat.png"),
        ("\x15so \x19", "so see @cat.png"),
        ("\x15@notes.txt \x19", "@notes.txt see @cat.png"),
        ("\x15@\x01\x19", "see @cat.png@"),
        (" \x1b[200~@cat.png\x1b[201~", "see @cat.png @cat.png"),
    ],
)
async def test_a_pasted_path_stays_text_beside_what_is_typed(
    settings: Settings, keys: str, line: str
) -> None:
    """Undo, yank and another paste bring it back as text."""
    async with seated(settings) as seat:
        seat.type("\x1b[200~see @cat.png\x1b[201~")
        await seat.see("Tab attaches cat.png")
        seat.type(keys)
        await seat.see(lambda: seat.screen.lines[-2] == f"› {line}")
        await asyncio.sleep(0.2)
        assert CHIP not in seat.screen.text
        seat.type("\x03")


async def test_a_pasted_path_opens_no_menu(settings: Settings, folder: Path) -> None:
    """Tab takes the offer, although there is another file whose name begins like it."""
    (folder / "cat.png.txt").write_text("text")
    async with seated(settings) as seat:
        seat.type("\x1b[200~see @cat.png\x1b[201~")
        await seat.see("Tab attaches cat.png")
        await asyncio.sleep(0.2)
        assert "cat.png.txt" not in seat.screen.text
        seat.type("\t")
        await seat.see(CHIP)


async def test_a_folded_paste_stays_text_in_the_editor(
    settings: Settings, sent: Sent, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The editor unfolds it. What it names is not attached, and what is added there is."""
    program(folder / "editor", r'printf "\n@notes.txt\n" >> "$1"')
    monkeypatch.setenv("EDITOR", str(folder / "editor"))
    monkeypatch.delenv("VISUAL", raising=False)
    pasted = "\n".join("x" * 12) + " @cat.png"
    async with seated(settings) as seat:
        await seat.see("observe 0%")
        seat.type(f"\x1b[200~{pasted}\x1b[201~!")
        await seat.see("[pasted 12 lines #1]!")
        seat.type("\x18\x05")
        await seat.see("[text: notes.txt, 4 tokens]")
        assert CHIP not in seat.screen.text
        seat.type("\r")
        await seat.see(lambda: len(sent) == 1)
    assert sent == [(f"{pasted}!\nnotes.txt", ["[text: notes.txt]"])]


@pytest.mark.parametrize(
    ("typed", "pasted", "after", "words"),
    [
        ("look at this:", "{}/cat.png", "", "look at this: cat.png"),
        ("", "{}/cat.png", "and this", "cat.png and this"),
        ("", "See @cat.png.", "", "See cat.png."),
        ("", "See @cat.png, only @cat.png.", "", "See cat.png, only cat.png."),
    ],
)
async def test_an_offer_next_to_other_characters(
    settings: Settings, sent: Sent, folder: Path, typed: str, pasted: str, after: str, words: str
) -> None:
    """Tab attaches the file, whatever stands before or after its path."""
    async with seated(settings) as seat:
        seat.type(f"{typed}\x1b[200~{pasted.format(folder)}\x1b[201~{after}")
        await seat.see("Tab attaches cat.png")
        seat.type("\t")
        await seat.see(CHIP)
        seat.type("\r")
        await seat.see(lambda: len(sent) == 1)
    assert sent == [(words, ["[image: cat.png]"])]


async def test_paths_are_completed(settings: Settings, sent: Sent) -> None:
    """In any case, without hidden files, in quotes where there are spaces."""
    async with seated(settings) as seat:
        seat.type("look @")
        await seat.see("sub folder/")
        assert ".hidden.png" not in seat.screen.text
        seat.type("SUB")
        await seat.see(
            lambda: seat.screen.text.count("sub folder/") > seat.screen.text.count(".png")
        )
        seat.type("\t")
        await seat.see('› look @"sub folder/')
        seat.type("d")
        await seat.see("deep.txt")
        seat.type("\t\r")
        await seat.see(lambda: len(sent) == 1)
    assert sent == [("look deep.txt", ["[text: deep.txt]"])]


def program(path: Path, script: str) -> None:
    """Write a shell script that can be run."""
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


async def test_vi_keys_insert_the_next_key_with_ctrl_v(settings: Settings) -> None:
    """Ctrl-X Ctrl-V pastes there."""
    async with seated(replace(settings, editing_mode="vi")) as seat:
        seat.type("\x16\x01")
        await seat.see("› ^A")
        seat.type("\x18\x16")
        await seat.see("No clipboard is available")
        seat.type("\x03")


async def test_a_picture_on_the_clipboard(
    settings: Settings, sent: Sent, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-V brings it, or the text there; one line says what to install."""
    tools = folder / "tools"
    tools.mkdir()
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    async with seated(settings) as seat:
        seat.type("\x16")
        await seat.see("No clipboard is available")
        monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
        monkeypatch.setattr("shutil.which", lambda _: None)
        seat.type("\x16")
        await seat.see("Install wl-clipboard to paste from the clipboard")
        monkeypatch.undo()
        monkeypatch.chdir(folder)
        monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
        monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
        png = folder / "cat.png"
        case = f"case $* in *list*) echo text/plain image/png;; *image/png*) cat '{png}';; esac"
        program(tools / "wl-paste", case)
        seat.type("this\x16")
        await seat.see("› this @clipboard")
        await seat.see("[image: clipboard, 1 token]")
        seat.type("\x18\x16")
        await seat.see("[image: clipboard-2, 1 token]")
        program(
            tools / "wl-paste", "case $* in *list*) echo text/plain;; *) echo some words;; esac"
        )
        seat.type("\x16")
        await seat.see("some words")
        seat.type("\x03")


def test_a_clipboard_that_never_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is given up."""
    program(tmp_path / "xclip", "exec sleep 600")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(clipboard, "_SECONDS", 0.05)
    assert read_clipboard({"DISPLAY": ":0"}) == ""


async def test_at_sign_in_piped_text_means_nothing(settings: Settings, sent: Sent) -> None:
    """Piped text is data."""
    from tests.chat.commands.plainly import talking

    async with talking(settings) as dialogue:
        await dialogue.run_line("see @cat.png")
    assert sent == [("see @cat.png", [])]


async def test_private_talk_takes_files(api: FakeApi, settings: Settings) -> None:
    """They are sent like any other, and nothing of them is kept."""
    async with seated(settings, private=True) as seat:
        seat.type("look @cat.png\r")
        await seat.see("You said")
    assert shapes(api.of("chat")[-1].body["messages"][-1]) == ["image", "look cat.png"]
    assert stored(settings, "SELECT name FROM attachments") == []
    for file in settings.db.parent.glob(f"{settings.db.name}*"):
        assert b"cat.png" not in file.read_bytes()


async def test_chips_on_a_narrow_screen(settings: Settings, folder: Path) -> None:
    """Errors wrap, many files are counted, and nothing is wider than the screen."""
    for number in range(6):
        (folder / f"{number}.txt").write_text("text")
    async with seated(settings, columns=40) as seat:
        seat.type(" ".join(f"@{number}.txt" for number in range(6)))
        await seat.see("and 2 more")
        await seat.see("[text: 5.txt, 1 token]")
        (folder / f"{'long' * 50}.txt").write_text("text")
        seat.type(f"\x15@{'long' * 50}.txt")
        await seat.see("longl…, 1 token]")
        seat.type("\x15@photo.heic")
        await seat.see("text can.")
        seat.type("\x15")


def test_words_with_an_at_sign() -> None:
    """Only at a word's start, in quotes or up to the next space."""
    found = mentions('@a.png x@b "@c" (@d) @"e f.png" @"" @ @g\n@h"i')
    assert [mention.path for mention in found] == ["a.png", "e f.png", "g", 'h"i']
    assert [reading.path for reading in mentions("@a.png).")[0].readings] == ["a.png).", "a.png"]
    assert len(mentions('@"a.png."')[0].readings) == 1
    assert mention_of("a b") == '@"a b"'


def test_what_is_left_of_a_line() -> None:
    """A file's name stands for its path; files alone leave no words."""
    text = "a @x/b.png c @d"
    first, second = mentions(text)
    assert without_mentions(text, {first: "b.png"}) == "a b.png c @d"
    assert without_mentions("@d ", {mentions("@d ")[0]: "d"}) == ""
    assert without_mentions(text, {}) == text
    assert without_detach("/detach a b") == "a b"
    assert without_detach("a b /detach ") == "a b"
    assert without_detach("/detach") is None
    assert without_detach("what does /detach do") is None
    assert len(second.readings) == 1


@pytest.mark.parametrize(
    ("typed", "path"),
    [("look @", ""), ("@a/b", "a/b"), ('@"a b', '"a b'), ("a@b", None), ("@a b", None), ("", None)],
)
def test_a_path_being_typed(typed: str, path: str | None) -> None:
    """It reaches from the sign to the cursor."""
    assert path_being_typed(typed) == path


@pytest.mark.parametrize(
    ("pasted", "paths"),
    [
        ("/a/b.png", ["/a/b.png"]),
        (" '/a/b c.png' \n", ["/a/b c.png"]),
        (r"/a/b\ c.png", ["/a/b c.png"]),
        ("/a/b c.png", ["/a/b c.png"]),
        ("/a/it's.png", ["/a/it's.png"]),
        ("file:///a/b%20c.png", ["/a/b c.png"]),
        ("'/a/b' /c/d", ["/a/b", "/c/d"]),
        ("~/b.png", ["~/b.png"]),
        ("a/b.png", []),
        ("'quoted words'", []),
        ("/a\n/b", []),
        ("https://a/b.png", []),
        ("file://", []),
        ("/a " * 9, []),
        ("", []),
    ],
)
def test_paths_that_are_pasted(pasted: str, paths: list[str]) -> None:
    """Absolute ones alone, as terminals write what is dragged onto them."""
    assert pasted_paths(pasted) == paths


def test_choices_of_paths(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hidden ones only behind a dot; `~` is home; what cannot be typed is left out."""
    (folder / 'a "b".png').touch()
    (folder / "a\nb").touch()
    os.mkfifo(folder / "a pipe")
    monkeypatch.setenv("HOME", str(folder))
    names = ["cat.png", "my cat.png", "notes.txt", "paper.pdf", "photo.heic", "sub folder/"]
    (folder / "loop").symlink_to("loop")
    assert path_choices("") == names
    assert path_choices("~/S") == ["~/sub folder/"]
    assert path_choices(".h") == [".hidden.png"]
    assert path_choices("nowhere/") == path_choices("~nobody/") == path_choices("\0/") == []
    for number in range(300):
        (folder / f"z{number}").touch()
    assert len(path_choices("z")) == 200

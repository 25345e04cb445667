"""The parts of the prompt: toolbar, pastes, history, completion, background work."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO, cast

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.data_structures import Point, Size
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import fragment_list_to_text
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.input.vt100_parser import Vt100Parser
from prompt_toolkit.key_binding import KeyPress
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import FormattedTextControl, Layout, Window
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.utils import get_cwidth

from construct.chat.around_prompt import Live, ToolbarState, toolbar
from construct.chat.background import BackgroundWork, Job
from construct.chat.chat import Chat
from construct.chat.commands.registry import Choice, Command, CommandGroup, Registry
from construct.chat.completion import CommandCompleter
from construct.chat.history import MessageHistory
from construct.chat.output import Output
from construct.chat.pastes import PasteParser, Pastes
from construct.chat.prompt import SentLine
from construct.chat.resizing import Reflow, ResizableApplication, more_rows, reflow_of
from construct.chat.vi import wants_vi
from construct.clock import Clock
from construct.config import Thresholds
from construct.memory.config import MemoryConfig
from construct.memory.cycles.worker import MemoryWorker
from construct.store.in_thread import Store
from construct.views.markdown import MarkdownStream
from tests.support.emulator import Emulator

STATE = ToolbarState(
    "A rather long title of a talk about tea", "claude-sonnet-5-5", 0.4133, 0.05, "observing"
)


def line(state: ToolbarState, width: int) -> str:
    """Return the toolbar's text."""
    return fragment_list_to_text(toolbar(state, width))


def test_toolbar_says_it_all_where_there_is_room() -> None:
    """Title, model, progress of the memory, what runs, and vi keys."""
    wide = line(ToolbarState("Tea", "sonnet", 0.4133, 0.05, "observing", keys="vi"), 100)
    assert wide == " Tea · sonnet · observe 41% · compact 5% · observing… · vi"


def test_toolbar_says_what_is_due() -> None:
    """However far past its threshold something is, it is due.

    What an undo holds is held.
    """
    assert (
        line(ToolbarState("Tea", observe=12.5, compact=0.999), 80)
        == " Tea · observe due · compact 99%"
    )
    assert line(ToolbarState("Tea", observe=0.2, held=True), 80) == " Tea · observe paused"


@pytest.mark.parametrize("text", ["你好世界" * 30, "plain words " * 30, "é̂" * 200])
def test_what_waits_fits_its_line(text: str) -> None:
    """Wide characters take two columns: what does not fit is cut, the hint stays."""
    live = Live(queued=[SentLine("one"), SentLine(text)])
    lines = fragment_list_to_text(live.fragments(60)).splitlines()
    assert all(get_cwidth(shown) < 60 for shown in lines)
    assert lines[-1].endswith("↑ takes it back")


@pytest.mark.parametrize("width", range(10, 100, 7))
def test_toolbar_fits(width: int) -> None:
    """A narrow toolbar leaves out what matters least, and never wraps.

    What runs goes last but one.
    """
    shown = line(STATE, width)
    assert get_cwidth(shown) <= max(width, 14)
    if "claude" in shown:
        assert "observing" in shown


def test_toolbar_in_private() -> None:
    """In private that is what is said first, and nothing of memory's progress."""
    shown = line(ToolbarState("Tea", "sonnet", 0.4, 0.1, private=True), 100)
    assert shown == " private: not stored · Tea · sonnet"


def test_toolbar_is_printable() -> None:
    """A title cannot bring control characters to the toolbar."""
    assert "\x1b" not in line(ToolbarState("a\x1b]0;x\x07b", "m\x9b"), 80)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 1000])
def test_a_paste_is_read_in_whatever_pieces_it_comes(size: int) -> None:
    """Its end may be cut in two, and look begun before; what follows are keys again.

    As prompt_toolkit reads it.
    """
    first = "a\x1b[200~b\x1b[201\x1b[20\r\nc\x1b[201~d"
    typed = first + "\x1b[A\x1b[200~\x1b[201~\x1b[200~e\x1b[201~\x1b[201"
    keys: list[list[tuple[str, str]]] = []
    for kind in (Vt100Parser, PasteParser):
        found: list[KeyPress] = []
        parser = kind(found.append)
        for at in range(0, len(typed), size):
            parser.feed(typed[at : at + size])
        parser.flush()
        keys.append([(press.key, press.data) for press in found])
    assert keys[0] == keys[1]
    pasted = [data for key, data in keys[1] if key == Keys.BracketedPaste]
    assert pasted == ["b\x1b[201\x1b[20\r\nc", "", "e"]


def test_pastes() -> None:
    """A short paste is itself; others are folded, and come back whole and marked, in order."""
    pastes = Pastes()
    long, wide = "x\n" * 20, "y" * 201
    assert pastes.fold("a line\n") == "a line\n"
    assert pastes.fold("y" * 200) == "y" * 200
    text = f"see {pastes.fold(long)} and {pastes.fold(wide)}"
    assert text == "see [pasted 20 lines #1] and [pasted 201 characters #2]"
    assert pastes.unfold(text) == f"see {long} and {wide}"
    assert pastes.unfold_marked(f"[pasted 2 lines #9] {text}") == (
        f"[pasted 2 lines #9] see {long} and {wide}",
        ((24, 64), (69, 270)),
    )
    assert pastes.fold("a\nb") == "[pasted 2 lines #3]"
    assert pastes.fold_at(text, 4) is None
    assert pastes.fold_at(text, 10) == pastes.fold_at(text, 24) == (4, 24)
    assert pastes.unfold("[pasted 3 lines #9]") == "[pasted 3 lines #9]"


async def test_history_reads_once_and_writes_nothing() -> None:
    """What is stored comes after what was typed here, without repeats.

    It is read again after forgetting.
    """
    reads = []

    async def read() -> list[str]:
        reads.append(1)
        return ["newest", "oldest"]

    history = MessageHistory(read)
    history.append_string("/usage")
    assert [text async for text in history.load()] == ["/usage", "newest", "oldest"]
    history.append_string("newest")
    assert [text async for text in history.load()] == ["newest", "/usage", "newest", "oldest"]
    assert len(reads) == 1
    history.forget()
    assert [text async for text in history.load()] == ["newest", "oldest"]


async def completions(text: str) -> list[tuple[str, str]]:
    """Return what a line is completed with: the text and what it means."""

    async def run(chat: Chat, out: Output, argument: str) -> None:
        """Do nothing."""

    async def choices(chat: Chat) -> Sequence[Choice]:
        return [Choice("12", "Garden plans"), Choice("3", "Tea\x1b[2J")]

    group = CommandGroup("Talk")
    group.commands += [
        Command("/switch ID", "go on elsewhere", run, choices),
        Command("/status", "the panel", run),
        Command("/memory WORDS", "what is remembered", run, choices, each_word=True),
    ]

    async def source() -> tuple[Registry, Chat]:
        return Registry([group]), cast(Chat, None)

    completer = CommandCompleter(source)
    found = completer.get_completions_async(Document(text), CompleteEvent(text_inserted=True))
    return [(c.text, c.display_meta_text) async for c in found]


async def test_completion_of_names_and_arguments() -> None:
    """Names complete by their beginning, arguments also by what they stand for."""
    assert await completions("/s") == [("/switch", "go on elsewhere"), ("/status", "the panel")]
    assert await completions("/st") == [("/status", "the panel")]
    assert await completions("/switch 1") == [("12", "Garden plans")]
    assert await completions("/switch tea") == [("3", "Tea")]
    assert await completions("/switch 3 1") == []
    assert await completions("/memory 3 1") == [("12", "Garden plans")]
    for text in ("hello", "//s", "/status x", "/nothing x", "/s\nx"):
        assert await completions(text) == []


def test_live_is_blank_before_the_prompt() -> None:
    """A tail, what is waited for and what is queued have blank lines between them."""
    live = Live()
    assert fragment_list_to_text(live.fragments(80)) == ""
    live.tail = "\x1b[1mbold\x1b[0m"
    assert fragment_list_to_text(live.fragments(80)) == "bold\n"
    live.tail_gap = True
    live.queued = [SentLine(word) for word in ("one", "two", "three", "four")]
    assert fragment_list_to_text(live.fragments(80)).splitlines() == [
        "",
        "bold",
        "",
        "queued: one",
        "queued: two",
        "and 1 more",
        "queued: four · ↑ takes it back",
    ]
    live.wait("thinking")
    assert "thinking · Ctrl-C stops" in fragment_list_to_text(live.fragments(80))
    assert "thinking" not in fragment_list_to_text(live.fragments(80, is_asking=True))


def test_rows_after_a_resize() -> None:
    """A row wrapped anew takes as many rows as its width needs, an empty one stays one.

    The cursor's row counts too.
    """
    assert more_rows([0, 60, 61, 160], 2, 60) == 0 + 0 + 1 + 2
    assert more_rows([], 130, 60) == 2


def test_what_terminals_wrap_anew() -> None:
    """Tmux wraps also what was erased; xterm, the console and GNU screen wrap nothing.

    The others what they show.
    """
    assert reflow_of({"TERM": "screen-256color", "TMUX": "/tmp/x"}) == Reflow.EVER_SHOWN
    assert reflow_of({"TERM": "xterm-256color"}) == Reflow.SHOWN
    for env in (
        {"XTERM_VERSION": "1"},
        {"STY": "1"},
        {"TERM": "linux"},
        {"TERM": "vt100"},
        {"TERM": "rxvt-unicode"},
    ):
        assert reflow_of(env) == Reflow.NOTHING


@pytest.mark.parametrize(
    ("reflow", "up"), [(Reflow.NOTHING, 0), (Reflow.SHOWN, 1), (Reflow.EVER_SHOWN, 2)]
)
async def test_a_narrowed_prompt_is_erased_as_far_as_it_reaches(reflow: Reflow, up: int) -> None:
    """After a resize the cursor goes up over all rows, including wrapped ones."""
    screen = Emulator(100, 10)
    shown = ["x" * 90]
    window = Window(
        FormattedTextControl(lambda: f"{shown[0]}\nprompt", get_cursor_position=lambda: Point(0, 1))
    )
    output = Vt100_Output(
        cast(TextIO, screen), lambda: Size(screen.rows, screen.columns), enable_cpr=False
    )
    with create_pipe_input() as keys:
        app = ResizableApplication(
            reflow=reflow,
            on_resized=lambda: None,
            on_settled=lambda: None,
            layout=Layout(window),
            input=keys,
            output=output,
        )
        running = asyncio.create_task(app.run_async())
        while "prompt" not in screen.text:
            await asyncio.sleep(0.01)
        shown[0] = "y" * 40
        app._redraw()
        screen.resize(30, 10)
        screen.raw = ""
        app._on_resize()
        assert app.resizing
        while app.resizing:
            await asyncio.sleep(0.01)
        assert screen.raw.startswith({0: "\x1b[A", 1: "\x1b[A\x1b[A", 2: "\x1b[2A\x1b[A\x1b7"}[up])
        app.exit()
        await running


def test_a_tail_as_wide_as_the_terminal() -> None:
    """A line of a tail that fills the width is not followed by a blank one."""
    stream = MarkdownStream(20)
    stream.feed("aaaa bbbb cccc dddd1 eeee ffff")
    assert [len(line) for line in stream.tail().split("\n")] == [20, 9]


def test_vi_keys_follow_readline(tmp_path: Path) -> None:
    """Readline's vi keys are used, unless the setting says otherwise."""
    inputrc = tmp_path / "inputrc"
    env = {"INPUTRC": str(inputrc)}
    assert not wants_vi("auto", env)
    inputrc.write_text("# mine\n  set editing-mode   vi\n")
    assert wants_vi("auto", env)
    assert not wants_vi("emacs", env)
    inputrc.write_text("set editing-mode vi\nset editing-mode emacs\n")
    assert not wants_vi("auto", env)
    assert wants_vi("vi", env)


@pytest.fixture
def broken_worker(tmp_path: Path) -> MemoryWorker:
    """Return a worker whose database cannot be opened."""
    config = MemoryConfig(Thresholds(), "user", Clock(), 1.0)
    return MemoryWorker(Store(tmp_path), None, config, lambda _: None)


async def test_memory_trouble_is_one_notice(broken_worker: MemoryWorker) -> None:
    """Work that fails is said once in one line, and raises nothing."""
    said: list[str] = []
    work = BackgroundWork(broken_worker, said.append, learns=True)
    for number in range(3):
        work.add(Job(number))
    assert work.busy
    assert await work.finish(5)
    assert len(said) == 1
    assert said[0].startswith("memory: ")
    assert "\n" not in said[0]


async def test_where_nothing_is_learned_the_indexes_are_kept() -> None:
    """With memory off or read-only no work on memory is begun.

    What an import left to be indexed is.
    """
    indexed = asyncio.Event()

    class Indexer:
        async def index(self) -> bool:
            indexed.set()
            return False

    work = BackgroundWork(cast(MemoryWorker, Indexer()), pytest.fail, learns=False)
    work.add(Job(1))
    assert not work.busy
    await asyncio.wait_for(indexed.wait(), 5)
    assert await work.finish(0)
    await work.stop()


async def test_work_is_done_one_after_the_other_and_can_be_left() -> None:
    """Jobs run one at a time, each waits only once, and `finish` gives up in time."""
    running: list[int] = []

    class Slow:
        async def run_due(self, conversation_id: int, *, leaving: bool = False) -> None:
            running.append(conversation_id)
            await asyncio.sleep(0.05 if conversation_id < 3 else 60)
            running.append(-conversation_id)

    work = BackgroundWork(cast(MemoryWorker, Slow()), pytest.fail, learns=True)
    for number in (1, 2, 2, 3):
        work.add(Job(number))
    assert not await work.finish(0.4)
    assert running == [1, -1, 2, -2, 3]
    assert not work.busy

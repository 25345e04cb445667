"""A chat's output in a terminal: command results, notices, streaming replies."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from rich.console import RenderableType
from rich.text import Text

from construct.chat.output import GetView, LiveView, Output
from construct.chat.screen import Screen
from construct.clock import Clock
from construct.errors import ConstructError, UsageError
from construct.store.records import Message
from construct.talk.events import (
    Delta,
    Event,
    Retrying,
    Storing,
    Thinking,
    ToolAnswered,
    ToolCalled,
    TurnResult,
    Waiting,
)
from construct.tasks import stop
from construct.text import one_line, printable
from construct.views.console import to_ansi
from construct.views.markdown import MarkdownStream
from construct.views.messages import echo_view, replayed
from construct.views.widgets import Prose

FRAME_SECONDS = 1 / 10
"""Shortest time between two drawings of a streaming reply."""
_NOTICES = "notices"
_REFRESH_SECONDS = 0.5
_STORING_SHOWN_AFTER = 0.5
"""Seconds. Storing rarely takes longer, unless another program is writing."""


class TerminalOutput(Output):
    """Prints everything above the prompt."""

    interactive = True

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._reply: ScreenReply | None = None
        self._held_notices: list[str] = []
        self._watching: asyncio.Task[None] | None = None

    def show(self, view: RenderableType) -> None:
        """Print a command's result."""
        self._screen.print(self._drawn(view))

    async def watch(self, look: GetView) -> None:
        """Show the view above the prompt for as long as it changes, then print it.

        The user's next line ends the watching.
        """
        now = await look()
        if not now.is_moving or self._drawn(now.view).count("\n") > self._screen.panel_rows:
            self.show(now.view)
            return
        await self.settle()
        self._watching = asyncio.create_task(self._follow(look, now), name="watch")

    async def settle(self) -> None:
        """Stop watching, and print the watched view as it is now."""
        await stop(self._watching)
        self._watching = None

    async def _follow(self, look: GetView, now: LiveView) -> None:
        """Show a changing view. Print its last state at the end, also after an error."""
        try:
            with suppress(ConstructError):
                while now.is_moving:
                    self._screen.live.panel = self._drawn(now.view)
                    self._screen.redraw()
                    await asyncio.sleep(_REFRESH_SECONDS)
                    now = await look()
        finally:
            self._screen.live.panel = ""
            self.show(now.view)

    def _drawn(self, view: RenderableType) -> str:
        return to_ansi(view, self._screen.width, self._screen.theme)

    def say(self, text: str) -> None:
        """Print a command's result as plain lines."""
        self.show(Text(printable(text)))

    def error(self, text: str) -> None:
        """Print an error."""
        self.show(Text(printable(text), style="error"))

    def notice(self, text: str) -> None:
        """Print a dim sentence, after the reply if one is streaming in."""
        if self._reply is not None:
            self._held_notices.append(text)
            return
        self._screen.print(self._drawn(Prose(f"· {printable(text)}", style="dim")), group=_NOTICES)

    def remind(self, line: str, notification: str) -> None:
        """Print a reminder above the prompt, and let the terminal draw attention to it."""
        self._screen.print(self._drawn(Prose(f"⏰ {one_line(printable(line))}", style="accent")))
        self._screen.notify(one_line(printable(notification)))

    def echo(self, text: str) -> None:
        """Print the user's line, shortened if it is long."""
        self.show(echo_view(text))

    def replay(self, messages: Sequence[Message], clock: Clock) -> None:
        """Print earlier messages."""
        self._screen.print(replayed(messages, clock, self._screen.width, self._screen.theme))

    def reply(self) -> "ScreenReply":
        """Begin a reply."""
        self._reply = ScreenReply(self._screen, self._reply_ended)
        return self._reply

    def _reply_ended(self) -> None:
        self._reply = None
        held, self._held_notices = self._held_notices, []
        for text in held:
            self.notice(text)

    @contextmanager
    def busy(self, text: str) -> Iterator[None]:
        """Show `text` above the prompt while the block runs."""
        self._screen.live.wait(text)
        self._screen.redraw()
        try:
            yield
        finally:
            self._screen.live.wait("")
            self._screen.redraw()

    async def answer_to(self, question: str, keys: str = "") -> str:
        """Ask at the prompt."""
        await self._screen.editor_closed()
        return await self._screen.prompt.ask(question, keys)

    async def edit(self, text: str) -> None:
        """Open the user's editor."""
        await self._screen.edit(text)

    async def edit_file(self, path: Path) -> None:
        """Open the user's editor on a file."""
        await self._screen.edit_file(path)

    def prefill(self, text: str) -> None:
        """Put a text at the prompt. Raises UsageError if the user has typed something."""
        if self._screen.prompt.buffer.text:
            raise UsageError("The prompt is not empty. Clear it, then type the command again.")
        self._screen.prompt.fill(text)

    def copy(self, text: str) -> None:
        """Copy a text to the clipboard."""
        self._screen.copy(text)

    def keep_typed(self, text: str) -> None:
        """Keep what was typed as an answer, so that ↑ brings it back."""
        self._screen.prompt.keep(text)

    def reload_history(self) -> None:
        """Reload the prompt's history."""
        self._screen.prompt.reload_history()

    def forget_input(self) -> None:
        """Forget what was typed at the prompt, except what is not sent yet."""
        self._screen.forget_input()


class ScreenReply:
    """One reply while it streams in.

    Finished blocks are printed; the part that may still change stands above the prompt.
    The first words are drawn when they arrive, later ones at most ten times a second.
    """

    def __init__(self, screen: Screen, on_end: Callable[[], None]) -> None:
        self._screen = screen
        self._on_end = on_end
        self._width = screen.width
        self._stream = MarkdownStream(self._width, screen.theme)
        self._final = ""
        self._drawn_at = 0.0
        self._frame: asyncio.TimerHandle | None = None
        screen.live.wait("thinking")
        screen.on_resized = self._resize
        screen.redraw()

    def listen(self, event: Event) -> None:
        """Show what has arrived."""
        live = self._screen.live
        match event:
            case Delta(text):
                self._final += self._stream.feed(text)
                live.wait("")
                self._draw_soon()
            case Thinking() if live.status != "thinking":
                live.wait("thinking")
            case Waiting():
                live.wait("the memory is catching up")
            case Storing():
                live.wait("storing the reply", _STORING_SHOWN_AFTER)
            case Retrying(why):
                live.wait(f"{why}, trying again")
            case ToolCalled(_, summary):
                self._print_tool_line(f"· {one_line(summary)}")
            case ToolAnswered(_, line):
                self._print_tool_line(f"  {one_line(line)}")

    def _print_tool_line(self, text: str) -> None:
        self._flush()
        line = Text(text, style="dim")
        self._screen.print(to_ansi(line, self._screen.width, self._screen.theme), "tool")
        self._screen.live.wait("thinking")

    def end(self, result: TurnResult | None) -> None:
        """Print the rest."""
        self._screen.live.wait("")
        self._flush()
        self._screen.on_resized = lambda: None
        self._on_end()

    def _flush(self) -> None:
        """Print all that has arrived, and begin a new stream."""
        self._final += self._stream.finish()
        self._stream = MarkdownStream(self._width, self._screen.theme)
        self._draw()

    def _draw_soon(self) -> None:
        if self._frame is None:
            next_frame = self._drawn_at + FRAME_SECONDS
            self._frame = asyncio.get_running_loop().call_at(next_frame, self._draw)

    def _draw(self) -> None:
        self._drawn_at = asyncio.get_running_loop().time()
        if self._frame is not None:
            self._frame.cancel()
            self._frame = None
        live = self._screen.live
        final, self._final = self._final, ""
        live.tail = self._stream.tail(self._screen.tail_rows)
        live.tail_gap = not final and not self._screen.is_last_group(self)
        if final:
            self._screen.print(final, group=self)
        else:
            self._screen.redraw()

    def _resize(self) -> None:
        """Render the unfinished part for the new width."""
        self._width = self._screen.width
        self._stream.resize(self._width)
        self._screen.live.tail = self._stream.tail(self._screen.tail_rows)

"""A reply on the screen: what is final goes to the scrollback, the rest stands above the prompt until it is."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from construct.repl.markdown import MarkdownStream
from construct.text import one_line
from construct.turns import Delta, Event, Retrying, ToolCalled, TurnResult, Waiting

if TYPE_CHECKING:
    from construct.repl.screen import Screen

FRAME_SECONDS = 1 / 12


class ScreenReply:
    """One reply; drawn at most twelve times a second, however fast it comes."""

    def __init__(self, screen: "Screen", on_end: Callable[[], None] = lambda: None) -> None:
        self.ended = False
        self._screen = screen
        self._on_end = on_end
        self._stream = MarkdownStream(screen.width, screen.theme)
        self._width = screen.width
        self._final = ""
        self._frame: asyncio.TimerHandle | None = None
        screen.live.wait("thinking")
        screen.on_resized = self._resize
        screen.redraw()

    def listen(self, event: Event) -> None:
        """Take in what has come."""
        match event:
            case Delta(text):
                self._final += self._stream.feed(text)
                self._screen.live.wait("")
                self._draw_soon()
            case Waiting():
                self._screen.live.wait("the memory is catching up")
            case Retrying(why):
                self._screen.live.wait(f"{why}, trying again")
            case ToolCalled(_, summary):
                self._flush_all()
                self._screen.print(self._screen.dim(f"· {one_line(summary)}"), group="tool")
                self._screen.live.wait("thinking")

    def end(self, result: TurnResult | None) -> None:
        """Print the rest."""
        self._flush_all()
        self._screen.live.wait("")
        self._screen.redraw()
        self.ended = True
        self._screen.on_resized = lambda: None
        self._on_end()

    def _flush_all(self) -> None:
        self._final += self._stream.finish()
        self._stream = MarkdownStream(self._width, self._screen.theme)
        self._draw()

    def _draw_soon(self) -> None:
        if self._frame is None:
            self._frame = asyncio.get_running_loop().call_later(FRAME_SECONDS, self._draw)

    def _draw(self) -> None:
        if self._frame is not None:
            self._frame.cancel()
            self._frame = None
        live = self._screen.live
        final, self._final = self._final, ""
        live.tail = self._stream.tail(self._screen.tail_rows)
        live.tail_gap = not final and not self._screen.began(self)
        if final:
            self._screen.print(final, group=self)
        else:
            self._screen.redraw()

    def _resize(self) -> None:
        """Render what is not final for the new width."""
        self._width = self._screen.width
        self._stream.resize(self._width)
        self._screen.live.tail = self._stream.tail(self._screen.tail_rows)

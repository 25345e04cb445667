"""What a chat shows, on a screen."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from rich.console import RenderableType
from rich.text import Text

from construct.clock import Clock
from construct.errors import ConstructError
from construct.repl.columns import fitted
from construct.repl.output import Frame, Look, Output
from construct.repl.screen import Screen
from construct.repl.streaming import ScreenReply
from construct.repl.views.console import to_ansi
from construct.repl.views.echo import echo_view
from construct.repl.views.replay import replayed
from construct.store.records import Message
from construct.tasks import stop
from construct.text import printable

_NOTICES = "notices"
_LOOK_SECONDS = 0.5
"""Between two looks at what moves."""


class TerminalOutput(Output):
    """Prints above the prompt."""

    interactive = True

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._reply: ScreenReply | None = None
        self._later: list[str] = []
        self._watching: asyncio.Task[None] | None = None

    def show(self, view: RenderableType) -> None:
        """Print the answer to a command."""
        self._screen.print(self._drawn(view))

    async def watch(self, look: Look) -> None:
        """Show the answer above the prompt for as long as it moves, then print it; the next line prints it at once."""
        frame = await look()
        if not frame.is_moving or self._drawn(frame.view).count("\n") > self._screen.panel_rows:
            self.show(frame.view)
            return
        await self.settle()
        self._watching = asyncio.create_task(self._follow(look, frame), name="watch")

    async def settle(self) -> None:
        """Print what is being watched as it is now, and watch it no longer."""
        await stop(self._watching)
        self._watching = None

    async def _follow(self, look: Look, frame: Frame) -> None:
        """Show what moves; however that ends, what was seen last is printed."""
        try:
            with suppress(ConstructError):
                while frame.is_moving:
                    self._screen.live.panel = self._drawn(frame.view)
                    self._screen.redraw()
                    await asyncio.sleep(_LOOK_SECONDS)
                    frame = await look()
        finally:
            self._screen.live.panel = ""
            self.show(frame.view)

    def _drawn(self, view: RenderableType) -> str:
        return to_ansi(view, self._screen.width, self._screen.theme)

    def say(self, text: str) -> None:
        """Print lines that answer a command."""
        self._lines(text, "none")

    def notice(self, text: str) -> None:
        """Print a quiet line; behind the reply when one is coming in."""
        if self._reply is not None and not self._reply.ended:
            self._later.append(text)
            return
        self._screen.print(self._screen.dim(fitted(f"· {text}", self._screen.width)), group=_NOTICES)

    def error(self, text: str) -> None:
        """Print what went wrong."""
        self._lines(text, "error")

    def echo(self, text: str) -> None:
        """Print a line of the user's; of a long one the beginning."""
        self.show(echo_view(text))

    def replay(self, messages: Sequence[Message], clock: Clock) -> None:
        """Print what was said before."""
        self._screen.print(replayed(messages, clock, self._screen.width, self._screen.theme))

    def reply(self) -> ScreenReply:
        """Begin a reply."""
        self._reply = ScreenReply(self._screen, self._reply_ended)
        return self._reply

    @contextmanager
    def busy(self, text: str) -> Iterator[None]:
        """Show above the prompt that something takes its time."""
        self._screen.live.wait(text)
        self._screen.redraw()
        try:
            yield
        finally:
            self._screen.live.wait("")
            self._screen.redraw()

    async def ask(self, question: str) -> bool:
        """Ask at the prompt for a yes."""
        answer = await self._screen.ask(f"{question} [y/N]")
        return answer.strip().lower() in {"y", "yes"}

    async def edit(self, text: str) -> None:
        """Open the user's editor."""
        await self._screen.edit(text)

    def prefill(self, text: str) -> None:
        """Put a text at the prompt."""
        self._screen.prefill(text)

    def copy(self, text: str) -> None:
        """Put a text on the clipboard."""
        self._screen.copy(text)

    def forgotten(self) -> None:
        """Read the prompt's history anew."""
        self._screen.forget_history()

    def _reply_ended(self) -> None:
        later, self._later = self._later, []
        for text in later:
            self.notice(text)

    def _lines(self, text: str, style: str) -> None:
        self.show(Text(printable(text), style=style))

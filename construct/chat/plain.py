"""A chat's output on plain streams: replies on stdout, errors on stderr."""

import shutil
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from construct.chat.output import Output
from construct.clock import Clock
from construct.talk.events import Delta, Event, ToolAnswered, TurnResult
from construct.text import PrintableStream, one_line, printable

if TYPE_CHECKING:
    from rich.console import RenderableType

    from construct.store.records import Message


class PlainReply:
    """A reply printed as it arrives, followed by a newline."""

    def __init__(self, stream: PrintableStream) -> None:
        self._stream = stream
        self._last_piece = ""

    def listen(self, event: Event) -> None:
        """Print what has arrived."""
        if isinstance(event, Delta):
            self._write(self._stream.feed(event.text))
        elif isinstance(event, ToolAnswered) and event.is_failure:
            sys.stdout.flush()
            print(f"{event.name}: {one_line(event.line)}", file=sys.stderr, flush=True)

    def end(self, result: TurnResult | None) -> None:
        """Print the rest and end the line."""
        self._write(self._stream.finish())
        if self._last_piece and not self._last_piece.endswith("\n"):
            self._write("\n")

    def _write(self, text: str) -> None:
        if text:
            self._last_piece = text
            write(text)


class PlainOutput(Output):
    """Output on plain streams, with no user to ask."""

    def show(self, view: "RenderableType") -> None:
        """Print the answer to a command."""
        from construct.views.console import to_text

        self.say(to_text(view))

    def say(self, text: str) -> None:
        """Print lines."""
        write(f"{printable(text)}\n")

    def error(self, text: str) -> None:
        """Print what went wrong on standard error."""
        sys.stdout.flush()
        print(printable(text), file=sys.stderr, flush=True)

    def notice(self, text: str) -> None:
        """Print a line about something that happened, on standard error."""
        self.error(text)

    def replay(self, messages: Sequence["Message"], clock: Clock) -> None:
        """Print earlier messages."""
        from construct.views.console import PLAIN_WIDTH
        from construct.views.messages import replayed
        from construct.views.themes import PLAIN

        self.say(replayed(messages, clock, PLAIN_WIDTH, PLAIN).rstrip("\n"))

    def reply(self) -> PlainReply:
        """Begin a reply."""
        return PlainReply(PrintableStream())


class DumbTerminalOutput(PlainOutput):
    """Plain lines, wrapped between words, on a terminal whose user can be asked."""

    interactive = True

    def __init__(self, next_line: Callable[[], Awaitable[str]]) -> None:
        self._next_line = next_line

    @property
    def width(self) -> int:
        """Columns of the terminal."""
        return shutil.get_terminal_size().columns

    def show(self, view: "RenderableType") -> None:
        """Print the answer to a command, as wide as the terminal."""
        from construct.views.console import to_text

        self.say(to_text(view, self.width))

    def say(self, text: str) -> None:
        """Print lines."""
        super().say(self._wrapped(text))

    def error(self, text: str) -> None:
        """Print what went wrong."""
        super().error(self._wrapped(text))

    def notice(self, text: str) -> None:
        """Print a line about something that happened in the background."""
        self.say(f"· {text}")

    def reply(self) -> PlainReply:
        """Begin a reply."""
        from construct.views.wrapping import WrappedStream

        return PlainReply(WrappedStream(self.width))

    async def answer_to(self, question: str, keys: str = "") -> str:
        """Print the question. The next line that is typed is the answer."""
        write(f"{question} ")
        return await self._next_line()

    def _wrapped(self, text: str) -> str:
        from construct.views.wrapping import wrapped

        return wrapped(printable(text), self.width)


def write(text: str) -> None:
    """Write to standard output and flush. Replaces characters its encoding lacks."""
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
    sys.stdout.flush()

"""A chat over plain streams: what is said on standard output, everything else on standard error or nowhere."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from construct.clock import Clock
from construct.repl.output import Output
from construct.text import PrintableStream, printable
from construct.turns import Delta, Event, TurnResult

if TYPE_CHECKING:
    from rich.console import RenderableType

    from construct.store.records import Message


class PlainReply:
    """A reply printed as it comes, and ended by a newline."""

    def __init__(self, stream: PrintableStream) -> None:
        """Print what a stream lets through."""
        self._stream = stream
        self._wrote = ""

    def listen(self, event: Event) -> None:
        """Print what has come."""
        if isinstance(event, Delta):
            self._write(self._stream.feed(event.text))

    def end(self, result: TurnResult | None) -> None:
        """Print the rest and end the line."""
        self._write(self._stream.finish())
        if self._wrote and not self._wrote.endswith("\n"):
            self._write("\n")

    def _write(self, text: str) -> None:
        if text:
            self._wrote = text
            write(text)


class PlainOutput(Output):
    """Plain streams; nobody can be asked."""

    def show(self, view: "RenderableType") -> None:
        """Print the answer to a command."""
        from construct.repl.views.console import to_text

        self.say(to_text(view))

    def say(self, text: str) -> None:
        """Print lines."""
        write(f"{printable(text)}\n")

    def error(self, text: str) -> None:
        """Print what went wrong on standard error."""
        sys.stdout.flush()
        print(printable(text), file=sys.stderr, flush=True)

    def replay(self, messages: Sequence["Message"], clock: Clock) -> None:
        """Print what was said before."""
        from construct.repl.themes import PLAIN
        from construct.repl.views.console import PLAIN_WIDTH
        from construct.repl.views.replay import replayed

        self.say(replayed(messages, clock, PLAIN_WIDTH, PLAIN).rstrip("\n"))

    def reply(self) -> PlainReply:
        """Begin a reply."""
        return PlainReply(PrintableStream())


def write(text: str) -> None:
    """Write to standard output at once, whatever its encoding can hold."""
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
    sys.stdout.flush()

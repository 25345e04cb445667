"""The chat on a terminal that can only print lines (TERM=dumb), or that an editor pretends to be."""

import asyncio
import shutil
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import TYPE_CHECKING

from construct.errors import ExitStatus
from construct.repl.app import LEAVING_SECONDS
from construct.repl.chat import Chat
from construct.repl.dialogue import Dialogue
from construct.repl.line_breaks import wrapped
from construct.repl.lines import read_lines
from construct.repl.plain import PlainOutput, PlainReply, write
from construct.repl.start import Opening
from construct.repl.views.greeting import greeting
from construct.text import is_blank, printable

if TYPE_CHECKING:
    from rich.console import RenderableType


class DumbOutput(PlainOutput):
    """Plain lines, to somebody who can be asked."""

    interactive = True

    def __init__(self, lines: AsyncIterator[str]) -> None:
        self._lines = lines

    def show(self, view: "RenderableType") -> None:
        """Print the answer to a command, as wide as the terminal."""
        from construct.repl.views.console import to_text

        self.say(to_text(view, shutil.get_terminal_size().columns))

    def reply(self) -> PlainReply:
        """Begin a reply, its lines broken between words."""
        from construct.repl.wrapping import WrappedStream

        return PlainReply(WrappedStream(shutil.get_terminal_size().columns))

    def say(self, text: str) -> None:
        """Print lines, broken between words."""
        super().say(wrapped(printable(text), shutil.get_terminal_size().columns))

    def error(self, text: str) -> None:
        """Print what went wrong, broken between words."""
        super().error(wrapped(printable(text), shutil.get_terminal_size().columns))

    def notice(self, text: str) -> None:
        """Print a quiet line."""
        self.say(f"· {text}")

    async def ask(self, question: str) -> bool:
        """Ask for a yes; the next line answers."""
        write(f"{question} [y/N] ")
        answer = await anext(self._lines, "")
        return answer.strip().lower() in {"y", "yes"}


def run_dumb(opening: Opening) -> int:
    """Chat line by line until the user leaves; return the exit status."""
    try:
        return asyncio.run(_chat(opening))
    except KeyboardInterrupt:
        return ExitStatus.INTERRUPTED


async def _chat(opening: Opening) -> int:
    lines = read_lines(sys.stdin.fileno())
    out = DumbOutput(lines)
    out.say(greeting(opening, shutil.get_terminal_size().columns))
    chat = Chat(opening, complain=out.notice)
    dialogue = Dialogue(chat, out)
    with suppress(NotImplementedError):  # Windows
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, _interrupt, dialogue, out)
    try:
        await chat.start()
        await dialogue.before_prompt()
        write("\n> ")
        async for line in lines:
            if not is_blank(line) and not await dialogue.line(line):
                break
            write("\n> ")
        await chat.finish(LEAVING_SECONDS)
    finally:
        await chat.close()
    return ExitStatus.OK


def _interrupt(dialogue: Dialogue, out: DumbOutput) -> None:
    if dialogue.busy:
        dialogue.stop()
    else:
        out.say("Ctrl-D leaves.")

"""A chat over a pipe: a line in is a message, what comes out is the replies."""

import asyncio
import sys

from construct.errors import ExitStatus
from construct.repl.chat import Chat
from construct.repl.dialogue import Dialogue
from construct.repl.lines import read_lines
from construct.repl.plain import PlainOutput
from construct.repl.start import Opening


def run_piped(opening: Opening) -> int:
    """Answer every line of standard input; at its end finish the memory work that is due.

    Returns the exit status: 1 when a line failed, 130 when interrupted.
    """
    try:
        return asyncio.run(_answer_all(opening))
    except KeyboardInterrupt:
        return ExitStatus.INTERRUPTED


async def _answer_all(opening: Opening) -> int:
    chat = Chat(opening)
    out = PlainOutput()
    dialogue = Dialogue(chat, out)
    try:
        await chat.start()
        async for line in read_lines(sys.stdin.fileno()):
            if line.strip() and not await dialogue.line(line):
                break
        await chat.finish()
    finally:
        await chat.close()
    return ExitStatus.FAILED if dialogue.failed else ExitStatus.OK

"""A chat over a pipe: each line of input is a message, the output is the replies."""

import asyncio
import sys

from construct.errors import ExitStatus
from construct.repl.chat import Chat
from construct.repl.dialogue import Dialogue
from construct.repl.lines import read_lines
from construct.repl.plain import PlainOutput
from construct.repl.start import Opening
from construct.text import is_blank


def run_piped(opening: Opening, *, runs_commands: bool = False) -> int:
    """Answer every line of standard input; at its end finish the memory work that is due.

    Piped text is data: `runs_commands` is only for a user who asked for it, since the text may
    come from anybody. Returns the exit status: 1 when a line failed, 130 when interrupted.
    """
    try:
        return asyncio.run(_answer_all(opening, runs_commands=runs_commands))
    except KeyboardInterrupt:
        return ExitStatus.INTERRUPTED


async def _answer_all(opening: Opening, *, runs_commands: bool) -> int:
    chat = Chat(opening)
    out = PlainOutput()
    dialogue = Dialogue(chat, out, runs_commands=runs_commands)
    try:
        await chat.start()
        async for line in read_lines(sys.stdin.fileno()):
            if not is_blank(line) and not await dialogue.line(line):
                break
        await chat.finish()
    finally:
        await chat.close()
    return ExitStatus.FAILED if dialogue.failed else ExitStatus.OK

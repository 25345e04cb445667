"""A chat line by line: for piped input and for terminals that only print (TERM=dumb)."""

import asyncio
import codecs
import os
import sys
import threading
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import suppress
from functools import partial

from construct.chat.chat import Chat
from construct.chat.dialogue import Dialogue
from construct.chat.leaving import finish_memory, on_signals
from construct.chat.plain import DumbTerminalOutput, PlainOutput, write
from construct.errors import ExitStatus
from construct.operations.opening import Opening
from construct.text import is_blank
from construct.views.greeting import greeting

_CHUNK = 1 << 16
_LINES_AHEAD = 64
"""Lines read ahead of the one being answered."""


def run_piped(opening: Opening, *, runs_commands: bool = False) -> int:
    """Answer every line of standard input and return the exit status.

    Piped text may come from anybody, so slash commands run only with `runs_commands`.
    Finishes the memory work that is due. The status is 1 when a line failed and 130 when
    interrupted.
    """
    return _run(_piped(opening, runs_commands=runs_commands))


def run_on_dumb_terminal(opening: Opening) -> int:
    """Chat on a terminal that only prints lines. Return the exit status."""
    return _run(_on_dumb_terminal(opening))


def _run(chatting: Coroutine[None, None, int]) -> int:
    try:
        return asyncio.run(chatting)
    except KeyboardInterrupt:
        return ExitStatus.INTERRUPTED


async def _piped(opening: Opening, *, runs_commands: bool) -> int:
    out = PlainOutput()
    chat = Chat(opening, complain=out.error)
    dialogue = Dialogue(chat, out, runs_commands=runs_commands)
    await _answer_all(chat, dialogue, TypedLines(sys.stdin.fileno()), chat.finish)
    return ExitStatus.FAILED if dialogue.failed else ExitStatus.OK


async def _on_dumb_terminal(opening: Opening) -> int:
    lines = TypedLines(sys.stdin.fileno())
    out = DumbTerminalOutput(lines.typed_from_now)
    out.say(greeting(opening, out.width))
    chat = Chat(opening, complain=out.notice)
    dialogue = Dialogue(chat, out)

    def interrupt() -> None:
        if dialogue.busy:
            dialogue.stop()
        else:
            out.say("Ctrl-D leaves.")

    with on_signals(interrupt, "SIGINT"):
        finish = partial(finish_memory, chat, out.notice)
        await _answer_all(chat, dialogue, lines, finish, prompt="\n> ")
    return ExitStatus.OK


async def _answer_all(
    chat: Chat,
    dialogue: Dialogue,
    lines: AsyncIterator[str],
    finish: Callable[[], Awaitable[object]],
    *,
    prompt: str = "",
) -> None:
    try:
        await chat.start()
        await dialogue.show_last_exchange()
        await dialogue.before_prompt()
        write(prompt)
        async for line in lines:
            if not is_blank(line) and not await dialogue.run_line(line):
                break
            write(prompt)
        await finish()
    finally:
        await chat.close()


class TypedLines(AsyncIterator[str]):
    """Lines as they arrive, without line ends and with broken UTF-8 replaced.

    Waiting for one may be cancelled; the next call waits for the same line. A thread reads
    the descriptor directly. The program can exit while it waits, which it could not if the
    thread waited inside a Python file object.
    """

    def __init__(self, descriptor: int) -> None:
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._early: deque[str] = deque()
        self._room = threading.Semaphore(_LINES_AHEAD)
        loop = asyncio.get_running_loop()

        def put(line: str | None) -> None:
            loop.call_soon_threadsafe(self._lines.put_nowait, line)

        reading = (descriptor, put, self._room)
        threading.Thread(target=_read, args=reading, name="stdin", daemon=True).start()

    async def __anext__(self) -> str:
        return self._early.popleft() if self._early else self._taken(await self._lines.get())

    async def typed_from_now(self) -> str:
        """Return the next line that is typed after this call, empty if input ends.

        Lines typed before it are not lost: they come next.
        """
        with suppress(StopAsyncIteration):
            while not self._lines.empty():
                self._early.append(self._taken(self._lines.get_nowait()))
            return self._taken(await self._lines.get())
        return ""

    def _taken(self, line: str | None) -> str:
        if line is None:
            self._lines.put_nowait(None)  # the end stays the end
            raise StopAsyncIteration
        self._room.release()
        return line


def _read(descriptor: int, put: Callable[[str | None], None], room: threading.Semaphore) -> None:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    rest = ""
    with suppress(RuntimeError):  # the loop is closed
        with suppress(OSError):  # the terminal is gone
            while chunk := os.read(descriptor, _CHUNK):
                *whole, rest = (rest + decoder.decode(chunk)).split("\n")
                for line in whole:
                    room.acquire()
                    put(line.removesuffix("\r"))
        rest += decoder.decode(b"", final=True)
        if rest:
            put(rest)
        put(None)

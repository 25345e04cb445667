"""A chat line by line: for piped input and for terminals that only print (TERM=dumb)."""

import asyncio
import sys
import threading
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import suppress
from functools import partial

from construct.chat.chat import Chat
from construct.chat.dialogue import Dialogue
from construct.chat.leaving import leave, on_signals
from construct.chat.plain import DumbTerminalOutput, PlainOutput, write
from construct.errors import ConstructError, ExitStatus
from construct.operations.opening import Opening
from construct.pipes import WaitingFile, utf8_text
from construct.text import is_blank
from construct.views.greeting import greeting
from construct.views.reply import notebook_answers

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
    if opening.models.is_notebook and opening.settings.provider == "auto":
        out.error(notebook_answers())
    dialogue = Dialogue(chat, out, runs_commands=runs_commands)
    lines = TypedLines(sys.stdin.fileno())
    await _answer_all(chat, dialogue, lines, partial(_finish, chat, out.error))
    return ExitStatus.FAILED if dialogue.failed else ExitStatus.OK


async def _finish(chat: Chat, complain: Callable[[str], None]) -> None:
    """Do the memory work that is due, and exchange with the user's other machines."""
    await chat.finish()
    if line := await chat.exchange():
        complain(line)


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
        finish = partial(leave, chat, out.notice)
        await _answer_all(chat, dialogue, lines, finish, prompt="\n> ")
    return ExitStatus.OK


async def _answer_all(
    chat: Chat,
    dialogue: Dialogue,
    lines: AsyncIterator[bytes],
    finish: Callable[[], Awaitable[object]],
    *,
    prompt: str = "",
) -> None:
    try:
        await chat.start()
        await dialogue.show_last_exchange()
        await dialogue.before_prompt()
        write(prompt)
        async for number, line in _numbered(lines):
            try:
                text = utf8_text(line, f"Line {number} of standard input")
            except ConstructError as error:
                dialogue.fail(str(error))
                continue
            if not is_blank(text) and not await dialogue.run_line(text):
                break
            write(prompt)
        await finish()
    finally:
        await chat.close()


async def _numbered(lines: AsyncIterator[bytes]) -> AsyncIterator[tuple[int, bytes]]:
    number = 0
    async for line in lines:
        number += 1
        yield number, line


class TypedLines(AsyncIterator[bytes]):
    """Lines as they arrive, undecoded and without line ends.

    Waiting for one may be cancelled; the next call waits for the same line. A thread reads
    the descriptor directly. The program can exit while it waits, which it could not if the
    thread waited inside a Python file object.
    """

    def __init__(self, descriptor: int) -> None:
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._early: deque[bytes] = deque()
        self._room = threading.Semaphore(_LINES_AHEAD)
        loop = asyncio.get_running_loop()

        def put(line: bytes | None) -> None:
            loop.call_soon_threadsafe(self._lines.put_nowait, line)

        reading = (descriptor, put, self._room)
        threading.Thread(target=_read, args=reading, name="stdin", daemon=True).start()

    async def __anext__(self) -> bytes:
        return self._early.popleft() if self._early else self._taken(await self._lines.get())

    async def typed_from_now(self) -> str:
        """Return the next line that is typed after this call, empty if input ends.

        Lines typed before it are not lost: they come next.
        """
        with suppress(StopAsyncIteration):
            while not self._lines.empty():
                self._early.append(self._taken(self._lines.get_nowait()))
            return self._taken(await self._lines.get()).decode("utf-8", "replace")
        return ""

    def _taken(self, line: bytes | None) -> bytes:
        if line is None:
            self._lines.put_nowait(None)  # the end stays the end
            raise StopAsyncIteration
        self._room.release()
        return line


def _read(descriptor: int, put: Callable[[bytes | None], None], room: threading.Semaphore) -> None:
    rest = b""
    with suppress(RuntimeError):  # the loop is closed
        with suppress(OSError):  # the terminal is gone
            file = WaitingFile(descriptor, "r")
            while chunk := file.read(_CHUNK):
                *whole, rest = (rest + chunk).split(b"\n")
                for line in whole:
                    room.acquire()
                    put(line.removesuffix(b"\r"))
        if rest:
            put(rest)
        put(None)

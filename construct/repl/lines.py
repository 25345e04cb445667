"""Lines from standard input, read in a thread that nobody has to wait for when the program ends."""

import asyncio
import codecs
import os
import threading
from collections.abc import AsyncIterator, Callable

_CHUNK = 1 << 16
_AHEAD = 64
"""Lines read before they are wanted."""


async def read_lines(descriptor: int) -> AsyncIterator[str]:
    """Give the lines of a file as they come, without their ends; bytes that are no UTF-8 are replaced.

    Reads the descriptor itself: a thread that waits inside Python's own file object cannot be
    left behind at exit.
    """
    lines: asyncio.Queue[str | None] = asyncio.Queue()
    room = threading.Semaphore(_AHEAD)
    loop = asyncio.get_running_loop()
    thread = threading.Thread(
        target=_read, args=(descriptor, lambda line: loop.call_soon_threadsafe(lines.put_nowait, line), room),
        name="stdin", daemon=True,
    )  # fmt: skip
    thread.start()
    while (line := await lines.get()) is not None:
        room.release()
        yield line


def _read(descriptor: int, put: Callable[[str | None], object], room: threading.Semaphore) -> None:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    rest = ""
    try:
        while chunk := os.read(descriptor, _CHUNK):
            *whole, rest = (rest + decoder.decode(chunk)).split("\n")
            for line in whole:
                room.acquire()
                put(line.removesuffix("\r"))
        rest += decoder.decode(b"", final=True)
        if rest:
            put(rest)
        put(None)
    except (OSError, RuntimeError):  # the terminal is gone; the loop is closed
        return

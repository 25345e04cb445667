"""A terminal in memory: what a program writes, pyte draws.

And a real one, with a program behind it.
"""

import codecs
import errno
import fcntl
import io
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Callable, Mapping, Sequence

import pyte


class Emulator(io.TextIOBase):
    """A terminal's screen with its scrollback, to be written to."""

    def __init__(self, columns: int = 80, rows: int = 24) -> None:
        super().__init__()
        self.columns, self.rows = columns, rows
        self._screen = pyte.HistoryScreen(columns, rows, history=10_000, ratio=0.5)
        self._stream = pyte.Stream(self._screen)
        self._lines: list[str] | None = None
        self.raw = ""

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """UTF-8, as a terminal has it."""
        return "utf-8"

    def isatty(self) -> bool:
        """Tell that this is a terminal."""
        return True

    def write(self, text: str) -> int:
        """Draw."""
        self.raw += text
        self._lines = None
        self._stream.feed(text)
        return len(text)

    def resize(self, columns: int, rows: int) -> None:
        """Change the size; like xterm this one does not wrap anew what it shows."""
        self.columns, self.rows = columns, rows
        self._lines = None
        self._screen.resize(rows, columns)

    @property
    def lines(self) -> list[str]:
        """All lines, scrollback first, without trailing blanks and blank last lines."""
        if (
            self._lines is None
        ):  # who waits looks a hundred times a second, mostly at what it has seen
            self._lines = self._read_off()
        return self._lines

    def _read_off(self) -> list[str]:
        above = [
            "".join(row[x].data for x in range(self.columns)).rstrip()
            for row in self._screen.history.top
        ]
        lines = above + [line.rstrip() for line in self._screen.display]
        while lines and not lines[-1]:
            lines.pop()
        return lines

    @property
    def text(self) -> str:
        """All lines as one text."""
        return "\n".join(self.lines)


class PseudoTerminal:
    """A program behind a real pseudo-terminal."""

    def __init__(
        self, arguments: Sequence[str], env: Mapping[str, str], columns: int = 80, rows: int = 24
    ) -> None:
        self.screen = Emulator(columns, rows)
        self.status: int | None = None
        self._decoder = codecs.getincrementaldecoder("utf-8")(
            "replace"
        )  # a read may end within a character
        self.pid, self._descriptor = pty.fork()
        if self.pid == 0:
            try:
                os.execve(arguments[0], list(arguments), {"TERM": "xterm-256color", **env})
            finally:
                os._exit(127)
        self._set_size()

    def _set_size(self) -> None:
        size = struct.pack("HHHH", self.screen.rows, self.screen.columns, 0, 0)
        fcntl.ioctl(self._descriptor, termios.TIOCSWINSZ, size)

    def resize(self, columns: int, rows: int) -> None:
        """Change the size, and let the program know."""
        self.screen.resize(columns, rows)
        self._set_size()

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self._descriptor, text.encode())

    def see(self, what: str | Callable[[Emulator], bool], seconds: float = 30.0) -> None:
        """Wait until a text is on the screen, or a condition holds.

        Fail with the screen otherwise.
        """
        met = what if callable(what) else lambda screen: what in screen.text
        deadline = time.monotonic() + seconds
        while not met(self.screen):
            if not self._read(deadline - time.monotonic()) and not met(self.screen):
                raise AssertionError(f"{what!r} was not seen on:\n{self.screen.text}")

    def wait(self, seconds: float = 30.0) -> int:
        """Wait for the program's end and return its exit status."""
        deadline = time.monotonic() + seconds
        while self.status is None and time.monotonic() < deadline:
            self._read(0.05)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
        assert self.status is not None, f"it did not end:\n{self.screen.text}"
        return self.status

    def close(self) -> None:
        """End the program if it still runs."""
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self._descriptor)

    def _read(self, seconds: float) -> bool:
        """Draw what the program has written; False when nothing came in time."""
        ready, _, _ = select.select([self._descriptor], [], [], max(0.0, seconds))
        if not ready:
            return False
        try:
            data = os.read(self._descriptor, 65536)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            return False
        self.screen.write(self._decoder.decode(data))
        return bool(data)


def python(code: str) -> list[str]:
    """Return the command line that runs Python code."""
    return [sys.executable, "-c", code]

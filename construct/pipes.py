"""Standard streams that wait: nothing is lost on a pipe that another program made non-blocking."""

import io
import select
from typing import TYPE_CHECKING

from construct.errors import ConstructError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer


class WaitingFile(io.FileIO):
    """A file descriptor that waits for room or for input, even if it is non-blocking.

    The descriptor stays open, and as non-blocking as it was: programs that share the pipe
    may rely on that.
    """

    def __init__(self, descriptor: int, mode: str) -> None:
        super().__init__(descriptor, mode, closefd=False)

    def write(self, data: "ReadableBuffer", /) -> int:
        """Write as much as there is room for, at least one byte."""
        while (written := super().write(data)) is None:
            select.select([], [self], [])
        return written

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        """Read what is there, at least one byte unless the input has ended."""
        while (count := super().readinto(buffer)) is None:
            select.select([self], [], [])
        return count

    # FileIO's own versions do not call `readinto`.
    read = io.RawIOBase.read  # type: ignore[assignment]
    readall = io.RawIOBase.readall


def waiting_stream(stream: io.TextIOWrapper, mode: str) -> io.TextIOWrapper:
    """Return a standard stream like this one, over a `WaitingFile`."""
    file = WaitingFile(stream.fileno(), mode)
    return io.TextIOWrapper(
        io.BufferedReader(file) if mode == "r" else io.BufferedWriter(file),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


def utf8_text(data: bytes, what: str) -> str:
    """Decode what was piped in, without a byte order mark.

    `what` names it for the error: raises ConstructError if it is not UTF-8.
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConstructError(
            f"{what} is not UTF-8 text (byte {data[error.start]:#04x} at position {error.start})."
            " Convert it, for example with iconv."
        ) from error

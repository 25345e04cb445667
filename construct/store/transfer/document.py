"""Reads JSON that may be larger than memory, one value at a time.

Of a list, only the current element is held. Of an object, its list `conversations` is read
in the same way; the rest of it is held whole.
"""

import codecs
from collections.abc import Callable, Iterator
from typing import IO, Any

from construct.store.transfer.refused import RefusedError
from construct.text import shorten

Advance = Callable[[int], None]
"""Called with the number of bytes read so far."""
_CHUNK_BYTES = 256 << 10
"""How much ijson reads at once. It restarts a string with every chunk, so small ones are slow."""
_MAX_DEPTH = 1000
"""About the deepest nesting allowed.

ijson builds the whole path to each value, so its memory grows with the square of the
depth. Hence `_Source` checks the depth before ijson sees the data.
"""
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_PROGRESS_BYTES = 1 << 20
"""Bytes read between two reports of progress."""
_MAX_VALUE_BYTES = 256 << 20
_LISTED = "conversations"
"""The key of an object whose list is read one element at a time."""


def values(start: bytes, file: IO[bytes], advance: Advance) -> Iterator[Any]:
    """Yield the elements of a list or of an object's `conversations`, or else the object.

    `start` is the part of the file that was already read. Raises RefusedError if it is not
    JSON, after the values before the fault.
    """
    import ijson  # takes 30 ms, which an import of JSONL can do without

    source = _Source(start, file, advance)
    try:
        if source.begins_with(b"["):
            found = ijson.items(source, "item", buf_size=_CHUNK_BYTES, use_float=True)
        else:
            events = ijson.basic_parse(source, buf_size=_CHUNK_BYTES, use_float=True)
            found = _listed_or_whole(events, ijson.ObjectBuilder)
        for value in found:
            source.value_began = source.done
            yield value
    except (ijson.JSONError, ValueError) as error:
        raise _not_json(error, source.done) from None


def _listed_or_whole(events: Iterator[tuple[str, Any]], new_builder: Any) -> Iterator[Any]:
    """Yield the elements of an object's `conversations`, or the object if it has no such list."""
    whole, element = new_builder(), None
    depth, key, has_list = 0, "", False
    for event, value in events:
        if event in ("end_map", "end_array"):
            depth -= 1
        is_in_list = has_list and key == _LISTED and depth >= 2
        if is_in_list:
            element = element or new_builder()
            element.event(event, value)
            if depth == 2 and event not in ("start_map", "start_array"):
                yield element.value
                element = None
        else:
            whole.event(event, value)
        if event in ("start_map", "start_array"):
            depth += 1
        if event == "map_key" and depth == 1:
            key = value
        elif event == "start_array" and depth == 2 and key == _LISTED:
            has_list = True
    if not has_list:
        yield whole.value


def _not_json(error: Exception, done: int) -> RefusedError:
    why = str(error).partition("\n")[0]
    if "premature EOF" in why or "ncomplete" in why:
        why = f"it ends in the middle, after {done:,} bytes"
        return RefusedError("", why, "Download or export it again")
    return RefusedError("", f"it is not JSON near byte {done:,} ({shorten(why, 80)})")


class _Source:
    """A file for ijson to read, without its byte order mark.

    Refuses what is not UTF-8, is nested too deeply, or has too large a value.
    """

    def __init__(self, start: bytes, file: IO[bytes], advance: Advance) -> None:
        self.done = 0
        self.value_began = 0
        self._start = start
        self._file = file
        self._advance = advance
        self._decode = codecs.getincrementaldecoder("utf-8")().decode
        self._lines = 1
        self._depth = 0
        self._in_string = False

    def begins_with(self, mark: bytes) -> bool:
        """Return whether the first character that is not white space is `mark`."""
        while not self._start.strip() and (more := self._file.read(_CHUNK_BYTES)):
            self._start += more
        self._start = self._start.removeprefix(codecs.BOM_UTF8)
        return self._start.lstrip().startswith(mark)

    def read(self, size: int) -> bytes:
        """Return the next bytes for ijson. Raises RefusedError if they fail a check."""
        if size == 0:  # ijson does this to find out whether it gets bytes or text
            return b""
        chunk, self._start = self._start[:size], self._start[size:]
        chunk = chunk or self._file.read(size)
        while chunk.endswith(b"\\"):  # do not split an escape sequence
            more, self._start = self._start[:1], self._start[1:]
            more = more or self._file.read(1)
            if not more:
                break
            chunk += more
        self._check(chunk)
        before = self.done
        self.done += len(chunk)
        if before // _PROGRESS_BYTES != self.done // _PROGRESS_BYTES or not chunk:
            self._advance(self.done)
        return chunk

    def _check(self, chunk: bytes) -> None:
        try:
            self._decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            line = self._lines + error.object.count(b"\n", 0, error.start)
            raise RefusedError(f"line {line}", "it is not UTF-8") from None
        self._lines += chunk.count(b"\n")
        self._check_depth(chunk)
        if self.done - self.value_began > _MAX_VALUE_BYTES:
            limit = _MAX_VALUE_BYTES >> 20
            raise RefusedError("", f"it, or one conversation in it, is larger than {limit} MB")

    def _check_depth(self, chunk: bytes) -> None:
        """Refuse JSON nested too deeply, by counting the brackets outside of strings."""
        if b"\\" in chunk:
            chunk = chunk.replace(b"\\\\", b"").replace(b'\\"', b"")
        # Quotes separate what is inside a string from what is outside.
        parts = chunk.split(b'"')
        outside_strings = b"".join(parts[self._in_string :: 2])
        if len(parts) % 2 == 0:  # an odd number of quotes
            self._in_string = not self._in_string
        brackets = outside_strings.translate(None, _NOT_BRACKETS)
        for start in range(0, len(brackets), _MAX_DEPTH):
            part = brackets[start : start + _MAX_DEPTH]
            opened = part.count(b"[") + part.count(b"{")
            self._depth += opened - (len(part) - opened)
            if self._depth > _MAX_DEPTH:
                raise RefusedError("", "it is not JSON (nested too deeply)")

"""Reads the conversations in the JSON exports of ChatGPT and Claude, one at a time.

An export is a list that may be larger than memory, so only the current conversation is
held. A document that is an object is held whole.
"""

import codecs
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from construct.store.transfer.chat_exports import is_conversation
from construct.store.transfer.refused import RefusedError, unknown_format
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
_MAX_CONVERSATION_BYTES = 256 << 20
_DAMAGE: tuple[type[Exception], ...] = (
    OSError,
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    RuntimeError,
    NotImplementedError,
)
"""What `zipfile` raises for a damaged or encrypted archive.

For bz2 it is an OSError without a number.
"""
with suppress(ImportError):  # not every Python has it
    from lzma import LZMAError

    _DAMAGE += (LZMAError,)
# Matches `conversations.json` and, in an archive in parts, `export/conversations-001.json`.
_MEMBER = re.compile(r"(?:.*/)?conversations(?:-\d+)?\.json")


def conversations(start: bytes, file: IO[bytes], advance: Advance) -> Iterator[Any]:
    """Yield the conversations of a document.

    The document is a list of conversations, an object with such a list as
    `conversations`, or a single conversation. `start` is the part of the file that was
    already read. Raises RefusedError if the document is not JSON, or does not begin with
    a conversation.
    """
    import ijson  # takes 30 ms, which an import of JSONL can do without

    source = _Source(start, file, advance)
    prefix = "item" if source.begins_with(b"[") else ""
    is_first = True
    try:
        for value in ijson.items(source, prefix, buf_size=_CHUNK_BYTES, use_float=True):
            for conversation in [value] if prefix else _listed(value):
                if is_first and not is_conversation(conversation):
                    raise unknown_format()
                is_first = False
                source.conversation_began = source.done
                yield conversation
    except (ijson.JSONError, ValueError) as error:
        raise _not_json(error, source.done) from None
    if is_first:
        raise unknown_format()


def zipped(path: Path, advance: Advance) -> Iterator[Any]:
    """Yield the conversations in a zip archive from ChatGPT or Claude."""
    try:
        with path.open("rb") as packed, zipfile.ZipFile(packed) as archive:
            members = [m for m in archive.infolist() if _MEMBER.fullmatch(m.filename)]
            if not members:
                why = "it contains no conversations.json"
                raise RefusedError("", why, "Name the file with the conversations")
            for member in members:
                with archive.open(member) as file:
                    yield from conversations(b"", file, lambda _: advance(packed.tell()))
    except _DAMAGE as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the file cannot be read
        why = "the zip archive is damaged or has a password"
        raise RefusedError("", why, "Unpack it, and import the file in it") from None


def _listed(document: Any) -> list[Any]:
    """Return the conversations of an object that lists them, or is one itself."""
    if not isinstance(document, dict):
        return []
    listed = document.get("conversations", [document])
    return listed if isinstance(listed, list) else []


def _not_json(error: Exception, done: int) -> RefusedError:
    why = str(error).partition("\n")[0]
    if "premature EOF" in why or "ncomplete" in why:
        why = f"it ends in the middle, after {done:,} bytes"
        return RefusedError("", why, "Download or export it again")
    return RefusedError("", f"it is not JSON near byte {done:,} ({shorten(why, 80)})")


class _Source:
    """A file for ijson to read, without its byte order mark.

    Refuses what is not UTF-8, is nested too deeply, or has too large a conversation.
    """

    def __init__(self, start: bytes, file: IO[bytes], advance: Advance) -> None:
        self.done = 0
        self.conversation_began = 0
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
        if self.done - self.conversation_began > _MAX_CONVERSATION_BYTES:
            limit = _MAX_CONVERSATION_BYTES >> 20
            raise RefusedError("", f"it, or one conversation in it, is larger than {limit} MB")

    def _check_depth(self, chunk: bytes) -> None:
        """Refuse JSON nested too deeply, by counting the brackets outside of strings."""
        if b"\\" in chunk:
            chunk = chunk.replace(b"\\\\", b"").replace(b'\\"', b"")
        # Quotes separate what is inside a string from what is outside.
        parts = chunk.split(b'"')
        outside_strings = b"".join(parts[self._in_string :: 2])
        self._in_string ^= len(parts) % 2 == 0
        brackets = outside_strings.translate(None, _NOT_BRACKETS)
        for start in range(0, len(brackets), _MAX_DEPTH):
            part = brackets[start : start + _MAX_DEPTH]
            opened = part.count(b"[") + part.count(b"{")
            self._depth += opened - (len(part) - opened)
            if self._depth > _MAX_DEPTH:
                raise RefusedError("", "it is not JSON (nested too deeply)")

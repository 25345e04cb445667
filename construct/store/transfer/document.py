"""Conversations in the JSON documents of other programs, read one after the other.

Such an export may be larger than memory: only the conversation that is being read is held.
"""

import codecs
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from construct.store.transfer.format import RefusedError, foreign
from construct.store.transfer.shapes import is_conversation
from construct.text import shorten

Advance = Callable[[int], None]
"""Called with the number of bytes read so far."""
_CHUNK = 256 << 10
"""What ijson is given at once. It begins a string again with each piece: small ones are slow."""
_DEEPEST = 1000
"""For each value ijson writes down the whole path to it, so that its memory grows with the
square of the depth: `_Source` must see brackets first."""
_BUT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_REPORTED = 1 << 20
"""The progress is told once in so many bytes."""
_LARGEST = 256 << 20
"""A conversation of more bytes is refused."""
_MEMBER = re.compile(r"(?:.*/)?conversations(?:-\d+)?\.json")


def conversations(start: bytes, file: IO[bytes], advance: Advance) -> Iterator[Any]:
    """Yield a document's conversations: the elements of its list, or of its `conversations`.

    `start` is what was already read of the file. Raises RefusedError when the document is
    not JSON, or does not begin with a conversation.
    """
    import ijson  # 30 ms, which lines of messages need not wait for

    source = _Source(start, file, advance)
    prefix = "item" if source.begins_with(b"[") else ""
    is_first = True
    try:
        for found in ijson.items(source, prefix, buf_size=_CHUNK, use_float=True):
            for conversation in [found] if prefix else _listed(found):
                if is_first and not is_conversation(conversation):
                    raise foreign()
                is_first = False
                source.conversation_began = source.done
                yield conversation
    except (ijson.JSONError, ValueError) as error:
        raise _not_json(error, source.done) from None
    if is_first:
        raise foreign()


def zipped(path: Path, advance: Advance) -> Iterator[Any]:
    """Yield the conversations in the archive that ChatGPT or Claude sends."""
    try:
        with path.open("rb") as packed, zipfile.ZipFile(packed) as archive:
            members = [m for m in archive.infolist() if _MEMBER.fullmatch(m.filename)]
            if not members:
                why = "there is no conversations.json in it"
                raise RefusedError("", why, "Name the file that holds them")
            for member in members:
                with archive.open(member) as file:
                    yield from conversations(b"", file, lambda _: advance(packed.tell()))
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError):
        why = "it is a damaged or locked zip archive"
        raise RefusedError("", why, "Unpack it, and import the file in it") from None


def _listed(document: Any) -> list[Any]:
    listed = document.get("conversations", [document]) if isinstance(document, dict) else []
    return listed if isinstance(listed, list) else []


def _not_json(error: Exception, done: int) -> RefusedError:
    why = str(error).partition("\n")[0]
    if "premature EOF" in why or "ncomplete" in why:
        why = f"it breaks off after {done:,} bytes"
        return RefusedError("", why, "Download or export it again")
    return RefusedError("", f"it is not JSON near byte {done:,} ({shorten(why, 80)})")


class _Source:
    """A file as ijson reads it: UTF-8 without a byte order mark, and not nested too deeply."""

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
        while not self._start.strip() and (more := self._file.read(_CHUNK)):
            self._start += more
        self._start = self._start.removeprefix(codecs.BOM_UTF8)
        return self._start.lstrip().startswith(mark)

    def read(self, size: int) -> bytes:
        """Return the next bytes, for ijson. Raises RefusedError for what it must not be given."""
        if size == 0:  # ijson asks so whether it is given bytes or text
            return b""
        chunk, self._start = self._start[:size], self._start[size:]
        chunk = chunk or self._file.read(size)
        while chunk.endswith(b"\\"):  # so that no escape is cut in two
            more, self._start = self._start[:1], self._start[1:]
            more = more or self._file.read(1)
            if not more:
                break
            chunk += more
        self._check(chunk)
        if self.done // _REPORTED != (self.done + len(chunk)) // _REPORTED or not chunk:
            self._advance(self.done + len(chunk))
        self.done += len(chunk)
        return chunk

    def _check(self, chunk: bytes) -> None:
        try:
            self._decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            line = self._lines + error.object.count(b"\n", 0, error.start)
            raise RefusedError(f"line {line}", "it is not UTF-8") from None
        self._lines += chunk.count(b"\n")
        if b"\\" in chunk:
            chunk = chunk.replace(b"\\\\", b"").replace(b'\\"', b"")
        parts = chunk.split(b'"')
        outside_strings = b"".join(parts[self._in_string :: 2])
        self._in_string ^= len(parts) % 2 == 0
        brackets = outside_strings.translate(None, _BUT_BRACKETS)
        for at in range(0, len(brackets), _DEEPEST):
            some = brackets[at : at + _DEEPEST]
            self._depth += sum(map(some.count, (b"[", b"{"))) - sum(map(some.count, (b"]", b"}")))
            if self._depth > _DEEPEST:
                raise RefusedError("", "it is not JSON (nested too deeply)")
        if self.done - self.conversation_began > _LARGEST:
            raise RefusedError("", f"one conversation is more than {_LARGEST >> 20} MB")

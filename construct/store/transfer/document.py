"""JSON documents of other programs, read one conversation after the other: exports of a gigabyte are common."""

import codecs
import json
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from construct.store.transfer.format import RefusedError, no_constant, read_json
from construct.store.transfer.shapes import is_conversation
from construct.text import shorten

Advance = Callable[[int], None]
"""Called with the number of bytes read so far."""
_CHUNK = 1 << 20
_LARGEST_ELEMENT = 256 << 20
_SPACE = " \t\r\n"
_FOREIGN = "it is neither an export of Construct, ChatGPT or Claude, nor lines of messages"
_MEMBER = re.compile(r"(?:.*/)?conversations(?:-\d+)?\.json")
_DECODER = json.JSONDecoder(parse_constant=no_constant)


def conversations(start: bytes, file: IO[bytes], advance: Advance) -> Iterator[Any]:
    """Yield the conversations of a document: the elements of its list, or of what it calls `conversations`.

    `start` is what was already read of the file. Raises RefusedError where it is no JSON or begins with something else.
    """
    text = _Text(start, file, advance)
    found = _elements(text) if text.peek() == "[" else iter(_whole(text))
    first = next(found, None)
    if not is_conversation(first):
        raise RefusedError("", _FOREIGN, "ChatGPT and Claude call theirs conversations.json")
    yield first
    yield from found


def zipped(path: Path, advance: Advance) -> Iterator[Any]:
    """Yield the conversations in the archive that ChatGPT or Claude sends."""
    try:
        with path.open("rb") as packed, zipfile.ZipFile(packed) as archive:
            members = [m for m in archive.infolist() if _MEMBER.fullmatch(m.filename)]
            if not members:
                raise RefusedError("", "there is no conversations.json in it", "Name the file that holds them")
            for member in members:
                with archive.open(member) as file:
                    yield from conversations(b"", file, lambda _: advance(packed.tell()))
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError):
        raise RefusedError(
            "", "it is a damaged or locked zip archive", "Unpack it, and import the file in it"
        ) from None


class _Text:
    """The text of a file, of which only the part that is being read is held."""

    def __init__(self, first: bytes, file: IO[bytes], advance: Advance) -> None:
        self._first = first
        self._file = file
        self._advance = advance
        self._decode = codecs.getincrementaldecoder("utf-8-sig")().decode
        self._bytes = 0
        self._lines = 1
        self._held = ""
        self._at = 0

    def peek(self) -> str:
        """Return the next character that is no white space; "" at the end."""
        while True:
            while self._at < len(self._held) and self._held[self._at] in _SPACE:
                self._at += 1
            if self._at < len(self._held) or not self.more():
                return self._held[self._at : self._at + 1]

    def skip(self) -> None:
        """Go past the next character."""
        self._at += 1

    def value(self) -> Any:
        """Return the JSON value that begins here; raises RefusedError."""
        size = _CHUNK
        while True:
            begun = self._at
            try:
                found, end = _DECODER.raw_decode(self._held, begun)
            except RecursionError:
                raise RefusedError("", "it is not JSON (nested too deeply)") from None
            except ValueError as error:  # perhaps only since the rest has not been read yet
                if len(self._held) - self._at > _LARGEST_ELEMENT:
                    raise RefusedError("", f"one conversation is more than {_LARGEST_ELEMENT >> 20} MB") from None
                if not self.more(size):
                    raise self._broken(error, begun) from None
                size *= 2
            else:
                length = end - self._at
                if end < len(self._held) or not self.more():  # a number may go on
                    self._at += length  # from where `more` put it
                    return found

    def _broken(self, error: ValueError, begun: int) -> RefusedError:
        """Return the refusal of a value that is none, with all of the file read since it was tried from `begun`."""
        if not isinstance(error, json.JSONDecodeError):
            return not_json(error)
        at = error.pos - begun + self._at
        if at >= len(self._held) or error.msg.startswith("Unterminated"):
            return self.breaks_off()
        place = self._bytes - len(self._held[at:].encode())
        return RefusedError("", f"it is not JSON at byte {place:,} ({shorten(error.msg, 80)})")

    def breaks_off(self) -> RefusedError:
        """Return the refusal of a file of which the end is missing."""
        return RefusedError("", f"it breaks off after {self._bytes:,} bytes", "Download or export it again")

    def rest(self) -> str:
        """Return all that is left."""
        while self.more():
            if len(self._held) > _LARGEST_ELEMENT:
                raise RefusedError("", f"it is one value of more than {_LARGEST_ELEMENT >> 20} MB")
        return self._held[self._at :]

    def more(self, size: int = _CHUNK) -> bool:
        """Read on; False at the end."""
        raw, self._first = self._first or self._file.read(size), b""
        try:
            words = self._decode(raw, final=not raw)
        except UnicodeDecodeError as error:
            number = self._lines + error.object.count(b"\n", 0, error.start)
            raise RefusedError(f"line {number}", "it is not UTF-8") from None
        self._bytes += len(raw)
        self._lines += raw.count(b"\n")
        self._held, self._at = self._held[self._at :] + words, 0
        self._advance(self._bytes)
        return bool(raw)


def _elements(text: _Text) -> Iterator[Any]:
    text.skip()
    if text.peek() == "]":
        return
    while True:
        text.peek()
        yield text.value()
        follows = text.peek()
        text.skip()
        if follows == "]" and not text.peek():
            return
        if not follows:
            raise text.breaks_off()
        if follows != ",":
            raise RefusedError("", "it is not JSON (something else follows a conversation, or the list of them)")


def _whole(text: _Text) -> list[Any]:
    try:
        found = read_json(text.rest())
    except ValueError as error:
        raise not_json(error) from None
    listed = found.get("conversations", [found]) if isinstance(found, dict) else found
    return listed if isinstance(listed, list) else []


def not_json(error: Exception, where: str = "") -> RefusedError:
    """Return the refusal of what is no JSON."""
    return RefusedError(where, f"it is not JSON ({shorten(str(error), 80)})")

"""JSON documents of other programs, read one conversation after the other: exports of a gigabyte are common."""

import codecs
import json
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from construct.store.transfer.format import RefusedError, no_constant
from construct.store.transfer.shapes import essence, is_conversation
from construct.text import shorten

Advance = Callable[[int], None]
"""Called with the number of bytes read so far."""
_CHUNK = 1 << 20
_LARGE, _LARGEST = 2 << 20, 256 << 20
"""What is longer is read part by part; and is refused."""
_LONGEST_WORD = 16
"""Characters: of JSON that is no string, or of an escape in one."""
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
        raise foreign()
    yield first
    del first  # which may be large
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

    def expect_end(self) -> None:
        """Raise RefusedError when anything but white space follows."""
        if self.peek():
            raise self._not_json("something else follows")

    def value(self) -> Any:
        """Return the JSON value that begins here, of a large one the essence; raises RefusedError."""
        size = _CHUNK
        while True:
            begun = self._at
            try:
                found, end = _DECODER.raw_decode(self._held, begun)
            except RecursionError:
                raise RefusedError("", "it is not JSON (nested too deeply)") from None
            except ValueError as error:  # perhaps only since the rest has not been read yet
                if self._is_certain(error):
                    raise self._broken(error, begun) from None
                if len(self._held) - begun > _LARGE and self._held[begun] in "[{":
                    return self._in_parts()
                self._refuse_beyond(len(self._held) - begun)
                if not self.more(size):
                    raise self._broken(error, begun) from None
                size *= 2
            else:
                length = end - begun
                if not self._may_go_on(end) or not self.more():
                    self._at += length  # from where `more` put it
                    return found

    def items(self, end: str) -> Iterator[None]:
        """Go into a list or an object: stand before each of its items, and at last behind it."""
        self._at += 1
        if self.peek() != end:
            yield
            while self.peek() == ",":
                self._at += 1
                self.peek()
                yield
        self._pass(end)

    def _in_parts(self) -> Any:
        """Return the essence of a list or an object, whose text is never held as a whole."""
        begun = self._bytes
        if self._held[self._at] == "[":
            return [self._part(begun) for _ in self.items("]")]
        return {self._key(): self._part(begun) for _ in self.items("}")}

    def _key(self) -> str:
        key = self.value()
        if not isinstance(key, str):
            raise self._not_json("a name must be text")
        self.peek()
        self._pass(":")
        self.peek()
        return key

    def _part(self, begun: int) -> Any:
        self._refuse_beyond(self._bytes - begun)
        return essence(self.value())

    def _pass(self, mark: str) -> None:
        follows = self.peek()
        if follows != mark:
            raise self._not_json(f"Expecting '{mark}'") if follows else self.breaks_off()
        self._at += 1

    def _may_go_on(self, end: int) -> bool:
        """Tell whether a value could be a number that the end of what is held has cut, before a point or an E too."""
        return end + _LONGEST_WORD > len(self._held) and self._held[end : end + 1] in ".eE+-"  # "" is in it

    def _is_certain(self, error: ValueError) -> bool:
        """Tell whether no more text could mend it: what is wrong stands before the end of what is held."""
        if not isinstance(error, json.JSONDecodeError):
            return True
        return not error.msg.startswith("Unterminated") and error.pos < len(self._held) - _LONGEST_WORD

    def _broken(self, error: ValueError, begun: int) -> RefusedError:
        """Return the refusal of a value that is none, with all of the file read since it was tried from `begun`."""
        if not isinstance(error, json.JSONDecodeError):
            return not_json(error)
        self._at += error.pos - begun
        if self._at >= len(self._held) or error.msg.startswith("Unterminated"):
            return self.breaks_off()
        return self._not_json(shorten(error.msg, 80))

    def _not_json(self, why: str) -> RefusedError:
        place = self._bytes - len(self._held[self._at :].encode())
        return RefusedError("", f"it is not JSON at byte {place:,} ({why})")

    def breaks_off(self) -> RefusedError:
        """Return the refusal of a file of which the end is missing."""
        return RefusedError("", f"it breaks off after {self._bytes:,} bytes", "Download or export it again")

    def _refuse_beyond(self, length: int) -> None:
        if length > _LARGEST:
            raise RefusedError("", f"one conversation is more than {_LARGEST >> 20} MB")

    def more(self, size: int = 1) -> bool:
        """Read on, a piece or as many as `size` bytes need; False at the end."""
        held, self._held, self._at = self._held[self._at :], "", 0
        before = self._bytes
        while self._bytes < before + size and (words := self._piece()) is not None:
            held += words  # a local name's text grows where it is, with no copy beside it
        self._held = held
        return self._bytes > before

    def _piece(self) -> str | None:
        """Return the text of the bytes that come next, None at the end."""
        raw, self._first = self._first or self._file.read(_CHUNK), b""
        try:
            words = self._decode(raw, final=not raw)
        except UnicodeDecodeError as error:
            number = self._lines + error.object.count(b"\n", 0, error.start)
            raise RefusedError(f"line {number}", "it is not UTF-8") from None
        self._bytes += len(raw)
        self._lines += raw.count(b"\n")
        self._advance(self._bytes)
        return words if raw else None


def _elements(text: _Text) -> Iterator[Any]:
    for _ in text.items("]"):
        yield text.value()
    text.expect_end()


def _whole(text: _Text) -> list[Any]:
    found = text.value()
    text.expect_end()
    listed = found.get("conversations", [found]) if isinstance(found, dict) else found
    return listed if isinstance(listed, list) else []


def foreign() -> RefusedError:
    """Return the refusal of what is no export of anybody we know."""
    return RefusedError("", _FOREIGN, "ChatGPT and Claude call theirs conversations.json")


def not_json(error: Exception, where: str = "") -> RefusedError:
    """Return the refusal of what is no JSON."""
    return RefusedError(where, f"it is not JSON ({shorten(str(error), 80)})")

"""Opens a file to import, in whatever form it is: a JSON document, lines, text or a database."""

import codecs
import json
from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import tzinfo
from enum import Enum, auto
from itertools import islice
from pathlib import PurePosixPath
from typing import IO, Any

from construct.store.backup import read_into
from construct.store.driver import Connection, errors, scratch
from construct.store.transfer.checks import read_json
from construct.store.transfer.document import Advance, values
from construct.store.transfer.foreign import Refused, Sample
from construct.store.transfer.refused import RefusedError
from construct.store.transfer.sources import SourceFile, damage_explained
from construct.store.version import APPLICATION_ID, MAGIC
from construct.text import shorten

_SAMPLES = 20
"""How many elements of a list are looked at to recognise a format: the first may be odd."""
_FIRST_BYTES = 1 << 16
"""Bytes of the first line that are read at first."""
_MAX_LINE_BYTES = 64 << 20
_MAX_TEXT_BYTES = 20 << 20
_SAMPLE_CHARACTERS = 400_000
"""How much of a text is looked at; a web page begins with its styles."""
_PIECE_CHARACTERS = 1 << 18
_LINES_PER_REPORT = 500
_SPACE = b" \t\r\n"
_OPENINGS = (b"{", b"[")
_UTF16 = "it is written in UTF-16", "Save it as UTF-8, then import it again"
_GZIP = "it is compressed with gzip", "Decompress it with gunzip, then import the result"
_UNSUPPORTED = {b"\xff\xfe": _UTF16, b"\xfe\xff": _UTF16, b"\x1f\x8b": _GZIP}
"""How files in other formats begin, each with what is wrong and what to do."""
_APPLICATION_ID = slice(68, 72)
"""Where an SQLite file names its application (https://www.sqlite.org/fileformat.html)."""
Lines = Iterator[tuple[int, dict[str, Any]]]


class Shape(Enum):
    """The outer form of a file."""

    EMPTY = auto()
    DOCUMENT = auto()
    """One JSON value."""
    LINES = auto()
    """A JSON object on each line."""
    TEXT = auto()
    DATABASE = auto()
    OWN_DATABASE = auto()


class OpenFile:
    """A file that is read for an import. What fails in the middle of it goes to `refused`."""

    def __init__(
        self,
        source: SourceFile,
        zone: tzinfo | None = None,
        advance: Advance = lambda done: None,
    ) -> None:
        self.source = source
        self.name = source.name
        self.title = PurePosixPath(source.file_name).stem
        self.place = source.name.removeprefix(source.root).strip("/") or source.file_name
        self.zone = zone
        self.refused: list[Refused] = []
        self._advance = advance
        self._tables: frozenset[str] | None = None
        self.shape = self._find_shape()
        self.is_text = self.shape is Shape.TEXT

    # What a format reads

    def items(self) -> Iterator[Any]:
        """Yield the elements of a JSON list, the objects of the lines, or the document."""
        if self.shape is Shape.LINES:
            yield from self._good_lines()
            return
        is_first = True
        try:
            with self._stream() as file:
                for value in values(b"", file, self._advance):
                    is_first = False
                    yield value
        except RefusedError as error:
            if is_first:
                raise
            self.refused.append(Refused(f"the rest of {self.name}", str(error.why)))

    def numbered_lines(self) -> Lines:
        """Yield the number and object of each line. Raises RefusedError for a bad one.

        Blank lines are allowed only at the end.
        """
        blank = 0
        for number, line in self._raw_lines():
            if not line.strip(_SPACE):
                blank = blank or number
            elif blank:
                raise RefusedError(
                    f"line {blank}", "it is blank, and every line must be a JSON object"
                )
            else:
                yield number, _record(number, line)

    def text(self) -> str:
        """Return the file's text. Raises RefusedError if it is too large or not UTF-8."""
        with self._stream() as file:
            raw = file.read(_MAX_TEXT_BYTES + 1)
        if len(raw) > _MAX_TEXT_BYTES:
            raise RefusedError("", f"it is larger than {_MAX_TEXT_BYTES >> 20} MB")
        self._advance(len(raw))
        try:
            return raw.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise RefusedError("", "it is not UTF-8", "Save it as UTF-8") from None

    def pieces(self, separator: str) -> Iterator[str]:
        """Yield the pieces of the text between separators, one at a time.

        Raises RefusedError if one is too large, or not UTF-8.
        """
        text = ""
        with self._stream() as file:
            reader = codecs.getreader("utf-8")(file)
            try:
                while chunk := reader.read(_PIECE_CHARACTERS):
                    *whole, text = (text + chunk).split(separator)
                    yield from whole
                    self._advance(file.tell())
                    if len(text) > _MAX_TEXT_BYTES:
                        raise RefusedError(
                            "", f"an entry is larger than {_MAX_TEXT_BYTES >> 20} MB"
                        )
            except UnicodeDecodeError:
                raise RefusedError("", "it is not UTF-8", "Save it as UTF-8") from None
        yield text

    @property
    def tables(self) -> frozenset[str]:
        """The tables of an SQLite database; empty for another file."""
        if self._tables is None:
            is_database = self.shape is Shape.DATABASE
            rows = self.rows("SELECT name FROM sqlite_master") if is_database else ()
            self._tables = frozenset(row[0] for row in rows)
        return self._tables

    def rows(self, query: str) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query on a copy of an SQLite database."""
        with self._database() as copy, closing(copy.execute(query)) as found:
            yield from found

    # What a format is recognised by

    def samples(self) -> Iterator[Sample]:
        """Yield what the file may be recognised by, one after the other."""
        name = self.source.file_name
        match self.shape:
            case Shape.DOCUMENT | Shape.LINES:
                for item in islice(self.items(), _SAMPLES):
                    yield Sample(name, item)
            case Shape.TEXT:
                with self._stream() as file:
                    raw = file.read(_SAMPLE_CHARACTERS).removeprefix(BOM_UTF8)
                yield Sample(name, text=raw.decode("utf-8", "replace"))
            case Shape.DATABASE:
                yield Sample(name, tables=self.tables)

    @contextmanager
    def _stream(self) -> Iterator[IO[bytes]]:
        with damage_explained(), self.source.open() as file:
            yield file

    def _find_shape(self) -> Shape:
        with self._stream() as file:
            first = file.read(_FIRST_BYTES)
            if first.startswith(MAGIC):
                is_own = int.from_bytes(first[_APPLICATION_ID], "big") == APPLICATION_ID
                return Shape.OWN_DATABASE if is_own else Shape.DATABASE
            for beginning, (why, advice) in _UNSUPPORTED.items():
                if first.startswith(beginning):
                    raise RefusedError("", why, advice)
            while first and not _content(first):
                first = file.read(_FIRST_BYTES)
            start = _content(first)
            if not start:
                return Shape.EMPTY
            if not start.startswith(_OPENINGS):
                return Shape.TEXT
            if b"\n" not in start:
                return Shape.LINES if _is_followed_by_object(file) else Shape.DOCUMENT
            return Shape.LINES if _is_line(start.partition(b"\n")[0]) else Shape.DOCUMENT

    def _good_lines(self) -> Iterator[Any]:
        """Yield the objects of the lines that can be read; the others go to `refused`."""
        for number, line in self._raw_lines():
            if not line.strip(_SPACE):
                continue
            try:
                record = _record(number, line)
            except RefusedError as error:
                self.refused.append(Refused(f"{self.name}, {error.where}", str(error.why)))
                continue
            listed = record.get("conversations")
            yield from listed if isinstance(listed, list) else [record]

    def _raw_lines(self) -> Iterator[tuple[int, bytes]]:
        done = 0
        with self._stream() as file:
            lines = iter(lambda: file.readline(_MAX_LINE_BYTES), b"")
            for number, raw in enumerate(lines, 1):
                line = raw.removeprefix(BOM_UTF8) if number == 1 else raw
                done += len(raw)
                if len(line) >= _MAX_LINE_BYTES:
                    limit = f"it is longer than {_MAX_LINE_BYTES >> 20} MB"
                    raise RefusedError(f"line {number}", limit)
                yield number, line
                if number % _LINES_PER_REPORT == 0:
                    self._advance(done)
        self._advance(done)

    @contextmanager
    def _database(self) -> Iterator[Connection]:
        # The copy is a temporary file without a name, so it never outlives this process.
        with self.source.on_disk() as path, closing(scratch()) as copy:
            try:
                read_into(path, copy)
                yield copy
            except errors() as error:
                why = f"it cannot be read as a database ({shorten(str(error), 80)})"
                raise RefusedError("", why) from error


def _content(raw: bytes) -> bytes:
    """Return bytes from the first that is not white space or a byte order mark."""
    return raw.lstrip(_SPACE).removeprefix(BOM_UTF8).lstrip(_SPACE)


def _is_followed_by_object(file: IO[bytes]) -> bool:
    """Return whether the line after this long one begins an object, as in JSONL."""
    while (piece := file.readline(_FIRST_BYTES)) and not piece.endswith(b"\n"):
        pass  # the rest of the line
    return file.read(_FIRST_BYTES).lstrip(_SPACE).startswith(b"{")


def _is_line(line: bytes) -> bool:
    """Return whether the first line of a file is a whole JSON object, as in JSONL."""
    if not line.startswith(b"{") or not line.rstrip(_SPACE).endswith(b"}"):
        return False
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _record(number: int, line: bytes) -> dict[str, Any]:
    try:
        record = read_json(line.decode())
    except UnicodeDecodeError:
        raise RefusedError(f"line {number}", "it is not UTF-8") from None
    except ValueError as error:
        why = f"it is not JSON ({shorten(str(error), 80)})"
        raise RefusedError(f"line {number}", why) from None
    if not isinstance(record, dict):
        raise RefusedError(f"line {number}", "it is not a JSON object")
    return record

"""Import: a file is recognised by what is in it, and comes in whole or not at all.

Own exports (jsonl and sqlite), hand-made JSONL, and the conversations of ChatGPT and
Claude, bare or in their zip archive. Only the line or conversation that is being read
is held in memory.

It is read first, then stored in one short transaction, then entered into the search
index, some at a time: other processes hardly wait, and what takes longest goes on where
it was interrupted.
"""

import sqlite3
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, Any

from construct.clock import Clock, to_text
from construct.errors import ConstructError, DatabaseUnusableError
from construct.store import search_index
from construct.store.backup import read_into
from construct.store.database import MAGIC, bring_up, transaction
from construct.store.transfer import scratch
from construct.store.transfer.document import conversations, zipped
from construct.store.transfer.format import RefusedError, foreign, read_json
from construct.store.transfer.jsonl import COUNTED, VERSION, records
from construct.store.transfer.merge import merge
from construct.store.transfer.shapes import Talk, is_conversation, talks
from construct.text import one_line, shorten

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and of how much (0: nobody knows)."""
READING, STORING, INDEXING = "Reading", "Storing", "Indexing"
_Records = Iterator[tuple[int, dict[str, Any]]]
_BEGINNING, _LONGEST_LINE = 1 << 16, 64 << 20
_SPACE = b" \t\r\n"
_UTF16 = "it is written in UTF-16", "Save it as UTF-8, then import it again"
_GZIP = "it is packed with gzip", "Unpack it with gunzip, then import what was in it"
_OTHERS = {b"\xff\xfe": _UTF16, b"\xfe\xff": _UTF16, b"\x1f\x8b": _GZIP}
_ZIP = b"PK\x03\x04"


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import has added."""

    source: str
    """construct, messages, conversations: whose file it was."""
    conversations: int = 0
    messages: int = 0
    observations: int = 0
    memories: int = 0
    known: int = 0
    """Rows that were here already."""
    left_out: int = 0
    """Rows that rest on what was forgotten here."""
    warning: str | None = None


def import_file(
    db: sqlite3.Connection, path: Path, clock: Clock, progress: Progress | None = None
) -> ImportReport:
    """Add what a file holds, in one transaction, and complete the search index.

    What an interrupted import has left to index comes first. Raises ConstructError,
    nothing changed, when it cannot be done.
    """
    report = progress or (lambda doing, done, total: None)
    db.execute(f"PRAGMA cache_size = -{scratch.CACHE_KB}")
    _complete_index(db, report)
    found = _bring_in(db, _Reader(db, path, clock, report))
    _complete_index(db, report)
    return found


def _complete_index(db: sqlite3.Connection, progress: Progress) -> None:
    search_index.complete(db, lambda done, total: progress(INDEXING, done, total))


def _bring_in(db: sqlite3.Connection, reader: "_Reader") -> ImportReport:
    name = one_line(str(reader.path))
    try:
        with reader.path.open("rb") as file, scratch.attached(db):
            with scratch.filling(db):
                reader.fill(file)
            reader.progress(STORING, 0, 0)
            with transaction(db), search_index.put_off(db):
                merged = merge(db, keep_ids=reader.source == "construct")
    except RefusedError as error:
        where = f"{name}, {error.where}" if error.where else name
        raise ConstructError(
            f"{where}: {error.why}.\nNothing was imported. {error.advice}."
        ) from None
    except RecursionError:
        raise ConstructError(f"{name} is nested too deeply.\nNothing was imported.") from None
    except (OSError, MemoryError) as error:
        why = getattr(error, "strerror", None) or "it is too large for the memory there is"
        raise ConstructError(
            f"{name} cannot be read: {why}.\nNothing was imported; check the path."
        ) from error
    is_own = reader.source == "construct"
    return ImportReport(
        source=reader.source,
        conversations=merged.added["conversation"],
        messages=merged.added["message"],
        observations=merged.added["observation"],
        memories=merged.added["memory"],
        known=merged.known.total() if is_own else reader.known + merged.known["message"],
        left_out=merged.left_out,
        warning=reader.warning,
    )


@dataclass(slots=True)
class _Reader:
    db: sqlite3.Connection
    path: Path
    clock: Clock
    progress: Progress
    source: str = ""
    known: int = 0
    """Messages that were not read into it, since they were here already."""
    warning: str | None = None

    def fill(self, file: IO[bytes]) -> None:
        """Read the file. Raises RefusedError."""
        first = file.readline(_BEGINNING)
        if first.startswith((MAGIC, _ZIP)):
            if not self.path.is_file():
                raise RefusedError("", "it comes through a pipe", "Name the file itself")
            if first.startswith(MAGIC):
                self._take_database()
            else:
                self._take_conversations(zipped(self.path, self._advance))
            return
        _refuse_others(first)
        first = first.removeprefix(BOM_UTF8)
        if _is_document(first):
            self._take_conversations(conversations(first, file, self._advance))
            return
        if not first.endswith(b"\n"):
            first += file.readline(_LONGEST_LINE)
        self._take_lines(_records(file, first, self._advance))

    def _advance(self, done: int) -> None:
        self.progress(READING, done, self.path.stat().st_size)

    def _take_lines(self, found: _Records) -> None:
        number, head = next(found, (0, None))
        if head is None:
            raise RefusedError("", "it is empty", "Name another file")
        if head.get("type") == "construct-export":
            self._take_export(head, found)
            return
        listed = head.get("conversations", [head])
        if isinstance(listed, list) and any(map(is_conversation, listed)):
            if next(found, None) is not None:
                why = "a file of conversations is one JSON document, and more follows the first"
                raise RefusedError("line 2", why)
            self._take_conversations(listed)
            return
        lines = scratch.HandMadeLines(self.db, to_text(self.clock.now()))
        for at, record in chain([(number, head)], found):
            lines.take(at, record)
        with closing(lines.talks()) as found_talks:  # else its query would hold the database
            self._take_talks("messages", found_talks)

    def _take_export(self, head: dict[str, Any], found: _Records) -> None:
        self.source = "construct"
        version = head.get("version")
        if type(version) is not int or version < 1:
            raise RefusedError("line 1", '"version" must be a whole number')
        if version > VERSION:
            why = "a newer Construct wrote it"
            raise RefusedError("line 1", why, "Update Construct, then import it again")
        lines = scratch.ExportLines(self.db, version)
        for number, record in found:
            lines.take(number, record)
        lines.finish()
        self.warning = _missing(head.get("counts"), lines.counts)

    def _take_conversations(self, found: Iterable[Any]) -> None:
        self._take_talks("conversations", talks(found))

    def _take_talks(self, source: str, found: Iterable[Talk]) -> None:
        self.source = source
        taken = scratch.Talks(self.db, to_text(self.clock.now()))
        for talk in found:
            taken.take(talk)
        self.known = taken.known

    def _take_database(self) -> None:
        """Take an sqlite export by way of its lines, from a copy brought to this version first.

        The copy has no name: whatever becomes of us, it is gone with us.
        """
        with closing(sqlite3.connect("", isolation_level=None)) as copy:
            try:
                read_into(self.path, copy)
                bring_up(copy, self.path)
            except sqlite3.Error as error:
                why = f"it cannot be read as a database ({shorten(str(error), 80)})"
                raise RefusedError("", why) from error
            except DatabaseUnusableError as error:
                why = _without_name(error, self.path)
                raise RefusedError("", why, "Import an export of Construct") from error
            found = _records_in(copy)
            self._take_export(next(found)[1], found)


def _records_in(copy: sqlite3.Connection) -> _Records:
    try:
        yield from enumerate(records(copy), 1)
    except sqlite3.Error as error:
        raise RefusedError("", f"it is damaged ({shorten(str(error), 80)})") from error


def _missing(counts: Any, came: Counter[str]) -> str | None:
    for kind in COUNTED if isinstance(counts, dict) else ():
        promised = counts.get(kind)
        if isinstance(promised, int) and came[kind] < promised:
            return (
                f"The file speaks of {promised} lines of type {kind} and holds {came[kind]}:"
                " was it cut off?"
            )
    return None


def _without_name(error: DatabaseUnusableError, path: Path) -> str:
    """Return what is wrong with a file, for a sentence that begins with its name."""
    first_line = str(error).partition("\n")[0].rstrip(".")
    return first_line.replace(f"The database {path}", "it").replace(str(path), "it")


def _refuse_others(first: bytes) -> None:
    for mark, words in _OTHERS.items():
        if first.startswith(mark):
            raise RefusedError("", *words)
    start = first.removeprefix(BOM_UTF8).strip(_SPACE)
    if start and not start.startswith((b"{", b"[")):
        raise foreign()


def _is_document(first: bytes) -> bool:
    """Return whether a file begins as one JSON document over several lines, or as a list."""
    start = first.strip(_SPACE)
    return start.startswith(b"[") or start == b"{" or (not start and first.endswith(b"\n"))


def _records(file: IO[bytes], first: bytes, progress: Callable[[int], None]) -> _Records:
    """Yield the lines' objects with their numbers.

    Blank lines may stand at the end only.
    """
    number, done, blank = 0, 0, 0
    line = first
    while line:
        number, done = number + 1, done + len(line)
        if len(line) >= _LONGEST_LINE:
            raise RefusedError(f"line {number}", f"it is longer than {_LONGEST_LINE >> 20} MB")
        if not line.strip(_SPACE):
            blank = blank or number
        elif blank:
            raise RefusedError(f"line {blank}", "it is blank, and every line must be a JSON object")
        else:
            yield number, _record(number, line)
        if number % 500 == 0:
            progress(done)
        line = file.readline(_LONGEST_LINE)
    progress(done)


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

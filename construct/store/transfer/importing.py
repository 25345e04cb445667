"""Import of a file, completely or not at all.

The format is recognised by the content: our own exports (jsonl and sqlite), hand-made
JSONL, and conversations from ChatGPT and Claude, zipped or not. Only the current line or
conversation is held in memory, unless the file is a single JSON object: that is held
whole.

The file is first read into a scratch database, then stored in one short transaction, then
indexed for search in batches. So other processes hardly have to wait, and indexing, which
takes longest, goes on later if it is interrupted.
"""

import json
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
from construct.errors import ConstructError, DatabaseUnusableError, NewerDatabaseError
from construct.store import search_index
from construct.store.backup import read_into
from construct.store.database import MAGIC, migrate_copy, transaction
from construct.store.transfer import scratch
from construct.store.transfer.chat_exports import is_conversation, read_conversations
from construct.store.transfer.checks import read_json
from construct.store.transfer.document import conversations, zipped
from construct.store.transfer.export_lines import ExportLines
from construct.store.transfer.format import KINDS
from construct.store.transfer.format_before import LAST_VERSION
from construct.store.transfer.hand_made import HandMadeLines
from construct.store.transfer.imported import ConversationWriter, ImportedConversation
from construct.store.transfer.jsonl import COUNTED, VERSION, records
from construct.store.transfer.merge import merge
from construct.store.transfer.older_exports import read_older_export
from construct.store.transfer.refused import RefusedError, unknown_format
from construct.text import one_line, shorten

Progress = Callable[[str, int, int], None]
"""Called with the step, how much of it is done, and the total (0 if unknown)."""
READING, STORING, INDEXING = "Reading", "Storing", "Indexing"
_Records = Iterator[tuple[int, dict[str, Any]]]
_FIRST_BYTES = 1 << 16
"""Bytes of the first line that are read to recognise the format."""
_MAX_LINE_BYTES = 64 << 20
_SPACE = b" \t\r\n"
_UTF16 = "it is written in UTF-16", "Save it as UTF-8, then import it again"
_GZIP = "it is compressed with gzip", "Decompress it with gunzip, then import the result"
_UPDATE = "Update Construct, then import it again"
_UNSUPPORTED = {b"\xff\xfe": _UTF16, b"\xfe\xff": _UTF16, b"\x1f\x8b": _GZIP}
"""How files in other formats begin, each with what is wrong and what to do."""
_ZIP = b"PK\x03\x04"


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import added."""

    source: str
    """The format: `construct`, `messages` (hand-made) or `conversations` (ChatGPT, Claude)."""
    conversations: int = 0
    messages: int = 0
    observations: int = 0
    known: int = 0
    """Rows that were already known."""
    left_out: int = 0
    """Rows left out because they depend on something forgotten here."""
    warning: str | None = None


def import_file(
    db: sqlite3.Connection, path: Path, clock: Clock, progress: Progress | None = None
) -> ImportReport:
    """Import a file in one transaction, and complete the search index.

    Indexing that an earlier import left unfinished is done first. Raises ConstructError,
    with nothing stored, if the file cannot be imported.
    """
    report = progress or (lambda doing, done, total: None)
    db.execute(f"PRAGMA cache_size = -{scratch.CACHE_KB}")
    _complete_index(db, report)
    result = _import(db, _Reader(db, path, clock, report))
    _complete_index(db, report)
    return result


def _complete_index(db: sqlite3.Connection, progress: Progress) -> None:
    search_index.complete(db, lambda done, total: progress(INDEXING, done, total))


def _import(db: sqlite3.Connection, reader: "_Reader") -> ImportReport:
    name = one_line(str(reader.path))
    try:
        with reader.path.open("rb") as file, scratch.attached(db):
            with scratch.filling(db):
                reader.fill(file)
            reader.progress(STORING, 0, 0)
            with transaction(db), search_index.deferred_indexing(db):
                merged = merge(db, keep_ids=reader.source == "construct")
    except RefusedError as error:
        where = f"{name}, {error.where}" if error.where else name
        raise ConstructError(
            f"{where}: {error.why}.\nNothing was imported. {error.advice}."
        ) from None
    except RecursionError:
        raise ConstructError(f"{name} is nested too deeply.\nNothing was imported.") from None
    except OSError as error:
        raise ConstructError(
            f"{name} cannot be read: {error.strerror or error}.\n"
            "Nothing was imported. Check the path."
        ) from error
    except MemoryError:
        raise ConstructError(
            f"There is not enough memory to read {name}.\n"
            "Nothing was imported. Close other programs, then import it again."
        ) from None
    is_own = reader.source == "construct"
    return ImportReport(
        source=reader.source,
        conversations=merged.added["conversation"],
        messages=merged.added["message"],
        observations=merged.added["observation"],
        known=merged.known.total() if is_own else reader.known + merged.known["message"],
        left_out=merged.left_out.total() if is_own else merged.left_out["message"],
        warning=reader.warning,
    )


@dataclass(slots=True)
class _Reader:
    """Recognises the format of a file, and reads it into the scratch database."""

    db: sqlite3.Connection
    path: Path
    clock: Clock
    progress: Progress
    source: str = ""
    known: int = 0
    """Messages that were skipped because they were already known."""
    warning: str | None = None

    def fill(self, file: IO[bytes]) -> None:
        """Read the file into the scratch database. Raises RefusedError."""
        first = file.readline(_FIRST_BYTES)
        if first.startswith((MAGIC, _ZIP)):
            if not self.path.is_file():
                raise RefusedError("", "it comes from a pipe", "Name the file itself")
            if first.startswith(MAGIC):
                self._read_database()
            else:
                self._read_exported(zipped(self.path, self._advance))
            return
        blank_lines = 0  # harmless before a document
        first = first.removeprefix(BOM_UTF8)
        while first.endswith(b"\n") and not first.strip(_SPACE):
            first, blank_lines = file.readline(_FIRST_BYTES), blank_lines + 1
        first = first.removeprefix(BOM_UTF8)
        _refuse_unsupported(first)
        if _is_document(first):
            start = b"\n" * blank_lines + first
            self._read_exported(conversations(start, file, self._advance))
            return
        if not first.endswith(b"\n"):
            first += file.readline(_MAX_LINE_BYTES)
        self._read_lines(_records(file, first, blank_lines, self._advance))

    def _advance(self, done: int) -> None:
        self.progress(READING, done, self.path.stat().st_size)

    def _read_lines(self, numbered: _Records) -> None:
        number, head = next(numbered, (0, None))
        if head is None:
            raise RefusedError("", "it is empty", "Name another file")
        listed = head.get("conversations", [head])
        if isinstance(listed, list) and any(map(is_conversation, listed)):
            more = next(numbered, None)
            if more is not None:
                why = "a file of conversations must be a single JSON document"
                raise RefusedError(f"line {more[0]}", why)
            self._read_exported(listed)
            return
        if number > 1:
            raise _blank_line(1)
        if head.get("type") == "construct-export":
            self._read_export(head, numbered)
            return
        lines = HandMadeLines(self.db, to_text(self.clock.now()))
        for line_number, record in chain([(number, head)], numbered):
            lines.add(line_number, record)
        # An unfinished query would keep the database locked.
        with closing(lines.conversations()) as hand_made:
            self._write("messages", hand_made)

    def _read_export(self, head: dict[str, Any], numbered: _Records) -> None:
        self.source = "construct"
        version = head.get("version")
        if type(version) is not int or version < 1:
            raise RefusedError("line 1", '"version" must be a whole number')
        if version > VERSION:
            why = "it was written by a newer Construct"
            raise RefusedError("line 1", why, _UPDATE)
        if version <= LAST_VERSION:
            self._read_older_export(head, version, numbered)
            return
        lines = ExportLines(self.db, "scratch", KINDS)
        for number, record in numbered:
            lines.add(number, record)
        lines.finish()
        self.warning = _truncation_warning(head.get("counts"), lines.counts)

    def _read_older_export(self, head: dict[str, Any], version: int, numbered: _Records) -> None:
        # The copy is a temporary file without a name, so it never outlives this process.
        with closing(sqlite3.connect("", isolation_level=None)) as copy:
            lines = read_older_export(copy, version, numbered)
            brought_up = _records_in(copy)
            self._read_export(next(brought_up)[1], brought_up)
        self.warning = _truncation_warning(head.get("counts"), lines.counts)

    def _read_exported(self, exported: Iterable[Any]) -> None:
        self._write("conversations", read_conversations(exported))

    def _write(self, source: str, imported: Iterable[ImportedConversation]) -> None:
        self.source = source
        writer = ConversationWriter(self.db, to_text(self.clock.now()))
        for conversation in imported:
            writer.add(conversation)
        self.known = writer.known

    def _read_database(self) -> None:
        """Read an sqlite export: migrate a copy of it, and read that as a JSONL export."""
        # The copy is a temporary file without a name, so it never outlives this process.
        with closing(sqlite3.connect("", isolation_level=None)) as copy:
            try:
                read_into(self.path, copy)
                migrate_copy(copy, self.path)
            except sqlite3.Error as error:
                why = f"it cannot be read as a database ({shorten(str(error), 80)})"
                raise RefusedError("", why) from error
            except DatabaseUnusableError as error:
                why = _without_name(error, self.path)
                is_newer = isinstance(error, NewerDatabaseError)
                advice = _UPDATE if is_newer else "Import an export from Construct"
                raise RefusedError("", why, advice) from error
            numbered = _records_in(copy)
            self._read_export(next(numbered)[1], numbered)


def _records_in(copy: sqlite3.Connection) -> _Records:
    try:
        yield from enumerate(records(copy), 1)
    except sqlite3.Error as error:
        raise RefusedError("", f"it is damaged ({shorten(str(error), 80)})") from error


def _truncation_warning(counts: Any, imported: Counter[str]) -> str | None:
    """Return a warning if a file has fewer lines of some type than its head promises."""
    for kind in sorted({*COUNTED, *imported}) if isinstance(counts, dict) else ():
        promised = counts.get(kind)
        if isinstance(promised, int) and imported[kind] < promised:
            return (
                f"Lines of type {kind}: the file should contain {promised}, but has only"
                f" {imported[kind]}. It may have been cut off."
            )
    return None


def _without_name(error: DatabaseUnusableError, path: Path) -> str:
    """Return an error's first line as a clause in which `it` stands for the file."""
    first_line = str(error).partition("\n")[0].rstrip(".")
    return first_line.replace(f"The database {path}", "it").replace(str(path), "it")


def _refuse_unsupported(first: bytes) -> None:
    for beginning, (why, advice) in _UNSUPPORTED.items():
        if first.startswith(beginning):
            raise RefusedError("", why, advice)
    start = first.strip(_SPACE)
    if start and not start.startswith((b"{", b"[")):
        raise unknown_format()


def _is_document(first: bytes) -> bool:
    """Return whether a file is one JSON document rather than lines, by its first line.

    Such a line begins a list, or an object that continues on the next line. A comma after
    a whole object does not continue it.
    """
    start = first.strip(_SPACE)
    if not start.startswith(b"{"):
        return start.startswith(b"[")
    goes_on = first.endswith(b"\n") and start.endswith((b"{", b"[", b","))
    return goes_on and not _is_json(start[:-1])


def _is_json(text: bytes) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _blank_line(number: int) -> RefusedError:
    return RefusedError(f"line {number}", "it is blank, and every line must be a JSON object")


def _records(
    file: IO[bytes], first: bytes, number: int, progress: Callable[[int], None]
) -> _Records:
    """Yield the number and object of each line. Blank lines are allowed only at the end.

    `number` is how many lines were read before `first`.
    """
    done, blank = 0, 0
    line = first
    while line:
        number, done = number + 1, done + len(line)
        if len(line) >= _MAX_LINE_BYTES:
            raise RefusedError(f"line {number}", f"it is longer than {_MAX_LINE_BYTES >> 20} MB")
        if not line.strip(_SPACE):
            blank = blank or number
        elif blank:
            raise _blank_line(blank)
        else:
            yield number, _record(number, line)
        if number % 500 == 0:
            progress(done)
        line = file.readline(_MAX_LINE_BYTES)
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

"""Import: a file is recognised by what is in it, and comes in whole or not at all.

Own exports (jsonl and sqlite), hand-made JSONL, and the conversations of ChatGPT and Claude,
bare or in their zip archive. Only the line or conversation that is being read is held in memory.

It is read first, then stored in one short transaction, then entered into the search index, some at a time: other
processes hardly wait, and what takes longest goes on where it was interrupted.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, Any

from construct.clock import Clock, to_text
from construct.errors import ConstructError, DatabaseUnusableError
from construct.store import search_index
from construct.store.backup import read_into
from construct.store.database import MAGIC, bring_up, snapshot, transaction
from construct.store.invariants import violations
from construct.store.transfer.checked import Checked
from construct.store.transfer.document import conversations, foreign, not_json, zipped
from construct.store.transfer.format import RefusedError, read_json
from construct.store.transfer.jsonl import COUNTED, VERSION, lines
from construct.store.transfer.restore import Restore
from construct.store.transfer.shapes import Talk, is_conversation, talks
from construct.store.transfer.talks import HandMade, Waiting
from construct.text import one_line, shorten

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and of how much (0: nobody knows)."""
READING, STORING, INDEXING = "Reading", "Storing", "Indexing"
_Records = Iterator[tuple[int, dict[str, Any]]]
_BEGINNING, _LONGEST_LINE = 1 << 16, 64 << 20
_CACHE_KB = 64_000
"""The indexes of hundreds of thousands of messages: with SQLite's own 2 MB storing them takes half as long again."""
_SPACE = b" \t\r\n"
_BOM = b"\xef\xbb\xbf"
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


def import_file(db: sqlite3.Connection, path: Path, clock: Clock, progress: Progress | None = None) -> ImportReport:
    """Add what a file holds, in one transaction; raises ConstructError, nothing changed, when it cannot be done.

    Afterwards the search index is completed; what an import that was interrupted has left of that comes first.
    """
    report = progress or (lambda doing, done, total: None)
    db.execute(f"PRAGMA cache_size = -{_CACHE_KB}")
    _index(db, report)
    found = _Import(db, path, clock, report).report()
    _index(db, report)
    return found


def _index(db: sqlite3.Connection, progress: Progress) -> None:
    search_index.complete(db, lambda done, total: progress(INDEXING, done, total))


@dataclass(frozen=True, slots=True)
class _Import:
    """A file on its way in."""

    db: sqlite3.Connection
    path: Path
    clock: Clock
    progress: Progress

    def report(self) -> ImportReport:
        """Bring it in; raises ConstructError."""
        name = one_line(str(self.path))
        try:
            with self.path.open("rb") as file:
                return self._recognised(file)
        except RefusedError as error:
            where = f"{name}, {error.where}" if error.where else name
            raise ConstructError(f"{where}: {error.why}.\nNothing was imported. {error.advice}.") from None
        except RecursionError:
            raise ConstructError(f"{name} is nested too deeply.\nNothing was imported.") from None
        except (OSError, MemoryError) as error:
            why = getattr(error, "strerror", None) or "it is too large for the memory there is"
            raise ConstructError(f"{name} cannot be read: {why}.\nNothing was imported; check the path.") from error

    def _recognised(self, file: IO[bytes]) -> ImportReport:
        first = file.readline(_BEGINNING)
        if first.startswith((MAGIC, _ZIP)):
            if not self.path.is_file():
                raise RefusedError("", "it comes through a pipe", "Name the file itself")
            return self._sqlite() if first.startswith(MAGIC) else self._talks(zipped(self.path, self._advance))
        _refuse_others(first)
        first = first.removeprefix(_BOM)
        if _is_document(first):
            return self._talks(conversations(first, file, self._advance))
        if not first.endswith(b"\n"):
            first += file.readline(_LONGEST_LINE)
        return self._lines(_records(file, first, self._advance))

    def _advance(self, done: int) -> None:
        self.progress(READING, done, self.path.stat().st_size)

    def _lines(self, found: _Records) -> ImportReport:
        at, head = next(found, (0, None))
        if head is None:
            raise RefusedError("", "it is empty", "Name another file")
        if head.get("type") == "construct-export":
            return self._export(head, found)
        listed = head.get("conversations", [head])
        if not isinstance(listed, list) or not any(map(is_conversation, listed)):
            return self._messages(chain([(at, head)], found))
        if next(found, None) is not None:
            raise RefusedError("line 2", "a file of conversations is one JSON document, and more follows the first")
        return self._talks(listed)

    def _export(self, head: dict[str, Any], found: _Records) -> ImportReport:
        version = head.get("version")
        if type(version) is not int or version < 1:
            raise RefusedError("line 1", '"version" must be a whole number')
        if version > VERSION:
            raise RefusedError("line 1", "a newer Construct wrote it", "Update Construct, then import it again")
        with _room():
            checked = Checked(self.db, version)
            for number, record in found:
                checked.take(number, record)
        self.progress(STORING, 0, 0)
        with transaction(self.db), search_index.put_off(self.db):
            restore = Restore(self.db)
            for line in checked.lines():
                restore.take(line)
            restore.finish()
        checked.drop()
        added = restore.added
        return ImportReport(
            "construct", added["conversation"], added["message"], added["observation"], added["memory"],
            restore.known, restore.left_out, _missing(head.get("counts"), checked),
        )  # fmt: skip

    def _messages(self, found: _Records) -> ImportReport:
        with _room():
            hand_made = HandMade(self.db, self.clock)
            for number, record in found:
                hand_made.take(number, record)
        return self._store("messages", hand_made.talks())

    def _talks(self, found: Iterable[Any]) -> ImportReport:
        return self._store("conversations", talks(found))

    def _store(self, source: str, found: Iterable[Talk]) -> ImportReport:
        with _room():
            waiting = Waiting(self.db, to_text(self.clock.now()))
            for talk in found:
                waiting.take(talk)
        self.progress(STORING, 0, 0)
        with _without_doubt(self.db), transaction(self.db), search_index.put_off(self.db):
            stored = waiting.store()
            broken = violations(self.db, stored.conversations)
            if broken:
                raise RefusedError("", broken[0].rstrip("."), "Run `construct doctor`")
        waiting.drop()
        return ImportReport(source, stored.added["conversation"], stored.added["message"], known=stored.known)

    def _sqlite(self) -> ImportReport:
        """Import an sqlite export by way of its lines, from a copy that is brought to this version first.

        The copy has no name: whatever becomes of us, it is gone with us.
        """
        with closing(sqlite3.connect("", isolation_level=None)) as copy:
            try:
                read_into(self.path, copy)
                bring_up(copy, self.path)
            except sqlite3.Error as error:
                raise RefusedError("", f"it cannot be read as a database ({shorten(str(error), 80)})") from error
            except DatabaseUnusableError as error:
                raise RefusedError("", _why(error, self.path), "Import an export of Construct") from error
            with snapshot(copy):
                found = _lines_of(copy)
                return self._export(next(found)[1], found)


# Reading


def _refuse_others(first: bytes) -> None:
    """Refuse by its beginning what cannot be text, or no JSON."""
    for mark, words in _OTHERS.items():
        if first.startswith(mark):
            raise RefusedError("", *words)
    start = first.removeprefix(_BOM).strip(_SPACE)
    if start and not start.startswith((b"{", b"[")):
        raise foreign()


def _is_document(first: bytes) -> bool:
    """Tell whether a file begins as one JSON document over several lines, or as a list."""
    start = first.strip(_SPACE)
    return start.startswith(b"[") or start == b"{" or (not start and first.endswith(b"\n"))


def _records(file: IO[bytes], first: bytes, progress: Callable[[int], None]) -> _Records:
    """Yield the lines' objects with their numbers; blank lines may stand at the end only."""
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
        raise not_json(error, f"line {number}") from None
    if not isinstance(record, dict):
        raise RefusedError(f"line {number}", "it is not a JSON object")
    return record


# Storing


@contextmanager
def _without_doubt(db: sqlite3.Connection) -> Iterator[None]:
    """Store in the block what refers to nothing that could be missing.

    To be able to take a statement back where something is, SQLite copies every page that it changes: a third of the
    time, since a talk's messages lie all over the index of the uids.
    """
    db.execute("PRAGMA foreign_keys = OFF")
    try:
        yield
    finally:
        db.execute("PRAGMA foreign_keys = ON")


@contextmanager
def _room() -> Iterator[None]:
    """Tell who reads that it is not the database's disk which is full: what has been read waits elsewhere."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if error.sqlite_errorname != "SQLITE_FULL":
            raise
        raise ConstructError(
            "The folder for temporary files is full: a file is kept there while it is read.\n"
            "Nothing was imported. Make room, or name another folder with SQLITE_TMPDIR."
        ) from error


def _missing(counts: Any, checked: Checked) -> str | None:
    """Return a warning when the first line speaks of more than came."""
    if not isinstance(counts, dict):
        return None
    for kind in COUNTED:
        promised = counts.get(kind)
        if isinstance(promised, int) and checked.counts[kind] < promised:
            return (
                f"The file speaks of {promised} lines of type {kind} and holds {checked.counts[kind]}: was it cut off?"
            )
    return None


def _lines_of(source: sqlite3.Connection) -> _Records:
    try:
        for number, line in enumerate(lines(source), 1):
            yield number, read_json(line)
    except sqlite3.Error as error:
        raise RefusedError("", f"it is damaged ({shorten(str(error), 80)})") from error


def _why(error: DatabaseUnusableError, path: Path) -> str:
    """Return what is wrong with the file, in a sentence that begins with its name already."""
    return str(error).partition("\n")[0].replace(f"The database {path}", "it").replace(str(path), "it").rstrip(".")

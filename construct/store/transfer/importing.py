"""Import of files: Construct's own exports, and the conversations of other programs.

Formats are recognised by content. An export of Construct's is imported completely or not
at all. From any other file comes every conversation that can be read; the others are
named. Only the current line or conversation is held in memory.

Everything is first read into a scratch database, then stored in one short transaction,
then indexed for search in batches. So other processes hardly have to wait, and indexing,
which takes longest, goes on later if it is interrupted.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from construct.clock import Clock
from construct.errors import ConstructError, DatabaseUnusableError, NewerDatabaseError
from construct.store import search_index
from construct.store.backup import read_into
from construct.store.database import migrate_copy, transaction
from construct.store.driver import Connection, errors
from construct.store.driver import scratch as new_scratch
from construct.store.sql import scalar
from construct.store.transfer import scratch
from construct.store.transfer.export_lines import ExportLines
from construct.store.transfer.foreign import Format, LeftOut, Refused
from construct.store.transfer.foreign_file import Lines, OpenFile, Shape
from construct.store.transfer.foreign_writer import ForeignWriter, ImportOptions
from construct.store.transfer.format import KINDS
from construct.store.transfer.formats import FORMATS
from construct.store.transfer.import_report import (
    FORGOTTEN,
    INDEXING,
    OWN,
    READING,
    STORING,
    Announce,
    FoundFiles,
    ImportReport,
    Progress,
)
from construct.store.transfer.jsonl import COUNTED, VERSION, records
from construct.store.transfer.merge import Merged, merge
from construct.store.transfer.refused import RefusedError, unknown_format
from construct.store.transfer.sources import SourceFile, Sources
from construct.text import one_line, shorten

_UPDATE = "Update Construct, then import it again"
_OTHER_FILES, _EMPTY_FILES = "other files", "empty files"
_LARGE_BYTES = 1 << 20
"""From which size on what was found is told even if it is one file."""


@dataclass(frozen=True, slots=True)
class _Recognised:
    """A file whose format is known."""

    source: SourceFile
    format: Format | None
    """None: an export of Construct's."""
    is_prose: bool
    """Whether it is plain text, as an archive of conversations may hold beside them."""

    @property
    def name(self) -> str:
        return self.format.name if self.format else OWN


@dataclass(slots=True)
class _Tally:
    """What an import has done so far."""

    added: Counter[str] = field(default_factory=Counter)
    known: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    refused: list[Refused] = field(default_factory=list)
    errors: list[tuple[str, RefusedError]] = field(default_factory=list)
    """Files of which nothing could be read."""
    warning: str | None = None
    listed: list[str] = field(default_factory=list)

    def report(self, formats: Iterable[str]) -> ImportReport:
        """Return what the import added. Raises ConstructError if all of it failed."""
        came_in = self.added.total() or self.known or self.refused
        if self.errors and not came_in:
            raise _refusal(*self.errors[0])
        for name, error in self.errors:
            where = f"{name}, {error.where}" if error.where else name
            self.refused.append(Refused(where, str(error.why)))
        return ImportReport(
            formats=tuple(dict.fromkeys(formats)),
            conversations=self.added["conversation"],
            messages=self.added["message"],
            observations=self.added["observation"],
            proposals=self.added["question"],
            listed=tuple(self.listed),
            known=self.known,
            left_out=tuple(LeftOut(what, n) for what, n in self.left_out.most_common() if n),
            refused=tuple(self.refused),
            warning=self.warning,
        )


def import_file(
    db: Connection, path: Path, clock: Clock, progress: Progress | None = None
) -> ImportReport:
    """Import one file; see `import_files`."""
    return import_files(db, [path], clock, progress)


def import_files(
    db: Connection,
    paths: Sequence[Path],
    clock: Clock,
    progress: Progress | None = None,
    options: ImportOptions = ImportOptions(),
    announce: Announce = lambda found: None,
) -> ImportReport:
    """Import files, folders and ZIP archives, and complete the search index.

    Indexing that an earlier import left unfinished is done first. Raises ConstructError,
    with nothing stored, if nothing of them can be imported.
    """
    report = progress or (lambda doing, done, total: None)
    db.execute(f"PRAGMA cache_size = -{scratch.CACHE_KB}")
    _complete_index(db, report)
    name = ", ".join(one_line(str(path)) for path in paths)
    try:
        with Sources(_file_of(db), options.decrypt) as sources:
            sources.find(paths)
            result = _import(db, sources, clock, report, options, announce)
    except RefusedError as error:
        raise _refusal(name, error) from None
    except RecursionError:
        raise ConstructError(f"{name} is nested too deeply.\nNothing was imported.") from None
    except OSError as error:
        where = one_line(str(error.filename or name))
        raise ConstructError(
            f"{where} cannot be read: {error.strerror or error}.\n"
            "Nothing was imported. Check the path."
        ) from error
    except MemoryError:
        raise ConstructError(
            f"There is not enough memory to read {name}.\n"
            "Nothing was imported. Close other programs, then import it again."
        ) from None
    _complete_index(db, report)
    return result


def _file_of(db: Connection) -> Path | None:
    file = scalar(db, "SELECT file FROM pragma_database_list WHERE name = 'main'")
    return Path(file) if file else None


def _refusal(name: str, error: RefusedError) -> ConstructError:
    where = f"{name}, {error.where}" if error.where else name
    return ConstructError(f"{where}: {error.why}.\nNothing was imported. {error.advice}.")


def _complete_index(db: Connection, progress: Progress) -> None:
    search_index.complete(db, lambda done, total: progress(INDEXING, done, total))


def _import(
    db: Connection,
    sources: Sources,
    clock: Clock,
    progress: Progress,
    options: ImportOptions,
    announce: Announce,
) -> ImportReport:
    tally = _Tally(refused=list(sources.refused))
    for kind in sources.left_out:
        tally.left_out[kind.what] += kind.count
    files = _recognise(sources.files, clock, tally)
    if not files and tally.errors:
        raise _refusal(*tally.errors[0])
    if not files and sources.files and tally.left_out[_EMPTY_FILES] == len(sources.files):
        raise RefusedError("", "all files in it are empty", "Export it again")
    if not files:
        raise unknown_format([source.file_name for source in sources.files] + sources.unread)
    total = sum(file.source.size for file in files)
    counts = Counter(file.name for file in files)
    is_obvious = len(sources.files) == 1 and files[0].source.is_named and total < _LARGE_BYTES
    announce(FoundFiles(tuple(counts.most_common()), total, is_obvious))
    done = 0
    for file in files:
        if file.format is None:
            _import_own(db, file.source, _Reading(progress, done, total), tally)
            done += file.source.size
    foreign = [file for file in files if file.format is not None]
    if foreign:
        _import_foreign(db, foreign, clock, _Reading(progress, done, total), tally, options)
    return tally.report(file.name for file in files)


@dataclass(slots=True)
class _Reading:
    """Reports how much is read of all files together."""

    progress: Progress
    before: int
    """Bytes of the files that were read already."""
    total: int

    def __call__(self, done: int) -> None:
        self.progress(READING, self.before + done, self.total)


# Recognising formats


def _recognise(sources: Iterable[SourceFile], clock: Clock, tally: _Tally) -> list[_Recognised]:
    """Return the files whose format is known; the others are counted, or an error if named."""
    found: list[_Recognised] = []
    for source in sources:
        try:
            found.append(_recognised(source, clock))
        except _UnknownError as error:
            if source.is_named:
                tally.errors.append((source.name, error))
            else:
                tally.left_out[error.left_out] += 1
        except RefusedError as error:
            tally.errors.append((source.name, error))
    with_conversations = {file.source.root for file in found if not file.is_prose}
    kept = [
        file
        for file in found
        if not file.is_prose or file.source.is_named or file.source.root not in with_conversations
    ]
    tally.left_out[_OTHER_FILES] += len(found) - len(kept)
    return kept


class _UnknownError(RefusedError):
    """Raised for a file that is not worth an error if it was only found in a folder."""

    def __init__(self, error: RefusedError, left_out: str) -> None:
        super().__init__(error.where, error.why, error.advice)
        self.left_out = left_out
        """What the report counts it as."""


def _recognised(source: SourceFile, clock: Clock) -> _Recognised:
    """Return a file with its format. Raises _UnknownError if it is in none that we know."""
    file = OpenFile(source, clock.zone)
    if file.shape is Shape.OWN_DATABASE:
        return _Recognised(source, None, is_prose=False)
    is_empty = True
    for sample in file.samples():
        is_empty = False
        if isinstance(sample.item, dict) and sample.item.get("type") == "construct-export":
            return _Recognised(source, None, is_prose=False)
        for one in FORMATS:
            if one.looks_like(sample):
                is_prose = one.takes_any_text and file.is_text
                return _Recognised(source, one, is_prose=is_prose)
    if is_empty:
        raise _UnknownError(RefusedError("", "it is empty", "Name another file"), _EMPTY_FILES)
    raise _UnknownError(unknown_format([source.file_name]), _OTHER_FILES)


# Files of other programs


def _import_foreign(
    db: Connection,
    files: Sequence[_Recognised],
    clock: Clock,
    reading: _Reading,
    tally: _Tally,
    options: ImportOptions,
) -> None:
    with scratch.attached(db):
        with scratch.filling(db):
            writer = ForeignWriter(db, options, clock)
            for file in files:
                _read_foreign(file, clock, reading, writer, tally)
                reading.before += file.source.size
        merged = _store(db, reading.progress, keep_ids=False)
    tally.added.update(merged.added)
    tally.known += writer.known + merged.known["message"]
    tally.left_out.update(writer.left_out)
    tally.left_out[FORGOTTEN] += merged.left_out["message"]
    tally.refused.extend(writer.refused)
    tally.listed.extend(writer.listed)


def _read_foreign(
    file: _Recognised, clock: Clock, reading: _Reading, writer: ForeignWriter, tally: _Tally
) -> None:
    """Read one file into the scratch database, as far as it can be read."""
    assert file.format is not None
    opened = OpenFile(file.source, clock.zone, reading)
    try:
        for found in file.format.conversations(opened):
            writer.add(found)
    except RefusedError as error:
        tally.errors.append((file.source.name, error))
    tally.refused.extend(opened.refused)


# Construct's own exports


def _import_own(db: Connection, source: SourceFile, reading: _Reading, tally: _Tally) -> None:
    """Import an export of Construct's, completely or not at all."""
    try:
        with scratch.attached(db):
            with scratch.filling(db):
                warning = _read_own(db, source, reading)
            merged = _store(db, reading.progress, keep_ids=True)
    except RefusedError as error:
        tally.errors.append((source.name, error))
        return
    tally.warning = warning or tally.warning
    tally.added.update(merged.added)
    tally.known += merged.known.total()
    tally.left_out[FORGOTTEN] += merged.left_out.total()


def _store(db: Connection, progress: Progress, *, keep_ids: bool) -> Merged:
    progress(STORING, 0, 0)
    with transaction(db), search_index.deferred_indexing(db):
        return merge(db, keep_ids=keep_ids)


def _read_own(db: Connection, source: SourceFile, reading: _Reading) -> str | None:
    """Read an export into the scratch database. Return a warning if it seems to be cut off."""
    opened = OpenFile(source, advance=reading)
    if opened.shape is not Shape.OWN_DATABASE:
        return _read_lines(db, opened.numbered_lines())
    # The copy is a temporary file without a name, so it never outlives this process.
    with source.on_disk() as path, closing(new_scratch()) as copy:
        try:
            read_into(path, copy)
            migrate_copy(copy, path)
        except errors() as error:
            why = f"it cannot be read as a database ({shorten(str(error), 80)})"
            raise RefusedError("", why) from error
        except DatabaseUnusableError as error:
            why = _without_name(error, path)
            is_newer = isinstance(error, NewerDatabaseError)
            advice = _UPDATE if is_newer else "Import an export from Construct"
            raise RefusedError("", why, advice) from error
        return _read_lines(db, _records_in(copy))


def _read_lines(db: Connection, numbered: Lines) -> str | None:
    number, head = next(numbered)
    version = head.get("version")
    if number > 1:
        raise RefusedError("line 1", "it is blank, and every line must be a JSON object")
    if type(version) is not int or version < 1:
        raise RefusedError("line 1", '"version" must be a whole number')
    if version > VERSION:
        raise RefusedError("line 1", "it was written by a newer Construct", _UPDATE)
    if version < VERSION:
        return _read_older_lines(db, version, head, numbered)
    lines = ExportLines(db, "scratch", KINDS)
    for line_number, record in numbered:
        lines.add(line_number, record)
    lines.finish()
    return _truncation_warning(head.get("counts"), lines.counts)


def _read_older_lines(
    db: Connection, version: int, head: Mapping[str, Any], numbered: Lines
) -> str | None:
    from construct.store.transfer.older_exports import read_older_export  # loads all migrations

    # The copy is a temporary file without a name, so it never outlives this process.
    with closing(new_scratch()) as copy:
        lines = read_older_export(copy, version, numbered)
        _read_lines(db, _records_in(copy))
    return _truncation_warning(head.get("counts"), lines.counts)


def _records_in(copy: Connection) -> Lines:
    try:
        yield from enumerate(records(copy), 1)
    except errors() as error:
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

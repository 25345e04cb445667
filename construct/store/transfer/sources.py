"""Finds the files to import: those that were named, and those in folders and ZIP archives.

Nothing is unpacked under a name: a file in an archive is read from it, and an archive in
an archive goes into a temporary file without a name. Links in folders and archives are
not followed.
"""

import os
import shutil
import stat
import tempfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import IO

from construct import age
from construct.store.transfer.foreign import LeftOut, Refused
from construct.store.transfer.refused import RefusedError
from construct.text import one_line

MAX_FILES = 50_000
MAX_BYTES = 20 << 30
"""The most that all files together may take, unpacked."""
MAX_LEVELS = 2
"""A ZIP in a ZIP is opened, a further one in that is not."""
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_READABLE = {
    ".json",
    ".jsonl",
    ".ndjson",
    ".txt",
    ".md",
    ".markdown",
    ".db",
    ".sqlite",
    ".html",
    ".htm",
    "",
}
"""The endings of files in folders and archives that may be read; AI Studio's have none."""
_LINKS, _HIDDEN = "links", "hidden files"
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


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to import."""

    name: str
    """Its path as the user knows it: `export.zip/conversations.json`."""
    size: int
    open: Callable[[], IO[bytes]]
    path: Path | None
    """Where it is; None for a file in an archive, or what came through a pipe."""
    root: str
    """The path that the user named: the file itself, or the folder or archive it is in."""

    @property
    def is_named(self) -> bool:
        """Whether the user named it; else it was found in a folder or an archive."""
        return self.name == self.root

    @property
    def file_name(self) -> str:
        """The file's own name, without folders."""
        return PurePosixPath(self.name.replace("\\", "/")).name

    @contextmanager
    def on_disk(self) -> Iterator[Path]:
        """Yield a path to the file, for what cannot be read from an archive."""
        if self.path is not None:
            yield self.path
            return
        with tempfile.NamedTemporaryFile() as copy, self.open() as file:
            shutil.copyfileobj(file, copy)
            copy.flush()
            yield Path(copy.name)


class Sources:
    """The files found. A context manager: archives stay open until it is left."""

    def __init__(self, database: Path | None, decrypt: Callable[[Path], bytes]) -> None:
        """Find no file of this database, which may be in a folder that is named.

        `decrypt` returns what an age file holds.
        """
        self._decrypt = decrypt
        self.files: list[SourceFile] = []
        self.unread: list[str] = []
        """The names of files that are of no kind that can be read."""
        self.refused: list[Refused] = []
        """Archives in folders or archives that could not be opened."""
        self._left_out: Counter[str] = Counter()
        self._bytes = 0
        self._found = 0
        self._root = ""
        self._database = database
        self._open = ExitStack()

    def __enter__(self) -> "Sources":
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    @property
    def left_out(self) -> list[LeftOut]:
        """What was found and is not read, by kind."""
        return [LeftOut(what, count) for what, count in self._left_out.items()]

    def find(self, paths: Sequence[Path]) -> None:
        """Find all files in these paths. Raises RefusedError, and OSError for a bad path."""
        for path in paths:
            self._root = name = one_line(str(path))
            if path.is_dir():
                self._in_folder(path, name)
            else:
                self._named(path, name)

    def _named(self, path: Path, name: str) -> None:
        if not path.is_file():
            self._spool(path, name)
            return
        with path.open("rb") as file:
            beginning = file.read(len(age.MAGIC))
        if beginning == age.MAGIC:
            self._in_memory(self._decrypt(path), name)
        elif beginning[:4] in _ZIP:
            self._in_archive(name, path.open("rb"), 1)
        else:
            self._add(SourceFile(name, path.stat().st_size, lambda: path.open("rb"), path, name))

    def _in_memory(self, content: bytes, name: str) -> None:
        """Read what was encrypted: no plain word of it goes to a disk."""
        self._add(SourceFile(name, len(content), lambda: BytesIO(content), None, name))

    def _spool(self, path: Path, name: str) -> None:
        """Keep what comes through a pipe, as it can be read only once."""
        spool = self._open.enter_context(closing(tempfile.TemporaryFile()))  # noqa: SIM115
        # A buffered read goes on until the buffer is full, and misses a signal in between.
        with path.open("rb", buffering=0) as pipe:
            shutil.copyfileobj(pipe, spool)
        size = spool.tell()
        spool.seek(0)
        if spool.read(4) in _ZIP:
            self._in_archive(name, spool, 1)
        else:
            self._add(SourceFile(name, size, lambda: _reopened(spool), None, name))

    def _in_folder(self, folder: Path, name: str) -> None:
        for place, folders, files in os.walk(folder):
            here = Path(place)
            inner = one_line(str(here.relative_to(folder).as_posix()))
            prefix = name if inner == "." else f"{name.rstrip('/')}/{inner}"
            self._left_out[_LINKS] += sum((here / one).is_symlink() for one in folders)
            folders[:] = sorted(one for one in folders if not one.startswith("."))
            for file_name in sorted(files):
                self._found_in_folder(here / file_name, f"{prefix.rstrip('/')}/{file_name}")

    def _found_in_folder(self, path: Path, name: str) -> None:
        if path.is_symlink():
            self._left_out[_LINKS] += 1
        elif self._database is not None and path.samefile(self._database):
            self._left_out["this database"] += 1
        elif path.is_file() and self._is_wanted(name, path.stat().st_size):
            if path.suffix.lower() == ".zip":
                self._in_inner_archive(name, path.open("rb"), 1)
            else:
                size = path.stat().st_size
                self._add(SourceFile(name, size, lambda: path.open("rb"), path, self._root))

    def _in_inner_archive(self, name: str, file: IO[bytes], level: int) -> None:
        """Find the files in an archive that was not named; a bad one is only noted."""
        try:
            self._in_archive(name, file, level)
        except RefusedError as error:
            if error.is_limit:
                raise
            self.refused.append(Refused(name, str(error.why)))

    def _in_archive(self, name: str, file: IO[bytes], level: int) -> None:
        with damage_explained():
            archive = self._open.enter_context(zipfile.ZipFile(self._open.enter_context(file)))
            members = sorted(archive.infolist(), key=lambda member: member.filename)
            for member in members:
                if not member.is_dir():
                    self._found_in_archive(archive, member, f"{name}/{member.filename}", level)

    def _found_in_archive(
        self, archive: zipfile.ZipFile, member: zipfile.ZipInfo, name: str, level: int
    ) -> None:
        name = one_line(name)
        if stat.S_ISLNK(member.external_attr >> 16):
            self._left_out[_LINKS] += 1
            return
        if not self._is_wanted(name, member.file_size):
            return
        if not name.lower().endswith(".zip"):
            self._add(
                SourceFile(name, member.file_size, lambda: archive.open(member), None, self._root)
            )
        elif level >= MAX_LEVELS:
            self._left_out["archives in an archive in an archive"] += 1
        else:
            inner = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the archive)
            with archive.open(member) as packed:
                shutil.copyfileobj(packed, inner)
            self._in_inner_archive(name, inner, level + 1)

    def _is_wanted(self, name: str, size: int) -> bool:
        """Count a file that was found, and return whether it may be one to read."""
        self._found += 1
        self._bytes += size
        if self._found > MAX_FILES:
            raise RefusedError("", f"it has more than {MAX_FILES:,} files", is_limit=True)
        if self._bytes > MAX_BYTES:
            limit = f"it has more than {MAX_BYTES >> 30} GB, unpacked"
            raise RefusedError("", limit, is_limit=True)
        path = PurePosixPath(name.replace("\\", "/"))
        if path.name.startswith(".") or "__MACOSX" in path.parts:
            self._left_out[_HIDDEN] += 1
            return False
        ending = path.suffix.lower()
        if ending == ".zip" or ending in _READABLE:
            return True
        self._left_out[f"{ending} files"] += 1
        self.unread.append(path.name)
        return False

    def _add(self, file: SourceFile) -> None:
        self.files.append(file)


@contextmanager
def damage_explained() -> Iterator[None]:
    """Raise RefusedError if an archive that is read in the block is damaged or encrypted."""
    try:
        yield
    except _DAMAGE as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the file cannot be read
        why = "the zip archive is damaged or has a password"
        raise RefusedError("", why, "Unpack it, and import the file in it") from None


def _reopened(spool: IO[bytes]) -> IO[bytes]:
    """Return a spooled file at its beginning, in a handle of its own that can be closed."""
    copy = os.fdopen(os.dup(spool.fileno()), "rb")
    copy.seek(0)
    return copy

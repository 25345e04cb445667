"""Copies of the whole database in one file, and files that are replaced whole or not at all."""

import json
import os
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TextIO

from construct.errors import ConstructError, UsageError
from construct.store.copy_before_migration import is_copy_before_migration
from construct.store.database import MAGIC, make_folder
from construct.store.search_index import merge_all
from construct.store.sql import exists
from construct.store.version import APPLICATION_ID, beside

MARKDOWN_END = "\n<!-- construct-export -->\n"
"""Ends every Markdown export, so that it can be told from notes of the user's own."""
_REPORT_TITLE = b"<title>What Construct remembers</title>"
_BEGINNING = 4096
_BESIDE = ("-wal", "-shm", "-journal")


def backup(db: sqlite3.Connection, path: Path) -> None:
    """Write the database as it stands to an empty file.

    Without anything deleted, running cycles and open chats.

    Vectors are left out too: they are made again.
    """
    with closing(sqlite3.connect(path, isolation_level=None)) as copy:
        db.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")
        _strip(copy)
        copy.execute("VACUUM")


_RUNNING = "(SELECT id FROM cycles WHERE status = 'running')"
_STRIP = f"""
    PRAGMA foreign_keys = ON;
    BEGIN;
    DELETE FROM sessions;
    DELETE FROM vectors;
    DELETE FROM vector_models;
    UPDATE observations SET superseded_at = NULL, superseded_by = NULL
        WHERE superseded_by IN {_RUNNING};
    DELETE FROM observations WHERE cycle_id IN {_RUNNING};
    DELETE FROM forget_requests WHERE cycle_id IN {_RUNNING};
    DELETE FROM cycles WHERE status = 'running';
    UPDATE cycles SET owner = NULL, heartbeat = NULL, phase = NULL
        WHERE owner IS NOT NULL OR heartbeat IS NOT NULL OR phase IS NOT NULL;
    DELETE FROM meta WHERE name = 'pruning';
    COMMIT;
"""


def _strip(copy: sqlite3.Connection) -> None:
    holds_deleted = exists(copy, "meta WHERE name = 'pruning'") or exists(copy, _RUNNING)
    copy.executescript(_STRIP)
    if holds_deleted:
        merge_all(copy)  # an index keeps deleted words until then


def read_into(path: Path, copy: sqlite3.Connection) -> None:
    """Copy a database that may be in use into one of ours, and leave it as it is.

    Raises sqlite3.Error.
    """
    live = any(beside(path, suffix).exists() for suffix in _BESIDE)
    how = "mode=ro" if live else "mode=ro&immutable=1"
    source = sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True)
    with closing(source):
        source.backup(copy)


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """Give a new empty file that takes the target's place at the end.

    Only its owner may read it; when something fails, it is removed.
    """
    goal = Path(os.path.realpath(target))  # through a link, as `>` would go
    new = goal.with_name(f".construct-{secrets.token_hex(8)}")
    try:
        make_folder(goal.parent)
        os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        yield new
        with new.open("rb+") as file:
            os.fsync(file.fileno())
        new.replace(goal)
    finally:
        for suffix in ("", *_BESIDE):
            with suppress(OSError):
                beside(new, suffix).unlink()


@contextmanager
def text_file(target: Path) -> Iterator[TextIO]:
    """Give a file for text that takes the target's place at the end.

    A pipe or a device is written to as it stands.

    Raises UsageError where it would take the place of a database.
    """
    if target.exists() and not target.is_file():  # such as /dev/null
        with target.open("w", encoding="utf-8", newline="\n") as stream:
            yield stream
        return
    with suppress(FileNotFoundError), target.open("rb") as old:
        if old.read(len(MAGIC)) == MAGIC:  # another memory, or an earlier copy of one
            raise UsageError(
                f"{target} is a database, and this is text.\nName another file with -o."
            )
    with replacing(target) as new, new.open("w", encoding="utf-8", newline="\n") as file:
        yield file


@contextmanager
def explaining(target: Path | None) -> Iterator[None]:
    """Raise ConstructError when writing to `target` (None: standard output) fails.

    But BrokenPipeError when nobody reads.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        name = target or "Standard output"
        raise ConstructError(
            f"{name} cannot be written: {error.strerror or error}.\nName another file with -o."
        ) from error


def refuse_foreign_file(target: Path) -> None:
    """Raise UsageError for a file with content that Construct did not write."""
    if target.is_file() and not _is_ours(target):
        raise UsageError(
            f"{target} is not a file of Construct's: "
            "pass --force to replace it, or name another with -o."
        )


def _is_ours(path: Path) -> bool:
    """Return whether a file is an export, a report or a database of ours.

    An empty one counts too.
    """
    try:
        with path.open("rb") as file:
            beginning = file.read(_BEGINNING)
            file.seek(-min(len(MARKDOWN_END), len(beginning)), os.SEEK_END)
            end = file.read()
    except OSError:
        return False
    if beginning.startswith(MAGIC):
        return (
            int.from_bytes(beginning[68:72], "big") == APPLICATION_ID
        )  # https://www.sqlite.org/fileformat.html
    if beginning.startswith(b"<!doctype html>"):
        return _REPORT_TITLE in beginning
    is_markdown = end == MARKDOWN_END.encode()
    return not beginning or is_markdown or _is_export_header(beginning.partition(b"\n")[0])


def _is_export_header(line: bytes) -> bool:
    try:
        header = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(header, dict) and header.get("type") == "construct-export"


def refuse_database(target: Path, db_path: Path, option: str = "-o") -> None:
    """Raise UsageError for the database, the files beside it, or another database in use."""
    if target.is_dir():
        raise UsageError(f"{target} is a folder.\nName a file with {option}.")
    goal, home = Path(os.path.realpath(target)), Path(os.path.realpath(db_path))
    own = [home, *(beside(home, suffix) for suffix in _BESIDE)]
    if goal in own or any(_is_same(goal, file) for file in own):
        raise UsageError(f"{target} is the database itself.\nName another file with {option}.")
    if is_copy_before_migration(home, goal):
        what = "the copy of the database from before an update"
        raise UsageError(f"{target} is {what}.\nName another file with {option}.")
    if any(beside(goal, suffix).exists() for suffix in ("-wal", "-journal")):
        raise UsageError(f"{target} is a database in use.\nName another file with {option}.")


def _is_same(one: Path, other: Path) -> bool:
    with suppress(OSError):
        return one.samefile(other)
    return False

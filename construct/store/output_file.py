"""Files that Construct writes for the user: replaced atomically, and only if it is safe."""

import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from construct.errors import ConstructError, UsageError
from construct.store.copy_before_migration import is_copy_before_migration
from construct.store.database import make_folder
from construct.store.version import APPLICATION_ID, MAGIC, SIDE_FILES, side_file

MARKDOWN_END = "\n<!-- construct-export -->\n"
"""The end of every Markdown export, which distinguishes it from the user's own notes."""
_REPORT_TITLE = b"<title>What Construct remembers</title>"
_READ_BYTES = 4096
"""Bytes of a file that are read to find out whether it is ours."""


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """Yield a new empty file that replaces the target at the end of the block.

    Only its owner may read it. If the block fails, it is removed.
    """
    goal = Path(os.path.realpath(target))  # follows links, as `>` does
    new = goal.with_name(f".construct-{secrets.token_hex(8)}")
    try:
        make_folder(goal.parent)
        os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        yield new
        with new.open("rb+") as file:
            os.fsync(file.fileno())
        new.replace(goal)
    finally:
        for suffix in ("", *SIDE_FILES):
            with suppress(OSError):
                side_file(new, suffix).unlink()


def write_bytes(target: Path, data: bytes) -> None:
    """Replace the target with a file that has this content.

    A pipe or a device is written to directly. Raises UsageError if the target is a
    database.
    """
    if _is_pipe_or_device(target):
        target.write_bytes(data)
        return
    _refuse_any_database(target)
    with replacing(target) as new:
        new.write_bytes(data)


@contextmanager
def text_file(target: Path) -> Iterator[TextIO]:
    """Yield a text file that replaces the target at the end of the block.

    A pipe or a device is written to directly. Raises UsageError if the target is a
    database.
    """
    if _is_pipe_or_device(target):
        with target.open("w", encoding="utf-8", newline="\n") as stream:
            yield stream
        return
    _refuse_any_database(target)
    with replacing(target) as new, new.open("w", encoding="utf-8", newline="\n") as file:
        yield file


def _refuse_any_database(target: Path) -> None:
    if _beginning(target) == MAGIC:  # another memory, or an earlier copy of one
        raise UsageError(
            f"{target} is a database. Only an SQLite export can replace it.\nName another file."
        )


def _is_pipe_or_device(target: Path) -> bool:
    """Return whether the target is something like /dev/null. Folders are refused earlier."""
    return target.exists() and not target.is_file()


@contextmanager
def explaining(target: Path | None) -> Iterator[None]:
    """Raise ConstructError if writing to `target` (None: standard output) fails.

    BrokenPipeError passes through.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise ConstructError(
            f"Cannot write to {target or 'standard output'}: {error.strerror or error}.\n"
            f"Name {'another' if target else 'a'} file."
        ) from error


def refuse_foreign_file(target: Path) -> None:
    """Raise UsageError for a file that is neither empty nor one that Construct wrote."""
    if target.is_file() and not _is_ours(target):
        advice = "Pass --force to replace it, or name another file."
        with suppress(OSError):
            if _beginning(target) == MAGIC:  # --force does not replace it with text
                advice = "Name another file."
        raise UsageError(
            f"{target} exists, and is not an export or a report of Construct.\n{advice}"
        )


def _beginning(path: Path) -> bytes:
    with suppress(FileNotFoundError), path.open("rb") as file:
        return file.read(len(MAGIC))
    return b""


def _is_ours(path: Path) -> bool:
    """Return whether a file is empty, or an export, a report or a database of ours."""
    try:
        with path.open("rb") as file:
            beginning = file.read(_READ_BYTES)
            file.seek(-min(len(MARKDOWN_END), len(beginning)), os.SEEK_END)
            end = file.read()
    except OSError:
        return False
    if beginning.startswith(MAGIC):
        # The offset is from https://www.sqlite.org/fileformat.html.
        return int.from_bytes(beginning[68:72], "big") == APPLICATION_ID
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
    """Raise UsageError for a folder, this database, one of its files, or a database in use."""
    if target.is_dir():
        raise UsageError(f"{target} is a folder.\nName a file with {option}.")
    goal, home = Path(os.path.realpath(target)), Path(os.path.realpath(db_path))
    own_files = [home, *(side_file(home, suffix) for suffix in SIDE_FILES)]
    if goal in own_files or any(_is_same(goal, file) for file in own_files):
        raise UsageError(f"{target} is the database itself.\nName another file with {option}.")
    if is_copy_before_migration(home, goal):
        raise UsageError(
            f"{target} is the copy of the database from before an update.\n"
            f"Name another file with {option}."
        )
    if any(side_file(goal, suffix).exists() for suffix in ("-wal", "-journal")):
        raise UsageError(f"{target} is a database in use.\nName another file with {option}.")


def _is_same(file: Path, other: Path) -> bool:
    with suppress(OSError):
        return file.samefile(other)
    return False

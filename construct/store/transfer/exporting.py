"""Export to standard output or to a file; a regular file is replaced atomically."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from construct.clock import Clock
from construct.errors import UsageError
from construct.store.backup import backup
from construct.store.driver import Connection, error_name, errors
from construct.store.faults import explain
from construct.store.output_file import (
    MARKDOWN_END,
    explaining,
    refuse_database,
    replacing,
    text_file,
)
from construct.store.transfer.jsonl import export_jsonl
from construct.store.transfer.markdown import export_markdown

FORMATS = ("jsonl", "sqlite", "markdown")


def write_export(
    db: Connection,
    db_path: Path,
    file_format: str,
    target: Path | None,
    stdout: TextIO | None = None,
    clock: Clock = Clock(),
) -> None:
    """Write everything in one of FORMATS to a file, or to standard output (None or `-`).

    Raises UsageError for an unsuitable target such as the database itself, ConstructError
    if writing fails, and BrokenPipeError if standard output was closed.
    """
    if file_format not in FORMATS:
        raise UsageError(
            f"There is no format “{file_format}”.\nThe formats are {', '.join(FORMATS)}."
        )
    if target is not None and str(target) == "-":
        target = None
    with explaining(target):
        if target is None:
            _to_stdout(db, file_format, stdout or sys.stdout, clock)
        else:
            _to_path(db, db_path, file_format, target, clock)


def _to_stdout(db: Connection, file_format: str, stdout: TextIO, clock: Clock) -> None:
    if file_format == "sqlite":
        raise UsageError("An SQLite export needs a file.\nName one with -o.")
    encoding = stdout.encoding or "utf-8"
    _write_text(
        db,
        file_format,
        lambda text: stdout.write(text.encode(encoding, "replace").decode(encoding)),
        clock,
    )
    stdout.flush()


def _to_path(db: Connection, db_path: Path, file_format: str, target: Path, clock: Clock) -> None:
    refuse_database(target, db_path)
    if file_format != "sqlite":
        with text_file(target) as file:
            _write_text(db, file_format, file.write, clock)
        return
    if target.exists() and not target.is_file():
        raise UsageError(
            f"{target} is not a regular file, which an SQLite export needs.\nName another file."
        )
    with replacing(target) as new:
        _write_backup(db, db_path, target, new)


def _write_text(
    db: Connection, file_format: str, write: Callable[[str], object], clock: Clock
) -> None:
    if file_format == "jsonl":
        export_jsonl(db, write)
    else:
        export_markdown(db, write, clock)
        write(MARKDOWN_END)


def _write_backup(db: Connection, db_path: Path, target: Path, new: Path) -> None:
    try:
        backup(db, new)
    except errors() as error:
        is_in_database = error_name(error).startswith(
            ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_BUSY", "SQLITE_LOCKED")
        )
        raise explain(error, db_path if is_in_database else target) from error

"""Export: to a file that is replaced as a whole, or to standard output."""

import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from construct.clock import Clock
from construct.errors import UsageError
from construct.store.backup import (
    MARKDOWN_END,
    backup,
    explaining,
    refuse_database,
    replacing,
    text_file,
)
from construct.store.faults import explain
from construct.store.transfer.jsonl import export_jsonl
from construct.store.transfer.markdown import export_markdown

FORMATS = ("jsonl", "sqlite", "markdown")


def write_export(
    db: sqlite3.Connection,
    db_path: Path,
    form: str,
    target: Path | None,
    stdout: TextIO | None = None,
    clock: Clock = Clock(),
) -> None:
    """Write everything in one of FORMATS to a file, or to standard output when that is None or `-`.

    Raises UsageError for what cannot be meant (the database itself), ConstructError when writing
    fails, and BrokenPipeError when nobody reads standard output any more.
    """
    if form not in FORMATS:
        raise UsageError(f"There is no format “{form}”.\nThe formats are: {', '.join(FORMATS)}.")
    if target is not None and str(target) == "-":
        target = None
    with explaining(target):
        if target is None:
            _to_stdout(db, form, stdout or sys.stdout, clock)
        else:
            _to_path(db, db_path, form, target, clock)


def _to_stdout(db: sqlite3.Connection, form: str, stdout: TextIO, clock: Clock) -> None:
    if form == "sqlite":
        raise UsageError("An sqlite export is a file of its own.\nName one with -o.")
    encoding = stdout.encoding or "utf-8"
    _write_text(
        db,
        form,
        lambda text: stdout.write(text.encode(encoding, "replace").decode(encoding)),
        clock,
    )
    stdout.flush()


def _to_path(db: sqlite3.Connection, db_path: Path, form: str, target: Path, clock: Clock) -> None:
    refuse_database(target, db_path)
    if form != "sqlite":
        with text_file(target) as file:
            _write_text(db, form, file.write, clock)
        return
    if target.exists() and not target.is_file():
        raise UsageError(
            f"{target} is no plain file, and an sqlite export is one.\nName another with -o."
        )
    with replacing(target) as new:
        _write_backup(db, db_path, target, new)


def _write_text(
    db: sqlite3.Connection, form: str, write: Callable[[str], object], clock: Clock
) -> None:
    if form == "jsonl":
        export_jsonl(db, write)
    else:
        export_markdown(db, write, clock)
        write(MARKDOWN_END)


def _write_backup(db: sqlite3.Connection, db_path: Path, target: Path, new: Path) -> None:
    try:
        backup(db, new)
    except sqlite3.Error as error:
        ours = error.sqlite_errorname.startswith(
            ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_BUSY", "SQLITE_LOCKED")
        )
        raise explain(error, db_path if ours else target) from error

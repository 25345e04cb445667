"""Import conversations from a file; export everything, an attachment or a page to one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from construct import age
from construct.errors import ConstructError, UsageError
from construct.operations.context import Context
from construct.store.attachments import attachment_data, get_attachment
from construct.store.backlog import count_unobserved
from construct.store.output_file import (
    explaining,
    refuse_database,
    refuse_foreign_file,
    text_file,
    write_bytes,
)
from construct.store.questions import listed_facts
from construct.store.transfer.exporting import FORMATS, write_export
from construct.store.transfer.foreign_values import noon
from construct.store.transfer.foreign_writer import ImportOptions
from construct.store.transfer.import_report import FORGOTTEN, STORING, FoundFiles, ImportReport

if TYPE_CHECKING:
    from construct.attachments import Attachment

__all__ = [
    "FORGOTTEN",
    "FORMATS",
    "STORING",
    "FoundFiles",
]  # re-exported for the command line and the chat


_TRIES = 3
"""How often a passphrase is asked for."""


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import added."""

    report: ImportReport
    is_unobserved: bool
    """Whether `construct observe` would learn from imported messages."""
    accepted: int = 0
    """How many facts of memory lists became notes."""
    waiting: int = 0
    """How many facts of these memory lists wait for the user's decision."""


def export(
    ctx: Context,
    file_format: str,
    target: Path | None,
    stdout: TextIO | None = None,
    *,
    force: bool = False,
) -> None:
    """Write everything in one of FORMATS to a file, or to `stdout` if there is no target.

    Raises UsageError if the target is the database or, unless `force`, a file that is
    neither empty nor an export or a report of ours.
    """
    if target is not None:
        _refuse_to_replace(ctx, target, force)
    write_export(ctx.db, ctx.settings.db, file_format, target, stdout, ctx.clock)


def export_encrypted(
    ctx: Context,
    file_format: str,
    target: Path | None,
    stdout: TextIO,
    passphrase: str,
    *,
    force: bool = False,
) -> None:
    """Write everything into an age file that the passphrase opens; else like `export`."""
    if file_format == "sqlite":
        raise UsageError("An encrypted export is JSONL or Markdown.\nLeave --format out.")
    age.require("encrypted")
    text = StringIO()
    write_export(ctx.db, ctx.settings.db, file_format, None, text, ctx.clock)
    locked = age.lock(text.getvalue().encode(), passphrase)
    if target is None:
        with explaining(None):
            stdout.buffer.write(locked)
            stdout.buffer.flush()
        return
    _refuse_to_replace(ctx, target, force)
    with explaining(target):
        write_bytes(target, locked)


def decrypting(ask: Callable[[str], str]) -> Callable[[Path], bytes]:
    """Return what opens an age file with a passphrase that `ask` asks for, at most thrice."""

    def decrypt(path: Path) -> bytes:
        age.require("encrypted")
        data = path.read_bytes()
        question = f"Passphrase of {path.name}: "
        for _ in range(_TRIES):
            content = age.unlock(data, ask(question))
            if content is not None:
                return content
            question = "That is not it. Passphrase: "
        raise ConstructError(
            f"The passphrase does not open {path}, or the file is damaged.\nNothing was imported."
        )

    return decrypt


def attachment(ctx: Context, attachment_id: int) -> "Attachment":
    """Return a file that came with a message; raises NotFoundError."""
    from construct.attachments import Attachment  # not needed when a chat starts

    stored = get_attachment(ctx.db, attachment_id)
    return Attachment(stored.name, stored.media_type, attachment_data(ctx.db, attachment_id))


def write_attachment(
    ctx: Context, file: "Attachment", target: Path | None, stdout: TextIO, *, force: bool = False
) -> None:
    """Write an attachment to a file, or to `stdout` if there is no target.

    Existing files are treated as by `export`.
    """
    if target is None:
        with explaining(None):
            stdout.buffer.write(file.data)
            stdout.buffer.flush()
        return
    _refuse_to_replace(ctx, target, force)
    with explaining(target):
        write_bytes(target, file.data)


def write_page(ctx: Context, html: str, target: Path, *, force: bool = False) -> None:
    """Write an HTML page to a file. Existing files are treated as by `export`."""
    _refuse_to_replace(ctx, target, force)
    with explaining(target), text_file(target) as file:
        file.write(html)


def import_files(
    ctx: Context,
    paths: Sequence[Path],
    options: ImportOptions = ImportOptions(),
    progress: Callable[[str, int, int], None] = lambda *_: None,
    announce: Callable[[FoundFiles], None] = lambda _: None,
) -> Imported:
    """Import files, folders and ZIP archives.

    `announce` is called with what was found before it is read, `progress` with what is being
    done, how much is done, and the total. Raises UsageError if one is the database itself.
    """
    # Every format is loaded with it, which a chat that starts need not wait for.
    from construct.store.transfer.importing import import_files as import_into

    database = ctx.settings.db
    for path in paths:
        if path.exists() and database.exists() and path.samefile(database):
            raise UsageError(f"{path} is the database itself. There is nothing to import from it.")
    report = import_into(ctx.db, paths, ctx.clock, progress, options, announce)
    is_unobserved = ctx.settings.learns and bool(report.messages and count_unobserved(ctx.db))
    waiting = len(listed_facts(ctx.db, report.listed))
    return Imported(report, is_unobserved, waiting=waiting)


def accept_listed(ctx: Context, imported: Imported) -> Imported:
    """Take the facts of imported memory lists as notes, where the user has not decided yet."""
    from construct.memory.answering import keep_all_listed  # not needed when a chat starts

    made = keep_all_listed(ctx.db, listed_facts(ctx.db, imported.report.listed), ctx.clock)
    return replace(imported, accepted=len(made), waiting=0)


def import_options(ctx: Context, date_text: str | None, *, is_own_text: bool) -> ImportOptions:
    """Return the options of an import. Raises UsageError if the text is not a date."""
    if date_text is None:
        return ImportOptions(is_own_text=is_own_text)
    try:
        said_at = noon(date.fromisoformat(date_text.strip()), ctx.clock.zone)
    except ValueError:
        raise UsageError(f"Not a date: {date_text}\nWrite it like 2025-03-01.") from None
    return ImportOptions(said_at, is_own_text)


def _refuse_to_replace(ctx: Context, target: Path, force: bool) -> None:
    refuse_database(target, ctx.settings.db)
    if not force:
        refuse_foreign_file(target)

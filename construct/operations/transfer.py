"""Import conversations from a file; export everything, an attachment or a page to one."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from construct.errors import UsageError
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
from construct.store.transfer.exporting import FORMATS, write_export
from construct.store.transfer.importing import STORING, ImportReport
from construct.store.transfer.importing import import_file as import_into

if TYPE_CHECKING:
    from construct.attachments import Attachment

__all__ = ["FORMATS", "STORING"]  # re-exported for the command line and the chat


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import added."""

    report: ImportReport
    is_unobserved: bool
    """Whether `construct observe` would learn from imported messages."""


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


def import_file(
    ctx: Context, file: Path, progress: Callable[[str, int, int], None] = lambda *_: None
) -> Imported:
    """Import conversations from a file, all of them or none.

    `progress` is called with what is being done, how much is done, and the total. Raises
    UsageError if the file is the database itself.
    """
    database = ctx.settings.db
    if file.exists() and database.exists() and file.samefile(database):
        raise UsageError(f"{file} is the database itself. There is nothing to import from it.")
    report = import_into(ctx.db, file, ctx.clock, progress)
    return Imported(
        report, ctx.settings.learns and bool(report.messages and count_unobserved(ctx.db))
    )


def _refuse_to_replace(ctx: Context, target: Path, force: bool) -> None:
    refuse_database(target, ctx.settings.db)
    if not force:
        refuse_foreign_file(target)

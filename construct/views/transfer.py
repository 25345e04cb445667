"""Render the outcome of an import."""

from collections.abc import Collection, Iterator

from construct.operations.transfer import READING, Imported
from construct.views.words import counted


def imported_text(imported: Imported) -> str:
    """Return one line that says what an import added."""
    report = imported.report
    known = f" Already here: {report.known:,}." if report.known else ""
    if not (report.messages or report.conversations or report.observations or report.memories):
        return f"Nothing new.{known}" if known else "Nothing new: the file has no messages."
    parts = [
        f"{counted(report.messages, 'message')} in "
        f"{counted(report.conversations, 'new conversation')}"
    ]
    if report.observations:
        parts.append(counted(report.observations, "observation"))
    if report.memories:
        parts.append(counted(report.memories, "memory"))
    return f"Imported {', '.join(parts)}.{known}"


def imported_notes(imported: Imported) -> Iterator[str]:
    """Yield what the user should know or do after an import."""
    if imported.is_unread:
        yield "The imported messages can be searched now. `construct observe` learns from them."
    if imported.report.warning:
        yield imported.report.warning


def left_off_text(unsearchable: int, started: Collection[str]) -> str:
    """Return what an interrupted import left behind.

    `started` are the steps that it had begun. If reading had not begun, `unsearchable`
    messages are left from an earlier import.
    """
    if unsearchable and READING in started:
        return (
            f"Stopped. Everything is stored, but {counted(unsearchable, 'message')} cannot be "
            "searched yet. Run the same command to continue."
        )
    return "Stopped. Nothing was added. Run the same command again."

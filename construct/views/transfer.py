"""What an import added."""

from collections.abc import Collection, Iterator

from construct.operations.transfer import READING, Imported
from construct.views.words import counted


def imported_text(imported: Imported) -> str:
    """Return what an import added, in a line."""
    report = imported.report
    known = f" Here already: {report.known:,}." if report.known else ""
    if not (report.messages or report.conversations or report.observations or report.memories):
        return f"Nothing new.{known}" if known else "Nothing new: there are no messages in it."
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
    """Yield what to know or do afterwards."""
    if imported.is_unread:
        yield "It can be searched now. `construct observe` learns from it."
    if imported.report.warning:
        yield imported.report.warning


def left_off_text(unsearchable: int, started: Collection[str]) -> str:
    """Return what an interrupted import left behind, given the steps it had started.

    What lacks its index entry before anything was read came with an import before.
    """
    if unsearchable and READING in started:
        return (
            f"Stopped. Everything is stored, but {unsearchable:,} messages cannot be searched yet. "
            "Run it again to continue."
        )
    return "Stopped. Nothing was added. Run it again."

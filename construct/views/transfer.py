"""Render the outcome of an import."""

from collections.abc import Collection, Iterator

from construct.operations.transfer import STORING, Imported
from construct.program import in_shell
from construct.views.words import counted


def imported_text(imported: Imported) -> str:
    """Return one line that says what an import added."""
    report = imported.report
    noun = "entry" if report.source == "construct" else "message"  # an entry is any row
    known = f" Already here: {counted(report.known, noun)}." if report.known else ""
    left_out = counted(report.left_out, noun)
    forgotten = f" Forgotten or deleted here, so left out: {left_out}." if report.left_out else ""
    if not (report.messages or report.conversations or report.observations):
        return (
            f"Nothing new.{known}{forgotten}"
            if known or forgotten
            else "Nothing new: the file has no messages."
        )
    parts: list[str] = []
    messages = counted(report.messages, "message")
    if report.conversations:
        parts += [messages, counted(report.conversations, "new conversation")]
    elif report.messages:
        parts.append(f"{messages} into conversations that were already here")
    if report.observations:
        parts.append(counted(report.observations, "observation"))
    return f"Imported {', '.join(parts)}.{known}{forgotten}"


def imported_notes(imported: Imported) -> Iterator[str]:
    """Yield what the user should know or do after an import."""
    if imported.is_unobserved:
        yield f"The imported messages can be searched now. {in_shell('observe')} learns from them."
    if imported.report.warning:
        yield imported.report.warning


def left_off_text(unsearchable: int, started: Collection[str]) -> str:
    """Return what an interrupted import left behind.

    `started` are the steps that it had begun. If storing had not begun, `unsearchable`
    messages are left from an earlier import.
    """
    if unsearchable and STORING in started:
        return (
            f"Stopped. Everything is stored, but {counted(unsearchable, 'message')} cannot be "
            "searched yet. Run the same command to continue."
        )
    return "Stopped. Nothing was added. Run the same command again."

"""Render the outcome of an import."""

from collections.abc import Collection, Iterator
from typing import Any

from construct.operations.learning import ObservePlan
from construct.operations.transfer import FORGOTTEN, STORING, FoundFiles, Imported
from construct.program import as_typed
from construct.views.learning import how_observed
from construct.views.words import counted

_REFUSED_SHOWN = 10
"""How many of the conversations that could not be read are named on the screen."""
_FIRST_STEP_USD = 0.50
"""What a first step of learning may cost, where all of it costs more."""
_UNITS = ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB"))


def found_text(found: FoundFiles) -> str:
    """Return one line that says what an import is going to read."""
    files = sum(count for _, count in found.formats)
    names = ", ".join(
        name if files == 1 else f"{name} ({counted(count, 'file')})"
        for name, count in found.formats
    )
    return f"Found {names}: {_size(found.size)}."


def _size(size: int) -> str:
    for unit, name in _UNITS:
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size} bytes"


def imported_text(imported: Imported) -> str:
    """Return one line that says what an import added."""
    report = imported.report
    noun = "entry" if report.is_own else "message"  # an entry is any row
    known = f" Already here: {counted(report.known, noun)}." if report.known else ""
    kinds = [one for one in report.left_out if one.what != FORGOTTEN]
    left_out = ", ".join(f"{one.what} ({one.count:,})" for one in kinds)
    without = f" Left out: {left_out}." if left_out else ""
    for one in report.left_out:
        if one.what == FORGOTTEN:
            without += f" Forgotten or deleted here, so left out: {counted(one.count, noun)}."
    if not report.has_added:
        nothing = "Nothing new." if known or without else "Nothing new: no messages were found."
        return f"{nothing}{known}{without}"
    parts: list[str] = []
    messages = counted(report.messages, "message")
    if report.conversations:
        parts += [messages, counted(report.conversations, "new conversation")]
    elif report.messages:
        parts.append(f"{messages} into conversations that were already here")
    if report.observations:
        parts.append(counted(report.observations, "observation"))
    if report.proposals:
        parts.append(f"{counted(report.proposals, 'fact')} of a memory list")
    return f"Imported {', '.join(parts)}.{known}{without}"


def imported_notes(imported: Imported, plan: ObservePlan | None) -> Iterator[str]:
    """Yield what the user should know or do after an import.

    `plan` is what `construct observe` would do; None if that is not known.
    """
    report = imported.report
    for one in report.refused[:_REFUSED_SHOWN]:
        yield f"Not imported: {one.conversation}: {one.why}."
    if (more := len(report.refused) - _REFUSED_SHOWN) > 0:
        yield f"Not imported: {more:,} more. --json lists them all."
    if imported.is_unobserved:
        yield "The imported messages can be searched now. " + _how_to_learn(plan)
    if imported.accepted:
        became = "became a note" if imported.accepted == 1 else "became notes"
        yield f"{counted(imported.accepted, 'fact')} {became}: see {as_typed('memory list')}."
    if imported.waiting:
        wait = "waits" if imported.waiting == 1 else "wait"
        yield (
            f"{counted(imported.waiting, 'fact')} of memory lists {wait} for your decision:"
            f" {as_typed('review')}. The same import with --accept takes them all as notes."
        )
    if report.warning:
        yield report.warning


def _how_to_learn(plan: ObservePlan | None) -> str:
    """Return how to have Construct learn from what was imported, and at what cost."""
    learns = f"{as_typed('observe')} learns from them"
    if plan is None or not plan.backlogs:
        return f"{learns}."
    steps = ""
    if plan.estimate.usd is not None and plan.estimate.usd > _FIRST_STEP_USD:
        steps = f" {as_typed(f'observe --budget {_FIRST_STEP_USD:.2f}')} is a first step."
    return (
        f"{learns}, newest first: {counted(plan.messages, 'message')} {how_observed(plan)}. "
        f"You can stop it at any time and go on later.{steps}"
    )


def import_json(imported: Imported) -> dict[str, Any]:
    """Return what `construct import --json` prints."""
    report = imported.report
    return {
        "formats": list(report.formats),
        "conversations": report.conversations,
        "messages": report.messages,
        "observations": report.observations,
        "proposals": report.proposals,
        "accepted": imported.accepted,
        "known": report.known,
        "left_out": [{"what": one.what, "count": one.count} for one in report.left_out],
        "refused": [{"conversation": one.conversation, "why": one.why} for one in report.refused],
        "warning": report.warning,
    }


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

"""What forgetting and undoing change, beforehand and afterwards."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Column
from rich.text import Text

from construct.memory.forgetting import ForgetPlan, Forgotten
from construct.memory.undo import Undone
from construct.operations.forgetting import ForgetQuestion, Undo
from construct.store.records import Cycle, Message, Observation
from construct.text import one_line, shorten
from construct.views.memory import memory_table, more, observation_json, observation_table
from construct.views.widgets import grid, spaced
from construct.views.words import counted
from construct.vocabulary import CycleKind, Role

_MOST_LISTED = 12
_QUOTED = 100
_WITHHELD_QUOTED = 72
STILL_IN_FILE = (
    " Its bytes are still in the file: another program is reading it, or the disk is full or"
    " failing. Close that program or make room; the next `construct` command clears them out."
)
UNDO_QUESTION = "Take this back?"
_KINDS = {
    CycleKind.EDIT: "your edit",
    CycleKind.OBSERVER: "an observation run",
    CycleKind.REFLECTOR: "a reflection",
    CycleKind.GRAPH: "what the graph drew from it",
}
_WITHHELD = "You had asked to forget this. The model {} it again:"


def forget_plan_view(plan: ForgetPlan, today: date) -> RenderableType:
    """Show what would be deleted, what would change, and which similar items would stay."""
    sections = (
        _deleted(plan, today),
        _emptied(plan),
        _reactivated(plan.reactivated, today),
        [Text(line, style="dim") for line in _consequences(plan)],
    )
    return spaced([Group(*section) for section in sections if section])


def forget_question(plan: ForgetPlan) -> str:
    """Return what to ask beforehand. What is only withheld is not deleted."""
    deletes = plan.words or plan.observations or plan.memories or plan.attachments
    return "Delete this for good?" if deletes else "Keep this from the model for good?"


def forgotten_view(gone: Forgotten) -> str:
    """Return what was deleted."""
    counts = (
        (gone.observations, "observation"),
        (gone.memories, "memory"),
        (gone.relations, "relation"),
        (gone.attachments, "attached file"),
    )
    parts = [counted(number, noun) for number, noun in counts if number]
    parts += [f"every word of {counted(gone.emptied, 'message')}"] if gone.emptied else []
    if parts:
        words = f"Deleted: {', '.join(parts)}."
    else:
        words = f"Out of recall and window: {counted(gone.messages, 'message')}."
    if gone.beside:
        words += f" {_beside(gone.beside)} stays."
    return words + (STILL_IN_FILE if gone.pending_erasure else "")


def forget_request_view(question: ForgetQuestion) -> str:
    """Return what the user asked to forget, and which messages that would empty."""
    lines = ["You asked to forget this. It is withheld from the model:"]
    lines += [f"  “{shorten(request.words, _QUOTED)}”" for request in question.requests]
    if question.emptied:
        lines.append("Forgetting for good deletes every word of these:")
    lines += [f"  message:{m.id} “{shorten(m.text, _QUOTED)}”" for m in question.emptied]
    return "\n".join(lines)


def undo_plan_view(plan: Undo, today: date) -> RenderableType:
    """Return what an undo would take back, and what that would change."""
    head = Text(f"This would be taken back: {_named(plan)}.", style="heading3")
    # As they still stand: "superseded" is what they would be.
    standing = [
        o._replace(superseded_at=None, superseded_by=None) for o in plan.changes.deactivated
    ]
    changes = replace(plan.changes, deactivated=tuple(standing))
    words = ("would go", "would be active again", "would be shown")
    return Group(head, *_changes(changes, today, *words))


def undone_view(done: Undo, today: date, *, compact: str = "/compact") -> RenderableType:
    """Return what was taken back, what that changed, and what is held for now.

    `compact` is what the user types to have memory work done at once.
    """
    head = Text(f"Taken back: {_named(done)}.", style="heading3")
    parts = [head, *_changes(done.changes, today, "gone", "active again", "is shown")]
    if held := _held(done, compact):
        parts.append(Text(held, style="dim"))
    return Group(*parts)


def undone_json(done: Undo) -> dict[str, Any]:
    """Return the same for programs."""
    changes = done.changes
    return {
        "cycle": _cycle_json(changes.cycle),
        "along": [_cycle_json(cycle) for cycle in changes.along],
        "deactivated": [observation_json(o) for o in changes.deactivated],
        "reactivated": [observation_json(o) for o in changes.reactivated],
    }


def _cycle_json(cycle: Cycle) -> dict[str, Any]:
    return {
        "id": cycle.id,
        "kind": cycle.kind,
        "status": cycle.status,
        "conversation": cycle.conversation_id,
        "model": cycle.model,
        "started_at": cycle.started_at,
        "finished_at": cycle.finished_at,
        "attempts": cycle.attempts,
        "error": cycle.error,
    }


def _deleted(plan: ForgetPlan, today: date) -> list[RenderableType]:
    parts: list[RenderableType] = []
    if plan.observations:
        parts.append(observation_table(plan.observations, today, _MOST_LISTED))
    if plan.memories:
        parts.append(memory_table(plan.memories, _MOST_LISTED))
    return [Text("This would be deleted for good:", style="heading3"), *parts] if parts else []


def _emptied(plan: ForgetPlan) -> list[RenderableType]:
    if not plan.words or not plan.message_ids:
        return []
    messages: list[Message] = sorted((*plan.messages, *plan.replies), key=lambda m: m.id)
    rows: list[tuple[str, Text]] = []
    for m in messages[:_MOST_LISTED]:
        who = "you" if m.role == Role.USER else "reply"
        rows.append((f"  message:{m.id} {who}", Text(f"“{shorten(m.text, _QUOTED)}”")))
    if left_out := more(len(messages), _MOST_LISTED):
        rows.append(("", left_out))
    table = grid(rows, Column(no_wrap=True, style="dim"), Column(overflow="fold"), gap=1)
    return [Text("Every word of these would be deleted:"), table]


def _reactivated(found: Sequence[Observation], today: date) -> list[RenderableType]:
    if not found:
        return []
    return [Text("This would be active again:"), observation_table(found, today, _MOST_LISTED)]


def _consequences(plan: ForgetPlan) -> Iterator[str]:
    concerned = len(plan.message_ids)
    messages = counted(concerned, "message")
    if concerned and plan.words:
        yield f"{messages}, the whole of them and replies too, would be emptied to “[removed]”."
        if plan.beside:
            yield f"{_beside(plan.beside)} would stay."
    elif concerned:
        yield f"{messages} would leave the window and recall; --words empties them too."
    if plan.attachments:
        files = ", ".join(plan.attachments[:_MOST_LISTED])
        left_out = len(plan.attachments) - _MOST_LISTED
        more_of_them = f" and {left_out} more" if left_out > 0 else ""
        yield f"These files would be deleted: {files}{more_of_them}."
    if plan.threads:
        threads = counted(len(plan.threads), "conversation")
        yield f"{threads} would lose a title or note that holds it."
    if plan.elsewhere:
        marks = ", ".join(f"“{one_line(mark)}”" for mark in plan.marks[:4])
        yield f"{counted(plan.elsewhere, 'other message')} with {marks} would stay."
    if plan.alike:
        yield f"{counted(plan.alike, 'other observation')} saying nearly the same would stay."


def _beside(ids: Sequence[int]) -> str:
    return f"What else was drawn from them ({', '.join(map(str, ids))})"


def _changes(
    changes: Undone, today: date, gone: str, again: str, shown: str
) -> Iterator[RenderableType]:
    for words, found in ((gone, changes.deactivated), (again, changes.reactivated)):
        if found:
            yield Text(f"{counted(len(found), 'observation')} {words}:")
            yield observation_table(found, today, _MOST_LISTED)
    if changes.given_back:
        listed = changes.given_back[:_MOST_LISTED]
        lines = [f"  “{shorten(words, _WITHHELD_QUOTED)}”" for words in listed]
        yield Text("\n".join([_WITHHELD.format(shown), *lines]))
    if changes.relations:
        yield Text(f"{counted(changes.relations, 'relation')} of the graph {gone}.")


def _named(undo: Undo) -> str:
    cycles = [undo.changes.cycle, *reversed(undo.changes.along)]
    named = list(dict.fromkeys(_KINDS[CycleKind(cycle.kind)] for cycle in cycles))
    words = " and ".join([", ".join(named[:-1]), named[-1]] if len(named) > 1 else named)
    if undo.changes.cycle.conversation_id is not None:
        words += f", in conversation {undo.changes.cycle.conversation_id}"
        words += f" “{one_line(undo.title)}”" if undo.title else ""
    return words


def _held(done: Undo, compact: str) -> str:
    cycle = done.changes.cycle
    if cycle.kind == CycleKind.OBSERVER and done.is_here:
        return f"Those messages will be read again after more talk, or when you run {compact}."
    if cycle.kind == CycleKind.OBSERVER:
        return (
            f"Those messages, in conversation {cycle.conversation_id}, will be read again after "
            "more talk there, or when you run /compact there."
        )
    if cycle.kind == CycleKind.REFLECTOR:
        return (
            "They will be condensed again once there are more observations, "
            f"or when you run {compact}."
        )
    return ""

"""Render what forgetting and undoing would change, and what they changed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Column
from rich.text import Text

from construct.memory.forgetting import ForgetPlan, Forgotten
from construct.memory.undo import Undone
from construct.operations.forgetting import ForgetQuestion, Undo
from construct.program import as_typed
from construct.store.questions import ForgetRequest
from construct.store.records import Cycle, Message, Observation
from construct.text import one_line, shorten
from construct.views.memory import and_more, observation_table
from construct.views.shapes import note_json
from construct.views.widgets import grid, spaced
from construct.views.words import counted, listed
from construct.vocabulary import CycleKind, Role

_MAX_LISTED = 12
"""The longest list that is shown in full."""
_MAX_MARKS = 4
_QUOTE_LENGTH = 100
_WITHHELD_QUOTE_LENGTH = 72
UNDO_QUESTION = "Take this back?"
_CYCLE_NAMES = {
    CycleKind.EDIT: "your edit",
    CycleKind.OBSERVER: "an observation run",
    CycleKind.REFLECTOR: "a reflection",
    CycleKind.GRAPH: "what was added to the graph",
}


@dataclass(frozen=True, slots=True)
class _UndoSentences:
    """How the changes of an undo are announced; `{}` is a count with its noun."""

    removed: str
    reactivated: str
    in_sight: str
    out_of_sight: str
    sure: str
    shown_again: str
    reopened: str
    relations: str


_WOULD_UNDO = _UndoSentences(
    removed="{} would be removed:",
    reactivated="{} would be active again:",
    in_sight="{} would be in sight again:",
    out_of_sight="{} would be shelved again:",
    sure="{} would no longer be unsure:",
    shown_again="You had asked for this to be forgotten. The model would see it again:",
    reopened="You decided on this. You would be asked again:",
    relations="{} would be removed from the graph.",
)
_DID_UNDO = _UndoSentences(
    removed="{} removed:",
    reactivated="{} active again:",
    in_sight="{} in sight again:",
    out_of_sight="{} shelved again:",
    sure="{} no longer unsure:",
    shown_again="You had asked for this to be forgotten. The model sees it again:",
    reopened="You decided on this. It waits in the review again:",
    relations="{} removed from the graph.",
)


def still_in_file() -> str:
    """Return the sentence for when deleted bytes could not be cleared yet."""
    return (
        " What was deleted is still in the file: another program is reading the file, or the disk"
        f" is full or failing. Close that program or make room, then run {as_typed('doctor')}: it"
        " clears out what was deleted."
    )


def forget_plan_view(plan: ForgetPlan, today: date) -> RenderableType:
    """Return what would be deleted, what would change, and what would stay."""
    sections = (
        _deletions(plan, today),
        _emptied_messages(plan),
        _reactivated(plan.reactivated, today),
        [Text(line, style="dim") for line in _consequences(plan)],
    )
    return spaced([Group(*section) for section in sections if section])


def forget_question(plan: ForgetPlan) -> str:
    """Return the confirmation question; withholding is not called deleting."""
    deletes = plan.words or plan.observations or plan.attachments or plan.values
    return "Delete this for good?" if deletes else "Never show this to the model again?"


def forgotten_view(forgotten: Forgotten) -> str:
    """Return what was deleted, what is withheld now, and what was kept."""
    counts = (
        (forgotten.observations, "observation"),
        (forgotten.relations, "relation"),
        (forgotten.attachments, "attached file"),
        (forgotten.values, "value"),
    )
    parts = [counted(number, noun) for number, noun in counts if number]
    if forgotten.emptied:
        parts.append(f"every word of {counted(forgotten.emptied, 'message')}")
    sentences = [f"Deleted: {', '.join(parts)}."] if parts else []
    if not parts or (forgotten.messages and not forgotten.emptied):
        messages = counted(forgotten.messages, "message")
        sentences.append(f"No longer recalled or sent to the model: {messages}.")
    text = " ".join(sentences)
    if forgotten.beside:
        text += f" Kept: {_other_observations(forgotten.beside)}."
    if forgotten.pending_erasure:
        text += still_in_file()
    return text


def forget_request_view(question: ForgetQuestion, today: date) -> RenderableType:
    """Return what the user wanted forgotten, and what would be deleted with it."""
    lines = ["You asked for this to be forgotten:", *map(_request_line, question.requests)]
    lines.append("It is withheld from the model, except for messages still in the window.")
    parts: list[RenderableType] = [Text("\n".join(lines))]
    if question.deleted:
        parts.append(Text("Forgetting it for good also deletes:"))
        parts.append(observation_table(question.deleted, today, _MAX_LISTED))
    if question.emptied:
        parts.append(Text("Forgetting it for good deletes every word of these:"))
        parts.append(_message_quotes(question.emptied))
    return Group(*parts)


def _request_line(request: ForgetRequest) -> str:
    is_message = request.message_id is not None
    name = f"message:{request.message_id}" if is_message else str(request.observation_id)
    return f"  {name}  “{shorten(request.words, _QUOTE_LENGTH)}”"


def undo_plan_view(plan: Undo, today: date) -> RenderableType:
    """Return what an undo would take back, and what that would change."""
    head = Text(f"This would be taken back: {_cycle_names(plan)}.", style="heading3")
    return Group(head, *_changes(plan.changes, today, _WOULD_UNDO))


def undone_view(done: Undo, today: date) -> RenderableType:
    """Return what was taken back, what that changed, and when it will be done again.

    `compact` is the command that starts memory work at once.
    """
    head = Text(f"Taken back: {_cycle_names(done)}.", style="heading3")
    parts = [head, *_changes(done.changes, today, _DID_UNDO)]
    if later := _when_repeated(done):
        parts.append(Text(later, style="dim"))
    return Group(*parts)


def undone_json(done: Undo) -> dict[str, Any]:
    """Return the JSON form of `undone_view`."""
    changes = done.changes
    return {
        "cycle": _cycle_json(changes.cycle),
        "along": [_cycle_json(cycle) for cycle in changes.along],
        "deactivated": [note_json(o) for o in changes.deactivated],
        "reactivated": [note_json(o) for o in changes.reactivated],
        "in_sight_again": [note_json(o) for o in changes.in_sight_again],
        "out_of_sight_again": [note_json(o) for o in changes.out_of_sight_again],
        "sure_again": [note_json(o) for o in changes.sure_again],
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


def _deletions(plan: ForgetPlan, today: date) -> list[RenderableType]:
    if not plan.observations:
        return []
    head = Text("This would be deleted for good:", style="heading3")
    return [head, observation_table(plan.observations, today, _MAX_LISTED)]


def _emptied_messages(plan: ForgetPlan) -> list[RenderableType]:
    if not plan.words or not plan.message_ids:
        return []
    # The reply of a notebook may have no words of its own.
    messages = [m for m in (*plan.messages, *plan.replies) if m.text]
    messages.sort(key=lambda m: m.id)
    return [Text("Every word of these would be deleted:"), _message_quotes(messages)]


def _message_quotes(messages: Sequence[Message]) -> RenderableType:
    rows: list[tuple[str, Text]] = []
    for m in messages[:_MAX_LISTED]:
        who = "you" if m.role == Role.USER else "reply"
        rows.append((f"  message:{m.id} {who}", Text(f"“{shorten(m.text, _QUOTE_LENGTH)}”")))
    if left_out := and_more(len(messages), _MAX_LISTED):
        rows.append(("", left_out))
    return grid(rows, Column(no_wrap=True, style="dim"), Column(overflow="fold"), gap=1)


def _reactivated(observations: Sequence[Observation], today: date) -> list[RenderableType]:
    if not observations:
        return []
    active = [o._replace(superseded_at=None, superseded_by=None) for o in observations]
    return [Text("This would be active again:"), observation_table(active, today, _MAX_LISTED)]


def _consequences(plan: ForgetPlan) -> Iterator[str]:
    messages = counted(len(plan.message_ids), "message")
    if plan.message_ids and plan.words:
        yield f"The full text of {messages}, replies included, would become “[removed]”."
        if plan.beside:
            yield f"This would stay: {_other_observations(plan.beside)}."
    elif plan.message_ids:
        them = "it" if len(plan.message_ids) == 1 else "them"
        yield (
            f"{messages} would no longer be recalled or sent to the model. To empty {them} too, "
            "answer n, then forget with --words."
        )
    if plan.attachments:
        files = ", ".join(plan.attachments[:_MAX_LISTED])
        unlisted = len(plan.attachments) - _MAX_LISTED
        ending = f" and {unlisted} more" if unlisted > 0 else ""
        these = "This file" if len(plan.attachments) == 1 else "These files"
        yield f"{these} would be deleted: {files}{ending}."
    if plan.values:
        listed_values = "; ".join(plan.values[:_MAX_LISTED])
        more = len(plan.values) - _MAX_LISTED
        ending = f" and {more} more" if more > 0 else ""
        yield f"These values that you follow would be deleted: {listed_values}{ending}."
    if plan.conversations:
        yield (
            f"{counted(len(plan.conversations), 'conversation')} would lose the title or note "
            "that mentions it."
        )
    if plan.elsewhere:
        marks = ", ".join(f"“{one_line(mark)}”" for mark in plan.marks[:_MAX_MARKS])
        messages = counted(plan.elsewhere, "other message")
        yield f"{messages} with some of its words ({marks}) would stay."
    if plan.alike:
        yield f"{counted(plan.alike, 'other observation')} saying nearly the same would stay."


def _other_observations(ids: Sequence[int]) -> str:
    noun = "observation" if len(ids) == 1 else "observations"
    return f"{noun} {', '.join(map(str, ids))}, drawn from the same messages"


def _changes(changes: Undone, today: date, sentences: _UndoSentences) -> Iterator[RenderableType]:
    # They are stored as superseded, but nothing replaces what is taken back.
    removed = [o._replace(superseded_at=None, superseded_by=None) for o in changes.deactivated]
    for sentence, observations in (
        (sentences.removed, removed),
        (sentences.reactivated, changes.reactivated),
        (sentences.in_sight, changes.in_sight_again),
        (sentences.out_of_sight, changes.out_of_sight_again),
        (sentences.sure, changes.sure_again),
    ):
        if observations:
            yield Text(sentence.format(counted(len(observations), "observation")))
            yield observation_table(observations, today, _MAX_LISTED)
    if changes.given_back:
        shown = changes.given_back[:_MAX_LISTED]
        lines = [f"  “{shorten(text, _WITHHELD_QUOTE_LENGTH)}”" for text in shown]
        yield Text("\n".join([sentences.shown_again, *lines]))
    if changes.reopened:
        reopened = changes.reopened[:_MAX_LISTED]
        lines = [f"  “{shorten(text, _WITHHELD_QUOTE_LENGTH)}”" for text in reopened]
        yield Text("\n".join([sentences.reopened, *lines]))
    if changes.values:
        yield Text(sentences.removed.format(counted(changes.values, "value")).replace(":", "."))
    if changes.relations:
        yield Text(sentences.relations.format(counted(changes.relations, "relation")))


def _cycle_names(undo: Undo) -> str:
    """Return the kinds of the undone cycles and their conversation, in words."""
    cycle = undo.changes.cycle
    cycles = [cycle, *reversed(undo.changes.along)]
    text = listed(dict.fromkeys(_CYCLE_NAMES[CycleKind(each.kind)] for each in cycles))
    if cycle.conversation_id is not None:
        text += f", in conversation {cycle.conversation_id}"
        if undo.title:
            text += f" “{one_line(undo.title)}”"
    return text


def _when_repeated(done: Undo) -> str:
    """Return when the work that was taken back will be done again, or ""."""
    cycle = done.changes.cycle
    if not done.learns:
        return ""
    if done.is_of_archived:
        return f"Those messages were imported: {as_typed('observe')} reads them again."
    compact = as_typed("compact")
    if cycle.kind == CycleKind.OBSERVER and done.is_here:
        return f"Those messages will be read again after more talk, or when you run {compact}."
    if cycle.kind == CycleKind.OBSERVER:
        # Both doors compact the current conversation only.
        there = as_typed(f"/switch {cycle.conversation_id}")
        return (
            f"Those messages, in conversation {cycle.conversation_id}, will be read again after "
            f"more talk there, or when you run {compact} there ({there})."
        )
    if cycle.kind == CycleKind.REFLECTOR:
        return (
            "They will be condensed again once there are more observations, "
            f"or when you run {compact}."
        )
    return ""

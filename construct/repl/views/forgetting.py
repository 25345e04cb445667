"""What forgetting takes along, beforehand and afterwards."""

from collections.abc import Iterator, Sequence
from datetime import date

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from construct.memory.curation.forget import ForgetPlan, Forgotten
from construct.repl.views.observations import memory_table, more, observation_table
from construct.repl.views.words import counted
from construct.store.records import Message
from construct.text import one_line, shorten

_MOST_LISTED = 12
STILL_IN_FILE = (
    " Its bytes are still in the file: another program is reading it, or the disk is full or failing."
    " Close that program or make room; the next `construct` command clears them out."
)
_QUOTED = 100


def plan_view(plan: ForgetPlan, today: date) -> RenderableType:
    """Return what would be deleted, what would change, and what would stay although it says the same."""
    sections: list[list[RenderableType]] = [
        _deleted(plan, today),
        _emptied(sorted((*plan.messages, *plan.replies), key=lambda m: m.id) if plan.words else ()),
        [Text("This would stand again:"), observation_table(plan.reactivated, today, _MOST_LISTED)]
        if plan.reactivated
        else [],
        [*(Text(line, style="dim") for line in _consequences(plan))],
    ]
    spaced = [[Text(), *section] for section in sections if section]
    return Group(*[part for section in spaced for part in section][1:])


def _deleted(plan: ForgetPlan, today: date) -> list[RenderableType]:
    parts: list[RenderableType] = []
    if plan.observations:
        parts.append(observation_table(plan.observations, today, _MOST_LISTED))
    if plan.memories:
        parts.append(memory_table(plan.memories, _MOST_LISTED))
    return [Text("This would be deleted for good:", style="heading3"), *parts] if parts else []


def question(plan: ForgetPlan) -> str:
    """Return what is asked beforehand: of messages that are only withheld nothing is deleted."""
    deletes = plan.words or plan.observations or plan.memories
    return "Delete this for good?" if deletes else "Keep this from the model for good?"


def _emptied(messages: Sequence[Message]) -> list[RenderableType]:
    """Return the beginnings of the messages that would be emptied, so that nothing goes unseen."""
    if not messages:
        return []
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True, style="dim")
    table.add_column(overflow="fold")
    for m in messages[:_MOST_LISTED]:
        who = "you" if m.role == "user" else "reply"
        table.add_row(f"  message:{m.id} {who}", Text(f"“{shorten(m.content, _QUOTED)}”"))
    if left_out := more(len(messages), _MOST_LISTED):
        table.add_row("", left_out)
    return [Text("Every word of these would go:"), table]


def forgotten_words(gone: Forgotten) -> str:
    """Return what was deleted."""
    parts = [counted(gone.observations, "observation")] if gone.observations else []
    parts += [counted(gone.memories, "memory")] if gone.memories else []
    parts += [counted(gone.relations, "relation")] if gone.relations else []
    parts += [f"every word of {counted(gone.emptied, 'message')}"] if gone.emptied else []
    words = (
        f"Deleted: {', '.join(parts)}." if parts else f"Out of recall and window: {counted(gone.messages, 'message')}."
    )
    if gone.beside:
        words += f" {_beside(gone.beside)} stays."
    if gone.pending_erasure:
        words += STILL_IN_FILE
    return words


def _beside(ids: Sequence[int]) -> str:
    """Return what else was drawn from the messages, to be forgotten by its id."""
    return f"What else was drawn from them ({', '.join(map(str, ids))})"


def _consequences(plan: ForgetPlan) -> Iterator[str]:
    concerned = len(plan.messages) + len(plan.replies)
    if concerned:
        messages = counted(concerned, "message")
        if plan.words:
            yield f"{messages}, the whole of them and replies too, would be emptied to “[removed]”."
            if plan.beside:
                yield f"{_beside(plan.beside)} would stay."
        else:
            yield f"{messages} would leave the window and recall; --words empties them too."
    if plan.threads:
        yield f"{counted(len(plan.threads), 'conversation')} would lose a title or note that holds it."
    if plan.elsewhere:
        marks = ", ".join(f"“{one_line(mark)}”" for mark in plan.marks[:4])
        yield f"{counted(plan.elsewhere, 'other message')} with {marks} would stay."
    if plan.alike:
        yield f"{counted(plan.alike, 'other observation')} saying nearly the same would stay."

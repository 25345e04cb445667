"""What is known of the user, by subject."""

from collections.abc import Sequence
from datetime import date
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from construct.clock import Clock
from construct.operations.memory import StoredMemory
from construct.operations.profile import ProfileLine, Subject
from construct.references import written
from construct.store.records import Observation
from construct.text import one_line
from construct.views.memory import notes, shown_json
from construct.views.widgets import Prose
from construct.views.words import counted
from construct.vocabulary import ItemKind


def profile_view(found: Sequence[Subject], today: date) -> RenderableType:
    """Return the subjects one below the other, each line with its id and its day."""
    if not found:
        return Text("Nothing is known of you yet.", style="dim")
    width = max(len(_id(line)) for subject in found for line in subject.lines)
    parts: list[RenderableType] = []
    for subject in found:
        parts += [Text(one_line(subject.name), style="heading3"), _lines(subject, width, today)]
        parts.append(Text())
    total = sum(len(subject.lines) for subject in found)
    return Group(*parts, Text(f"{counted(total, 'thing')} known, newest first", style="strong"))


def profile_json(found: Sequence[Subject], clock: Clock) -> list[dict[str, Any]]:
    """Return the same for programs."""
    return [
        {"subject": subject.name, "lines": [_line_json(line, clock) for line in subject.lines]}
        for subject in found
    ]


def _lines(subject: Subject, width: int, today: date) -> Table:
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True, justify="right", style="dim", min_width=width + 2)
    table.add_column(no_wrap=True, style="dim")
    table.add_column(overflow="fold")
    for line in subject.lines:
        words = Prose(one_line(line.of.content))
        if isinstance(line.of, Observation) and (said := notes(line.of, today)):
            words.append(f"  {' · '.join(said)}", style="dim")
        table.add_row(_id(line), line.date, words)
    return table


def _id(line: ProfileLine) -> str:
    if isinstance(line.of, Observation):
        return str(line.of.id)
    return written((ItemKind.MEMORY, line.of.id))


def _line_json(line: ProfileLine, clock: Clock) -> dict[str, Any]:
    of = line.of if isinstance(line.of, Observation) else StoredMemory(line.of)
    return shown_json(of, clock)

"""What is known of the user, by subject."""

from collections.abc import Sequence
from datetime import date
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Column, Table
from rich.text import Text

from construct.clock import Clock
from construct.operations.memory import StoredMemory
from construct.operations.profile import ProfileLine, Subject
from construct.references import written
from construct.store.records import Memory, Observation
from construct.text import one_line
from construct.views.memory import notes, shown_json
from construct.views.widgets import Prose, grid, spaced
from construct.views.words import counted
from construct.vocabulary import ItemKind


def profile_view(found: Sequence[Subject], today: date) -> RenderableType:
    """Return the subjects one below the other, each line with its id and its day."""
    if not found:
        return Text("Nothing is known about you yet.", style="dim")
    width = max(len(_id(line)) for subject in found for line in subject.lines)
    parts = [
        Group(Text(one_line(subject.name), style="heading3"), _lines(subject, width, today))
        for subject in found
    ]
    total = counted(sum(len(subject.lines) for subject in found), "thing")
    return spaced([*parts, Text(f"{total} known, newest first", style="strong")])


def profile_json(found: Sequence[Subject], clock: Clock) -> list[dict[str, Any]]:
    """Return the same for programs."""
    return [
        {"subject": subject.name, "lines": [_line_json(line, clock) for line in subject.lines]}
        for subject in found
    ]


def _lines(subject: Subject, width: int, today: date) -> Table:
    return grid(
        ((_id(line), line.date, _words(line.of, today)) for line in subject.lines),
        Column(no_wrap=True, justify="right", style="dim", min_width=width + 2),
        Column(no_wrap=True, style="dim"),
        Column(overflow="fold"),
        gap=1,
    )


def _words(of: Observation | Memory, today: date) -> Text:
    words = Prose(one_line(of.content))
    said = notes(of, today) if isinstance(of, Observation) else []
    return words.append(f"  {' · '.join(said)}", style="dim") if said else words


def _id(line: ProfileLine) -> str:
    if isinstance(line.of, Observation):
        return str(line.of.id)
    return written((ItemKind.MEMORY, line.of.id))


def _line_json(line: ProfileLine, clock: Clock) -> dict[str, Any]:
    of = line.of if isinstance(line.of, Observation) else StoredMemory(line.of)
    return shown_json(of, clock)

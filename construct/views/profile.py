"""Render what is known about the user, by subject."""

from collections.abc import Sequence
from datetime import date
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Column, Table
from rich.text import Text

from construct.operations.memory import MemoryList
from construct.operations.profile import Subject
from construct.store.records import Observation
from construct.text import one_line
from construct.views.memory import how_to_learn, notes
from construct.views.shapes import note_json
from construct.views.widgets import Prose, grid, spaced
from construct.views.words import counted


def nothing_known(memory_list: MemoryList) -> str:
    """Return what to say instead of a profile without subjects, and what would help.

    `compact` is the command for memory work.
    """
    return f"Nothing is known about you yet. {how_to_learn(memory_list)}"


def profile_view(subjects: Sequence[Subject], today: date) -> RenderableType:
    """Return the subjects as sections, each line with its id and its day."""
    width = max(len(str(line.item.id)) for subject in subjects for line in subject.lines)
    parts = [
        Group(Text(one_line(subject.name), style="heading3"), _lines(subject, width, today))
        for subject in subjects
    ]
    total = counted(sum(len(subject.lines) for subject in subjects), "thing")
    return spaced([*parts, Text(f"{total} known, newest first", style="strong")])


def profile_json(subjects: Sequence[Subject]) -> list[dict[str, Any]]:
    """Return the JSON form of `profile_view`."""
    return [
        {"subject": subject.name, "lines": [note_json(line.item) for line in subject.lines]}
        for subject in subjects
    ]


def _lines(subject: Subject, width: int, today: date) -> Table:
    return grid(
        ((str(line.item.id), line.date, _content(line.item, today)) for line in subject.lines),
        Column(no_wrap=True, justify="right", style="dim", min_width=width + 2),
        Column(no_wrap=True, style="dim"),
        Column(overflow="fold"),
        gap=1,
    )


def _content(o: Observation, today: date) -> Text:
    text = Prose(one_line(o.content))
    marks = notes(o, today)
    return text.append(f"  {' · '.join(marks)}", style="dim") if marks else text

"""Render what is due, for the chat."""

from collections.abc import Sequence
from datetime import date

from rich.table import Column, Table

from construct.memory.agenda import AgendaItem, due_words
from construct.text import one_line
from construct.views.widgets import Prose, grid


def due_view(items: Sequence[AgendaItem], today: date) -> Table:
    """Return the items, one per row. Long ones wrap; nothing is cut."""
    lines = (f"{due_words(item, today)}: {one_line(item.text)}" for item in items)
    columns = Column(no_wrap=True, style="dim"), Column(overflow="fold", style="dim")
    return grid((("·", Prose(line)) for line in lines), *columns, gap=1)

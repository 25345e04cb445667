"""Render the plans that are due, for the chat."""

from collections.abc import Sequence
from datetime import date

from rich.table import Column, Table

from construct.memory.turn_context import DuePlan, due_words
from construct.text import one_line
from construct.views.widgets import Prose, grid


def due_view(plans: Sequence[DuePlan], today: date) -> Table:
    """Return the plans, one per row. Long ones wrap; nothing is cut."""
    lines = (f"{due_words(plan, today)}: {one_line(plan.content)}" for plan in plans)
    columns = Column(no_wrap=True, style="dim"), Column(overflow="fold", style="dim")
    return grid((("·", Prose(line)) for line in lines), *columns, gap=1)

"""Plans that are due, a line each."""

from collections.abc import Sequence
from datetime import date

from rich.table import Table

from construct.memory.turn_context import DuePlan, due_words
from construct.text import one_line
from construct.views.widgets import Prose


def due_view(plans: Sequence[DuePlan], today: date) -> Table:
    """Return what is due. Long plans take more lines; no word of them is left out."""
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True, style="dim")
    table.add_column(overflow="fold", style="dim")
    for plan in plans:
        table.add_row("·", Prose(f"{due_words(plan, today)}: {one_line(plan.content)}"))
    return table

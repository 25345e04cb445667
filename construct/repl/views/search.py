"""What recall found."""

from collections.abc import Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from construct.memory.recall import Hit
from construct.text import shorten

_TEXT_WIDTH = 240


def reference(hit: Hit) -> str:
    """Return what a hit is called: a bare number for an observation, `message:12`, `memory:3`."""
    return str(hit.id) if hit.kind == "observation" else f"{hit.kind}:{hit.id}"


def hits_view(hits: Sequence[Hit]) -> RenderableType:
    """Return hits, best first."""
    if not hits:
        return Text("Nothing was found.", style="dim")
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, style="dim", justify="right")
    table.add_column(no_wrap=True, style="dim")
    table.add_column(overflow="fold")
    for hit in hits:
        table.add_row(reference(hit), hit.date, _text(hit))
    return table


def _text(hit: Hit) -> Text:
    text = Text()
    if hit.role:
        text.append(f"{'you' if hit.role == 'user' else 'reply'}: ", style="accent" if hit.role == "user" else "dim")
    text.append(shorten(hit.text, _TEXT_WIDTH))
    if hit.state and hit.state != "active":
        text.append(f"  {hit.state}", style="dim")
    if hit.match != "direct":
        text.append(f"  {hit.match}", style="dim")
    return text

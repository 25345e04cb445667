"""What recall found."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from construct.memory.recall.search import Hit
from construct.text import shorten

_MOST_LINES = 2
_SHORTEST = 60
_BESIDE = 36
"""Columns of the id, the date, and what is said of who said it and how it was found."""


def reference(hit: Hit) -> str:
    """Return what a hit is called: a bare number for an observation, `message:12`, `memory:3`."""
    return str(hit.id) if hit.kind == "observation" else f"{hit.kind}:{hit.id}"


def hits_view(hits: Sequence[Hit]) -> RenderableType:
    """Return hits, best first, each on two lines or so: the best should still be on the screen under the last."""
    return _Hits(hits) if hits else Text("Nothing was found.", style="dim")


@dataclass(frozen=True, slots=True)
class _Hits:
    hits: Sequence[Hit]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table = Table.grid(padding=(0, 2))
        table.add_column(no_wrap=True, style="dim", justify="right")
        table.add_column(no_wrap=True, style="dim")
        table.add_column(overflow="fold")
        length = max(_SHORTEST, _MOST_LINES * (options.max_width - _BESIDE))
        for hit in self.hits:
            table.add_row(reference(hit), hit.date, _text(hit, length))
        yield table


def _text(hit: Hit, length: int) -> Text:
    text = Text()
    if hit.role:
        text.append(f"{'you' if hit.role == 'user' else 'reply'}: ", style="accent" if hit.role == "user" else "dim")
    text.append(shorten(hit.text, length))
    if hit.state and hit.state != "active":
        text.append(f"  {hit.state}", style="dim")
    if hit.match != "direct":
        text.append(f"  {hit.match}", style="dim")
    return text

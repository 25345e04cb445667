"""What rich lacks: tables in one call, bars in the theme's colour, text of any script."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from rich.bar import Bar
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.containers import Lines
from rich.table import Column, Table
from rich.text import Text

from construct.views.wrapping import breaks


def grid(rows: Iterable[Iterable[RenderableType]], *columns: Column, gap: int = 2) -> Table:
    """Return rows below each other, `gap` blank columns between their cells."""
    table = Table.grid(*columns, padding=(0, gap))
    for row in rows:
        table.add_row(*row)
    return table


def spaced(parts: Sequence[RenderableType]) -> Group:
    """Return parts below each other, a blank line between them."""
    lines = list(chain.from_iterable((Text(), part) for part in parts))
    return Group(*lines[1:])


def headed(rows: Iterable[Iterable[RenderableType]], *columns: Column) -> Table:
    """Return rows below the headings of their columns."""
    table = Table(*columns, box=None, padding=(0, 1), header_style="dim", pad_edge=False)
    for row in rows:
        table.add_row(*row)
    return table


class AccentBar(Bar):
    """A bar from `begin` to `end` of `size`, in the accent of the console's theme."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw it. Rich's own knows colours, and none of the theme's styles."""
        self.style = console.get_style("accent")
        return super().__rich_console__(console, options)


@dataclass(frozen=True, slots=True)
class ByWidth:
    """One view where there are `columns` or more, another where there are fewer."""

    columns: int
    wide: RenderableType
    narrow: RenderableType

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield self.wide if options.max_width >= self.columns else self.narrow


class Prose(Text):
    """A text whose lines break between words or wide characters too.

    Rich takes what has no spaces for one word.
    """

    def wrap(self, console: Console, width: int, **options: Any) -> Lines:
        """Return its lines, none wider than `width` columns."""
        if options.get("no_wrap") or self.no_wrap:
            return super().wrap(console, width, **options)
        lines = Lines()
        for line in self.split(allow_blank=True):
            line.expand_tabs(4)
            lines.extend(line.divide(breaks(line.plain, width, lambda _: False)))
        for line in lines:
            line.rstrip_end(width)
        return lines

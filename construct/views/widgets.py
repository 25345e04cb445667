"""Building blocks on top of rich: tables, themed bars, text in any script."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from rich.bar import Bar
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.containers import Lines
from rich.table import Column, Table
from rich.text import Text

from construct.views.wrapping import break_points


def grid(rows: Iterable[Iterable[RenderableType]], *columns: Column, gap: int = 2) -> Table:
    """Return a table without lines or headings, with `gap` blanks between columns."""
    table = Table.grid(*columns, padding=(0, gap))
    for row in rows:
        table.add_row(*row)
    return table


def spaced(parts: Sequence[RenderableType]) -> Group:
    """Return the parts one below another, separated by blank lines."""
    lines = list(chain.from_iterable((Text(), part) for part in parts))
    return Group(*lines[1:])


def headed(rows: Iterable[Iterable[RenderableType]], *columns: Column) -> Table:
    """Return a table with dim column headings and no lines."""
    table = Table(*columns, box=None, padding=(0, 1), header_style="dim", pad_edge=False)
    for row in rows:
        table.add_row(*row)
    return table


class AccentBar(Bar):
    """A bar from `begin` to `end` of `size`, in the theme's accent colour."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw the bar. Rich's own takes a colour, but not the name of a style in the theme."""
        self.style = console.get_style("accent")
        return super().__rich_console__(console, options)


@dataclass(frozen=True, slots=True)
class ByWidth:
    """One view for consoles at least `columns` wide, another for narrower ones."""

    columns: int
    wide: RenderableType
    narrow: RenderableType

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield self.wide if options.max_width >= self.columns else self.narrow


class Prose(Text):
    """A text that also breaks lines between wide characters, as in Chinese.

    Rich takes a run without spaces for one word.
    """

    def wrap(self, console: Console, width: int, **options: Any) -> Lines:
        """Return the text as lines of at most `width` columns."""
        if options.get("no_wrap") or self.no_wrap:
            return super().wrap(console, width, **options)
        lines = Lines()
        for line in self.split(allow_blank=True):
            line.expand_tabs(4)
            lines.extend(line.divide(break_points(line.plain, width, lambda _: False)))
        for line in lines:
            line.rstrip_end(width)
        return lines

"""What rich lacks: bars in the theme's colour, and text that breaks in any script."""

from dataclasses import dataclass
from typing import Any

from rich.bar import Bar
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.containers import Lines
from rich.text import Text

from construct.views.wrapping import breaks


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

"""Bars in the theme's colour."""

from rich.bar import Bar
from rich.console import Console, ConsoleOptions, RenderResult


class AccentBar(Bar):
    """A bar from `begin` to `end` of `size`; rich's own knows colours, and none of the theme's styles."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw it in the accent of the theme that the console has."""
        self.style = console.get_style("accent")
        return super().__rich_console__(console, options)

"""Text that people wrote: broken where its script allows."""

from typing import Any

from rich.console import Console
from rich.containers import Lines
from rich.text import Text

from construct.repl.line_breaks import breaks


class Prose(Text):
    """A text whose lines break between words or wide characters too; rich takes what has no spaces for one word."""

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

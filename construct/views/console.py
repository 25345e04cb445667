"""Turn rich renderables into text, with or without ANSI escapes."""

import re
from io import StringIO
from typing import TextIO

from rich.console import Console, RenderableType
from rich.theme import Theme as RichTheme

from construct.views.themes import NEUTRAL, PLAIN, Theme

_TRAILING_BLANKS = re.compile(r"[ \t]+((?:\x1b\[[\d;]*m[ \t]*)*)$", re.MULTILINE)
"""Blanks and colour escapes at the end of a line, as in `word  \\x1b[0m  `."""
MIN_WIDTH = 20
PLAIN_WIDTH = 100
"""Columns for output that does not go to a terminal."""


def to_ansi(renderable: RenderableType, width: int, theme: Theme = NEUTRAL) -> str:
    """Return a renderable as lines with ANSI styles, at most `width` columns wide.

    A `width` below MIN_WIDTH counts as MIN_WIDTH.
    """
    stream = StringIO()
    _console(stream, width, theme).print(renderable)
    return _TRAILING_BLANKS.sub(lambda end: end[1].replace(" ", ""), stream.getvalue())


def to_console(stream: TextIO, theme: Theme) -> Console:
    """Return a console on `stream`, for a display that is redrawn."""
    return _console(stream, None, theme)


def _console(stream: TextIO, width: int | None, theme: Theme) -> Console:
    return Console(
        file=stream,
        width=None if width is None else max(MIN_WIDTH, width),
        force_terminal=not theme.plain,
        color_system=None if theme.plain else "256",
        no_color=theme.plain,
        theme=RichTheme(theme.styles),
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )


def to_text(renderable: RenderableType, width: int = PLAIN_WIDTH) -> str:
    """Return a renderable as plain text, without a final newline."""
    return to_ansi(renderable, width, PLAIN).rstrip("\n")

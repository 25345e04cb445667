"""From renderables to the characters that are printed."""

import os
import re
from io import StringIO
from typing import TextIO

from rich.console import Console, RenderableType
from rich.theme import Theme as RichTheme

from construct.views.themes import NEUTRAL, PLAIN, Theme, theme_on

_BLANK_ENDS = re.compile(r"[ \t]+((?:\x1b\[[\d;]*m[ \t]*)*)$", re.MULTILINE)
NARROWEST = 20
PLAIN_WIDTH = 100
"""Columns of what is printed where no terminal says how wide it is."""


def to_ansi(renderable: RenderableType, width: int, theme: Theme = NEUTRAL) -> str:
    """Return a renderable as whole lines, at most `width` columns wide."""
    stream = StringIO()
    _console(stream, width, theme).print(renderable)
    return _BLANK_ENDS.sub(lambda end: end[1].replace(" ", ""), stream.getvalue())


def to_console(stream: TextIO) -> Console:
    """Return a console on a terminal, for what is drawn there again and again."""
    return _console(stream, None, theme_on(stream, os.environ))


def _console(stream: TextIO, width: int | None, theme: Theme) -> Console:
    return Console(
        file=stream,
        width=None if width is None else max(NARROWEST, width),
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
    """Return a renderable as plain text without a newline at its end."""
    return to_ansi(renderable, width, PLAIN).rstrip("\n")

"""From renderables to the characters that are printed."""

import re
from io import StringIO

from rich.console import Console, RenderableType
from rich.theme import Theme

from construct.repl.themes import STYLES

_BLANK_ENDS = re.compile(r"[ \t]+((?:\x1b\[[\d;]*m[ \t]*)*)$", re.MULTILINE)
NARROWEST = 20
PLAIN_WIDTH = 100
"""Columns of what is printed where no terminal says how wide it is."""


def to_ansi(renderable: RenderableType, width: int, *, plain: bool = False) -> str:
    """Return a renderable as whole lines, at most `width` columns wide; `plain` ones have no escape sequences."""
    stream = StringIO()
    console = Console(
        file=stream,
        width=max(NARROWEST, width),
        force_terminal=not plain,
        color_system=None if plain else "standard",
        no_color=plain,
        theme=Theme(STYLES),
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )
    console.print(renderable)
    return _BLANK_ENDS.sub(lambda end: end[1].replace(" ", ""), stream.getvalue())


def to_text(renderable: RenderableType, width: int = PLAIN_WIDTH) -> str:
    """Return a renderable as plain text without a newline at its end."""
    return to_ansi(renderable, width, plain=True).rstrip("\n")

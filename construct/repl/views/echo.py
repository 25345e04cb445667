"""What the user said, as it stands in the scrollback."""

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from construct.text import printable

_FIRST_LINES, _LAST_LINES = 8, 2
_FIRST_CHARACTERS, _LAST_CHARACTERS = 1_600, 400


def echo_view(text: str) -> RenderableType:
    """Return a message behind the prompt's sign; of a long one beginning and end: a question often follows a paste."""
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True, style="accent")
    table.add_column(overflow="fold")
    table.add_row("›", _abbreviated(printable(text)))
    return table


def _abbreviated(text: str) -> Text:
    lines = text.split("\n")
    hidden = len(lines) - _FIRST_LINES - _LAST_LINES
    if hidden > 1:
        first, last = "\n".join(lines[:_FIRST_LINES]), "\n".join(lines[-_LAST_LINES:])
        left_out = f"… {hidden:,} more lines …"
    else:
        first, last, left_out = text, "", ""
    if len(first) + len(last) > _FIRST_CHARACTERS + _LAST_CHARACTERS:
        first, last = text[:_FIRST_CHARACTERS], text[-_LAST_CHARACTERS:]
        left_out = f"… {len(text) - len(first) - len(last):,} more characters …"
    shown = Text(first, style="strong")
    if left_out:
        shown.append(f"\n{left_out}\n", style="dim").append(last, style="strong")
    return shown

"""What the user said, as it stands in the scrollback."""

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from construct.repl.views.prose import Prose
from construct.text import printable

_FIRST_LINES, _LAST_LINES = 8, 2
_FIRST_CHARACTERS, _LAST_CHARACTERS = 1_600, 400
_READ = 20_000
"""Characters of either end that are looked at: a paste may have megabytes."""


def echo_view(text: str) -> RenderableType:
    """Return a message behind the prompt's sign; of a long one beginning and end: a question often follows a paste."""
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True, style="accent")
    table.add_column(overflow="fold")
    table.add_row("›", _abbreviated(text))
    return table


def _abbreviated(text: str) -> Text:
    head, tail = printable(text[:_READ]), printable(text[-_READ:])
    hidden = text.count("\n") + 1 - _FIRST_LINES - _LAST_LINES
    if hidden > 1:
        first, last = "\n".join(head.split("\n")[:_FIRST_LINES]), "\n".join(tail.split("\n")[-_LAST_LINES:])
        left_out = f"… {hidden:,} more lines …"
    else:
        first, last, left_out = head, "", ""
    if len(first) + len(last) > _FIRST_CHARACTERS + _LAST_CHARACTERS:
        first, last = head[:_FIRST_CHARACTERS], tail[-_LAST_CHARACTERS:]
        left_out = f"… {len(text) - len(first) - len(last):,} more characters …"
    shown = Prose(first, style="strong")
    if left_out:
        shown.append(f"\n{left_out}\n", style="dim").append(last, style="strong")
    return shown

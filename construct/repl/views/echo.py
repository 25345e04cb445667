"""What the user said, as it stands in the scrollback."""

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from construct.text import printable

_MOST_LINES = 10
_MOST_CHARACTERS = 2_000
_READ = 20_000


def echo_view(text: str) -> RenderableType:
    """Return a message behind the prompt's sign; of a long one the beginning."""
    hidden = text.count("\n") + 1 - _MOST_LINES
    head = printable(text[:_READ])
    shown = head if hidden <= 1 else "\n".join(head.split("\n")[:_MOST_LINES])
    words = Text(shown[:_MOST_CHARACTERS], style="strong")
    if hidden > 1:
        words.append(f"\n… {hidden:,} more lines", style="dim")
    elif len(shown) > _MOST_CHARACTERS:
        words.append(f"\n… {len(shown) + len(text[_READ:]) - _MOST_CHARACTERS:,} more characters", style="dim")
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True, style="accent")
    table.add_column(overflow="fold")
    table.add_row("›", words)
    return table

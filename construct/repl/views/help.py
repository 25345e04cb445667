"""What can be typed."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from construct.repl.commands.registry import Command

KEYS = (
    ("Enter", "send"),
    ("Alt-Enter, Ctrl-J", "a new line"),
    ("Ctrl-C", "stop the reply; clear the line"),
    ("Ctrl-D", "leave"),
    ("Ctrl-R", "search what you typed before"),
    ("→, Ctrl-E", "take the suggestion"),
    ("Ctrl-X Ctrl-E", "write in your editor"),
    ("F4", "vi keys, or emacs keys again"),
)
_CLOSING = "//text sends a message that begins with a slash. You can go on typing while a reply comes."


def help_view(groups: Sequence[tuple[str, Sequence[Command]]]) -> RenderableType:
    """Return all commands by group, and the keys."""
    parts: list[RenderableType] = []
    for title, commands in groups:
        parts += [Text(title, style="heading3"), _table([(c.usage, c.help) for c in commands]), Text()]
    parts += [Text("Keys", style="heading3"), _table(KEYS)]
    parts.append(Text(f"\n{_CLOSING}", style="dim"))
    return Group(*parts)


def command_view(command: Command) -> RenderableType:
    """Return what one command does."""
    text = Text()
    text.append(command.usage, style="accent")
    text.append(f"  {command.help}")
    if command.details:
        text.append(f"\n{command.details}", style="dim")
    return text


def _table(rows: Sequence[tuple[str, str]]) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, min_width=24)
    table.add_column(overflow="fold")
    for left, right in rows:
        table.add_row(Text(f"  {left}", style="accent"), right)
    return table

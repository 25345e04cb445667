"""The views of `/help`: commands and keys."""

from collections.abc import Iterator, Sequence
from itertools import combinations

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Column, Table
from rich.text import Text

from construct.chat.commands.registry import ALIASES, Command, CommandGroup, Registry
from construct.views.widgets import grid

KEYS = (
    ("Enter", "send"),
    ("Alt-Enter, Ctrl-J", "a new line (with vi keys Ctrl-J)"),
    ("Tab", "complete a command or a path; attach a pasted path; unfold a paste: it is yours"),
    ("@path", "attach a picture, a PDF or a text file"),
    ("Ctrl-V", "paste, a picture too (with vi keys Ctrl-X Ctrl-V)"),
    ("Ctrl-C", "stop the reply; clear the line"),
    ("Ctrl-D", "leave"),
    ("↑", "take back a queued message; else recall what you typed before"),
    ("Ctrl-R", "search what you typed before"),
    ("→, Ctrl-E", "accept the suggestion"),
    ("Ctrl-X Ctrl-E", "write in your editor"),
    ("F4", "vi keys, or emacs keys again"),
)
_TWO_COLUMNS_FROM = 79
_CLOSING = "/help COMMAND: one in detail · /help keys: the keys · //text sends /text"
_EVERY_DAY = (
    "memory",
    "profile",
    "why",
    "edit",
    "forget",
    "undo",
    "recall",
    "agenda",
    "new",
    "switch",
    "private",
    "persona",
)
_MORE = "/help all: every command · /help COMMAND: one in detail · /help keys: the keys"


class HelpView:
    """All commands by group, in two columns if they fit."""

    def __init__(self, groups: Sequence[CommandGroup]) -> None:
        self._groups = groups

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if options.max_width < _TWO_COLUMNS_FROM:
            yield _column(self._groups)
        else:
            yield grid([[_column(groups) for groups in halves(self._groups)]])
        yield Text(_CLOSING, style="dim")


def halves(groups: Sequence[CommandGroup]) -> tuple[list[CommandGroup], list[CommandGroup]]:
    """Split the groups into two columns of similar height, keeping their order in each."""
    splits = [
        (list(left), [group for group in groups if group not in left])
        for size in range(1, len(groups) + 1)
        for left in combinations(groups, size)
    ]
    return min(splits, key=lambda columns: max(sum(map(_height, column)) for column in columns))


def everyday_view(registry: Registry) -> RenderableType:
    """Return a list of the dozen commands that most people need."""
    commands = [command for name in _EVERY_DAY if (command := registry.find(name))]
    return Group(
        _table([(f"/{command.name}", command.help) for command in commands]),
        Text(f"\n{_MORE}", style="dim"),
    )


def keys_view() -> RenderableType:
    """Return a list of the keys and what they do."""
    return _table(KEYS)


def command_view(command: Command) -> RenderableType:
    """Return the full help of one command, with an example."""
    text = Text()
    text.append(command.usage, style="accent")
    text.append(f"  {command.help}\n{command.details}")
    also = [f"/{alias}" for alias, name in ALIASES.items() if name == command.name]
    if also:
        text.append(f"\nAlso: {', '.join(also)}", style="dim")
    return text.append("\nFor example: ", style="dim").append(command.example, style="accent")


def _height(group: CommandGroup) -> int:
    return len(group.commands) + 1


def _column(groups: Sequence[CommandGroup]) -> RenderableType:
    """Return the groups one below another, with their summaries aligned."""
    width = max(len(command.name) for group in groups for command in group.commands) + 3
    return Group(*(part for group in groups for part in _group(group, width)))


def _group(group: CommandGroup, width: int) -> Iterator[RenderableType]:
    yield Text(group.title, style="heading3")
    yield _table([(f"/{command.name}", command.help) for command in group.commands], width)


def _table(rows: Sequence[tuple[str, str]], width: int | None = None) -> Table:
    cells = ((Text(f" {left}", style="accent"), right) for left, right in rows)
    columns = Column(no_wrap=True, min_width=width), Column(overflow="fold")
    return grid(cells, *columns, gap=1)

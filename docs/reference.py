"""Generate docs/commands.md from the program: `uv run python -m docs.reference`."""

import io
from collections.abc import Iterator
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any

from typer.main import get_command

from construct.chat.commands import all_commands
from construct.chat.commands.help import KEYS
from construct.cli.app import app

PAGE = Path(__file__).parent / "commands.md"
COLUMNS = 80
HEAD = """\
# Commands

`uv run python -m docs.reference` generates this page from the program and overwrites any changes
made here.

The page lists every shell command with its `--help`, then [the commands of the
chat](#in-the-chat). Put global options before the command. [For programs](programs.md) describes
the output of `--json`.
"""
CHAT = """\
## In the chat

A line that begins with `/` is a command; `//` sends a message that begins with a slash. Tab
completes names and ids.
"""


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), "utf-8")
    print(PAGE)


def page() -> str:
    """Return the whole page."""
    commands = [
        f"## {' '.join(('construct', *path))}\n\n```text\n{help_of(path)}\n```\n"
        for path in commands_by_path()
    ]
    return "\n".join([HEAD, *commands, CHAT, *_chat()])


@cache
def commands_by_path() -> dict[tuple[str, ...], Any]:
    """Return every command by its path, the program itself first."""
    return dict(_commands(get_command(app), ()))


@cache
def help_of(path: tuple[str, ...]) -> str:
    """Return what `--help` prints for a command."""
    printed = io.StringIO()
    with redirect_stdout(printed):
        commands_by_path()[()](
            [*path, "--help"], prog_name="construct", standalone_mode=False, terminal_width=COLUMNS
        )
    return printed.getvalue().strip()


def _commands(command: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield path, command
    for name, one in getattr(command, "commands", {}).items():
        yield from _commands(one, (*path, name))


def _chat() -> Iterator[str]:
    for group in all_commands().groups:
        yield f"### {group.title}\n"
        yield from (
            " ".join(f"- `{c.usage}`: {c.help}. {c.details}".split()) for c in group.commands
        )
        yield ""
    yield "### Keys\n"
    yield from (f"- {keys}: {what}." for keys, what in KEYS)
    yield ""


if __name__ == "__main__":
    main()

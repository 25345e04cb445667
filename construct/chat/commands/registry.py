"""The registry of slash commands: a decorator adds a command to its group."""

import difflib
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from inspect import cleandoc
from typing import TYPE_CHECKING

from construct.program import in_shell
from construct.text import shorten

if TYPE_CHECKING:
    from construct.chat.chat import Chat
    from construct.chat.output import Output


class AfterCommand(Enum):
    """What the chat does after a command: retry the last message, or end."""

    RETRY = auto()
    LEAVE = auto()


@dataclass(frozen=True, slots=True)
class Choice:
    """A possible argument and its meaning, for completion."""

    value: str
    meaning: str = ""


ALIASES = {"exit": "quit", "search": "recall", "cost": "usage", "clear": "new"}
"""Other names that run a command."""
_MEANT = {
    **dict.fromkeys(("find", "grep"), "recall"),
    **dict.fromkeys(("bye", "q"), "quit"),
    **dict.fromkeys(("delete", "remove", "rm"), "forget"),
    **dict.fromkeys(("memories", "observations", "list"), "memory"),
    **dict.fromkeys(("costs", "money"), "usage"),
    **dict.fromkeys(("reflect", "observe"), "compact"),
    **dict.fromkeys(("open", "resume"), "switch"),
    **dict.fromkeys(("save", "backup"), "export"),
    **dict.fromkeys(("source", "show"), "why"),
    "brief": "agenda",
    "reset": "new",
    "tokens": "context",
    "incognito": "private",
    "title": "rename",
    "weeks": "timeline",
}
"""What people type by mistake, and the command they probably mean."""

_SHELL_GROUPS = {"memory", "conversations"}
_SHELL_NAMES = {
    "memory list": "memory",
    "memory search": "recall",
    "memory add": "remember",
    "conversations list": "conversations",
}
"""Commands that the chat calls by another name than the last word of the shell's."""

Handler = Callable[["Chat", "Output", str], Awaitable[AfterCommand | None]]
Choices = Callable[["Chat"], Awaitable[Sequence[Choice]]]


@dataclass(frozen=True, slots=True)
class Command:
    """A slash command.

    `usage` begins with its name, `help` is a summary in a few words, and the docstring of
    `run` is its full help text.
    """

    usage: str
    help: str
    run: Handler
    choices: Choices | None = None
    example: str = ""
    """A line that the user can type to try it."""
    each_word: bool = False
    """Whether the argument may be several choices, separated by spaces."""

    @property
    def name(self) -> str:
        """The name, without the slash."""
        return self.usage.split()[0].removeprefix("/")

    @property
    def details(self) -> str:
        """The help text, with each paragraph and each indented line on one line."""
        paragraphs = cleandoc(self.run.__doc__ or "").split("\n\n")
        return "\n".join(re.sub(r"\n(?! )", " ", paragraph) for paragraph in paragraphs)


class CommandGroup:
    """Commands listed under one title in `/help all`."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.commands: list[Command] = []

    def command(
        self,
        usage: str,
        summary: str,
        *,
        example: str = "",
        choices: Choices | None = None,
        each_word: bool = False,
    ) -> Callable[[Handler], Handler]:
        """Return a decorator that adds a command, run by the decorated function.

        `usage` begins with the command's name. `/help all` lists the name and the
        summary; `/help COMMAND` and completion show the whole usage. The example is the
        name alone by default.
        """

        def register(run: Handler) -> Handler:
            line = example or usage.split()[0]
            self.commands.append(Command(usage, summary, run, choices, line, each_word))
            return run

        return register


class Registry:
    """All commands, by name."""

    def __init__(self, groups: Sequence[CommandGroup]) -> None:
        self.groups = groups
        self._commands = {command.name: command for group in groups for command in group.commands}

    @property
    def names(self) -> list[str]:
        """The commands' names, in alphabetical order."""
        return sorted(self._commands)

    def find(self, name: str) -> Command | None:
        """Return the command with this name or alias; None if there is none."""
        typed = name.lower()
        return self._commands.get(ALIASES.get(typed, typed))

    def as_slash(self, words: str) -> str:
        """Return the slash command for a command of the shell: `/memory` for `memory list`.

        What only the shell has is written for the shell.
        """
        if words.startswith("/"):
            return words
        group, _, rest = words.partition(" ")
        if group in _SHELL_GROUPS:
            group, _, rest = rest.partition(" ")
            group = _SHELL_NAMES.get(f"{words.split()[0]} {group}", group)
        if self.find(group) is None:
            return in_shell(words)
        return f"/{group} {rest.replace('--', '')}".rstrip()

    def unknown(self, name: str) -> str:
        """Return the error message for a name that is not a command."""
        if not any(map(str.isalpha, name)):  # "/", "/?"
            return f"Unknown command /{shorten(name, 40)}. /help lists the commands."
        if "/" in name:
            return (
                f"Unknown command /{shorten(name, 40)}. Begin a message with // to send it."
                " In a full terminal, @ before a path attaches the file."
            )
        begun = [known for known in self.names if known.startswith(name.lower())]
        nearest = (
            _MEANT.get(name.lower(), "").split()
            or begun
            or difflib.get_close_matches(name.lower(), [*self.names, *ALIASES], n=1, cutoff=0.0)
        )
        return f"Unknown command /{shorten(name, 40)}. Did you mean /{nearest[0]}?"


def split_command(line: str) -> tuple[str, str]:
    """Return the name and the argument of a line that begins with a slash."""
    name = line[1:].split(maxsplit=1)[0] if line[1:2].strip() else ""
    return name, line[1 + len(name) :].strip()


def choose(*values: tuple[str, str]) -> Choices:
    """Return a function for `choices` that offers fixed values, each with its meaning."""
    fixed = [Choice(*value) for value in values]

    async def choices(_: "Chat") -> Sequence[Choice]:
        return fixed

    return choices

"""Completion at the prompt: slash commands, their arguments, and paths after `@`."""

import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from construct.chat.mentions import can_be_named, mention_of, path_being_typed
from construct.errors import ConstructError
from construct.text import one_line, printable

if TYPE_CHECKING:
    from construct.chat.chat import Chat
    from construct.chat.commands.registry import Choice, Registry

Source = Callable[[], Awaitable[tuple["Registry", "Chat"]]]

_MAX_SEEN = 20_000
"""Entries of a folder that are looked at."""
_MAX_SHOWN = 200


class CommandCompleter(Completer):
    """Completes slash commands. `source` waits until the chat is loaded."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        """Return nothing: see `get_completions_async`."""
        return ()

    async def get_completions_async(
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion, None]:
        """Yield the commands or arguments that fit what is typed."""
        text = document.text_before_cursor
        if not is_command(document.text) or "\n" in text:
            return
        registry, chat = await self._source()
        name, space, argument = text[1:].partition(" ")
        if not space:
            for completion in _command_names(registry, name.lower()):
                yield completion
            return
        command = registry.find(name)
        if command is None or command.choices is None:
            return
        try:
            choices = await command.choices(chat)
        except ConstructError:
            return
        if command.each_word:
            argument = argument.rpartition(" ")[2]
        for choice in choices:
            if fits(choice, argument):
                yield Completion(
                    choice.value, -len(argument), display_meta=one_line(choice.meaning)
                )


class PathCompleter(Completer):
    """Completes the path after an `@`. Looks at the disk in a thread."""

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        """Return nothing: see `get_completions_async`."""
        return ()

    async def get_completions_async(
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion, None]:
        """Yield the folders and files whose paths begin with what is typed."""
        typed = path_being_typed(document.text_before_cursor)
        if typed is None or is_command(document.text):
            return
        for path in await asyncio.to_thread(path_choices, typed.removeprefix('"')):
            name = path.rstrip("/").rpartition("/")[2] + "/" * path.endswith("/")
            yield Completion(_as_typed(path, typed), -len(typed), display=name)


def is_command(text: str) -> bool:
    """Return whether a line is a slash command, judging by what has been typed."""
    return text.startswith("/") and not text.startswith("//")


def fits(choice: "Choice", typed: str) -> bool:
    """Return whether a choice begins with what is typed, or its meaning contains it."""
    return choice.value.startswith(typed) or (
        bool(typed) and typed.casefold() in choice.meaning.casefold()
    )


def _command_names(registry: "Registry", typed: str) -> Iterable[Completion]:
    for group in registry.groups:
        for command in group.commands:
            if command.name.startswith(typed):
                name = f"/{command.name}"
                yield Completion(
                    name, -len(typed) - 1, display=command.usage, display_meta=command.help
                )


def path_choices(typed: str) -> list[str]:
    """Return the paths that begin with what is typed, ignoring case.

    Folders end with a slash. Hidden files are included only after a dot. Only the first
    entries of a huge folder are looked at.
    """
    folder, slash, beginning = typed.rpartition("/")
    found = []
    try:
        with os.scandir(Path(folder + slash or ".").expanduser()) as entries:
            for entry in islice(entries, _MAX_SEEN):
                name = entry.name
                if name.startswith(".") and not beginning.startswith("."):
                    continue
                if name.casefold().startswith(beginning.casefold()) and printable(name) == name:
                    path = f"{folder}{slash}{name}"
                    with suppress(OSError):  # a link that leads to itself
                        if entry.is_dir():
                            found.append(f"{path}/")
                        elif entry.is_file():
                            found.append(path)
    except (OSError, ValueError, RuntimeError):
        return []
    return list(islice(filter(can_be_named, sorted(found, key=str.casefold)), _MAX_SHOWN))


def _as_typed(path: str, typed: str) -> str:
    """Return the completed word without its `@`. A folder's quotation mark stays open."""
    word = f'"{path}"' if typed.startswith('"') else mention_of(path)[1:]
    return word.removesuffix('"') if path.endswith("/") else word

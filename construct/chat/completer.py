"""Completion of slash commands and their arguments, each with what it stands for."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from typing import TYPE_CHECKING

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from construct.errors import ConstructError
from construct.text import one_line

if TYPE_CHECKING:
    from construct.chat.chat import Chat
    from construct.chat.commands.registry import Choice, Registry

Source = Callable[[], Awaitable[tuple["Registry", "Chat"]]]


class CommandCompleter(Completer):
    """Completes commands; `source` waits until the chat is loaded."""

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
        """Yield commands that begin with what is typed, or arguments that fit it."""
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


def is_command(text: str) -> bool:
    """Return whether a line is a command, so far."""
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

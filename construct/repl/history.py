"""What was typed before, read from the database when it is first wanted; nothing is written anywhere."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable

from prompt_toolkit.history import History


class TalkHistory(History):
    """The user's messages, newest first, and what was typed in this process, commands too."""

    def __init__(self, read: Callable[[], Awaitable[list[str]]]) -> None:
        super().__init__()
        self._read = read

    async def load(self) -> AsyncGenerator[str, None]:
        """Give the history, newest first."""
        if not self._loaded:
            self._loaded = True
            stored = await self._read()
            typed = self._loaded_strings
            self._loaded_strings = typed + [text for text in stored if text not in typed]
        for text in list(self._loaded_strings):
            yield text

    def load_history_strings(self) -> Iterable[str]:
        """Give nothing: `load` reads the database."""
        return ()

    def store_string(self, string: str) -> None:
        """Write nothing: messages are stored when they are sent, commands live in memory only."""

    def forget(self) -> None:
        """Let go of all, to be read again: something in it was deleted."""
        self._loaded_strings = []
        self._loaded = False

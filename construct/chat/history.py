"""The messages that the arrow keys and Ctrl-R bring back to the prompt."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable

from prompt_toolkit.history import History


class MessageHistory(History):
    """Earlier input: what was typed in this process, then the stored messages.

    Stored messages are read from the database on first use. Nothing is written here.
    """

    def __init__(self, read: Callable[[], Awaitable[list[str]]]) -> None:
        super().__init__()
        self._read = read

    async def load(self) -> AsyncGenerator[str, None]:
        """Yield the history, newest first."""
        if not self._loaded:
            stored = await self._read()
            self._loaded = True  # only now: whoever waits for it may be cancelled
            typed = self._loaded_strings
            self._loaded_strings = typed + [text for text in stored if text not in typed]
        for text in list(self._loaded_strings):
            yield text

    def load_history_strings(self) -> Iterable[str]:
        """Return nothing: `load` reads the database."""
        return ()

    def store_string(self, string: str) -> None:
        """Do nothing: messages are stored when they are sent, commands never."""

    def forget(self) -> None:
        """Forget all input, typed here or loaded; the next use reads what is still stored."""
        self._loaded_strings = []
        self._loaded = False

"""A question at the prompt, and the line on which it is answered."""

import asyncio
from collections.abc import Callable

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.history import DummyHistory


class Question:
    """The question that waits for an answer, if there is one.

    It has a line of its own, so the message being typed stays as it is.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        """`changed` is called when a question begins and when it ends."""
        self.text = ""
        """The question. Empty when nothing is asked."""
        self.line = Buffer(multiline=True, history=DummyHistory(), on_text_insert=self._key_pressed)
        """The answer being typed. It stays if the question is cancelled."""
        self._changed = changed
        self._keys = ""
        self._answer: asyncio.Future[str] | None = None

    async def ask(self, text: str, keys: str = "") -> str:
        """Ask and return the answer, empty when the user declines.

        Pressing one of `keys` answers at once, without Enter.
        """
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.text, self._keys, self._answer = text, keys, answer
        self.line.reset()
        self._changed()
        try:
            return await answer
        finally:
            self._end(answer)

    def answer(self, text: str) -> None:
        """Answer the question. An empty text declines it. Later keys go to the message."""
        answer = self._answer
        if answer is not None and not answer.done():
            answer.set_result(text)
            self._end(answer)
            self.line.reset()

    def _key_pressed(self, _: Buffer) -> None:
        key = self.line.text.lower()
        if len(key) == 1 and key in self._keys:
            self.answer(key)

    def _end(self, answer: "asyncio.Future[str]") -> None:
        if self._answer is answer:
            self.text, self._answer = "", None
            self._changed()

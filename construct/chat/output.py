"""What a chat can do with its screen, whether a terminal or plain streams."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from construct.clock import Clock
from construct.errors import UsageError
from construct.talk.events import Event, TurnResult
from construct.text import one_line, shorten

if TYPE_CHECKING:
    from rich.console import RenderableType

    from construct.store.records import Message

_ANSWERS = {"y": True, "yes": True, "": False, "n": False, "no": False}
_NEEDS_TERMINAL = "This command needs a full terminal: not TERM=dumb, and no pipe."


class ReplyView(Protocol):
    """One reply while it streams in."""

    def listen(self, event: Event) -> None:
        """Show what has just arrived."""

    def end(self, result: TurnResult | None) -> None:
        """Show the rest. `result` is None if there is none, as after an error."""


@dataclass(frozen=True, slots=True)
class LiveView:
    """A view as it is at one moment."""

    view: "RenderableType"
    is_moving: bool
    """Whether it may change soon, so that watching it makes sense."""


GetView = Callable[[], Awaitable[LiveView]]


class Output(Protocol):
    """The screen as commands see it. It removes control characters from all texts.

    By default, what needs a terminal does nothing or raises UsageError.
    """

    interactive: bool = False
    """Whether there is a user who can be asked."""

    def show(self, view: "RenderableType") -> None:
        """Show a command's result."""

    def say(self, text: str) -> None:
        """Show a command's result as plain lines."""

    def error(self, text: str) -> None:
        """Show an error."""

    def replay(self, messages: Sequence["Message"], clock: Clock) -> None:
        """Show earlier messages as they looked when they were new."""

    def reply(self) -> ReplyView:
        """Begin a reply."""

    async def watch(self, look: GetView) -> None:
        """Show a view, updated for as long as it changes. By default it is shown once."""
        self.show((await look()).view)

    def notice(self, text: str) -> None:
        """Show a dim line about something that happened in the background."""
        return

    def echo(self, text: str) -> None:
        """Show the user's line that is about to be run."""
        return

    def busy(self, text: str) -> AbstractContextManager[None]:
        """Show `text` while the block runs."""
        return nullcontext()

    async def ask(self, question: str) -> bool:
        """Ask a yes-or-no question. False when there is no terminal to ask on.

        Asks again after an answer that is neither, such as a command typed too early.
        """
        while self.interactive:
            answer = await self.answer_to(f"{question} [y/N]")
            known = _ANSWERS.get(answer.strip().lower())
            if known is not None:
                return known
            self._refuse_answer(answer, "Please answer y or n; Ctrl-C cancels.")
        return False

    async def ask_key(self, question: str, keys: str) -> str:
        """Ask for one of `keys`. Empty when the user declines or there is no terminal."""
        while self.interactive:
            answer = await self.answer_to(question, keys)
            key = answer.strip().lower()
            if len(key) < 2 and key in keys:
                return key
            self._refuse_answer(answer, f"Press {', '.join(keys)} or Enter.")
        return ""

    def _refuse_answer(self, answer: str, what_to_do: str) -> None:
        self.say(f"Not sent: “{shorten(answer.strip(), 60)}”. {what_to_do}")
        self.keep_typed(answer)

    def keep_typed(self, text: str) -> None:
        """Keep what was typed as an answer, so that ↑ brings it back."""
        return

    async def answer_to(self, question: str, keys: str = "") -> str:
        """Return what the user types in answer to a question, empty when they decline.

        If the terminal allows it, one of `keys` answers at once, without Enter.
        """
        return ""

    async def edit(self, text: str) -> None:
        """Open the user's editor on a text and bring the result to the prompt."""
        raise UsageError(_NEEDS_TERMINAL)

    async def edit_file(self, path: Path) -> None:
        """Open the user's editor on a file."""
        raise UsageError(f"Open it in your editor: {path}")

    def prefill(self, text: str) -> None:
        """Put a text at the prompt for the user to change and send."""
        raise UsageError(f"Give the text on the same line, for example: {one_line(text)}")

    def copy(self, text: str) -> None:
        """Put a text on the user's clipboard."""
        raise UsageError(_NEEDS_TERMINAL)

    def reload_history(self) -> None:
        """Reload the prompt's history after something in it was deleted."""
        return

    def forget_input(self) -> None:
        """Forget what was typed and sent, so that no key brings it back."""
        return

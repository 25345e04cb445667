"""Where a chat shows things: the terminal in raw mode, or plain streams."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from construct.clock import Clock
from construct.errors import UsageError
from construct.text import one_line, shorten
from construct.turn import Event, TurnResult

if TYPE_CHECKING:
    from rich.console import RenderableType

    from construct.store.records import Message

_ANSWERS = {"y": True, "yes": True, "": False, "n": False, "no": False}
_NEEDS_TERMINAL = "That needs a terminal."


class ReplyView(Protocol):
    """One reply while it comes."""

    def listen(self, event: Event) -> None:
        """Show what has just come."""

    def end(self, result: TurnResult | None) -> None:
        """Show the rest; None when the reply was interrupted."""


@dataclass(frozen=True, slots=True)
class LiveView:
    """A view as it is at this moment."""

    view: "RenderableType"
    is_moving: bool
    """Whether it will soon change."""


GetView = Callable[[], Awaitable[LiveView]]


class Output(Protocol):
    """The screen, as commands know it. All texts are made printable here.

    What needs a terminal does nothing or says so, unless a class overrides it.
    """

    interactive: bool = False
    """Whether there is somebody who can be asked."""

    def show(self, view: "RenderableType") -> None:
        """Show the answer to a command."""

    def say(self, text: str) -> None:
        """Show a line or two that answer a command."""

    def error(self, text: str) -> None:
        """Show what went wrong."""

    def replay(self, messages: Sequence["Message"], clock: Clock) -> None:
        """Show what was said before, as it was shown then."""

    def reply(self) -> ReplyView:
        """Begin a reply."""

    async def watch(self, look: GetView) -> None:
        """Show a view for as long as it changes; here, once."""
        self.show((await look()).view)

    def notice(self, text: str) -> None:
        """Show in a quiet line what happened in the background."""
        return

    def echo(self, text: str) -> None:
        """Show the user's line that is now being run."""
        return

    def busy(self, text: str) -> AbstractContextManager[None]:
        """Show that something takes its time."""
        return nullcontext()

    async def ask(self, question: str) -> bool:
        """Ask for a yes; false where nobody can be asked.

        What is neither yes nor no, such as a command, is not run, and not taken for a no
        either: the question is asked again.
        """
        while self.interactive:
            answer = (await self.answer_to(f"{question} [y/N]")).strip()
            if answer.lower() in _ANSWERS:
                return _ANSWERS[answer.lower()]
            self.say(f"Not sent: “{shorten(answer, 60)}”. Please answer y or n first.")
        return False

    async def ask_key(self, question: str, keys: str) -> str:
        """Ask for one of these keys; empty where the user gives none or cannot be asked."""
        while self.interactive:
            answer = (await self.answer_to(question, keys)).strip()
            if len(answer) < 2 and answer.lower() in keys:
                return answer.lower()
            self.say(f"Not sent: “{shorten(answer, 60)}”. Please answer the question first.")
        return ""

    async def answer_to(self, question: str, keys: str = "") -> str:
        """Return what the user types at a question; empty when they decline it.

        One of `keys` is an answer at once, where the terminal can tell.
        """
        return ""

    async def edit(self, text: str) -> None:
        """Open the user's editor; what is written there comes to the prompt."""
        raise UsageError(_NEEDS_TERMINAL)

    async def edit_file(self, path: Path) -> None:
        """Open the user's editor on a file."""
        raise UsageError(f"Open it in your editor: {path}")

    def prefill(self, text: str) -> None:
        """Put a text at the prompt, to be changed and sent."""
        raise UsageError(f"Give the text too, on the same line, such as: {one_line(text)}")

    def copy(self, text: str) -> None:
        """Put a text on the user's clipboard."""
        raise UsageError(_NEEDS_TERMINAL)

    def forgotten(self) -> None:
        """Read the prompt's history again: something in it was deleted."""
        return

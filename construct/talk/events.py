"""What a turn reports: events while it runs, and at the end its result."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from construct.errors import ModelError
from construct.llm.types import Request
from construct.text import is_invisible, printable
from construct.tokens import Usage

MAX_TOKENS = "max_tokens"
"""The stop reason of a reply that is as long as the model allows."""
COMPLETE_STOP_REASONS = frozenset({"end_turn", "stop_sequence", MAX_TOKENS})
"""Stop reasons of a reply that is complete, or as long as the model allows."""


@dataclass(frozen=True, slots=True)
class Delta:
    """The next piece of the reply's text."""

    text: str


@dataclass(frozen=True, slots=True)
class Thinking:
    """The model thinks aloud, which is not a part of its reply."""


@dataclass(frozen=True, slots=True)
class Kept:
    """From now on the message is kept, even if its turn is interrupted."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """The turn is waiting for the observer to make room in the window."""


@dataclass(frozen=True, slots=True)
class Storing:
    """The reply has ended and is being stored, which may wait for another program."""


@dataclass(frozen=True, slots=True)
class ToolCalled:
    """The model has called a tool; `summary` is one line for the screen."""

    name: str
    summary: str


@dataclass(frozen=True, slots=True)
class ToolAnswered:
    """A tool from outside has been called, or could not be; `line` is one line for the screen."""

    name: str
    line: str
    is_failure: bool = False
    """Whether it was refused, or its server failed."""


@dataclass(frozen=True, slots=True)
class Retrying:
    """A request failed and is sent again; `reason` says in a few words what went wrong."""

    reason: str


@dataclass(frozen=True, slots=True)
class Noticed:
    """A notice for the user, in one sentence."""

    text: str


Event = Noticed | Kept | Thinking | Delta | Waiting | Storing | ToolCalled | ToolAnswered | Retrying
Listener = Callable[[Event], None]


def reporting_retries(request: Request, listen: Listener) -> Request:
    """Return a copy of the request that reports each retry to `listen`."""
    return replace(request, on_retry=lambda reason: listen(Retrying(reason)))


@dataclass(frozen=True, slots=True)
class TurnResult:
    """How a turn ended.

    `error` is set if the model failed. `message_id` is None if no part of a reply was
    stored.
    """

    conversation_id: int
    """0 in private talk in a new conversation."""
    text: str
    message_id: int | None
    stop_reason: str | None
    usage: Usage
    error: ModelError | None = None
    left_out: bool = False
    """True if later requests omit the message, because the model has refused it."""
    keeps_reply: bool = False
    """True if an earlier reply to the same message is complete: it stays if this one breaks off."""

    @property
    def complete(self) -> bool:
        """Whether the whole reply arrived, and says something."""
        has_ended = self.error is None and self.stop_reason in COMPLETE_STOP_REASONS
        return has_ended and not self.is_blank

    @property
    def is_blank(self) -> bool:
        """Whether nothing can be seen of the reply."""
        return is_invisible(printable(self.text))

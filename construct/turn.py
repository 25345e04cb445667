"""One conversation turn: the events it emits, the reply as it arrives, and the outcome.

A responder answers turns: with a model or by the notebook's fixed rules, on the record
(onrecord.py) or off it (offrecord.py). `responders.py` chooses one of the four; callers
need not know which one they have.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from construct.errors import ModelError
from construct.llm.types import Block, ChatMessage, Reply, Request, Text, ToolResult
from construct.store.records import REMOVED
from construct.store.reply_context import ContextItem
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
class Retrying:
    """A request failed and is sent again; `reason` says in a few words what went wrong."""

    reason: str


@dataclass(frozen=True, slots=True)
class Noticed:
    """A notice for the user, in one sentence."""

    text: str


Event = Noticed | Kept | Delta | Waiting | Storing | ToolCalled | Retrying
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


@dataclass(slots=True)
class ReplyInProgress:
    """The tool rounds and text of a reply so far, what they cost, and how it ended."""

    rounds: list[ChatMessage] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    items_by_call: dict[str, list[ContextItem]] = field(default_factory=lambda: defaultdict(list))
    """Memory items that tools returned, by the id of the tool call."""
    usages: list[Usage] = field(default_factory=list)
    """The usage of each request, and after it that of its failed attempts together."""
    stop_reason: str | None = None
    _newest_recorded: Reply | None = None

    @property
    def is_complete(self) -> bool:
        """Whether the reply ended as it should, and says something."""
        return self.stop_reason in COMPLETE_STOP_REASONS and bool(self.texts)

    @property
    def usage(self) -> Usage:
        """What all requests used together."""
        return sum(self.usages, Usage())

    @property
    def first_request_usage(self) -> Usage:
        """What the first request used, to compare its actual size with its estimate."""
        return self.usages[0] if self.usages else Usage()

    @property
    def items(self) -> list[ContextItem]:
        """All memory items that tools returned, in order."""
        return list(chain.from_iterable(self.items_by_call.values()))

    @property
    def marked_rounds(self) -> tuple[ChatMessage, ...]:
        """The finished tool rounds, at least one, with a cache mark on the newest result."""
        *earlier_messages, results = self.rounds
        *earlier_results, newest = results.blocks
        assert isinstance(newest, ToolResult)
        marked = ChatMessage("user", (*earlier_results, replace(newest, mark=True)))
        return (*earlier_messages, marked)

    def blank_results_with(self, forgotten: Collection[ContextItem]) -> None:
        """Blank the tool results that contain any of these items."""
        call_ids = {
            call_id
            for call_id, items in self.items_by_call.items()
            if not set(forgotten).isdisjoint(items)
        }
        self.rounds = [
            replace(message, blocks=tuple(_blanked(block, call_ids) for block in message.blocks))
            for message in self.rounds
        ]

    def add_usage(self, reply: Reply) -> None:
        """Add the usage of one request, with that of its failed attempts."""
        self.usages += [reply.usage, reply.retried_usage]

    def add_round(self, reply: Reply, results: Sequence[ToolResult]) -> None:
        """Record the assistant's tool calls and their results."""
        self._newest_recorded = reply
        self._add_text(reply)
        self.rounds.append(ChatMessage("assistant", tuple(reply.blocks)))
        self.rounds.append(ChatMessage("user", tuple(results)))

    def finish(self, reply: Reply) -> None:
        """Record the last text and the stop reason, without tool calls that got no result.

        Does nothing for a reply that has already been recorded.
        """
        if reply is self._newest_recorded:
            return
        self._newest_recorded = reply
        self._add_text(reply)
        self.stop_reason = reply.stop_reason
        if self.rounds and reply.text.strip():
            self.rounds.append(ChatMessage("assistant", (Text(reply.text.strip()),)))

    def _add_text(self, reply: Reply) -> None:
        if not is_invisible(printable(reply.text)):
            self.texts.append(reply.text.strip())


def _blanked(block: Block, call_ids: Collection[str]) -> Block:
    if isinstance(block, ToolResult) and block.tool_use_id in call_ids:
        return replace(block, content=REMOVED)
    return block

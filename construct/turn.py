"""One conversation turn: the events it emits, the reply as it arrives, and the outcome.

Three responders answer turns: a model with the database (onrecord.py), a model off the
record (offrecord.py), and the notebook's fixed rules. `responders.py` chooses; callers
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
from construct.tokens import Usage


@dataclass(frozen=True, slots=True)
class Delta:
    """The next words of the reply."""

    text: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """The turn waits until the observer has made room in the window."""


@dataclass(frozen=True, slots=True)
class Storing:
    """The reply is complete, but another program holds the database."""


@dataclass(frozen=True, slots=True)
class ToolCalled:
    """The model used a tool; `summary` is one line for the screen."""

    name: str
    summary: str


COMPLETE = frozenset({"end_turn", "stop_sequence", "max_tokens"})
"""Stop reasons of a reply that is complete, or as long as the model allows."""


@dataclass(frozen=True, slots=True)
class Retrying:
    """The request is sent again; `why` says in a few words what went wrong."""

    why: str


@dataclass(frozen=True, slots=True)
class Noticed:
    """Something that the user should know, in one sentence."""

    text: str


Event = Noticed | Delta | Waiting | Storing | ToolCalled | Retrying
Listener = Callable[[Event], None]


def reporting_retries(request: Request, listen: Listener) -> Request:
    """Return a copy of the request that reports each retry to `listen`."""
    return replace(request, on_retry=lambda why: listen(Retrying(why)))


@dataclass(frozen=True, slots=True)
class TurnResult:
    """How a turn ended.

    `error` is set if the model failed. `message_id` is None if no part of a reply
    arrived, so that nothing was stored.
    """

    conversation_id: int
    text: str
    message_id: int | None
    stop_reason: str | None
    usage: Usage
    error: ModelError | None = None
    left_out: bool = False
    """True if the model refused the message: later requests omit it."""

    @property
    def complete(self) -> bool:
        """Whether the whole reply arrived."""
        return self.error is None and self.stop_reason in COMPLETE


@dataclass(slots=True)
class Replying:
    """A reply in progress: finished tool rounds, the text so far, and how it ended."""

    rounds: list[ChatMessage] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    items_by_call: dict[str, list[ContextItem]] = field(default_factory=lambda: defaultdict(list))
    """Memory items that tools returned, by the id of the tool call."""
    usage: Usage = Usage()
    first: Usage = Usage()
    """Usage of the first request alone, to compare with its estimated size."""
    stop_reason: str | None = None

    @property
    def items(self) -> list[ContextItem]:
        """All memory items that tools returned, in order."""
        return list(chain.from_iterable(self.items_by_call.values()))

    @property
    def marked_rounds(self) -> tuple[ChatMessage, ...]:
        """The finished tool rounds, with a cache mark on the newest result."""
        *before, results = self.rounds
        *others, last = results.blocks
        assert isinstance(last, ToolResult)
        return (*before, ChatMessage("user", (*others, replace(last, mark=True))))

    def forget(self, gone: Collection[ContextItem]) -> None:
        """Blank the tool results that hold items which have been forgotten since."""
        forgotten = set(gone)
        to_blank = {
            call_id
            for call_id, items in self.items_by_call.items()
            if not forgotten.isdisjoint(items)
        }
        self.rounds = [
            replace(part, blocks=tuple(_blanked(block, to_blank) for block in part.blocks))
            for part in self.rounds
        ]

    def book(self, usage: Usage) -> None:
        """Add the usage of one request."""
        self.first = self.first if self.usage != Usage() else usage
        self.usage = self.usage + usage

    def add_round(self, reply: Reply, results: Sequence[ToolResult]) -> None:
        """Record the assistant's tool calls and their results."""
        self._keep_words(reply)
        self.rounds.append(ChatMessage("assistant", tuple(reply.blocks)))
        self.rounds.append(ChatMessage("user", tuple(results)))

    def finish(self, reply: Reply) -> None:
        """Record the last words and the stop reason.

        Tool calls that were never answered are left out.
        """
        self._keep_words(reply)
        self.stop_reason = reply.stop_reason
        if self.rounds and reply.text.strip():
            self.rounds.append(ChatMessage("assistant", (Text(reply.text.strip()),)))

    def _keep_words(self, reply: Reply) -> None:
        if reply.text.strip():
            self.texts.append(reply.text.strip())


def _blanked(block: Block, call_ids: Collection[str]) -> Block:
    return (
        replace(block, content=REMOVED)
        if isinstance(block, ToolResult) and block.tool_use_id in call_ids
        else block
    )

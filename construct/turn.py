"""One turn of a conversation: what is heard of it, its reply, how it ended.

A model answers, with the database (onrecord.py) or off the record (offrecord.py), or
the notebook does by rule. Who asks for a reply gets one of these from `responders.py`,
and need not know which.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace

from construct.errors import ModelError
from construct.llm.types import Block, ChatMessage, Reply, Request, Text, ToolResult
from construct.store.records import REMOVED
from construct.store.reply_context import ContextItem
from construct.tokens import Usage


@dataclass(frozen=True, slots=True)
class Delta:
    """Words of the reply."""

    text: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """The turn waits for the observer."""


@dataclass(frozen=True, slots=True)
class Storing:
    """All words have come. Storing them waits for another program."""


@dataclass(frozen=True, slots=True)
class ToolCalled:
    """The model used a tool; `summary` is one line for the screen."""

    name: str
    summary: str


WHOLE = frozenset({"end_turn", "stop_sequence", "max_tokens"})
"""Why a reply stops that has come to its own end, or to the limit of its length."""


@dataclass(frozen=True, slots=True)
class Retrying:
    """The model is asked again; `why` is a few words."""

    why: str


@dataclass(frozen=True, slots=True)
class Noticed:
    """Something that the user should know, in one sentence."""

    text: str


Event = Noticed | Delta | Waiting | Storing | ToolCalled | Retrying
Listener = Callable[[Event], None]


def heard(request: Request, listen: Listener) -> Request:
    """Return a request of which it is heard when it is sent again."""
    return replace(request, on_retry=lambda why: listen(Retrying(why)))


@dataclass(frozen=True, slots=True)
class TurnResult:
    """How a turn ended.

    `error` is set when the model failed, `message_id` when something of a reply was
    kept.
    """

    conversation_id: int
    text: str
    message_id: int | None
    stop_reason: str | None
    usage: Usage
    error: ModelError | None = None
    left_out: bool = False
    """Whether the message is left out of later requests: the model declined to answer
    it.
    """

    @property
    def complete(self) -> bool:
        """Tell whether the reply is whole."""
        return self.error is None and self.stop_reason in WHOLE


@dataclass(slots=True)
class Replying:
    """A reply while it comes: finished tool rounds, the words so far, how it ended."""

    rounds: list[ChatMessage] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    brought: dict[str, list[ContextItem]] = field(default_factory=lambda: defaultdict(list))
    """What tools gave of memory, by call."""
    usage: Usage = Usage()
    first: Usage = Usage()
    """Of the first request alone, which is what was estimated."""
    stop_reason: str | None = None

    @property
    def items(self) -> list[ContextItem]:
        """What tools gave of memory, in order."""
        return [one for of_call in self.brought.values() for one in of_call]

    @property
    def marked_rounds(self) -> tuple[ChatMessage, ...]:
        """The finished rounds, the newest result marked for the cache."""
        *before, results = self.rounds
        *others, last = results.blocks
        assert isinstance(last, ToolResult)
        return (*before, ChatMessage("user", (*others, replace(last, mark=True))))

    def forget(self, gone: Collection[ContextItem]) -> None:
        """Take out of the rounds what tools gave and has been forgotten since."""
        empty = {
            call for call, brought in self.brought.items() if not set(gone).isdisjoint(brought)
        }
        self.rounds = [
            replace(part, blocks=tuple(_emptied(b, empty) for b in part.blocks))
            for part in self.rounds
        ]

    def book(self, usage: Usage) -> None:
        """Add what a request cost."""
        self.first = self.first if self.usage != Usage() else usage
        self.usage = self.usage + usage

    def add_round(self, reply: Reply, results: Sequence[ToolResult]) -> None:
        """Keep a call of tools with its results."""
        self._keep_words(reply)
        self.rounds.append(ChatMessage("assistant", tuple(reply.blocks)))
        self.rounds.append(ChatMessage("user", tuple(results)))

    def finish(self, reply: Reply) -> None:
        """Keep what came last, and how it ended.

        Calls that nobody answers are left out.
        """
        self._keep_words(reply)
        self.stop_reason = reply.stop_reason
        if self.rounds and reply.text.strip():
            self.rounds.append(ChatMessage("assistant", (Text(reply.text.strip()),)))

    def _keep_words(self, reply: Reply) -> None:
        if reply.text.strip():
            self.texts.append(reply.text.strip())


def _emptied(block: Block, calls: Collection[str]) -> Block:
    return (
        replace(block, content=REMOVED)
        if isinstance(block, ToolResult) and block.tool_use_id in calls
        else block
    )

"""One turn under way: the message that is answered, and its reply so far. No I/O."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from construct.llm.catalog import cost_usd
from construct.llm.types import (
    Block,
    ChatMessage,
    Reply,
    Request,
    Text,
    ToolResult,
    is_web_block,
)
from construct.memory.shown.tool_rounds import dump_rounds, without_open_searches
from construct.memory.turn_context import TurnContext
from construct.store.messages import NewMessage
from construct.store.records import REFUSED, REMOVED, Message
from construct.store.reply_context import ContextItem, ReplyContext
from construct.talk.events import COMPLETE_STOP_REASONS
from construct.talk.thinking import spoken
from construct.text import is_invisible, printable
from construct.tokens import Usage
from construct.vocabulary import MessageStatus, Outside, Role


@dataclass(frozen=True, slots=True)
class FirstRequest:
    """The first request of a turn; more follow if the model calls tools."""

    request: Request
    given: ReplyContext
    """What it holds from memory, as it is stored with the reply."""
    holds_outside_text: bool = False
    """Whether it holds words that are not the user's own, such as a paste."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A message of the user's that is being answered."""

    message: Message
    context: TurnContext
    first: FirstRequest | None = None
    """None while the window is too full: the observer must make room first."""
    replies: tuple[Message, ...] = ()
    """Earlier replies to the message."""
    copied_from: tuple[Message, ...] = ()
    """An earlier message with the same words, and the replies to it."""

    @property
    def ids(self) -> tuple[int, ...]:
        """The ids of the message and of the earlier replies to it."""
        return (self.message.id, *(m.id for m in self.replies))

    @property
    def answering(self) -> tuple[int, ...]:
        """The ids of the messages that recall leaves out, because they are what is answered."""
        return (*self.ids, *(m.id for m in self.copied_from))

    @property
    def has_complete_reply(self) -> bool:
        """Whether an earlier reply to the same message is complete."""
        return any(m.status == MessageStatus.COMPLETE for m in self.replies)

    @property
    def was_refused(self) -> bool:
        """Whether the model has refused the message before, or the one that it is a copy of."""
        return any(m.left_out for m in (self.message, *self.copied_from[:1]))


@dataclass(slots=True)
class ReplyInProgress:
    """The tool rounds and text of a reply so far, what they cost, and how it ended."""

    turn: Turn
    first: FirstRequest
    rounds: list[ChatMessage] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    items_by_call: dict[str, list[ContextItem]] = field(default_factory=lambda: defaultdict(list))
    """Memory items that tools returned, by the id of the tool call."""
    holds_outside_result: bool = False
    """Whether a tool's or the web's result is in the rounds."""
    usages: list[Usage] = field(default_factory=list)
    """The usage of each request, and after it that of its failed attempts together."""
    stop_reason: str | None = None
    _newest_recorded: Reply | None = None

    @property
    def is_complete(self) -> bool:
        """Whether the reply ended as it should, and says something."""
        return self.stop_reason in COMPLETE_STOP_REASONS and bool(self.texts)

    @property
    def leaves_out_turn(self) -> bool:
        """Whether later requests omit the user's message and its replies.

        They do if the model refused the message, now or before, and no reply is complete.
        """
        is_answered = self.is_complete or self.turn.has_complete_reply
        return not is_answered and (self.turn.was_refused or self.stop_reason == REFUSED)

    def replies_to_hide(self, new_id: int) -> list[int]:
        """Return the ids of the replies that no longer count, now that this one has an id.

        It replaces the earlier ones, unless it broke off and one of them is complete.
        """
        if self.turn.has_complete_reply and not self.is_complete:
            return [new_id]
        return [m.id for m in self.turn.replies]

    @property
    def text(self) -> str:
        """The reply's text, without the tool rounds."""
        return "\n\n".join(self.texts)

    @property
    def usage(self) -> Usage:
        """What all requests used together."""
        return sum(self.usages, Usage())

    @property
    def first_request_usage(self) -> Usage:
        """What the first request used, to compare its actual size with its estimate."""
        return self.usages[0] if self.usages else Usage()

    def cost_usd(self, model: str) -> float | None:
        """Return what all requests cost together, None if the model's price is unknown."""
        # Requests are priced one by one: a long prompt costs more per token.
        life = self.first.request.cache_life
        costs = [cost_usd(model, usage, life) for usage in self.usages]
        known_costs = [cost for cost in costs if cost is not None]
        return sum(known_costs) if len(known_costs) == len(costs) else None

    @property
    def items(self) -> list[ContextItem]:
        """All memory items that tools returned, in order."""
        return list(chain.from_iterable(self.items_by_call.values()))

    @property
    def given(self) -> ReplyContext:
        """What the model was given from memory, in the first request and by tools."""
        given = self.first.given
        return replace(given, items=(*given.items, *self.items))

    @property
    def marked_rounds(self) -> tuple[ChatMessage, ...]:
        """The finished tool rounds, at least one, with a cache mark on the newest result.

        Without a mark if they end with a part of the reply that the server paused.
        """
        *earlier_messages, results = self.rounds
        *earlier_results, newest = results.blocks
        if not isinstance(newest, ToolResult):
            return tuple(self.rounds)
        marked = ChatMessage("user", (*earlier_results, replace(newest, mark=True)))
        return (*earlier_messages, marked)

    @property
    def holds_outside_text(self) -> bool:
        """Whether the next request holds text from outside, apart from memory items."""
        return self.first.holds_outside_text or self.holds_outside_result

    def message(self, model: str) -> NewMessage | None:
        """Return the reply as a message, or None if there is nothing to keep."""
        rounds = without_open_searches(self.rounds)
        blocks = dump_rounds(rounds) if rounds else None
        if not (self.texts or blocks):
            return None
        return NewMessage(
            Role.ASSISTANT,
            self.text,
            blocks,
            status=MessageStatus.COMPLETE if self.is_complete else MessageStatus.INTERRUPTED,
            stop_reason=REFUSED if self.leaves_out_turn else self.stop_reason,
            model=model,
            outside=self._outside,
        )

    @property
    def _outside(self) -> Outside | None:
        if self.holds_outside_result and self.rounds:
            return Outside.RESULT
        return Outside.BEFORE if self.holds_outside_text else None

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
        self.add_pause(reply)
        self.rounds.append(ChatMessage("user", tuple(results)))

    def add_pause(self, reply: Reply) -> None:
        """Record a part of the reply that another request continues."""
        self._newest_recorded = reply
        self._add_text(reply)
        self.holds_outside_result |= reply.holds_web_results
        self._add_part(_spoken_blocks(reply.blocks))

    def finish(self, reply: Reply) -> None:
        """Record the last text and the stop reason, without tool calls that got no result.

        Does nothing for a reply that has already been recorded.
        """
        if reply is self._newest_recorded:
            return
        self._newest_recorded = reply
        self._add_text(reply)
        self.stop_reason = reply.stop_reason
        self.holds_outside_result |= reply.holds_web_results
        text = spoken(reply.text).strip()
        if any(map(is_web_block, reply.blocks)):
            kept = [b for b in reply.blocks if isinstance(b, Text) or is_web_block(b)]
            self._add_part(_spoken_blocks(kept))
        elif self.rounds and text:
            self._add_part((Text(text),))

    def _add_part(self, blocks: tuple[Block, ...]) -> None:
        """Add a part of the reply, to the part before it if that was paused."""
        if self.rounds and self.rounds[-1].role == "assistant":
            blocks = (*self.rounds.pop().blocks, *blocks)
        self.rounds.append(ChatMessage("assistant", blocks))

    def _add_text(self, reply: Reply) -> None:
        text = spoken(reply.text).strip()
        if not is_invisible(printable(text)):
            self.texts.append(text)


def _spoken_blocks(blocks: Sequence[Block]) -> tuple[Block, ...]:
    """Return a reply's blocks without what the model thought aloud in its texts."""
    said = [
        replace(block, text=spoken(block.text)) if isinstance(block, Text) else block
        for block in blocks
    ]
    return tuple(block for block in said if not isinstance(block, Text) or block.text)


def _blanked(block: Block, call_ids: Collection[str]) -> Block:
    if isinstance(block, ToolResult) and block.tool_use_id in call_ids:
        return replace(block, content=REMOVED)
    return block

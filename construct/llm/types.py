"""What goes to a model and what comes back, whatever the model is.

`Request` is rendered by each back end into its own wire form; `Reply` is filled in
while the stream runs, so that what has arrived can be kept however it ends.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from construct.tokens import Usage as Usage
from construct.vocabulary import AttachmentKind

Json = Mapping[str, Any]
CacheLife = Literal["5m", "1h"]


@dataclass(frozen=True, slots=True)
class Text:
    """Words. `mark` asks the server to cache everything up to here."""

    text: str
    mark: bool = False


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A call of a tool by the model."""

    id: str
    name: str
    input: Json


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What the tool gave back."""

    tool_use_id: str
    content: str
    is_error: bool = False
    mark: bool = False


@dataclass(frozen=True, slots=True)
class Opaque:
    """A block that only its server understands, such as thinking, kept as it came."""

    data: Json


@dataclass(frozen=True, slots=True)
class File:
    """A picture, PDF or text of the user's, for a model that reads such blocks."""

    name: str
    media_type: str
    data: bytes = field(repr=False)
    tokens: int
    """About what it costs."""
    mark: bool = False


Block = Text | ToolUse | ToolResult | Opaque | File


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of the request.

    Roles alternate, the first and the last are the user's.
    """

    role: Literal["user", "assistant"]
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool the model may call; `schema` is JSON Schema of its input."""

    name: str
    description: str
    schema: Json = field(hash=False)


@dataclass(frozen=True, slots=True)
class Request:
    """One call of the main model.

    Who sends it again after a failure tells `on_retry`, in a few words, why.
    """

    system: tuple[Text, ...]
    messages: tuple[ChatMessage, ...]
    tools: tuple[Tool, ...] = ()
    max_tokens: int = 8192
    cache_life: CacheLife = "5m"
    on_retry: Callable[[str], None] = field(default=lambda _: None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class WorkRequest:
    """One call of a worker model: `user` holds its whole input.

    The answer is lines of text.

    While the answer streams, `hopeless` is given what has arrived so far at each line
    end. When it returns a reason, the call ends there.
    """

    system: str
    user: str
    max_tokens: int = 8192
    hopeless: Callable[[str], str | None] = field(default=lambda _: None, repr=False, compare=False)
    pictures: tuple[File, ...] = ()
    """Those of the messages in `user`, in their order."""


@dataclass(slots=True)
class Reply:
    """What has arrived of a reply so far.

    `stop_reason` stays None when the stream broke off, with or without an exception.
    """

    text: str = ""
    blocks: list[Block] = field(default_factory=list)
    usage: Usage = Usage()
    stop_reason: str | None = None

    @property
    def tool_calls(self) -> list[ToolUse]:
        """The tool calls that arrived whole."""
        return [block for block in self.blocks if isinstance(block, ToolUse)]

    @property
    def calls_tools(self) -> bool:
        """Whether the model waits for what tools give."""
        return self.stop_reason == "tool_use" and bool(self.tool_calls)


@dataclass(frozen=True, slots=True)
class WorkReply:
    """A worker's answer, or as much of it as arrived.

    `trouble` says in one sentence why the answer is not whole; `stop_reason` is None
    then.
    """

    text: str
    usage: Usage
    stop_reason: str | None
    trouble: str | None = None


class ReplyStream(Protocol):
    """An open stream; iterating gives text as it arrives and fills `reply`."""

    reply: Reply

    def __aiter__(self) -> AsyncIterator[str]: ...

    async def aclose(self) -> None:
        """Let go of the connection; `reply` keeps what came. Safe to call twice."""


class Model(Protocol):
    """A language model. All errors it raises are ModelError."""

    name: str
    context_window: int
    parameters: int | None
    """How many parameters the model has, None when that is unknown."""
    reads: frozenset[AttachmentKind]
    """Which files it can be sent as they are; of others it is sent the text or the line."""

    def stream(self, request: Request) -> ReplyStream:
        """Ask for a reply; nothing is sent before the stream is iterated."""

    async def complete(self, request: WorkRequest) -> WorkReply:
        """Return a worker's answer, or what arrived before something went wrong.

        Raises ModelError when nothing arrived.
        """

    async def close(self) -> None:
        """Free connections and memory."""

"""Requests to a model and its replies, the same for every kind of model.

Each back end renders a `Request` in its own wire format. A `Reply` is filled in while
it streams, so that what has arrived is kept however it ends.
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
    """A text block. `mark` asks the server to cache everything up to here."""

    text: str
    mark: bool = False
    part: Literal["messages", "observations", "ambient"] = field(default="messages", compare=False)
    """The part of the request that it belongs to. It is not sent, so it is not compared."""


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool call by the model."""

    id: str
    name: str
    input: Json


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a tool call."""

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
    """About how many tokens it takes."""
    mark: bool = False


WEB_CALL, WEB_RESULT = "server_tool_use", "web_search_tool_result"
"""The types of the blocks with which a server searches the web by itself."""


def is_web_block(block: object) -> bool:
    """Return whether a block is a search of the web, or its result."""
    return isinstance(block, Opaque) and block.data.get("type") in {WEB_CALL, WEB_RESULT}


def web_query(block: object) -> str:
    """Return what a block searches the web for; "" for any other block."""
    if not isinstance(block, Opaque) or block.data.get("type") != WEB_CALL:
        return ""
    given = block.data.get("input")
    return str(given.get("query", "")) if isinstance(given, dict) else ""


def found_on_the_web(block: object) -> list[Json]:
    """Return the pages that a block holds as the result of a search; empty for any other block."""
    if not isinstance(block, Opaque) or block.data.get("type") != WEB_RESULT:
        return []
    content = block.data.get("content")
    return [page for page in content if isinstance(page, dict)] if isinstance(content, list) else []


Block = Text | ToolUse | ToolResult | Opaque | File


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of a request. Roles alternate; the first and the last are the user's."""

    role: Literal["user", "assistant"]
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool the model may call; `schema` is the JSON Schema of its input."""

    name: str
    description: str
    schema: Json = field(hash=False)


@dataclass(frozen=True, slots=True)
class Request:
    """One call of the main model.

    `on_retry` is called with the reason, in a few words, before each retry.
    """

    system: tuple[Text, ...]
    messages: tuple[ChatMessage, ...]
    tools: tuple[Tool, ...] = ()
    max_tokens: int = 8192
    cache_life: CacheLife = "5m"
    searches_web: bool = False
    """Whether the server may search the web by itself, if the model is one of Claude's."""
    on_retry: Callable[[str], None] = field(default=lambda _: None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class WorkRequest:
    """One call of a worker model.

    `system` holds the instructions, `user` the material; the answer is lines of text. As
    the answer streams in, `hopeless` is called with what has arrived, at least at each
    line end. If it returns a reason to give up, the call ends there. `cancelled` is called
    with the usage so far if the call is cancelled after the server has begun to answer.
    """

    system: str
    user: str
    max_tokens: int = 8192
    hopeless: Callable[[str], str | None] = field(default=lambda _: None, repr=False, compare=False)
    cancelled: Callable[[Usage], None] = field(default=lambda _: None, repr=False, compare=False)
    pictures: tuple[File, ...] = ()
    """The pictures and PDFs of the messages in `user`, in the same order."""


@dataclass(slots=True)
class Reply:
    """The part of a reply that has arrived.

    `stop_reason` stays None when the stream broke off, with or without an exception.
    """

    text: str = ""
    blocks: list[Block] = field(default_factory=list)
    usage: Usage = Usage()
    stop_reason: str | None = None
    retried_usage: Usage = Usage()
    """Usage of the attempts that failed before this one."""

    @property
    def usage_with_retries(self) -> Usage:
        """What all attempts used."""
        return self.retried_usage + self.usage

    @property
    def tool_calls(self) -> list[ToolUse]:
        """The tool calls that are complete."""
        return [block for block in self.blocks if isinstance(block, ToolUse)]

    @property
    def holds_web_results(self) -> bool:
        """Whether the model was given pages of the web."""
        return any(map(found_on_the_web, self.blocks))

    @property
    def is_paused(self) -> bool:
        """Whether the server waits to go on with its own tools: the reply is sent back to it."""
        return self.stop_reason == "pause_turn"

    @property
    def calls_tools(self) -> bool:
        """Whether the model is waiting for the results of tools."""
        return self.stop_reason == "tool_use" and bool(self.tool_calls)


@dataclass(frozen=True, slots=True)
class WorkReply:
    """A worker's answer, or as much of it as arrived.

    `trouble` says in one sentence why the answer is incomplete; `stop_reason` is None
    then.
    """

    text: str
    usage: Usage
    stop_reason: str | None
    trouble: str | None = None


class ReplyStream(Protocol):
    """A reply being streamed. Iterating yields text as it arrives and fills `reply`."""

    reply: Reply

    def __aiter__(self) -> AsyncIterator[str]: ...

    async def aclose(self) -> None:
        """Close the connection. `reply` keeps what arrived. Safe to call twice."""


class Model(Protocol):
    """A language model.

    The errors it raises are ModelError, or NotConfiguredError from the notebook.
    """

    name: str
    context_window: int
    parameters: int | None
    """The number of the model's parameters, or None if unknown."""
    reads: frozenset[AttachmentKind]
    """The kinds of files it can be sent as they are.

    In place of others it is sent their text, or a line that names the file.
    """

    def stream(self, request: Request) -> ReplyStream:
        """Return the stream of a reply. Nothing is sent before it is iterated."""

    async def complete(self, request: WorkRequest) -> WorkReply:
        """Return a worker's answer, or what arrived before something went wrong.

        Raises ModelError when nothing arrived.
        """

    async def close(self) -> None:
        """Free connections and memory."""

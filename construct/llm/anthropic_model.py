"""A model behind Anthropic's Messages API, or any server that speaks it."""

from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any

from construct.llm.catalog import is_claude
from construct.llm.server_errors import ANTHROPIC
from construct.llm.server_model import ServerModel
from construct.vocabulary import AttachmentKind

if TYPE_CHECKING:
    import httpx2

    from construct.llm.anthropic_stream import ReplyBuilder
    from construct.llm.reply_stream import Body, Event, SdkErrors
    from construct.llm.types import Reply, Request, WorkRequest


class AnthropicModel(ServerModel):
    """One model of a server that speaks the Messages API."""

    api = ANTHROPIC
    path = "/v1/messages"

    def __init__(self, name: str, **options: Any) -> None:
        super().__init__(name, **options)
        if is_claude(name):
            self.reads = frozenset(AttachmentKind)

    def chat_body(self, request: "Request") -> "Body":
        """Return the body of a chat call."""
        from construct.llm.anthropic_wire import chat_body

        return chat_body(self.name, request)

    def work_body(self, request: "WorkRequest") -> "Body":
        """Return the body of a worker's call."""
        from construct.llm.anthropic_wire import work_body

        return work_body(self.name, request)

    def builder(self, reply: "Reply", sent: bytes) -> "ReplyBuilder":
        """Return what fills a reply from events."""
        from construct.llm.anthropic_stream import ReplyBuilder

        return ReplyBuilder(reply)

    def events(self, response: "httpx2.Response") -> "AsyncGenerator[Event]":
        """Yield the events of a response."""
        from construct.llm.anthropic_stream import read_events

        return read_events(self.end, response)

    def sdk_errors(self) -> "SdkErrors":
        """Return what the SDK raises."""
        from construct.llm.sdk import APIConnectionError, APIStatusError

        return APIConnectionError, APIStatusError

    def new_client(self, options: dict[str, Any]) -> Any:
        """Return a client of the SDK."""
        from construct.llm.sdk import AsyncAnthropic

        client = AsyncAnthropic(**options, open_telemetry=False)
        if not self.sends_custom_headers:
            # The SDK has no argument that leaves out what it read from the environment.
            client._custom_headers = {}
        return client

    def stream_class(self) -> type[Any]:
        """Return the SDK's type for streams."""
        from construct.llm.sdk import AsyncStream

        return AsyncStream[object]

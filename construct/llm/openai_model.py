"""A model behind OpenAI's chat completions, or any server that speaks them (extra `openai`).

The protocol has no cache marks: whether a server caches the beginning of a request is up
to the server.
"""

from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from construct.llm.server_errors import OPENAI
from construct.llm.server_model import ServerModel

if TYPE_CHECKING:
    import httpx2

    from construct.llm.openai_stream import ReplyBuilder
    from construct.llm.reply_stream import Body, Event, SdkErrors
    from construct.llm.types import Reply, Request, WorkRequest


def is_openais(base_url: str | None) -> bool:
    """Return whether an address is that of OpenAI's own server."""
    return base_url is None or urlsplit(base_url).hostname == "api.openai.com"


class OpenAIModel(ServerModel):
    """One model of a server that speaks OpenAI's chat completions."""

    api = OPENAI
    path = "/chat/completions"

    @property
    def _limit(self) -> str:
        """The parameter for the longest answer. OpenAI's own models refuse the older one."""
        return "max_completion_tokens" if is_openais(self.end.base_url) else "max_tokens"

    def chat_body(self, request: "Request") -> "Body":
        """Return the body of a chat call."""
        from construct.llm.openai_wire import chat_body

        return chat_body(self.name, request, self._limit)

    def work_body(self, request: "WorkRequest") -> "Body":
        """Return the body of a worker's call."""
        from construct.llm.openai_wire import work_body

        return work_body(self.name, request, self._limit)

    def builder(self, reply: "Reply", sent: bytes) -> "ReplyBuilder":
        """Return what fills a reply from events; `sent` is the request's body."""
        from construct.llm.openai_stream import ReplyBuilder

        return ReplyBuilder(reply, sent)

    def events(self, response: "httpx2.Response") -> "AsyncGenerator[Event]":
        """Yield the chunks of a response."""
        from construct.llm.openai_stream import read_events

        return read_events(self.end, response)

    def sdk_errors(self) -> "SdkErrors":
        """Return what the SDK raises."""
        from openai import APIConnectionError, APIStatusError

        return APIConnectionError, APIStatusError

    def new_client(self, options: dict[str, Any]) -> Any:
        """Return a client of the SDK."""
        from openai import AsyncOpenAI

        client = AsyncOpenAI(**options)
        if not is_openais(self.end.base_url):
            client.organization = client.project = None  # read from the environment
        if not self.sends_custom_headers:
            # The SDK has no argument that leaves out what it read from the environment.
            client._custom_headers = {}
        return client

    def stream_class(self) -> type[Any]:
        """Return the SDK's type for streams."""
        from openai import AsyncStream

        return AsyncStream[object]

"""A model behind a server, whatever protocol it speaks.

An SDK provides the client, authentication and connections. Its typed layer is not used:
it relies on fields that other servers omit, warns on the terminal, and hides what it
does not know. Its retries are not used either: it sleeps for as long as `retry-after`
says, even an hour, while a user waits.
"""

import asyncio
import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit

from construct.llm import server_errors as errors
from construct.llm.capable import parameters_in
from construct.llm.catalog import model_info
from construct.llm.network import is_on_this_machine
from construct.llm.server_errors import Api, Endpoint
from construct.vocabulary import AttachmentKind

if TYPE_CHECKING:
    import httpx2

    from construct.llm.reply_stream import Body, Builder, Event, SdkErrors, ServerStream
    from construct.llm.types import Reply, Request, WorkReply, WorkRequest

CONNECT_SECONDS = 8.0
# Most local servers need no key. The SDKs do, and would search the environment and the
# disk for one.
_NO_KEY = "none"


class ServerModel(ABC):
    """One model of one server.

    The SDK is imported by `warm` or on first use, since the chat's prompt waits for
    this module.
    """

    api: ClassVar[Api]
    path: ClassVar[str]
    """Where requests are sent, after the base URL."""

    def __init__(
        self,
        name: str,
        *,
        api_key: str | None = None,
        auth_token: str | None = None,
        base_url: str | None = None,
        setting: str = "CONSTRUCT_MODEL",
        sends_custom_headers: bool = True,
    ) -> None:
        """Use these credentials, not the environment's.

        `setting` is the setting that names the model, or other words for it, for messages.
        `sends_custom_headers`: whether the SDK may add headers from the environment, which
        can hold a key.
        """
        self.name = name
        self.context_window = model_info(name).window
        self.parameters = parameters_in(name)
        self.reads = frozenset[AttachmentKind]()
        self.end = Endpoint(self.api, name, setting, api_key, auth_token, base_url)
        self.sends_custom_headers = sends_custom_headers
        self._client: Any = None  # the SDKs' clients have no type in common
        self._lock = threading.Lock()

    @abstractmethod
    def chat_body(self, request: "Request") -> "Body":
        """Return the body of a chat call."""

    @abstractmethod
    def work_body(self, request: "WorkRequest") -> "Body":
        """Return the body of a worker's call."""

    @abstractmethod
    def builder(self, reply: "Reply", sent: bytes) -> "Builder":
        """Return what fills a reply from events; `sent` is the request's body."""

    @abstractmethod
    def events(self, response: "httpx2.Response") -> "AsyncGenerator[Event]":
        """Yield the events of a response."""

    @abstractmethod
    def sdk_errors(self) -> "SdkErrors":
        """Return what the SDK raises: for a lost connection, and for an error status."""

    @abstractmethod
    def new_client(self, options: dict[str, Any]) -> Any:
        """Return a client of the SDK. Slow the first time: it imports the SDK."""

    @abstractmethod
    def stream_class(self) -> type[Any]:
        """Return the SDK's type for streams, which it asks for and never makes."""

    def stream(self, request: "Request") -> "ServerStream":
        """Return the stream of a reply. Nothing is sent before it is iterated."""
        from construct.llm.reply_stream import ServerStream
        from construct.llm.without_pictures import without_pictures

        def blind() -> "Body":
            self.reads -= {AttachmentKind.IMAGE}
            return self.chat_body(without_pictures(request))

        return ServerStream(self, self.chat_body(request), blind, request.on_retry)

    async def complete(self, request: "WorkRequest") -> "WorkReply":
        """Return a worker's answer.

        It is streamed too: during a long answer the connection would seem dead
        otherwise.
        """
        from construct.llm.reply_stream import ServerStream
        from construct.llm.work import collect

        def blind() -> "Body":
            self.reads -= {AttachmentKind.IMAGE}
            return self.work_body(replace(request, pictures=()))

        stream = ServerStream(self, self.work_body(request), blind)
        return await collect(stream, request, self.end.who)

    async def close(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    def warm(self) -> None:
        """Import the SDK and make its client. Slow: call it in a thread."""
        from construct.llm.types import Reply

        self.builder(Reply(), b"")  # imports what reads an answer
        self._load()

    def _load(self) -> Any:
        with self._lock:
            if self._client is None:
                self._client = self._connected()
            return self._client

    def _connected(self) -> Any:
        import httpx2

        end = self.end
        key = end.api_key or end.auth_token or _NO_KEY
        if not (key.isascii() and key.isprintable() and " " not in key):
            raise errors.bad_key(end)
        for name in (self.api.company.lower(), "httpx2", "httpcore2"):
            # Below this level they log what the user typed.
            logging.getLogger(name).setLevel(logging.WARNING)
        url = end.base_url or self.api.default_url
        try:
            options = {
                "api_key": key,  # sent just as a token is
                "base_url": url,
                "timeout": httpx2.Timeout(errors.ANSWER_SECONDS, connect=CONNECT_SECONDS),
                "max_retries": 0,
                "http_client": _http_client(url),
            }
            return self.new_client(options)
        except (httpx2.InvalidURL, ValueError) as error:
            raise errors.bad_address(end, error) from error
        except OSError as error:
            raise errors.bad_certificates(error) from error

    async def send(self, body: bytes) -> "httpx2.Response":
        """Send a request's body. Return the response, with its body unread."""
        client = self._client
        if client is None:
            client = await asyncio.to_thread(self._load)
        import httpx2

        response: object = await client.post(
            self.path,
            content=body,
            options={
                "headers": {"Content-Type": "application/json", "Accept": "text/event-stream"},
                # Without redirects: conversations go to the host that the user chose
                # and no other.
                "follow_redirects": False,
            },
            cast_to=httpx2.Response,
            stream=True,
            stream_cls=self.stream_class(),
        )
        assert isinstance(response, httpx2.Response)  # what `cast_to` asks for
        return response


def _http_client(url: str) -> "httpx2.AsyncClient":
    """Return a client that uses the environment's proxy, unless the server is on this machine.

    The SDKs would make one themselves, but stumble over brackets in NO_PROXY.
    """
    import httpx2

    if not is_on_this_machine(url):
        return httpx2.AsyncClient()
    # Certificates take 25 ms to load. What SSL_CERT_FILE names counts here too.
    verify = httpx2.create_ssl_context() if urlsplit(url).scheme == "https" else False
    return httpx2.AsyncClient(trust_env=False, verify=verify)

"""A model behind Anthropic's Messages API, or any server that speaks it.

The SDK provides the client, authentication and event decoding. Its typed layer is not
used: it relies on fields that other servers omit, warns on the terminal, and hides
blocks it does not know. Its retries are not used either: it sleeps for as long as
`retry-after` says, even an hour, while a user waits.
"""

import asyncio
import logging
import threading
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from construct.llm import anthropic_errors as errors
from construct.llm.anthropic_errors import Endpoint
from construct.llm.capable import parameters_in
from construct.llm.catalog import is_claude, model_info
from construct.llm.network import is_on_this_machine
from construct.vocabulary import AttachmentKind

if TYPE_CHECKING:
    import httpx2

    from construct.llm.anthropic_stream import AnthropicStream
    from construct.llm.anthropic_wire import Body
    from construct.llm.sdk import AsyncAnthropic
    from construct.llm.types import Request, WorkReply, WorkRequest

CONNECT_SECONDS = 8.0
# Most local servers need no key. The SDK does, and would search the environment and the
# disk for one.
_NO_KEY = "none"


class AnthropicModel:
    """One model of one server.

    The SDK is imported by `warm` or on first use, since the chat's prompt waits for
    this module.
    """

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
        `sends_custom_headers`: whether the SDK may add the environment's
        ANTHROPIC_CUSTOM_HEADERS, which can hold a key.
        """
        self.name = name
        self.context_window = model_info(name).window
        self.parameters = parameters_in(name)
        self.reads = frozenset(AttachmentKind) if is_claude(name) else frozenset()
        self.end = Endpoint(name, setting, api_key, auth_token, base_url)
        self._sends_custom_headers = sends_custom_headers
        self._client: AsyncAnthropic | None = None
        self._lock = threading.Lock()

    def stream(self, request: "Request") -> "AnthropicStream":
        """Return the stream of a reply. Nothing is sent before it is iterated."""
        from construct.llm.anthropic_stream import AnthropicStream
        from construct.llm.anthropic_wire import chat_body, without_pictures

        def blind() -> "Body":
            self.reads -= {AttachmentKind.IMAGE}
            return chat_body(self.name, without_pictures(request))

        body = chat_body(self.name, request)
        return AnthropicStream(self.end, self.send, body, blind, request.on_retry)

    async def complete(self, request: "WorkRequest") -> "WorkReply":
        """Return a worker's answer.

        It is streamed too: during a long answer the connection would seem dead
        otherwise.
        """
        from construct.llm.anthropic_stream import AnthropicStream
        from construct.llm.anthropic_wire import work_body
        from construct.llm.work import collect

        def blind() -> "Body":
            self.reads -= {AttachmentKind.IMAGE}
            return work_body(self.name, replace(request, pictures=()))

        stream = AnthropicStream(self.end, self.send, work_body(self.name, request), blind)
        return await collect(stream, request, self.end.who)

    async def close(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    def warm(self) -> None:
        """Import the SDK and make its client. Slow: call it in a thread."""
        import_module("construct.llm.anthropic_stream")
        self._load()

    def _load(self) -> "AsyncAnthropic":
        with self._lock:
            if self._client is None:
                client = _new_client(self.end)
                if not self._sends_custom_headers:
                    # The SDK has no argument that leaves out what it read from the environment.
                    client._custom_headers = {}
                self._client = client
            return self._client

    async def send(self, body: bytes) -> "httpx2.Response":
        """Send a request's body. Return the response, with its body unread."""
        client = self._client
        if client is None:
            client = await asyncio.to_thread(self._load)
        import httpx2

        from construct.llm.sdk import AsyncStream

        response: object = await client.post(
            "/v1/messages",
            content=body,
            options={
                "headers": {"Content-Type": "application/json", "Accept": "text/event-stream"},
                # Without redirects: conversations go to the host that the user chose
                # and no other.
                "follow_redirects": False,
            },
            cast_to=httpx2.Response,
            stream=True,
            stream_cls=AsyncStream[object],
        )
        assert isinstance(response, httpx2.Response)  # what `cast_to` asks for
        return response


def _new_client(end: Endpoint) -> "AsyncAnthropic":
    import httpx2

    from construct.llm.sdk import AsyncAnthropic

    key = end.api_key or end.auth_token or _NO_KEY
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise errors.bad_key(end)
    for name in ("anthropic", "httpx2", "httpcore2"):
        logging.getLogger(name).setLevel(logging.WARNING)  # below that they log what the user typed
    url = end.base_url or errors.DEFAULT_URL
    timeout = httpx2.Timeout(errors.ANSWER_SECONDS, connect=CONNECT_SECONDS)
    try:
        return AsyncAnthropic(
            api_key=key,  # sent just as an auth_token is
            base_url=url,
            timeout=timeout,
            max_retries=0,
            open_telemetry=False,
            http_client=_http_client(url),
        )
    except (httpx2.InvalidURL, ValueError) as error:
        raise errors.bad_address(end, error) from error
    except OSError as error:
        raise errors.bad_certificates(error) from error


def _http_client(url: str) -> "httpx2.AsyncClient":
    """Return a client that uses the environment's proxy, unless the server is on this machine.

    The SDK would make one itself, but stumbles over brackets in NO_PROXY.
    """
    import httpx2

    if not is_on_this_machine(url):
        return httpx2.AsyncClient()
    # Certificates take 25 ms to load. What SSL_CERT_FILE names counts here too.
    verify = httpx2.create_ssl_context() if urlsplit(url).scheme == "https" else False
    return httpx2.AsyncClient(trust_env=False, verify=verify)

"""A model behind Anthropic's Messages API, or any server that speaks it.

The SDK gives us its client, authentication and event decoder. Its typed layer is left out:
that relies on fields which other servers omit, warns on the terminal, and hides blocks that
it does not know. Its retries are left out too: it sleeps as long as `retry-after` says, an
hour if need be, while somebody waits at a prompt.
"""

import asyncio
import logging
import random
import threading
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from construct.errors import ModelBrokenError
from construct.llm import anthropic_errors as errors
from construct.llm.anthropic_errors import Endpoint, Failure
from construct.llm.anthropic_events import ReplyBuilder
from construct.llm.anthropic_wire import Body, chat_body, encoded, json_body
from construct.llm.catalog import model_info
from construct.llm.types import JsonReply, JsonRequest, Reply, Request

if TYPE_CHECKING:
    import httpx2
    from anthropic import AsyncAnthropic
    from anthropic._streaming import ServerSentEvent

RETRIES = 2
FIRST_PAUSE = 0.5
LONGEST_WAIT = 10.0
CONNECT_SECONDS = 8.0
# Local servers mostly want no key, but the SDK wants one, and would look for it in the environment and on disk.
_NO_KEY = "none"
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class AnthropicModel:
    """One model of one server. `anthropic` is imported by `warm`, or when first needed."""

    def __init__(
        self,
        name: str,
        *,
        api_key: str | None = None,
        auth_token: str | None = None,
        base_url: str | None = None,
        setting: str = "CONSTRUCT_MODEL",
    ) -> None:
        """Take credentials as they are, the environment is not consulted; `setting` is what names the model."""
        self.name = name
        self.context_window = model_info(name).window
        self._end = Endpoint(name, setting, api_key, auth_token, base_url)
        self._client: AsyncAnthropic | None = None
        self._lock = threading.Lock()

    def stream(self, request: Request) -> "AnthropicStream":
        """Ask for a reply; nothing is sent before the stream is iterated."""
        return AnthropicStream(self, chat_body(self.name, request))

    async def complete_json(self, request: JsonRequest) -> JsonReply:
        """Ask for one JSON object; streamed as well, so that a long answer is no long silence."""
        stream = AnthropicStream(self, json_body(self.name, request))
        try:
            async for _ in stream:
                pass
        finally:
            await stream.aclose()
        reply = stream.reply
        if reply.stop_reason is None:
            raise ModelBrokenError(f"{self._end.who} broke off its answer. Try again.")
        return JsonReply(reply.text, reply.usage, reply.stop_reason)

    async def close(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    def warm(self) -> None:
        """Import the SDK and make its client: half a second or more, so call it in a thread."""
        self._load()

    def _load(self) -> "AsyncAnthropic":
        with self._lock:
            if self._client is None:
                self._client = _new_client(self._end)
            return self._client

    async def _send(self, body: Body) -> "httpx2.Response":
        """Send a request and return the response, its body still to be read."""
        client = self._client
        if client is None:
            client = await asyncio.to_thread(self._load)
        import httpx2
        from anthropic import AsyncStream

        response: object = await client.post(
            "/v1/messages",
            content=encoded(body | {"stream": True}),
            options={"headers": {"Content-Type": "application/json", "Accept": "text/event-stream"}},
            cast_to=httpx2.Response,
            stream=True,
            stream_cls=AsyncStream[object],
        )
        assert isinstance(response, httpx2.Response)  # what `cast_to` asks for
        return response


class AnthropicStream:
    """One reply on its way. Iterate once; `reply` keeps what came, however it ends."""

    def __init__(self, model: AnthropicModel, body: Body) -> None:
        self.reply = Reply()
        self._model = model
        self._end = model._end
        self._body = body
        self._words = self._run()

    def __aiter__(self) -> AsyncIterator[str]:
        """Give the words as they arrive."""
        return self._words

    async def aclose(self) -> None:
        """Let go of the connection."""
        await self._words.aclose()

    async def _run(self) -> AsyncGenerator[str]:
        """Try until words have come, then see it through."""
        for attempt in range(RETRIES + 1):
            try:
                async with aclosing(self._attempt()) as words:
                    async for some in words:
                        yield some
            except _FailedError as failed:
                if self.reply.stop_reason is not None:
                    return  # all of the answer had come
                wait = _wait(failed.failure, attempt)
                if wait is None or self.reply.text or self.reply.blocks:
                    raise failed.failure.error from failed.__cause__
            else:
                return
            await asyncio.sleep(wait)

    async def _attempt(self) -> AsyncGenerator[str]:
        builder = ReplyBuilder(self.reply)
        try:
            response = await self._model._send(self._body)
            async with aclosing(response):
                try:
                    async with aclosing(_server_sent(response)) as events:
                        async for event in events:
                            if words := builder.take(_parsed(self._end, event)):
                                yield words
                            if builder.ended:
                                await _drain(events)
                finally:
                    builder.finish()
        except Exception as error:
            failure = _failure(self._end, error)  # None: a defect, not to be taken for bad luck
            if failure is None:
                raise
            raise _FailedError(failure) from error
        if not builder.begun:
            raise _FailedError(errors.no_answer(self._end))


class _FailedError(Exception):
    def __init__(self, failure: Failure) -> None:
        super().__init__(str(failure.error))
        self.failure = failure


def _wait(failure: Failure, attempt: int) -> float | None:
    """Return the seconds until the next attempt, None when there shall be none."""
    if not failure.may_retry or attempt == RETRIES:
        return None
    if failure.wait is not None:
        return failure.wait if failure.wait <= LONGEST_WAIT else None
    return FIRST_PAUSE * 2.0**attempt * random.uniform(0.75, 1.0)  # so that clients that failed together part


def _new_client(end: Endpoint) -> "AsyncAnthropic":
    import httpx2
    from anthropic import AsyncAnthropic

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
            http_client=_direct_client(url),
        )
    except (httpx2.InvalidURL, ValueError, ImportError, OSError) as error:
        # ImportError: a SOCKS proxy wants another package; OSError: certificates that are not where they should be.
        raise errors.bad_url(end) from error


def _direct_client(url: str) -> "httpx2.AsyncClient | None":
    """Return a client that asks no proxy for a server on this machine, which no proxy could reach; else None."""
    import httpx2

    parts = urlsplit(url)
    if parts.hostname not in _LOOPBACK:
        return None
    return httpx2.AsyncClient(trust_env=False, verify=parts.scheme == "https")  # certificates take 25 ms to load


async def _server_sent(response: "httpx2.Response") -> AsyncGenerator["ServerSentEvent"]:
    from anthropic import AsyncStream

    async for event in AsyncStream.raw_events(response):
        if event.data:
            yield event


def _parsed(end: Endpoint, event: "ServerSentEvent") -> dict[str, Any]:
    """Return what an event holds; raise the failure that it reports, or ValueError when it is garbage."""
    try:
        value = event.json()
    except ValueError:
        if event.event != "error":
            raise
        value = event.data
    if event.event == "error" or (isinstance(value, dict) and value.get("type") == "error"):
        raise _FailedError(errors.from_event(end, value))
    if not isinstance(value, dict):
        raise ValueError("an event that is no object")  # noqa: TRY004 - the server's defect, not ours
    return value


async def _drain(events: AsyncGenerator["ServerSentEvent"]) -> None:
    """Read up to the end, which is near, so that the connection can be used again."""
    with suppress(TimeoutError):
        async with asyncio.timeout(0.5):
            async for _ in events:
                pass


def _failure(end: Endpoint, error: Exception) -> Failure | None:
    """Return what an exception means; None when it means nothing that is expected here."""
    if isinstance(error, _FailedError):
        return error.failure
    import anthropic
    import httpx2

    match error:
        case anthropic.APIStatusError():
            return errors.from_response(end, error.status_code, error.response.headers, error.body)
        case anthropic.APIConnectionError(__cause__=httpx2.HTTPError() as cause):
            return _failure(end, cause)
        case anthropic.APIConnectionError():
            return errors.unreachable(end, error)
        case httpx2.ConnectTimeout() | httpx2.PoolTimeout():
            return errors.unreachable(end, error, may_retry=False)
        case httpx2.ConnectError() | httpx2.ProxyError() | httpx2.UnsupportedProtocol():
            return errors.unreachable(end, error)
        case httpx2.TimeoutException():
            return errors.silent(end)
        case httpx2.HTTPError():
            return errors.broken(end)
        case ValueError():  # neither JSON nor text
            return errors.no_answer(end)
    return None

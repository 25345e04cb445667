"""Streams one reply from a server, and retries when it fails early.

The protocol is the `Wire`'s. Nothing in what a server sends is taken for granted.
"""

import asyncio
import json
import random
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any, Protocol

from construct.errors import PicturesRefusedError
from construct.llm import server_errors as errors
from construct.llm.server_errors import Endpoint, Failure
from construct.llm.types import Reply, Usage

if TYPE_CHECKING:
    import httpx2

RETRIES = 2
FIRST_PAUSE = 0.5
"""Seconds before the first retry; it doubles with each further one."""
LONGEST_WAIT = 10.0
"""Seconds. If a server asks for a longer wait, the request is not retried."""
_GATHER = 0.1
"""Seconds to collect more words after some have been passed on.

A read takes half a millisecond of CPU, whether it brings one word or ten.
"""
_AT_HAND = 0.002
"""Seconds within which an event that is already in the buffer arrives."""
_LARGEST_NUMBER = 1 << 53
"""Larger numbers are ignored: no token count is that large, and some do not fit into SQLite."""

Body = dict[str, Any]
Event = Mapping[str, Any]
SdkErrors = tuple[type[Exception], type[Exception]]


class Builder(Protocol):
    """Builds a Reply from events."""

    begun: bool
    """Whether the server has begun an answer."""
    ended: bool
    """Whether the answer has ended normally."""

    def take(self, event: Event) -> str:
        """Apply one event. Return the text it brought."""

    def finish(self) -> None:
        """End a reply that was cut off: keep the text of what is not complete."""


class Wire(Protocol):
    """One protocol to one server."""

    end: Endpoint

    async def send(self, body: bytes) -> "httpx2.Response":
        """Send a body. Return the response once its headers have arrived."""

    def events(self, response: "httpx2.Response") -> AsyncGenerator[Event]:
        """Yield the events of a response. Raises FailedError for one that reports an error."""

    def builder(self, reply: Reply, sent: bytes) -> Builder:
        """Return what fills a reply from events; `sent` is the request's body."""

    def sdk_errors(self) -> SdkErrors:
        """Return what the SDK raises: for a lost connection, and for an error status."""


class ServerStream:
    """A reply being streamed. It can be iterated only once.

    `reply` holds what has arrived, even if the stream fails or is closed early. If the server
    takes no pictures, `body_without_pictures` is sent instead.
    """

    def __init__(
        self,
        wire: Wire,
        body: Body,
        body_without_pictures: Callable[[], Body],
        on_retry: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.reply = Reply()
        self._without_pictures = body_without_pictures
        self._on_retry = on_retry
        self._wire = wire
        self._body = encoded(body | {"stream": True})
        self._words = self._run()

    def __aiter__(self) -> AsyncIterator[str]:
        """Yield text as it arrives."""
        return self._words

    async def aclose(self) -> None:
        """Close the connection."""
        await self._words.aclose()

    async def _run(self) -> AsyncGenerator[str]:
        """Yield the text. A failure is final once a part of the reply has arrived."""
        for attempt in range(RETRIES + 1):
            try:
                async with aclosing(self._attempt()) as words:
                    async for some in words:
                        yield some
            except FailedError as failed:
                if self.reply.stop_reason is not None:
                    return  # all of the answer had come
                error = failed.failure.error
                if isinstance(error, PicturesRefusedError) and not attempt:
                    self._body = encoded(self._without_pictures() | {"stream": True})
                    continue
                wait = _wait(failed.failure, attempt)
                if wait is None or self.reply.text or self.reply.blocks:
                    raise failed.failure.error from failed.__cause__
                self.reply.retried_usage = self.reply.usage_with_retries
                self.reply.usage = Usage()
                self._on_retry(failed.failure.error.what)
            else:
                return
            await asyncio.sleep(wait)

    async def _attempt(self) -> AsyncGenerator[str]:
        builder = self._wire.builder(self.reply, self._body)
        try:
            response = await self._wire.send(self._body)
            async with aclosing(response):
                try:
                    async with aclosing(self._wire.events(response)) as events:
                        asked = time.monotonic()
                        async for event in events:
                            was_waited_for = time.monotonic() - asked > _AT_HAND
                            if words := builder.take(event):
                                yield words
                            if builder.ended:
                                await _drain(events)
                            elif words and was_waited_for:
                                await asyncio.sleep(_GATHER)
                            asked = time.monotonic()
                finally:
                    builder.finish()
        except Exception as error:  # httpx2's and the SDK's, and some that neither declares
            failure = _failure(self._wire, error)
            if failure is None:  # a bug of ours, which must not look like a network problem
                raise
            raise FailedError(failure) from error
        if not builder.begun:
            raise FailedError(errors.no_answer(self._wire.end))


class FailedError(Exception):
    """An attempt failed."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(str(failure.error))
        self.failure = failure


def _wait(failure: Failure, attempt: int) -> float | None:
    """Return the seconds until the next attempt, or None for no further attempt."""
    if not failure.may_retry or attempt == RETRIES:
        return None
    if failure.wait is not None:
        return failure.wait if failure.wait <= LONGEST_WAIT else None
    # At random, so that clients that failed together do not retry together.
    return FIRST_PAUSE * 2.0**attempt * random.uniform(0.75, 1.0)


async def _drain(events: AsyncGenerator[Event]) -> None:
    """Read the last bytes of the response, so that the connection can be reused."""
    with suppress(TimeoutError):
        async with asyncio.timeout(0.5):
            async for _ in events:
                pass


def _failure(wire: Wire, error: Exception) -> Failure | None:
    """Return the failure for an exception, or None for an unexpected one."""
    if isinstance(error, FailedError):
        return error.failure
    import httpx2

    end, (connection_error, status_error) = wire.end, wire.sdk_errors()
    if isinstance(error, status_error):
        response: httpx2.Response = vars(error)["response"]
        return errors.from_response(
            end, response.status_code, response.headers, vars(error)["body"]
        )
    if isinstance(error, connection_error):
        cause = error.__cause__
        if isinstance(cause, httpx2.HTTPError):
            return _failure(wire, cause)
        return errors.unreachable(end, error)
    match error:
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


def encoded(body: Body) -> bytes:
    """Return the body as bytes.

    A lone surrogate, which JSON input can contain, becomes a question mark.
    """
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"), default=dict).encode(
        "utf-8", "replace"
    )


def parsed_arguments(text: str) -> dict[str, Any] | None:
    """Return the arguments of a tool call, or None if the text is not a JSON object."""
    try:
        value = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def object_in(event: Event, name: str) -> Event:
    """Return the object under a name, empty if there is none."""
    value = event.get(name)
    return value if isinstance(value, dict) else {}


def text_in(event: Event, name: str) -> str:
    """Return the text under a name, empty if there is none."""
    value = event.get(name)
    return value if isinstance(value, str) else ""


def number_in(event: Event, name: str, default: int) -> int:
    """Return the number under a name, or the default if there is none that can be stored."""
    value = event.get(name)
    return value if isinstance(value, int) and 0 <= value <= _LARGEST_NUMBER else default

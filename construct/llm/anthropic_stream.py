"""Streams one reply from the Messages API, and retries when it fails early.

Events are read as plain JSON, and nothing in them is taken for granted: servers other
than Anthropic's omit fields, and blocks of unknown kinds must be sent back unchanged.
"""

import asyncio
import json
import random
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any

from construct.errors import PicturesRefusedError
from construct.llm import anthropic_errors as errors
from construct.llm.anthropic_errors import Endpoint, Failure
from construct.llm.anthropic_wire import Body, encoded
from construct.llm.types import Block, Opaque, Reply, Text, ToolUse, Usage

if TYPE_CHECKING:
    import httpx2

    from construct.llm.sdk import ServerSentEvent

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

Send = Callable[[bytes], Awaitable["httpx2.Response"]]
"""Sends a body. Returns the response once its headers have arrived."""


class AnthropicStream:
    """A reply being streamed. It can be iterated only once.

    `reply` holds what has arrived, even if the stream fails or is closed early. If the server
    takes no pictures, `body_without_pictures` is sent instead.
    """

    def __init__(
        self,
        end: Endpoint,
        send: Send,
        body: Body,
        body_without_pictures: Callable[[], Body],
        on_retry: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.reply = Reply()
        self._without_pictures = body_without_pictures
        self._on_retry = on_retry
        self._end = end
        self._send = send
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
            except _FailedError as failed:
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
                self._on_retry(failed.failure.error.in_short)
            else:
                return
            await asyncio.sleep(wait)

    async def _attempt(self) -> AsyncGenerator[str]:
        builder = ReplyBuilder(self.reply)
        try:
            response = await self._send(self._body)
            async with aclosing(response):
                try:
                    async with aclosing(_server_sent(response)) as events:
                        asked = time.monotonic()
                        async for event in events:
                            was_waited_for = time.monotonic() - asked > _AT_HAND
                            if words := builder.take(_parsed(self._end, event)):
                                yield words
                            if builder.ended:
                                await _drain(events)
                            elif words and was_waited_for:
                                await asyncio.sleep(_GATHER)
                            asked = time.monotonic()
                finally:
                    builder.finish()
        except Exception as error:  # httpx2's and the SDK's, and some that neither declares
            failure = _failure(self._end, error)
            if failure is None:  # a bug of ours, which must not look like a network problem
                raise
            raise _FailedError(failure) from error
        if not builder.begun:
            raise _FailedError(errors.no_answer(self._end))


class _FailedError(Exception):
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


async def _server_sent(response: "httpx2.Response") -> AsyncGenerator["ServerSentEvent"]:
    from construct.llm.sdk import AsyncStream

    async for event in AsyncStream.raw_events(response):
        if event.data:
            yield event


def _parsed(end: Endpoint, event: "ServerSentEvent") -> dict[str, Any]:
    """Return an event's data.

    Raises the failure that it reports, or ValueError when it cannot be read.
    """
    try:
        value = event.json()
    except (ValueError, RecursionError) as error:
        if event.event != "error":
            raise ValueError("an event that is not JSON") from error
        value = event.data
    if event.event == "error" or (isinstance(value, dict) and value.get("type") == "error"):
        raise _FailedError(errors.from_event(end, value))
    if not isinstance(value, dict):
        raise ValueError("an event that is not an object")  # noqa: TRY004 - the server's defect, not ours
    return value


async def _drain(events: AsyncGenerator["ServerSentEvent"]) -> None:
    """Read the last bytes of the response, so that the connection can be reused."""
    with suppress(TimeoutError):
        async with asyncio.timeout(0.5):
            async for _ in events:
                pass


def _failure(end: Endpoint, error: Exception) -> Failure | None:
    """Return the failure for an exception, or None for an unexpected one."""
    if isinstance(error, _FailedError):
        return error.failure
    import httpx2

    from construct.llm.sdk import APIConnectionError, APIStatusError

    match error:
        case APIStatusError():
            return errors.from_response(end, error.status_code, error.response.headers, error.body)
        case APIConnectionError(__cause__=httpx2.HTTPError() as cause):
            return _failure(end, cause)
        case APIConnectionError():
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


Event = Mapping[str, Any]


class ReplyBuilder:
    """Builds a Reply from events."""

    def __init__(self, reply: Reply) -> None:
        self.reply = reply
        self.begun = False
        """Whether the server has begun an answer."""
        self.ended = False
        """Whether the answer has ended normally."""
        self._open: dict[int, _OpenBlock] = {}

    def take(self, event: Event) -> str:
        """Apply one event. Return the text it brought."""
        index = _number(event, "index", 0)
        match event.get("type"):
            case "message_start":
                self.begun = True
                self._count(_part(event, "message"))
            case "content_block_start":
                return self._start(index, _part(event, "content_block"))
            case "content_block_delta":
                return self._add(index, _part(event, "delta"))
            case "content_block_stop":
                self._close(index, whole=True)
            case "message_delta":
                self._count(event)
                self.reply.stop_reason = (
                    _text(_part(event, "delta"), "stop_reason") or self.reply.stop_reason
                )
            case "message_stop":
                self.ended = True
                self.reply.stop_reason = self.reply.stop_reason or "end_turn"
        return ""

    def finish(self) -> None:
        """End a reply that was cut off: keep the text of its open blocks."""
        for index in list(self._open):
            self._close(index, whole=False)

    def _start(self, index: int, start: Event) -> str:
        self._open[index] = _OpenBlock(start)
        return self._said(_text(start, "text") if start.get("type") == "text" else "")

    def _add(self, index: int, delta: Event) -> str:
        block = self._open.get(index)
        return self._said(block.add(delta)) if block else ""

    def _said(self, words: str) -> str:
        self.reply.text += words
        return words

    def _close(self, index: int, *, whole: bool) -> None:
        if opened := self._open.pop(index, None):
            block = opened.whole() if whole else opened.words()
            if block is not None:
                self.reply.blocks.append(block)

    def _count(self, event: Event) -> None:
        """Read the token counts of an event.

        Counts in later events are totals, not increments.
        """
        usage, before = _part(event, "usage"), self.reply.usage
        self.reply.usage = Usage(
            input_tokens=_number(usage, "input_tokens", before.input_tokens),
            cache_read_tokens=_number(usage, "cache_read_input_tokens", before.cache_read_tokens),
            cache_write_tokens=_number(
                usage, "cache_creation_input_tokens", before.cache_write_tokens
            ),
            output_tokens=_number(usage, "output_tokens", before.output_tokens),
        )


class _OpenBlock:
    """A block that is still arriving."""

    def __init__(self, start: Event) -> None:
        self._data = dict(start)
        self._json = ""
        self._is_understood = True

    def add(self, delta: Event) -> str:
        """Apply a delta. Return the text that it adds to the reply."""
        kind = _text(delta, "type")
        match kind:
            case "text_delta" | "thinking_delta" | "signature_delta":
                name = kind.removesuffix("_delta")
                added = _text(delta, name)
                self._data[name] = _text(self._data, name) + added
                return added if kind == "text_delta" else ""
            case "input_json_delta":
                self._json += _text(delta, "partial_json")
            case "citations_delta":
                pass  # the sources of the words, which are not kept
            case _:
                self._is_understood = False
        return ""

    def words(self) -> Block | None:
        """Return the text of a text block, or None if it is empty or another kind."""
        text = _text(self._data, "text") if self._data.get("type") == "text" else ""
        return Text(text) if text else None

    def whole(self) -> Block | None:
        """Return the finished block.

        None if it is empty or incomplete, or is not text and had deltas of an unknown
        kind.
        """
        if self._data.get("type") == "text":
            return self.words()
        if not self._is_understood or not self._parse_input():
            return None
        if self._data.get("type") == "tool_use":
            return self._tool_use()
        return Opaque(self._data) if self._data.get("type") else None

    def _parse_input(self) -> bool:
        """Parse the streamed input of a tool call. Return False if it is not valid JSON."""
        if not self._json:
            return True
        try:
            self._data["input"] = json.loads(self._json, parse_constant=_refuse)
        except (ValueError, RecursionError):
            return False
        return True

    def _tool_use(self) -> ToolUse | None:
        call, name, arguments = (
            _text(self._data, "id"),
            _text(self._data, "name"),
            self._data.get("input"),
        )
        return (
            ToolUse(call, name, arguments)
            if call and name and isinstance(arguments, dict)
            else None
        )


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _part(event: Event, name: str) -> Event:
    value = event.get(name)
    return value if isinstance(value, dict) else {}


def _text(event: Event, name: str) -> str:
    value = event.get(name)
    return value if isinstance(value, str) else ""


def _number(event: Event, name: str, default: int) -> int:
    value = event.get(name)
    return value if isinstance(value, int) and 0 <= value <= _LARGEST_NUMBER else default

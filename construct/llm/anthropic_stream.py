"""One reply of a Messages API on its way: the events as they come, what goes wrong, and another try."""

import asyncio
import random
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any

from construct.llm import anthropic_errors as errors
from construct.llm.anthropic_errors import Endpoint, Failure
from construct.llm.anthropic_events import ReplyBuilder
from construct.llm.anthropic_wire import Body, encoded
from construct.llm.types import Reply

if TYPE_CHECKING:
    import httpx2
    from anthropic._streaming import ServerSentEvent

    from construct.llm.anthropic_model import AnthropicModel

RETRIES = 2
FIRST_PAUSE = 0.5
LONGEST_WAIT = 10.0


class AnthropicStream:
    """One reply on its way. Iterate once; `reply` keeps what came, however it ends."""

    def __init__(
        self, model: "AnthropicModel", body: Body, on_retry: Callable[[str], None] = lambda _: None
    ) -> None:
        self.reply = Reply()
        self._on_retry = on_retry
        self._model = model
        self._end = model.end
        self._body = encoded(body | {"stream": True})
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
                self._on_retry(failed.failure.error.in_short)
            else:
                return
            await asyncio.sleep(wait)

    async def _attempt(self) -> AsyncGenerator[str]:
        builder = ReplyBuilder(self.reply)
        try:
            response = await self._model.send(self._body)
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
        except Exception as error:  # httpx2's and the SDK's, and what neither declares (facts.md)
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
    return (
        FIRST_PAUSE * 2.0**attempt * random.uniform(0.75, 1.0)
    )  # so that clients that failed together part


async def _server_sent(response: "httpx2.Response") -> AsyncGenerator["ServerSentEvent"]:
    from anthropic import AsyncStream

    async for event in AsyncStream.raw_events(response):
        if event.data:
            yield event


def _parsed(end: Endpoint, event: "ServerSentEvent") -> dict[str, Any]:
    """Return what an event holds.

    Raise the failure that it reports, or ValueError when it is garbage.
    """
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
    """Return what an exception means.

    None when it means nothing that is expected here.
    """
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

"""Reads the chunks of a chat completion, OpenAI's protocol.

Chunks are read as plain JSON, and nothing in them is taken for granted: servers other
than OpenAI's omit fields, and number tool calls in their own ways.
"""

import json
import re
import secrets
from collections.abc import AsyncGenerator, Sequence
from typing import TYPE_CHECKING, Any

from construct import tokens
from construct.llm import server_errors as errors
from construct.llm.reply_stream import (
    Event,
    FailedError,
    number_in,
    object_in,
    parsed_arguments,
    text_in,
)
from construct.llm.server_errors import Endpoint
from construct.llm.types import Reply, Text, ToolUse, Usage

if TYPE_CHECKING:
    import httpx2

_PICTURE = re.compile(r"data:image/[a-z]+;base64,[A-Za-z0-9+/=]*")
_END: Event = {"end": True}
"""Stands for `[DONE]`, with which a server ends a stream."""
_STOP_REASONS = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "content_filter": "refusal",
}


async def read_events(end: Endpoint, response: "httpx2.Response") -> AsyncGenerator[Event]:
    """Yield the chunks of a response. Raises FailedError for one that reports an error.

    Each is one line, `data: {…}`. Lines that say something else are comments.
    """
    async for line in response.aiter_lines():
        name, _, data = line.partition(":")
        if name == "error":  # how llama.cpp reports an error
            data = f'{{"error": {data}}}'
        elif name != "data":
            continue
        if data.strip() == "[DONE]":
            yield _END
            continue
        chunk = json.loads(data)
        if not isinstance(chunk, dict):
            raise ValueError("a chunk that is not an object")  # noqa: TRY004 - the server's defect
        if chunk.get("error"):
            raise FailedError(errors.from_event(end, chunk))
        yield chunk


class ReplyBuilder:
    """Builds a Reply from chunks."""

    def __init__(self, reply: Reply, sent: bytes) -> None:
        self.reply = reply
        self._sent = sent
        self.begun = False
        """Whether the server has begun an answer."""
        self.ended = False
        """Whether the answer has ended normally."""
        self._calls: dict[int, _Call] = {}
        self._is_refusal = False

    def take(self, event: Event) -> str:
        """Apply one chunk. Return the text it brought."""
        if event is _END:
            self.ended = self.begun
            return ""
        self._count(object_in(event, "usage"))
        choice = _first(event.get("choices"))
        if not choice:
            return ""
        self.begun = True
        delta = object_in(choice, "delta")
        for position, call in enumerate(_objects(delta.get("tool_calls"))):
            self._add_call(number_in(call, "index", position), call)
        refusal = text_in(delta, "refusal")
        self._is_refusal = self._is_refusal or bool(refusal)
        words = text_in(delta, "content") + refusal
        self.reply.text += words
        if reason := text_in(choice, "finish_reason"):
            self._stop(_STOP_REASONS.get(reason, reason))
        return words

    def finish(self) -> None:
        """Put what has arrived into blocks. Tool calls count only in a complete answer.

        A server counts tokens only at the end. If that has not come, what was read is
        estimated, since it is paid for.
        """
        if self.begun and self.reply.usage == Usage():
            words = _PICTURE.sub("", self._sent.decode("utf-8", "replace"))
            self.reply.usage = Usage(input_tokens=tokens.count(words))
        if self.reply.text:
            self.reply.blocks.append(Text(self.reply.text))
        if self.reply.stop_reason == "tool_use":
            calls = (call.whole() for call in self._calls.values())
            self.reply.blocks += [call for call in calls if call is not None]

    def _stop(self, reason: str) -> None:
        if self._is_refusal:
            reason = "refusal"
        elif self._calls and reason == "end_turn":  # what some servers say at a tool call
            reason = "tool_use"
        self.reply.stop_reason = reason

    def _add_call(self, index: int, delta: Event) -> None:
        call = self._calls.get(index)
        given = text_in(delta, "id")
        if call is not None and given and given != call.id:  # a server that never counts up
            index = max(self._calls) + 1
            call = None
        if call is None:
            call = self._calls[index] = _Call(given or f"call_{secrets.token_hex(6)}")
        call.add(object_in(delta, "function"))

    def _count(self, usage: Event) -> None:
        """Read the token counts. Those of cached tokens are part of the prompt's."""
        before = self.reply.usage
        cached = number_in(object_in(usage, "prompt_tokens_details"), "cached_tokens", 0)
        prompt = number_in(usage, "prompt_tokens", before.prompt_tokens)
        if usage:
            self.reply.usage = Usage(
                input_tokens=max(0, prompt - cached),
                cache_read_tokens=min(cached, prompt),
                output_tokens=number_in(usage, "completion_tokens", before.output_tokens),
            )


class _Call:
    """A tool call that is still arriving."""

    def __init__(self, call: str) -> None:
        self.id = call
        self._name = ""
        self._arguments = ""

    def add(self, function: Event) -> None:
        """Apply one part of it."""
        self._name = self._name or text_in(function, "name")
        self._arguments += text_in(function, "arguments")

    def whole(self) -> ToolUse | None:
        """Return the finished call, or None if it has no name or no readable arguments."""
        arguments = parsed_arguments(self._arguments or "{}")
        return (
            ToolUse(self.id, self._name, arguments)
            if self._name and arguments is not None
            else None
        )


def _objects(value: object) -> Sequence[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _first(value: object) -> dict[str, Any]:
    return next(iter(_objects(value)), {})

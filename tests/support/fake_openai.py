"""OpenAI's protocol in front of the fake: strict checks, and both directions translated.

A request is checked as a strict server would, then translated into the Messages API's
form, in which the fake's scripts, workers and records have it. An answer's events are
translated back into chunks as they go out, so that every fault strikes here too.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from tests.support.fake_messages import RejectedError, mapping, only
from tests.support.fake_request import RefusedError
from tests.support.fake_types import Json
from tests.support.fake_wire import Event

_BODY = {
    "model", "messages", "tools", "stream", "stream_options", "max_tokens", "max_completion_tokens",
}  # fmt: skip
_ALLOWED = {
    "system": {"role", "content"},
    "user": {"role", "content"},
    "assistant": {"role", "content", "tool_calls"},
    "tool": {"role", "content", "tool_call_id"},
}
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_DATA_URL = re.compile(r"data:(image/(?:png|jpeg|gif|webp));base64,(.+)", re.DOTALL)
_BEFORE_AMBIENT = re.compile(r"\n\n(?=<ambient>)")
_FINISH = {"end_turn": "stop", "max_tokens": "length", "refusal": "content_filter"}
_TYPES = {529: "server_error", 429: "rate_limit_exceeded", 401: "invalid_request_error"}


def authenticate(headers: Mapping[str, str]) -> None:
    """Refuse a request without a bearer key, with a bad one, or with another API's header."""
    if "x-api-key" in headers:
        raise RefusedError(400, "x-api-key is not a header of this API")
    scheme, _, key = headers.get("authorization", "").partition(" ")
    if scheme != "Bearer" or not key.strip():
        raise RefusedError(401, "You didn't provide an API key.")
    if key.strip() == "bad-key":
        raise RefusedError(401, f"Incorrect API key provided: {key}.")


def translated(body: Json) -> Json:
    """Return a request in the form of the Messages API. Raises RejectedError."""
    only(body, _BODY, "body")
    limits = [name for name in ("max_tokens", "max_completion_tokens") if name in body]
    if len(limits) != 1 or not isinstance(body[limits[0]], int):
        raise RejectedError("one of max_tokens and max_completion_tokens must be an integer")
    if body.get("stream") is not True or body.get("stream_options") != {"include_usage": True}:
        raise RejectedError("stream: a client of ours streams, with its usage")
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise RejectedError("messages: at least one is required")
    system = [one["content"] for one in messages if _role(one) == "system"]
    if system and (_role(messages[0]) != "system" or len(system) > 1):
        raise RejectedError("messages: one system message, at the beginning")
    rest = messages[1:] if system else messages
    request: Json = {
        "model": body.get("model"),
        "max_tokens": body[limits[0]],
        "messages": list(_merged(rest)),
        "stream": True,
    }
    if system:
        request["system"] = _said(system[0], "system")
    if "tools" in body:
        if not body["tools"]:
            raise RejectedError("tools: an empty list")
        request["tools"] = [_tool(tool) for tool in body["tools"]]
    return request


def _role(message: object) -> str:
    role = mapping(message, "message").get("role")
    if role not in _ALLOWED:
        raise RejectedError(f"messages: the role {role!r} is unknown")
    only(mapping(message, "message"), _ALLOWED[role], role)
    return str(role)


def _said(content: object, path: str) -> str:
    if not isinstance(content, str) or not content.strip():
        raise RejectedError(f"{path}: content must be a text that is not blank")
    return content


def _merged(messages: list[Json]) -> Iterator[Json]:
    """Yield the messages with the results of tools put into the user's message after them."""
    open_calls: list[str] = []
    results: list[Json] = []
    for message in messages:
        role = _role(message)
        if role == "tool":
            call = message.get("tool_call_id")
            if call not in open_calls:
                raise RejectedError(f"messages: no call {call!r} waits for a result")
            open_calls.remove(str(call))
            content = message.get("content")
            if not isinstance(content, str):
                raise RejectedError("tool: content must be a text")
            results.append(_result(str(call), content))
            continue
        if open_calls:
            raise RejectedError(f"messages: the calls {open_calls} have no results")
        if role == "user":
            yield {"role": "user", "content": [*results, *_parts(message.get("content"))]}
            results = []
            continue
        if results:
            yield {"role": "user", "content": results}
            results = []
        blocks = list(_of_assistant(message))
        open_calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
        yield {"role": "assistant", "content": blocks}
    if open_calls:
        raise RejectedError(f"messages: the calls {open_calls} have no results")
    if results:
        yield {"role": "user", "content": results}


def _result(call: str, content: str) -> Json:
    said = content.removeprefix("Error: ")
    error = {"is_error": True} if said != content else {}
    return {"type": "tool_result", "tool_use_id": call, "content": said} | error


def _parts(content: object) -> Iterator[Json]:
    if isinstance(content, str):
        # The client joins its blocks. What a test looks for, the words and the ambient
        # block, is told apart again.
        for text in _BEFORE_AMBIENT.split(_said(content, "user")):
            yield {"type": "text", "text": text}
        return
    if not isinstance(content, list) or not content:
        raise RejectedError("user: content must be a text or a list of parts")
    for part in content:
        match part:
            case {"type": "text", "text": text}:
                only(part, {"type", "text"}, "part")
                yield {"type": "text", "text": _said(text, "part")}
            case {"type": "image_url", "image_url": {"url": str(url)}}:
                found = _DATA_URL.fullmatch(url)
                if found is None:
                    raise RejectedError("image_url: not a picture in a data URL")
                source = {"type": "base64", "media_type": found[1], "data": found[2]}
                yield {"type": "image", "source": source}
            case _:
                raise RejectedError(f"user: an unknown part {part!r}")


def _of_assistant(message: Json) -> Iterator[Json]:
    calls = message.get("tool_calls")
    if calls is not None and not calls:
        raise RejectedError("tool_calls: an empty list")
    if message.get("content") is not None or not calls:
        yield {"type": "text", "text": _said(message.get("content"), "assistant")}
    for call in calls or []:
        only(call, {"id", "type", "function"}, "tool_call")
        function = call["function"]
        only(function, {"name", "arguments"}, "function")
        try:
            arguments = json.loads(function["arguments"])
        except (TypeError, ValueError):
            raise RejectedError("arguments: not JSON in a text") from None
        name = function["name"]
        yield {"type": "tool_use", "id": call["id"], "name": name, "input": arguments}


def _tool(tool: Json) -> Json:
    only(tool, {"type", "function"}, "tool")
    if tool.get("type") != "function":
        raise RejectedError("tools: the type must be function")
    function = mapping(tool.get("function"), "function")
    only(function, {"name", "description", "parameters"}, "function")
    if not _NAME.fullmatch(str(function.get("name"))):
        raise RejectedError("tools: the name has other signs than letters, digits, _ and -")
    return {
        "name": function["name"],
        "description": function.get("description", ""),
        "input_schema": function.get("parameters"),
    }


def error_body(status: int, message: str) -> Json:
    """Return the JSON of an error answer."""
    kind = _TYPES.get(status, "invalid_request_error" if status < 500 else "server_error")
    return {"error": {"message": message, "type": kind, "param": None, "code": None}}


class ChunkEncoder:
    """Encodes the events of one answer as chunks."""

    def __init__(self) -> None:
        self._envelope: Json = {"object": "chat.completion.chunk", "created": 1}
        self._usage: dict[str, int] = {}
        self._calls: dict[int, int] = {}

    def __call__(self, event: Event) -> bytes:
        """Return the bytes that stand for an event; a comment where nothing does."""
        name, data = event
        match name:
            case "message_start":
                message = data["message"]
                self._envelope |= {"id": message["id"], "model": message["model"]}
                self._usage = message["usage"]
                return self._chunk({"role": "assistant", "content": ""})
            case "content_block_start" if data["content_block"]["type"] == "tool_use":
                block = data["content_block"]
                number = self._calls[data["index"]] = len(self._calls)
                call = {"id": block["id"], "type": "function", "index": number}
                return self._chunk(
                    {"tool_calls": [call | {"function": {"name": block["name"], "arguments": ""}}]}
                )
            case "content_block_delta":
                return self._delta(data["index"], data["delta"])
            case "message_delta":
                reason = data["delta"]["stop_reason"]
                finish = "tool_calls" if reason == "tool_use" else _FINISH[reason]
                return self._chunk({}, finish) + self._totals(data["usage"])
            case "message_stop":
                return b"data: [DONE]\n\n"
            case "error":
                error = error_body(529, data["error"]["message"])
                error["error"]["type"] = data["error"]["type"]
                return _line(error)
        return b": nothing\n\n"

    def _delta(self, index: int, delta: Json) -> bytes:
        match delta:
            case {"type": "text_delta", "text": text}:
                return self._chunk({"content": text})
            case {"type": "thinking_delta", "thinking": text}:
                return self._chunk({"reasoning_content": text})
            case {"type": "input_json_delta", "partial_json": text}:
                call = {"index": self._calls[index], "function": {"arguments": text}}
                return self._chunk({"tool_calls": [call]})
        return b": nothing\n\n"

    def _chunk(self, delta: Json, finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        return _line(self._envelope | {"choices": [choice], "usage": None})

    def _totals(self, usage: Json) -> bytes:
        cached = self._usage["cache_read_input_tokens"]
        prompt = self._usage["input_tokens"] + self._usage["cache_creation_input_tokens"] + cached
        totals: dict[str, Any] = {
            "prompt_tokens": prompt,
            "completion_tokens": usage["output_tokens"],
            "total_tokens": prompt + usage["output_tokens"],
            "prompt_tokens_details": {"cached_tokens": cached},
        }
        return _line(self._envelope | {"choices": [], "usage": totals})


def _line(value: Json) -> bytes:
    return f"data: {json.dumps(value)}\n\n".encode()

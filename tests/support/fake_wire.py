"""How an answer looks on the wire: a JSON body, or the events of a stream."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tests.support.fake_types import Json, Reply, Search, Usage, tokens

Event = tuple[str, Json]
"""The name of a server-sent event and its data."""

ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    405: "invalid_request_error",
    409: "conflict_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}

_MAX_DELTAS = 8
_SMALLEST_DELTA = 16


@dataclass(frozen=True, slots=True)
class Message:
    """One answer with all that its JSON needs."""

    id: str
    model: str
    reply: Reply
    usage: Usage


def error_body(status: int, message: str, request_id: str) -> Json:
    """Return the JSON of an error answer."""
    error = {"type": ERROR_TYPES.get(status, "api_error"), "message": message}
    return {"type": "error", "error": error, "request_id": request_id}


def cut(reply: Reply, most: int) -> Reply:
    """Return the reply as a model gives it that may write `most` tokens at most."""
    if reply.stop_reason is not None or tokens(reply.text) <= most:
        return reply
    text = reply.text.encode("utf-8", "replace")[: most * 4].decode("utf-8", "ignore")
    return replace(reply, text=text, tool_calls=(), stop_reason="max_tokens")


def output_tokens(reply: Reply) -> int:
    """Return what the reply counts as; even an empty one counts 1."""
    calls = sum(tokens(name + json.dumps(value)) for name, value in reply.tool_calls)
    return max(1, tokens(reply.thinking) + tokens(reply.text) + calls)


def message_json(message: Message) -> Json:
    """Return the whole answer as one JSON body."""
    return _envelope(message) | {
        "content": content_blocks(message),
        "stop_reason": message.reply.reason,
        "stop_details": _stop_details(message.reply),
        "usage": message.usage.as_json(message.usage.output_tokens),
    }


def content_blocks(message: Message) -> list[Json]:
    """Return the blocks of an answer: thinking, text, tool calls.

    Each only when it is there.
    """
    reply = message.reply
    blocks: list[Json] = []
    if reply.thinking:
        blocks.append(
            {"type": "thinking", "thinking": reply.thinking, "signature": f"signed-{message.id}"}
        )
    for number, search in enumerate(reply.searches):
        call = f"srvtoolu_{message.id.removeprefix('msg_')}_{number}"
        blocks += _search_blocks(call, search)
    if reply.text:
        cited = [_citation(url) for url in reply.cites] or None
        blocks.append({"type": "text", "text": reply.text, "citations": cited})
    for number, (name, value) in enumerate(reply.tool_calls):
        call = f"toolu_{message.id.removeprefix('msg_')}_{number}"
        blocks.append({"type": "tool_use", "id": call, "name": name, "input": dict(value)})
    return blocks


def _search_blocks(call: str, search: Search) -> Iterator[Json]:
    given = {"query": search.query}
    yield {"type": "server_tool_use", "id": call, "name": "web_search", "input": given}
    if search.pages:
        pages = [
            {"type": "web_search_result", "url": url, "title": title, "encrypted_content": "e=="}
            for url, title in search.pages.items()
        ]
        caller = {"type": "direct"}
        yield {"type": "web_search_tool_result", "tool_use_id": call, "content": pages} | {
            "caller": caller
        }


def _citation(url: str) -> Json:
    kind = "web_search_result_location"
    return {"type": kind, "url": url, "title": url, "encrypted_index": "i==", "cited_text": "…"}


def events_of(message: Message) -> list[Event]:
    """Return the events of a streamed answer, in order."""
    start = _envelope(message) | {
        "content": [],
        "stop_reason": None,
        "stop_details": None,
        "usage": message.usage.as_json(1),
    }
    events: list[Event] = [("message_start", {"message": start}), ("ping", {})]
    for index, block in enumerate(content_blocks(message)):
        events.append(("content_block_start", {"index": index, "content_block": _empty(block)}))
        events.extend(
            ("content_block_delta", {"index": index, "delta": delta})
            for delta in _deltas(block, message)
        )
        events.append(("content_block_stop", {"index": index}))
    delta = {
        "stop_reason": message.reply.reason,
        "stop_sequence": None,
        "stop_details": _stop_details(message.reply),
    }
    usage = message.usage.as_json(message.usage.output_tokens)
    return [*events, ("message_delta", {"delta": delta, "usage": usage}), ("message_stop", {})]


def encode(event: Event) -> bytes:
    """Return the bytes of one server-sent event."""
    name, data = event
    return f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n".encode()


def is_delta(event: Event) -> bool:
    """Tell whether an event brings some of the answer."""
    return event[0] == "content_block_delta"


def text_of(events: list[Event]) -> str:
    """Return the text that these events bring."""
    return "".join(
        data["delta"].get("text", "") for name, data in events if name == "content_block_delta"
    )


def _envelope(message: Message) -> Json:
    return {
        "id": message.id,
        "type": "message",
        "role": "assistant",
        "model": message.model,
        "stop_sequence": None,
        "container": None,
        "diagnostics": None,
    }


def _stop_details(reply: Reply) -> Json | None:
    return (
        {"type": "refusal", "category": None, "explanation": None}
        if reply.reason == "refusal"
        else None
    )


def _empty(block: Json) -> Json:
    """Return a block as its start event shows it: nothing in it yet."""
    match block["type"]:
        case "text":
            return block | {"text": "", "citations": [] if block["citations"] else None}
        case "web_search_tool_result":
            return block
        case "thinking":
            return block | {"thinking": "", "signature": ""}
    return block | {"input": {}}


def _deltas(block: Json, message: Message) -> Iterator[Json]:
    size = message.reply.chunk_size
    match block["type"]:
        case "text":
            yield from (
                {"type": "text_delta", "text": part} for part in _parts(block["text"], size)
            )
            for citation in block["citations"] or ():
                yield {"type": "citations_delta", "citation": citation}
        case "web_search_tool_result":
            return
        case "thinking":
            yield from (
                {"type": "thinking_delta", "thinking": part}
                for part in _parts(block["thinking"], size)
            )
            yield {"type": "signature_delta", "signature": block["signature"]}
        case _:
            text = json.dumps(block["input"], ensure_ascii=False)
            yield from (
                {"type": "input_json_delta", "partial_json": part} for part in _parts(text, size)
            )


def _parts(text: str, size: int) -> Iterator[str]:
    step = size or max(_SMALLEST_DELTA, -(-len(text) // _MAX_DELTAS))
    return (text[start : start + step] for start in range(0, len(text), step))

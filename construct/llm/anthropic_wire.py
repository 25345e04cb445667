"""Requests as the Messages API wants them."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from construct.llm.catalog import model_info
from construct.llm.types import (
    Block,
    CacheLife,
    ChatMessage,
    Opaque,
    Request,
    Text,
    Tool,
    ToolResult,
    ToolUse,
    WorkRequest,
)

MOST_MARKS = 4
Body = dict[str, Any]


def chat_body(model: str, request: Request) -> Body:
    """Return the body of a chat call."""
    body: Body = {
        "model": model,
        "max_tokens": _max_tokens(model, request.max_tokens),
        "messages": [_message(message) for message in request.messages],
    }
    if system := _blocks(request.system):
        body["system"] = system
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    _settle_marks(body, request.cache_life)
    return body


def work_body(model: str, request: WorkRequest) -> Body:
    """Return the body of a worker's call."""
    body: Body = {
        "model": model,
        "max_tokens": _max_tokens(model, request.max_tokens),
        "messages": [{"role": "user", "content": request.user}],
    }
    return body | ({"system": request.system} if request.system.strip() else {})


def encoded(body: Body) -> bytes:
    """Return the body's bytes.

    A lone surrogate, which JSON text can smuggle in, becomes a question mark.
    """
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"), default=dict).encode(
        "utf-8", "replace"
    )


def _max_tokens(model: str, wanted: int) -> int:
    return min(wanted, model_info(model).max_output)


def _message(message: ChatMessage) -> Body:
    return {"role": message.role, "content": _blocks(message.blocks)}


def _blocks(blocks: Iterable[Block]) -> list[Body]:
    # The API refuses a text block without a word in it.
    return [
        _block(block)
        for block in blocks
        if not (isinstance(block, Text) and not block.text.strip())
    ]


def _block(block: Block) -> Body:
    match block:
        case Text(text, mark):
            return {"type": "text", "text": text} | _mark(mark)
        case ToolUse(call, name, arguments):
            return {"type": "tool_use", "id": call, "name": name, "input": dict(arguments)}
        case ToolResult(call, content, is_error, mark):
            error = {"is_error": True} if is_error else {}
            return (
                {"type": "tool_result", "tool_use_id": call, "content": content}
                | error
                | _mark(mark)
            )
        case Opaque(data):
            return dict(data)


def _tool(tool: Tool) -> Body:
    return {"name": tool.name, "description": tool.description, "input_schema": dict(tool.schema)}


def _mark(wanted: bool) -> Body:
    return {"cache_control": {"type": "ephemeral"}} if wanted else {}


def _settle_marks(body: Body, life: CacheLife) -> None:
    """Keep at most four marks, the first ones and the last, and give them their life."""
    marked = list(_marked_blocks(body))
    for block in marked[MOST_MARKS - 1 : -1]:
        del block["cache_control"]
    if life == "1h":  # five minutes is what the API takes without being told
        for block in _marked_blocks(body):
            block["cache_control"]["ttl"] = life


def _marked_blocks(body: Body) -> Iterator[Body]:
    blocks = [*body.get("system", [])] + [
        block for message in body["messages"] for block in message["content"]
    ]
    return (block for block in blocks if "cache_control" in block)

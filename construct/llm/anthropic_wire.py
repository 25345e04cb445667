"""Builds the bodies of Messages API requests."""

import base64
from collections.abc import Iterable, Iterator
from dataclasses import replace

from construct.llm.catalog import is_claude, model_info
from construct.llm.reply_stream import Body
from construct.llm.types import (
    Block,
    CacheLife,
    ChatMessage,
    File,
    Opaque,
    Request,
    Text,
    ToolResult,
    ToolUse,
    WorkRequest,
    is_web_block,
)
from construct.vocabulary import AttachmentKind

MAX_MARKS = 4
_WEB_SEARCH = {
    "type": "web_search_20260318",
    "name": "web_search",
    "max_uses": 5,
    "allowed_callers": ["direct"],  # search alone: no code that filters what was found
}


def chat_body(model: str, request: Request) -> Body:
    """Return the body of a chat call."""
    searches = request.searches_web and is_claude(model)
    messages = request.messages if searches else map(_without_searches, request.messages)
    body: Body = {
        "model": model,
        "max_tokens": _max_tokens(model, request.max_tokens),
        "messages": [
            {"role": message.role, "content": _blocks(message.blocks)} for message in messages
        ],
    }
    if system := _blocks(request.system):
        body["system"] = system
    tools: list[Body] = [
        {"name": t.name, "description": t.description, "input_schema": dict(t.schema)}
        for t in request.tools
    ]
    if searches:
        tools.append(dict(_WEB_SEARCH))
    if tools:
        body["tools"] = tools
    _settle_marks(body, request.cache_life)
    return body


def _without_searches(message: ChatMessage) -> ChatMessage:
    """Return a message without searches of the web, which only Claude with this tool reads."""
    if not any(map(is_web_block, message.blocks)):
        return message
    rest = tuple(block for block in message.blocks if not is_web_block(block))
    return replace(message, blocks=rest or (Text("[I searched the web.]"),))


def work_body(model: str, request: WorkRequest) -> Body:
    """Return the body of a worker's call."""
    pictures = _blocks(request.pictures)
    content = [{"type": "text", "text": request.user}, *pictures] if pictures else request.user
    body: Body = {
        "model": model,
        "max_tokens": _max_tokens(model, request.max_tokens),
        "messages": [{"role": "user", "content": content}],
    }
    return body | ({"system": request.system} if request.system.strip() else {})


def _max_tokens(model: str, wanted: int) -> int:
    return min(wanted, model_info(model).max_output)


def _blocks(blocks: Iterable[Block]) -> list[Body]:
    # The API refuses a text block of white space.
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
        case File(mark=mark):
            return _file(block) | _mark(mark)


def _file(file: File) -> Body:
    kind = AttachmentKind.of(file.media_type)
    if kind is AttachmentKind.TEXT:
        data = file.data.decode("utf-8", "replace")
        source = {"type": "text", "media_type": file.media_type, "data": data}
    else:
        data = base64.b64encode(file.data).decode()
        source = {"type": "base64", "media_type": file.media_type, "data": data}
    if kind is AttachmentKind.IMAGE:
        return {"type": "image", "source": source}
    return {"type": "document", "source": source, "title": file.name}


def _mark(wanted: bool) -> Body:
    return {"cache_control": {"type": "ephemeral"}} if wanted else {}


def _settle_marks(body: Body, life: CacheLife) -> None:
    """Keep at most four marks, the first ones and the last, and set their life."""
    marked = list(_marked_blocks(body))
    for block in marked[MAX_MARKS - 1 : -1]:
        del block["cache_control"]
    if life == "1h":  # five minutes is the API's default
        for block in _marked_blocks(body):
            block["cache_control"]["ttl"] = life


def _marked_blocks(body: Body) -> Iterator[Body]:
    blocks = [*body.get("system", [])] + [
        block for message in body["messages"] for block in message["content"]
    ]
    return (block for block in blocks if "cache_control" in block)

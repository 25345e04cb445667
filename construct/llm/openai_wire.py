"""Builds the bodies of chat completions, OpenAI's protocol."""

import base64
import json
from collections.abc import Iterable, Iterator, Sequence

from construct.llm.catalog import model_info
from construct.llm.reply_stream import Body
from construct.llm.types import (
    Block,
    ChatMessage,
    File,
    Request,
    Text,
    Tool,
    ToolResult,
    ToolUse,
    WorkRequest,
)
from construct.vocabulary import AttachmentKind


def chat_body(model: str, request: Request, limit: str) -> Body:
    """Return the body of a chat call; `limit` names the parameter for the longest answer."""
    system = "\n\n".join(part.text for part in request.system if part.text.strip())
    messages: list[Body] = [{"role": "system", "content": system}] if system else []
    for message in request.messages:
        messages += _messages(message)
    body = _body(model, messages, limit, request.max_tokens)
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    return body


def work_body(model: str, request: WorkRequest, limit: str) -> Body:
    """Return the body of a worker's call; `limit` as in `chat_body`."""
    messages: list[Body] = [
        {"role": "user", "content": _content((Text(request.user), *request.pictures))}
    ]
    if request.system.strip():
        messages.insert(0, {"role": "system", "content": request.system})
    return _body(model, messages, limit, request.max_tokens)


def _body(model: str, messages: list[Body], limit: str, max_tokens: int) -> Body:
    return {
        "model": model,
        "messages": messages,
        limit: min(max_tokens, model_info(model).max_output),
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def _tool(tool: Tool) -> Body:
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": dict(tool.schema),
    }
    return {"type": "function", "function": function}


def _messages(message: ChatMessage) -> Iterator[Body]:
    """Yield a message in this protocol: each result of a tool is a message of its own.

    Blocks that only another kind of server understands, such as thinking, are left out.
    """
    if message.role == "assistant":
        yield from _of_assistant(message.blocks)
        return
    for block in message.blocks:
        if isinstance(block, ToolResult):
            # There is no sign for an error, so it is said.
            content = f"Error: {block.content}" if block.is_error else block.content
            yield {"role": "tool", "tool_call_id": block.tool_use_id, "content": content}
    if said := _content(message.blocks):
        yield {"role": "user", "content": said}


def _of_assistant(blocks: Iterable[Block]) -> Iterator[Body]:
    words = "\n\n".join(_texts(blocks))
    calls = [
        {
            "id": block.id,
            "type": "function",
            "function": {
                "name": block.name,
                "arguments": json.dumps(dict(block.input), ensure_ascii=False),
            },
        }
        for block in blocks
        if isinstance(block, ToolUse)
    ]
    if words or calls:
        yield {"role": "assistant", "content": words or None} | (
            {"tool_calls": calls} if calls else {}
        )


def _content(blocks: Sequence[Block]) -> str | list[Body]:
    """Return what the user says: a string, which every server takes, unless there are files."""
    if not any(isinstance(block, File) for block in blocks):
        return "\n\n".join(_texts(blocks))
    return [
        _file(block) if isinstance(block, File) else {"type": "text", "text": block.text}
        for block in blocks
        if isinstance(block, File) or (isinstance(block, Text) and block.text.strip())
    ]


def _texts(blocks: Iterable[Block]) -> list[str]:
    return [block.text for block in blocks if isinstance(block, Text) and block.text.strip()]


def _file(file: File) -> Body:
    if AttachmentKind.of(file.media_type) is AttachmentKind.IMAGE:
        data = base64.b64encode(file.data).decode()
        return {"type": "image_url", "image_url": {"url": f"data:{file.media_type};base64,{data}"}}
    return {"type": "text", "text": f"{file.name}\n{file.data.decode('utf-8', 'replace')}"}

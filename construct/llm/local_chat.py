"""Requests and answers of the embedded model, which knows neither blocks nor tools."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from construct.errors import ContextOverflowError, ModelBrokenError, ModelError
from construct.llm.local_engine import CHAT_SLOT, WORK_SLOT, Body, Chunk
from construct.llm.types import (
    Block,
    Opaque,
    Reply,
    Request,
    Text,
    ToolResult,
    ToolUse,
    Usage,
    WorkRequest,
)
from construct.text import shorten, storable

_STOP_REASONS = {"stop": "end_turn", "length": "max_tokens"}
# Without the penalty the smallest models repeat themselves for ever.
_TALK = {
    "temperature": 0.5,
    "top_p": 0.9,
    "min_p": 0.05,
    "repeat_penalty": 1.1,
    "id_slot": CHAT_SLOT,
}
_WORK = {"temperature": 0.0, "id_slot": WORK_SLOT}
# Progress is asked for since only a callback can stop a generation, and reading a
# prompt has no other.
_ALWAYS = {
    "stream": True,
    "stream_options": {"include_usage": True},
    "return_progress": True,
    "cache_prompt": True,
}


def chat_body(request: Request, most: int) -> Body:
    """Return the body of a chat call; tools are not offered."""
    said = [("system", "\n\n".join(text.text for text in request.system))]
    said += [(message.role, _flat(message.blocks)) for message in request.messages]
    return {
        "messages": _merged(said),
        "max_tokens": min(request.max_tokens, most),
        **_TALK,
        **_ALWAYS,
    }


def work_body(request: WorkRequest, most: int) -> Body:
    """Return the body of a worker's call."""
    said = [("system", request.system), ("user", request.user)]
    limit = min(request.max_tokens, most)
    return {"messages": _merged(said), "max_tokens": limit, **_WORK, **_ALWAYS}


def take(reply: Reply, chunk: Chunk) -> str:
    """Take one chunk into the reply and return the words it brought.

    Raise the error that it reports.
    """
    if error := chunk.get("error"):
        raise _error(error if isinstance(error, dict) else {"message": error})
    words = ""
    for choice in chunk.get("choices") or []:
        words += choice.get("delta", {}).get("content") or ""
        reply.stop_reason = _STOP_REASONS.get(choice.get("finish_reason"), reply.stop_reason)
    reply.usage = _usage(chunk, reply.usage, bool(words))
    reply.text += words
    return words


def _usage(chunk: Chunk, before: Usage, spoke: bool) -> Usage:
    """Return the counts so far.

    Before the end, when the server tells them, a chunk of words is one token.
    """
    if usage := chunk.get("usage"):
        cached = usage.get("prompt_tokens_details", {}).get("cached_tokens", 0)
        return Usage(usage["prompt_tokens"] - cached, cached, 0, usage["completion_tokens"])
    if progress := chunk.get("prompt_progress"):
        return Usage(progress["total"] - progress["cache"], progress["cache"])
    return replace(before, output_tokens=before.output_tokens + spoke)


def _error(error: Mapping[str, Any]) -> ModelError:
    said = shorten(str(error.get("message")), 200)
    if "context size" in said.lower():
        size = said.removesuffix(", try increasing it")  # which nobody can
        return ContextOverflowError(
            f"This is more than the local model can read at once ({size}). {ContextOverflowError.ADVICE}"
        )
    return ModelBrokenError(f"The local model failed ({said}). Try again.")


def _flat(blocks: Iterable[Block]) -> str:
    return "\n\n".join(filter(None, map(_plain, blocks)))


def _plain(block: Block) -> str:
    match block:
        case Text(text):
            return text.strip()
        case ToolUse(name=name, input=arguments):
            return f"({name}: {json.dumps(arguments, ensure_ascii=False, default=dict)})"
        case ToolResult(content=content):
            return f"(Result: {content})"
        case Opaque():
            return ""


def _merged(said: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    """Return messages of which none is empty and no two neighbours are of one role: templates reject either."""
    messages: list[dict[str, str]] = []
    for role, words in said:
        text = storable(words)
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"] += f"\n\n{text}"
        elif text:
            messages.append({"role": role, "content": text})
    return messages

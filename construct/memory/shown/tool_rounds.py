"""Store the tool rounds of a reply as JSON, and read them back. No I/O."""

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Literal

from construct.llm.types import (
    WEB_CALL,
    WEB_RESULT,
    Block,
    ChatMessage,
    File,
    Opaque,
    Text,
    ToolResult,
    ToolUse,
)

_ROLES: dict[str, Literal["user", "assistant"]] = {"user": "user", "assistant": "assistant"}


def stored_rounds(blocks: str | None) -> list[ChatMessage]:
    """Return the tool rounds in a message's stored `blocks`.

    Empty for imported rounds that the API would refuse.
    """
    try:
        rounds = [
            ChatMessage(_ROLES[part["role"]], tuple(map(_load, part["blocks"])))
            for part in json.loads(blocks or "[]")
        ]
    except (ValueError, TypeError, KeyError, RecursionError):
        return []
    return rounds if _can_be_sent(rounds) else []


def _can_be_sent(rounds: Sequence[ChatMessage]) -> bool:
    """Return whether roles alternate, assistant first, and every call has a result."""
    user = ChatMessage("user", ())
    roles_alternate = all(a.role != b.role for a, b in pairwise([user, *rounds]))
    user_calls_tools = any(_calls(part) for part in rounds[1::2])
    calls_have_results = all(
        _calls(part) == _results(following) for part, following in pairwise([user, *rounds, user])
    )
    return roles_alternate and not user_calls_tools and calls_have_results


def _calls(part: ChatMessage) -> set[str]:
    return {block.id for block in part.blocks if isinstance(block, ToolUse)}


def _results(part: ChatMessage) -> set[str]:
    return {block.tool_use_id for block in part.blocks if isinstance(block, ToolResult)}


def without_open_searches(rounds: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Return tool rounds without searches of the web that got no result.

    A server refuses those, unless it is asked to go on with them.
    """
    whole = [replace(part, blocks=_without_open_searches(part.blocks)) for part in rounds]
    return [part for part in whole if part.blocks]


def _without_open_searches(blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    searches = [block.data for block in blocks if isinstance(block, Opaque)]
    answered = {data.get("tool_use_id") for data in searches if data.get("type") == WEB_RESULT}
    return tuple(
        block
        for block in blocks
        if not isinstance(block, Opaque)
        or block.data.get("type") != WEB_CALL
        or block.data.get("id") in answered
    )


def dump_rounds(rounds: Sequence[ChatMessage]) -> str:
    """Return tool rounds as the JSON that is stored with the assistant's message."""
    return json.dumps(
        [{"role": part.role, "blocks": [_dump(block) for block in part.blocks]} for part in rounds]
    )


def _dump(block: Block) -> dict[str, object]:
    match block:
        case Text(text=text):
            return {"type": "text", "text": text}
        case ToolUse(id=call, name=name, input=arguments):
            return {"type": "tool_use", "id": call, "name": name, "input": dict(arguments)}
        case ToolResult(tool_use_id=call, content=content, is_error=is_error):
            return {
                "type": "tool_result",
                "tool_use_id": call,
                "content": content,
                "is_error": is_error,
            }
        case Opaque(data=data):
            return {"type": "opaque", "data": dict(data)}
        case File():
            raise TypeError("a file is stored as an attachment, not in the blocks of a message")


def _load(data: object) -> Block:
    match data:
        case {"type": "text", "text": str(text)}:
            return Text(text)
        case {"type": "tool_use", "id": str(call), "name": str(name), "input": dict(arguments)}:
            return ToolUse(call, name, arguments)
        case {
            "type": "tool_result",
            "tool_use_id": str(call),
            "content": str(content),
            "is_error": bool(is_error),
        }:
            return ToolResult(call, content, is_error)
        case {"type": "opaque", "data": dict(opaque)}:
            return Opaque(opaque)
    raise ValueError("unknown stored block")

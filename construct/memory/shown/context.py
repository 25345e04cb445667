"""Assemble the main model's request (docs/memory.md, "What the model sees"). No I/O.

The order is static text, observations in blocks, messages, and the context of this one
turn. Cache marks are put where later requests share the prefix: after the system text,
after the last block of observations, and after the user's newest message.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from types import MappingProxyType
from typing import Literal, TypeGuard

from construct import tokens
from construct.clock import Clock, from_text
from construct.llm.types import (
    Block,
    CacheLife,
    ChatMessage,
    File,
    Opaque,
    Request,
    Text,
    Tool,
    ToolResult,
    ToolUse,
)
from construct.memory.shown.lines import shown_line
from construct.memory.shown.transcript import pause_words, turns
from construct.memory.shown.view import Blocks
from construct.store.records import Message
from construct.vocabulary import AttachmentKind

INTERRUPTED = "[The reply was interrupted here.]"
EMPTY = "[An empty message.]"
_OPENING = "[Earlier messages are not shown.]"
Files = Mapping[int, Sequence[Block]]
"""The attachments that a model is sent, by message."""


def system_text(persona: str, guide: str, continuation: str) -> tuple[Text, ...]:
    """Return the static part: persona, how memory works, how to carry on."""
    text = "\n\n".join(part for part in (persona, guide, continuation) if part.strip())
    return (Text(text, mark=True),) if text else ()


def assemble(
    system: tuple[Text, ...],
    blocks: Blocks,
    messages: Sequence[Message],
    ambient: str,
    clock: Clock,
    tools: tuple[Tool, ...] = (),
    life: CacheLife = "5m",
    max_tokens: int = 8192,
    files: Files = MappingProxyType({}),
) -> Request:
    """Return the request that ends with the last of `messages`, which is the user's."""
    parts: list[ChatMessage] = []
    if blocks:
        parts.append(ChatMessage("user", _observation_blocks(blocks)))
    elif messages and messages[0].role == "assistant":
        parts.append(ChatMessage("user", (Text(_OPENING),)))
    previous: Message | None = None
    for message in messages:
        parts.extend(_rendered(message, previous, clock, files.get(message.id, ())))
        previous = message
    merged = alternating(parts)
    merged[-1] = _with_mark(merged[-1])
    if ambient:
        merged[-1] = replace(merged[-1], blocks=(*merged[-1].blocks, Text(ambient)))
    return Request(system, tuple(merged), tools, max_tokens, life)


def alternating(parts: Iterable[ChatMessage]) -> list[ChatMessage]:
    """Return messages with neighbours of the same role joined, their blocks unchanged."""
    joined: list[ChatMessage] = []
    for part in parts:
        if joined and joined[-1].role == part.role:
            joined[-1] = replace(joined[-1], blocks=joined[-1].blocks + part.blocks)
        elif part.blocks:
            joined.append(part)
    return joined


def fit(messages: Sequence[Message], limit: int) -> list[Message]:
    """Drop the oldest turns until the messages fit `limit` tokens.

    The last turn always stays.
    """
    kept: list[Message] = []
    for turn in reversed(turns(messages)):
        size = sum(m.token_count for m in turn)
        if kept and size > limit:
            break
        limit -= size
        kept[:0] = turn
    return kept


def request_tokens(request: Request) -> dict[str, int]:
    """Return the estimated tokens of a request by part.

    The parts are tools, system, observations, attachments, messages and ambient.
    """
    sizes = dict.fromkeys(
        ("tools", "system", "observations", "attachments", "messages", "ambient"), 0
    )
    for tool in request.tools:
        sizes["tools"] += tokens.count(tool.name + tool.description + json.dumps(tool.schema))
    sizes["system"] = sum(tokens.count(text.text) for text in request.system)
    for part in request.messages:
        for block in part.blocks:
            sizes[block_kind(block)] += block_tokens(block)
    return sizes


def block_tokens(block: Block) -> int:
    """Return the estimated tokens of a block."""
    return block.tokens if isinstance(block, File) else tokens.count(block_text(block))


def block_text(block: Block) -> str:
    """Return a block's text, or its JSON when it has no text."""
    match block:
        case Text(text=text) | ToolResult(content=text):
            return text
        case ToolUse(name=name, input=given):
            return f"{name} {json.dumps(given)}"
        case Opaque(data=data):
            return json.dumps(data)
        case File(name=name, media_type=media_type):
            return f"[{AttachmentKind.of(media_type)}: {name}]"


def block_kind(block: Block) -> str:
    """Return the part that a message's block belongs to, as in `request_tokens`."""
    if isinstance(block, File):
        return "attachments"
    if not isinstance(block, Text):
        return "messages"
    if block.text.startswith("<ambient>"):
        return "ambient"
    return "observations" if block.text.startswith("<observations") else "messages"


@lru_cache(maxsize=1)
def _observation_blocks(blocks: Blocks) -> tuple[Text, ...]:
    """Return one text block for each commit, with a cache mark on the last.

    Most turns send the same blocks as the turn before.
    """
    texts = [
        "<observations>\n" + "\n".join(shown_line(o) for o in block) + "\n</observations>"
        for block in blocks
    ]
    return tuple(Text(text, mark=i == len(texts)) for i, text in enumerate(texts, 1))


def _rendered(
    message: Message, previous: Message | None, clock: Clock, files: Sequence[Block]
) -> list[ChatMessage]:
    """Return a stored message in the API's form: several messages if tools were used."""
    if message.role == "assistant":
        rounds = stored_rounds(message.blocks)
        end = f"\n\n{INTERRUPTED}" if message.status == "interrupted" else ""
        if rounds:
            return [*rounds, *([ChatMessage("assistant", (Text(end.strip()),))] if end else [])]
        text = (message.content.rstrip() + end).strip()
        return [ChatMessage("assistant", (Text(text),))] if text else []
    words: list[Block] = [*files]
    if message.content.strip() or not files:
        words.append(Text(message.content if message.content.strip() else EMPTY))
    if previous is not None and (pause := pause_words(previous, message)):
        when = clock.local(from_text(message.created_at)).strftime("%Y-%m-%d %H:%M")
        words.insert(0, Text(f"[{pause}, {when}]"))
    return [ChatMessage("user", tuple(words))]


def without_last_mark(request: Request) -> Request:
    """Return the request without marks in its messages, if no other repeats them."""
    *before, last = request.messages
    blocks = tuple(replace(b, mark=False) if _is_words(b) else b for b in last.blocks)
    return replace(request, messages=(*before, replace(last, blocks=blocks)))


def _is_words(block: Block) -> TypeGuard[Text | File]:
    return isinstance(block, Text | File) and block_kind(block) in {"messages", "attachments"}


def _with_mark(message: ChatMessage) -> ChatMessage:
    last = message.blocks[-1]
    return (
        replace(message, blocks=(*message.blocks[:-1], replace(last, mark=True)))
        if isinstance(last, Text | File)
        else message
    )


def stored_rounds(blocks: str | None) -> list[ChatMessage]:
    """Return the tool rounds kept in a message's `blocks`.

    Empty for imported rounds that the API would refuse.
    """
    try:
        parts = [
            ChatMessage(_ROLES[part["role"]], tuple(map(_load, part["blocks"])))
            for part in json.loads(blocks or "[]")
        ]
    except (ValueError, TypeError, KeyError, RecursionError):
        return []
    return parts if _can_be_sent(parts) else []


_ROLES: dict[str, Literal["user", "assistant"]] = {"user": "user", "assistant": "assistant"}


def _can_be_sent(rounds: Sequence[ChatMessage]) -> bool:
    """Return whether roles alternate, assistant first, and every call has a result."""
    around = [ChatMessage("user", ()), *rounds]
    return (
        all(before.role != part.role for before, part in pairwise(around))
        and not any(_calls(part) for part in around[::2])
        and all(
            _calls(part) == _results(after)
            for part, after in pairwise([*around, ChatMessage("user", ())])
        )
    )


def _calls(part: ChatMessage) -> set[str]:
    return {block.id for block in part.blocks if isinstance(block, ToolUse)}


def _results(part: ChatMessage) -> set[str]:
    return {block.tool_use_id for block in part.blocks if isinstance(block, ToolResult)}


def dump_rounds(rounds: Sequence[ChatMessage]) -> str:
    """Return tool rounds as the JSON that is stored with the assistant's message."""
    return json.dumps(
        [{"role": part.role, "blocks": [_dump(block) for block in part.blocks]} for part in rounds]
    )


def _dump(block: Block) -> dict[str, object]:
    match block:
        case Text(text=text):
            return {"type": "text", "text": text}
        case ToolUse(id=call, name=name, input=given):
            return {"type": "tool_use", "id": call, "name": name, "input": dict(given)}
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
            raise TypeError("a file is stored with its message, and not in its blocks")


def _load(data: object) -> Block:
    match data:
        case {"type": "text", "text": str(text)}:
            return Text(text)
        case {"type": "tool_use", "id": str(call), "name": str(name), "input": dict(given)}:
            return ToolUse(call, name, given)
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

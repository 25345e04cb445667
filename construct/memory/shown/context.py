"""What the main model is sent, and in which order.

Pure (memory.md, "What the main model sees").

Static text first, then the observations in blocks, then the raw messages, then what
holds for this one turn. Marks stand where a later request begins alike: behind the
system text, behind the last block of observations, behind the newest words of the
user's.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from typing import Literal, TypeGuard

from construct import tokens
from construct.clock import Clock, from_text
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
)
from construct.memory.shown.lines import shown_line
from construct.memory.shown.transcript import pause_words, turns
from construct.memory.shown.view import Blocks
from construct.store.records import Message

INTERRUPTED = "[The reply was interrupted here.]"
EMPTY = "[An empty message.]"
_OPENING = "[Earlier messages are not shown.]"
Role = Literal["user", "assistant"]


def system_text(persona: str, guide: str, continuation: str) -> tuple[Text, ...]:
    """Return the static part: who the companion is, how its memory works, how to carry on."""
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
) -> Request:
    """Return the request that ends with the last of `messages`, which is the user's."""
    parts: list[ChatMessage] = []
    if blocks:
        parts.append(ChatMessage("user", _observation_blocks(blocks)))
    elif messages and messages[0].role == "assistant":
        parts.append(ChatMessage("user", (Text(_OPENING),)))
    previous: Message | None = None
    for message in messages:
        parts.extend(_rendered(message, previous, clock))
        previous = message
    merged = alternating(parts)
    merged[-1] = _with_mark(merged[-1])
    if ambient:
        merged[-1] = replace(merged[-1], blocks=(*merged[-1].blocks, Text(ambient)))
    return Request(system, tuple(merged), tools, max_tokens, life)


def alternating(parts: Iterable[ChatMessage]) -> list[ChatMessage]:
    """Return messages with neighbours of one role joined, blocks as they were."""
    joined: list[ChatMessage] = []
    for part in parts:
        if joined and joined[-1].role == part.role:
            joined[-1] = replace(joined[-1], blocks=joined[-1].blocks + part.blocks)
        elif part.blocks:
            joined.append(part)
    return joined


def fit(messages: Sequence[Message], most: int) -> list[Message]:
    """Return the messages without the oldest turns that would not fit `most` tokens.

    The last turn always stays.
    """
    kept: list[Message] = []
    for turn in reversed(turns(messages)):
        size = sum(m.token_count for m in turn)
        if kept and size > most:
            break
        most -= size
        kept[:0] = turn
    return kept


def request_tokens(request: Request) -> dict[str, int]:
    """Return the estimated tokens of a request by part: tools, system, observations, messages, ambient."""
    sizes = {"tools": 0, "system": 0, "observations": 0, "messages": 0, "ambient": 0}
    sizes["tools"] = sum(map(_tool_tokens, request.tools))
    sizes["system"] = sum(tokens.count(text.text) for text in request.system)
    for part in request.messages:
        for block in part.blocks:
            sizes[block_kind(block)] += tokens.count(block_text(block))
    return sizes


@lru_cache(maxsize=32)
def _tool_tokens(tool: Tool) -> int:
    return tokens.count(tool.name + tool.description + json.dumps(tool.schema))


def block_text(block: Block) -> str:
    """Return a block's words, or its JSON when it has none."""
    match block:
        case Text(text=text) | ToolResult(content=text):
            return text
        case ToolUse(name=name, input=given):
            return f"{name} {json.dumps(given)}"
        case Opaque(data=data):
            return json.dumps(data)


def block_kind(block: Block) -> str:
    """Return the part of a request that a message's block belongs to: observations, messages or ambient."""
    if not isinstance(block, Text):
        return "messages"
    if block.text.startswith("<ambient>"):
        return "ambient"
    return "observations" if block.text.startswith("<observations") else "messages"


@lru_cache(maxsize=1)
def _observation_blocks(blocks: Blocks) -> tuple[Text, ...]:
    """Return one text block a commit, the mark on the last.

    Most turns send the same as the one before.
    """
    texts = [
        "<observations>\n" + "\n".join(shown_line(o) for o in block) + "\n</observations>"
        for block in blocks
    ]
    return tuple(Text(text, mark=i == len(texts)) for i, text in enumerate(texts, 1))


def _rendered(message: Message, previous: Message | None, clock: Clock) -> list[ChatMessage]:
    """Return a stored message as the API's messages: one, or several when tools were used."""
    if message.role == "assistant":
        rounds = stored_rounds(message.blocks)
        end = f"\n\n{INTERRUPTED}" if message.status == "interrupted" else ""
        if rounds:
            return [*rounds, *([ChatMessage("assistant", (Text(end.strip()),))] if end else [])]
        text = (message.content.rstrip() + end).strip()
        return [ChatMessage("assistant", (Text(text),))] if text else []
    words: list[Block] = [Text(message.content if message.content.strip() else EMPTY)]
    if previous is not None and (pause := pause_words(previous, message)):
        when = clock.local(from_text(message.created_at)).strftime("%Y-%m-%d %H:%M")
        words.insert(0, Text(f"[{pause}, {when}]"))
    return [ChatMessage("user", tuple(words))]


def without_last_mark(request: Request) -> Request:
    """Return a request whose messages no later one repeats: what is marked is what stands before them."""
    *before, last = request.messages
    blocks = tuple(replace(b, mark=False) if _is_words(b) else b for b in last.blocks)
    return replace(request, messages=(*before, replace(last, blocks=blocks)))


def _is_words(block: Block) -> TypeGuard[Text]:
    return isinstance(block, Text) and block_kind(block) == "messages"


def _with_mark(message: ChatMessage) -> ChatMessage:
    last = message.blocks[-1]
    return (
        replace(message, blocks=(*message.blocks[:-1], replace(last, mark=True)))
        if isinstance(last, Text)
        else message
    )


def stored_rounds(blocks: str | None) -> list[ChatMessage]:
    """Return the tool rounds kept in a message's `blocks`.

    None when they are not what `dump_rounds` wrote.

    They alternate and begin with the assistant's; a call without its result, a result
    without its call and a blank text are left out, since the API refuses them.
    """
    if not blocks:
        return []
    try:
        parts = [
            ChatMessage(_role(part["role"]), tuple(map(_load, part["blocks"])))
            for part in json.loads(blocks)
        ]
    except (ValueError, TypeError, KeyError, RecursionError):
        return []
    while parts and parts[0].role != "assistant":
        del parts[0]
    joined = alternating(parts)
    paired = [
        _calls(part) & _results(following)
        for part, following in pairwise([*joined, ChatMessage("user", ())])
    ]
    kept = (
        replace(part, blocks=tuple(_sendable(part, i, paired))) for i, part in enumerate(joined)
    )
    return alternating(part for part in kept if part.blocks)


def _role(value: object) -> Role:
    if value == "user":
        return "user"
    if value == "assistant":
        return "assistant"
    raise ValueError(f"unknown role {value!r}")


def _calls(part: ChatMessage) -> set[str]:
    return {block.id for block in part.blocks if isinstance(block, ToolUse)}


def _results(part: ChatMessage) -> set[str]:
    return {block.tool_use_id for block in part.blocks if isinstance(block, ToolResult)}


def _sendable(part: ChatMessage, i: int, paired: Sequence[set[str]]) -> Iterator[Block]:
    """Yield the blocks that the API takes.

    `paired` are the calls of each part that the next one answers.
    """
    for block in part.blocks:
        match block:
            case Text(text=text) if not text.strip():
                continue
            case ToolUse(id=call) if part.role != "assistant" or call not in paired[i]:
                continue
            case ToolResult(tool_use_id=call) if (
                i == 0 or part.role != "user" or call not in paired[i - 1]
            ):
                continue
        yield block


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

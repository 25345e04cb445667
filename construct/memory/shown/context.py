"""Assemble the main model's request (docs/memory.md, "What the model sees"). No I/O.

A request has, in this order, the system text, observations in blocks, messages, and the
context of this one turn. Cache marks are put where later requests share the prefix: after
the system text, after the last block of observations, and after the user's newest
message.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType
from typing import TypeGuard

from construct import tokens
from construct.clock import Clock
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
from construct.memory.shown.tool_rounds import stored_rounds
from construct.memory.shown.transcript import pause_words, turns
from construct.memory.shown.view import Blocks
from construct.store.records import Message
from construct.vocabulary import AttachmentKind

INTERRUPTED = "[The reply was interrupted here.]"
"""Ends a reply that was stopped, so that the model does not take it for a whole one."""
EMPTY = "[An empty message.]"
"""Stands for a message without text, which the API refuses."""
_OPENING = "[Earlier messages are not shown.]"
"""Begins a request whose first message would be the assistant's, which the API refuses."""
Files = Mapping[int, Sequence[Block]]
"""The attachments that a model is sent, by message id."""


def system_text(persona: str, guide: str, continuation: str) -> tuple[Text, ...]:
    """Return the system text: persona, how memory works, how to continue a conversation."""
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
    *earlier, last = alternating(parts)
    last = _with_mark(last)
    if ambient:
        last = replace(last, blocks=(*last.blocks, Text(ambient, part="ambient")))
    return Request(system, (*earlier, last), tools, max_tokens, life)


def alternating(parts: Iterable[ChatMessage]) -> list[ChatMessage]:
    """Return messages with neighbours of the same role joined; empty ones are left out."""
    joined: list[ChatMessage] = []
    for part in parts:
        if joined and joined[-1].role == part.role:
            joined[-1] = replace(joined[-1], blocks=joined[-1].blocks + part.blocks)
        elif part.blocks:
            joined.append(part)
    return joined


def fit(messages: Sequence[Message], limit: int) -> list[Message]:
    """Drop the oldest turns until the messages fit into `limit` tokens.

    The last turn always stays.
    """
    kept: list[Message] = []
    tokens_left = limit
    for turn in reversed(turns(messages)):
        turn_tokens = sum(m.token_count for m in turn)
        if kept and turn_tokens > tokens_left:
            break
        tokens_left -= turn_tokens
        kept[:0] = turn
    return kept


def request_tokens(request: Request) -> dict[str, int]:
    """Return the estimated tokens of a request by part.

    The parts are tools, system, observations, attachments, messages and ambient.
    """
    sizes = dict.fromkeys(
        ("tools", "system", "observations", "attachments", "messages", "ambient"), 0
    )
    sizes["tools"] = sum(map(tool_tokens, request.tools))
    sizes["system"] = sum(tokens.count(text.text) for text in request.system)
    for part in request.messages:
        for block in part.blocks:
            sizes[block_kind(block)] += block_tokens(block)
    return sizes


def tool_tokens(tool: Tool) -> int:
    """Return the estimated tokens of a tool with its schema."""
    return tokens.count(tool.name + tool.description + json.dumps(tool.schema))


def block_tokens(block: Block) -> int:
    """Return the estimated tokens of a block."""
    return block.tokens if isinstance(block, File) else tokens.count(block_text(block))


def block_text(block: Block) -> str:
    """Return a block's text, or what stands for it.

    That is a tool call's name and input, a file's line, or the JSON of what only its
    server understands.
    """
    match block:
        case Text(text=text) | ToolResult(content=text):
            return text
        case ToolUse(name=name, input=arguments):
            return f"{name} {json.dumps(arguments)}"
        case Opaque(data=data):
            return json.dumps(data)
        case File(name=name, media_type=media_type):
            return f"[{AttachmentKind.of(media_type)}: {name}]"


def block_kind(block: Block) -> str:
    """Return the part that a message's block belongs to, as in `request_tokens`."""
    if isinstance(block, File):
        return "attachments"
    return block.part if isinstance(block, Text) else "messages"


@lru_cache(maxsize=1)
def _observation_blocks(blocks: Blocks) -> tuple[Text, ...]:
    """Return the observations as text blocks, with a cache mark on the last.

    Cached, because most turns send the same blocks as the turn before.
    """
    texts = [
        "<observations>\n" + "\n".join(shown_line(o) for o in block) + "\n</observations>"
        for block in blocks
    ]
    last = len(texts)
    return tuple(Text(text, i == last, "observations") for i, text in enumerate(texts, 1))


def _rendered(
    message: Message, previous: Message | None, clock: Clock, files: Sequence[Block]
) -> list[ChatMessage]:
    """Return a stored message in the API's form: several messages if tools were used."""
    if message.role == "assistant":
        return _rendered_reply(message)
    blocks: list[Block] = [*files]
    if message.content.strip():
        blocks.append(Text(message.content))
    elif not files:
        blocks.append(Text(EMPTY))
    if previous is not None and (pause := pause_words(previous, message)):
        when = message.written(clock).strftime("%Y-%m-%d %H:%M")
        blocks.insert(0, Text(f"[{pause}, {when}]"))
    return [ChatMessage("user", tuple(blocks))]


def _rendered_reply(message: Message) -> list[ChatMessage]:
    rounds = stored_rounds(message.blocks)
    is_interrupted = message.status == "interrupted"
    if rounds:
        end = [ChatMessage("assistant", (Text(INTERRUPTED),))] if is_interrupted else []
        return [*rounds, *end]
    text = message.content.strip()
    if is_interrupted:
        text = f"{message.content.rstrip()}\n\n{INTERRUPTED}".strip()
    return [ChatMessage("assistant", (Text(text),))] if text else []


def without_last_mark(request: Request) -> Request:
    """Return a request without the cache mark after the user's newest message."""
    *earlier, last = request.messages
    blocks = tuple(replace(b, mark=False) if _is_from_user(b) else b for b in last.blocks)
    return replace(request, messages=(*earlier, replace(last, blocks=blocks)))


def _is_from_user(block: Block) -> TypeGuard[Text | File]:
    return isinstance(block, Text | File) and block_kind(block) in {"messages", "attachments"}


def _with_mark(message: ChatMessage) -> ChatMessage:
    *earlier, last = message.blocks
    if not isinstance(last, Text | File):
        return message
    return replace(message, blocks=(*earlier, replace(last, mark=True)))

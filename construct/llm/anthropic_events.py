"""A streamed answer of the Messages API, put together event by event.

The events are taken as plain JSON and nothing in them is relied on: servers other than
Anthropic's leave things out, and blocks of kinds unknown here must go back as they
came.
"""

import json
from collections.abc import Mapping
from typing import Any

from construct.llm.types import Block, Opaque, Reply, Text, ToolUse, Usage

Event = Mapping[str, Any]


class ReplyBuilder:
    """Fills a Reply from events."""

    def __init__(self, reply: Reply) -> None:
        self.reply = reply
        self.begun = False
        """Whether the server has begun an answer at all."""
        self.ended = False
        """Whether the answer has come to its proper end."""
        self._open: dict[object, _OpenBlock] = {}

    def take(self, event: Event) -> str:
        """Take one event in and return the words it brought, most often a few or none."""
        match event.get("type"):
            case "message_start":
                self.begun = True
                self._count(_part(event, "message"))
            case "content_block_start":
                return self._start(event.get("index"), _part(event, "content_block"))
            case "content_block_delta":
                return self._add(event.get("index"), _part(event, "delta"))
            case "content_block_stop":
                self._close(event.get("index"), whole=True)
            case "message_delta":
                self._count(event)
                self.reply.stop_reason = (
                    _text(_part(event, "delta"), "stop_reason") or self.reply.stop_reason
                )
            case "message_stop":
                self.ended = True
                self.reply.stop_reason = self.reply.stop_reason or "end_turn"
        return ""

    def finish(self) -> None:
        """Keep what can be kept of blocks that were cut off: their words."""
        for index in list(self._open):
            self._close(index, whole=False)

    def _start(self, index: object, start: Event) -> str:
        self._open[index] = _OpenBlock(start)
        return self._said(_text(start, "text") if start.get("type") == "text" else "")

    def _add(self, index: object, delta: Event) -> str:
        block = self._open.get(index)
        return self._said(block.add(delta)) if block else ""

    def _said(self, words: str) -> str:
        self.reply.text += words
        return words

    def _close(self, index: object, *, whole: bool) -> None:
        if opened := self._open.pop(index, None):
            block = opened.whole() if whole else opened.words()
            if block is not None:
                self.reply.blocks.append(block)

    def _count(self, event: Event) -> None:
        """Take the counts that are there.

        Those of a later event are totals, not additions.
        """
        usage, before = _part(event, "usage"), self.reply.usage
        self.reply.usage = Usage(
            input_tokens=_number(usage, "input_tokens", before.input_tokens),
            cache_read_tokens=_number(usage, "cache_read_input_tokens", before.cache_read_tokens),
            cache_write_tokens=_number(
                usage, "cache_creation_input_tokens", before.cache_write_tokens
            ),
            output_tokens=_number(usage, "output_tokens", before.output_tokens),
        )


class _OpenBlock:
    """A block that is still arriving."""

    def __init__(self, start: Event) -> None:
        self._data = dict(start)
        self._json = ""
        self._is_understood = True

    def add(self, delta: Event) -> str:
        """Add a delta and return the words in it."""
        kind = _text(delta, "type")
        match kind:
            case "text_delta" | "thinking_delta" | "signature_delta":
                name = kind.removesuffix("_delta")
                added = _text(delta, name)
                self._data[name] = _text(self._data, name) + added
                return added if kind == "text_delta" else ""
            case "input_json_delta":
                self._json += _text(delta, "partial_json")
            case "citations_delta":
                pass  # where the words were found: not kept
            case _:
                self._is_understood = False
        return ""

    def words(self) -> Block | None:
        """Return the text of a text block, None of any other."""
        text = _text(self._data, "text") if self._data.get("type") == "text" else ""
        return Text(text) if text else None

    def whole(self) -> Block | None:
        """Return the finished block.

        None when it is empty, or not what its server meant.
        """
        if self._data.get("type") == "text":
            return self.words()
        if not self._is_understood or not self._has_input():
            return None
        if self._data.get("type") == "tool_use":
            return self._tool_use()
        return Opaque(self._data) if self._data.get("type") else None

    def _has_input(self) -> bool:
        """Put the streamed JSON in its place; False when `max_tokens` cut it off."""
        if not self._json:
            return True
        try:
            self._data["input"] = json.loads(self._json, parse_constant=_refuse)
        except (ValueError, RecursionError):
            return False
        return True

    def _tool_use(self) -> ToolUse | None:
        call, name, arguments = (
            _text(self._data, "id"),
            _text(self._data, "name"),
            self._data.get("input"),
        )
        return (
            ToolUse(call, name, arguments)
            if call and name and isinstance(arguments, dict)
            else None
        )


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def _part(event: Event, name: str) -> Event:
    value = event.get(name)
    return value if isinstance(value, dict) else {}


def _text(event: Event, name: str) -> str:
    value = event.get(name)
    return value if isinstance(value, str) else ""


def _number(event: Event, name: str, default: int) -> int:
    value = event.get(name)
    return value if isinstance(value, int) and value >= 0 else default

"""Reads the events of a reply from the Messages API.

Events are read as plain JSON, and nothing in them is taken for granted: servers other
than Anthropic's omit fields, and blocks of unknown kinds must be sent back unchanged.
"""

import re
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from construct.llm import server_errors as errors
from construct.llm.reply_stream import (
    Event,
    FailedError,
    number_in,
    object_in,
    parsed_arguments,
    text_in,
)
from construct.llm.server_errors import Endpoint
from construct.llm.types import Block, Opaque, Reply, Text, ToolUse, Usage

if TYPE_CHECKING:
    import httpx2

    from construct.llm.sdk import ServerSentEvent

_LONGEST_URL = 1_000


async def read_events(end: Endpoint, response: "httpx2.Response") -> AsyncGenerator[Event]:
    """Yield the events of a response. Raises FailedError for one that reports an error."""
    from construct.llm.sdk import AsyncStream

    async for event in AsyncStream.raw_events(response):
        if event.data:
            yield _parsed(end, event)


def _parsed(end: Endpoint, event: "ServerSentEvent") -> dict[str, Any]:
    """Return an event's data.

    Raises the failure that it reports, or ValueError when it cannot be read.
    """
    try:
        value = event.json()
    except (ValueError, RecursionError) as error:
        if event.event != "error":
            raise ValueError("an event that is not JSON") from error
        value = event.data
    if event.event == "error" or (isinstance(value, dict) and value.get("type") == "error"):
        raise FailedError(errors.from_event(end, value))
    if not isinstance(value, dict):
        raise ValueError("an event that is not an object")  # noqa: TRY004 - the server's defect, not ours
    return value


class ReplyBuilder:
    """Builds a Reply from events."""

    def __init__(self, reply: Reply) -> None:
        self.reply = reply
        self.begun = False
        """Whether the server has begun an answer."""
        self.ended = False
        """Whether the answer has ended normally."""
        self._open: dict[int, _OpenBlock] = {}
        self._cited: tuple[str, ...] = ()
        """The pages that the last text with citations cites."""

    def take(self, event: Event) -> str:
        """Apply one event. Return the text it brought."""
        index = number_in(event, "index", 0)
        match event.get("type"):
            case "message_start":
                self.begun = True
                self._count(object_in(event, "message"))
            case "content_block_start":
                return self._start(index, object_in(event, "content_block"))
            case "content_block_delta":
                return self._add(index, object_in(event, "delta"))
            case "content_block_stop":
                return self._stop(index)
            case "message_delta":
                self._count(event)
                self.reply.stop_reason = (
                    text_in(object_in(event, "delta"), "stop_reason") or self.reply.stop_reason
                )
            case "message_stop":
                self.ended = True
                self.reply.stop_reason = self.reply.stop_reason or "end_turn"
        return ""

    def finish(self) -> None:
        """End a reply that was cut off: keep the text of its open blocks."""
        for index in list(self._open):
            self._close(index, whole=False)

    def _start(self, index: int, start: Event) -> str:
        self._open[index] = _OpenBlock(start)
        return self._said(text_in(start, "text") if start.get("type") == "text" else "")

    def _add(self, index: int, delta: Event) -> str:
        block = self._open.get(index)
        return self._said(block.add(delta)) if block else ""

    def _said(self, words: str) -> str:
        self.reply.text += words
        return words

    def _stop(self, index: int) -> str:
        """End a block. Return the links to what its text cites, which become part of it."""
        links = ""
        if (opened := self._open.get(index)) and opened.sources != self._cited:
            links = opened.cite()
            self._cited = opened.sources or self._cited
        self._close(index, whole=True)
        return self._said(links)

    def _close(self, index: int, *, whole: bool) -> None:
        if opened := self._open.pop(index, None):
            block = opened.whole() if whole else opened.words()
            if block is not None:
                self.reply.blocks.append(block)

    def _count(self, event: Event) -> None:
        """Read the token counts of an event.

        Counts in later events are totals, not increments.
        """
        usage, before = object_in(event, "usage"), self.reply.usage
        self.reply.usage = Usage(
            input_tokens=number_in(usage, "input_tokens", before.input_tokens),
            cache_read_tokens=number_in(usage, "cache_read_input_tokens", before.cache_read_tokens),
            cache_write_tokens=number_in(
                usage, "cache_creation_input_tokens", before.cache_write_tokens
            ),
            output_tokens=number_in(usage, "output_tokens", before.output_tokens),
            web_searches=number_in(
                object_in(usage, "server_tool_use"), "web_search_requests", before.web_searches
            ),
        )


class _OpenBlock:
    """A block that is still arriving."""

    def __init__(self, start: Event) -> None:
        self._data = dict(start)
        self._json = ""
        self._is_understood = True
        self._sources: dict[str, None] = {}

    @property
    def sources(self) -> tuple[str, ...]:
        """The addresses of the pages that the text cites."""
        return tuple(self._sources)

    def cite(self) -> str:
        """Add links to the cited pages to the text, and return what was added."""
        text = text_in(self._data, "text")
        links = " ".join(f"[{_host(url)}]({url})" for url in self._sources)
        if not links or not text.strip():
            return ""
        added = links if text[-1].isspace() else f" {links}"
        self._data["text"] = text + added
        return added

    def add(self, delta: Event) -> str:
        """Apply a delta. Return the text that it adds to the reply."""
        kind = text_in(delta, "type")
        match kind:
            case "text_delta" | "thinking_delta" | "signature_delta":
                name = kind.removesuffix("_delta")
                added = text_in(delta, name)
                self._data[name] = text_in(self._data, name) + added
                return added if kind == "text_delta" else ""
            case "input_json_delta":
                self._json += text_in(delta, "partial_json")
            case "citations_delta":
                if url := _safe_url(text_in(object_in(delta, "citation"), "url")):
                    self._sources[url] = None
            case _:
                self._is_understood = False
        return ""

    def words(self) -> Block | None:
        """Return the text of a text block, or None if it is empty or another kind."""
        text = text_in(self._data, "text") if self._data.get("type") == "text" else ""
        return Text(text) if text else None

    def whole(self) -> Block | None:
        """Return the finished block.

        None if it is empty or incomplete, or is not text and had deltas of an unknown
        kind.
        """
        if self._data.get("type") == "text":
            return self.words()
        if not self._is_understood or not self._parse_input():
            return None
        if self._data.get("type") == "tool_use":
            return self._tool_use()
        return Opaque(self._data) if self._data.get("type") else None

    def _parse_input(self) -> bool:
        """Parse the streamed input of a tool call. Return False if it is not a JSON object."""
        if self._json:
            self._data["input"] = parsed_arguments(self._json)
        return not self._json or self._data["input"] is not None

    def _tool_use(self) -> ToolUse | None:
        call, name, arguments = (
            text_in(self._data, "id"),
            text_in(self._data, "name"),
            self._data.get("input"),
        )
        return (
            ToolUse(call, name, arguments)
            if call and name and isinstance(arguments, dict)
            else None
        )


def _safe_url(url: str) -> str:
    """Return an address that can stand in a link; "" if it is none of a page."""
    if not url.startswith(("https://", "http://")) or len(url) > _LONGEST_URL:
        return ""
    safe = quote(url, safe=":/?#@!$&'*+,;=%~[]")
    return safe if _host(safe) else ""


def _host(url: str) -> str:
    try:
        return re.sub(r"[^\w.:-]", "", urlsplit(url).hostname or "")
    except ValueError:
        return ""

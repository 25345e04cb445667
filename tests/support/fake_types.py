"""The types of the fake Messages API: purposes, answers, token counts."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

Json = dict[str, Any]
Worker = Literal["observer", "reflector", "verifier", "graph"]
Purpose = Literal["chat", "observer", "reflector", "verifier", "changes", "graph", "other"]
"""What a request is for; "other" is anything that is no POST /v1/messages."""

PURPOSES: tuple[Purpose, ...] = get_args(Purpose)

_INPUT_TAG = re.compile(r"^<(transcript>|notes>|group |change>|memories>)", re.MULTILINE)
_WORKER_OF: dict[str, Purpose] = {
    "transcript>": "observer", "notes>": "reflector", "group ": "verifier", "memories>": "graph",
    "change>": "changes",
}  # fmt: skip
_AMBIENT = re.compile(r"<ambient>.*?</ambient>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Search:
    """A search of the web by the server: what was asked, and the pages found, by address.

    Without pages there is no result yet: the server has paused.
    """

    query: str
    pages: Mapping[str, str] = field(default_factory=dict)
    """Their titles by their addresses."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer of the model: thinking first, then searches, then text, then tool calls."""

    text: str = ""
    tool_calls: Sequence[tuple[str, Mapping[str, Any]]] = ()
    stop_reason: str | None = None
    """None: `tool_use` when there are tool calls, else `end_turn`.

    A text over `max_tokens` is cut only then.
    """
    delay: float = 0.0
    """Seconds before the first byte."""
    chunk_delay: float = 0.0
    """Seconds before each delta of a stream."""
    chunk_size: int = 0
    """Characters a delta; 0: what gives at most 8 deltas of 16 or more."""
    thinking: str = ""
    searches: Sequence[Search] = ()
    cites: Sequence[str] = ()
    """The addresses that the text cites."""

    @property
    def reason(self) -> str:
        """Return the stop reason that goes out."""
        return self.stop_reason or ("tool_use" if self.tool_calls else "end_turn")


Answer = str | Reply
"""A text, or a whole reply."""

Answerer = Callable[[Json], Answer]


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens of one request, as the API bills them."""

    input_tokens: int = 0
    cache_read: int = 0
    written_5m: int = 0
    written_1h: int = 0
    output_tokens: int = 0
    web_searches: int = 0

    @property
    def cache_written(self) -> int:
        """Return what was written to the cache, for either life."""
        return self.written_5m + self.written_1h

    @property
    def prompt(self) -> int:
        """Return the size of the whole prompt."""
        return self.input_tokens + self.cache_read + self.cache_written

    def as_json(self, output_tokens: int) -> Json:
        """Return the `usage` object of a message or delta at `output_tokens` tokens."""
        return {
            "input_tokens": self.input_tokens,
            "cache_creation_input_tokens": self.cache_written,
            "cache_read_input_tokens": self.cache_read,
            "cache_creation": {
                "ephemeral_5m_input_tokens": self.written_5m,
                "ephemeral_1h_input_tokens": self.written_1h,
            },
            "output_tokens": output_tokens,
            "service_tier": "standard",
            "server_tool_use": {"web_search_requests": self.web_searches, "web_fetch_requests": 0}
            if self.web_searches
            else None,
        }


def tokens(text: str) -> int:
    """Return a quarter of the UTF-8 bytes, rounded up."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // 4)


def to_reply(answer: Answer) -> Reply:
    """Return the reply that any form of answer stands for."""
    if isinstance(answer, Reply):
        return answer
    return Reply(answer)


def purpose_of(body: Json) -> Purpose:
    """Return what a request is for.

    The first input tag that begins a line of the last user message decides. A request
    that offers tools is a chat, whatever the user types.
    """
    found = None if body.get("tools") else _INPUT_TAG.search(last_user_text(body))
    return _WORKER_OF[found[1]] if found else "chat"


def blocks_of(content: object) -> list[Json]:
    """Return content as a list of blocks; a string is one text block."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return (
        [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    )


def last_user_blocks(body: Json) -> list[Json]:
    """Return the blocks of the last user message; of a malformed request none."""
    messages = body.get("messages")
    for message in reversed(messages if isinstance(messages, list) else []):
        if isinstance(message, dict) and message.get("role") == "user":
            return blocks_of(message.get("content"))
    return []


def last_user_text(body: Json) -> str:
    """Return the text of the last user message, its blocks joined by newlines."""
    texts = (block.get("text") for block in last_user_blocks(body) if block.get("type") == "text")
    return "\n".join(text for text in texts if isinstance(text, str))


def last_user_words(body: Json) -> str:
    """Return the last user message's text without ambient blocks."""
    return _AMBIENT.sub("", last_user_text(body)).strip()


def strings_in(value: object) -> Iterator[str]:
    """Yield every string inside a JSON value, keys left out."""
    if isinstance(value, str):
        yield value
    for child in (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    ):
        yield from strings_in(child)

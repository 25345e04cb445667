"""Requests in the form of the Messages API."""

import json
from types import MappingProxyType
from typing import Any

import pytest

from construct.llm.anthropic_wire import chat_body, work_body
from construct.llm.reply_stream import encoded
from construct.llm.types import (
    ChatMessage,
    Opaque,
    Request,
    Text,
    Tool,
    ToolResult,
    ToolUse,
    WorkRequest,
)

THINKING = {"type": "thinking", "thinking": "Hm.", "signature": "abc"}


def body_of(*messages: ChatMessage, **more: Any) -> dict[str, Any]:
    """Return the body of a chat with these messages."""
    return chat_body("claude-sonnet-5-5", Request((Text("Be kind."),), messages, **more))


def marks(body: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return the text and the mark of all marked blocks."""
    blocks = body["system"] + [
        block for message in body["messages"] for block in message["content"]
    ]
    return [(block["text"], block["cache_control"]) for block in blocks if "cache_control" in block]


def test_blocks_of_all_kinds() -> None:
    """Each kind of block has its form.

    What only the server understands goes back as it came.
    """
    body = body_of(
        ChatMessage("user", (Text("Look it up."),)),
        ChatMessage(
            "assistant", (Opaque(THINKING), Text("I will."), ToolUse("t1", "recall", {"q": "dog"}))
        ),
        ChatMessage(
            "user", (ToolResult("t1", "Rex"), ToolResult("t2", "no such tool", is_error=True))
        ),
    )
    assert body["system"] == [{"type": "text", "text": "Be kind."}]
    assert body["messages"][1]["content"] == [
        THINKING,
        {"type": "text", "text": "I will."},
        {"type": "tool_use", "id": "t1", "name": "recall", "input": {"q": "dog"}},
    ]
    assert body["messages"][2]["content"] == [
        {"type": "tool_result", "tool_use_id": "t1", "content": "Rex"},
        {"type": "tool_result", "tool_use_id": "t2", "content": "no such tool", "is_error": True},
    ]


def test_tools() -> None:
    """Tools are sent with name, description and schema.

    Without tools the field is left out.
    """
    schema = {"type": "object", "properties": {}}
    body = body_of(
        ChatMessage("user", (Text("Hi"),)), tools=(Tool("recall", "Look back.", schema),)
    )
    assert body["tools"] == [
        {"name": "recall", "description": "Look back.", "input_schema": schema}
    ]
    assert "tools" not in body_of(ChatMessage("user", (Text("Hi"),)))


def test_blank_text_is_left_out() -> None:
    """Text without a word in it, which the API refuses, is not sent."""
    body = body_of(ChatMessage("user", (Text(""), Text(" \n"), Text("Hi"))))
    assert body["messages"][0]["content"] == [{"type": "text", "text": "Hi"}]
    assert "system" not in chat_body("m", Request((Text(" "),), ()))


def test_marks_live_five_minutes() -> None:
    """A mark is an ephemeral breakpoint.

    Its life is not sent when it is the usual one.
    """
    body = body_of(ChatMessage("user", (Text("Hi", mark=True), Text("there"))))
    assert marks(body) == [("Hi", {"type": "ephemeral"})]


def test_marks_live_an_hour() -> None:
    """A life of one hour is said at every mark."""
    body = body_of(
        ChatMessage("user", (Text("Hi", mark=True), Text("there", mark=True))), cache_life="1h"
    )
    assert [mark for _, mark in marks(body)] == [{"type": "ephemeral", "ttl": "1h"}] * 2


def test_marks_are_four_at_most() -> None:
    """Of more than four marks the first three and the last are kept."""
    body = body_of(ChatMessage("user", tuple(Text(word, mark=True) for word in "abcdef")))
    assert [text for text, _ in marks(body)] == ["a", "b", "c", "f"]


@pytest.mark.parametrize(
    ("model", "most"), [("claude-haiku-4-5", 64_000), ("claude-sonnet-5-5", 128_000), ("x", 8192)]
)
def test_max_tokens_is_capped(model: str, most: int) -> None:
    """No more is asked for than the model can give."""
    assert chat_body(model, Request((), (), max_tokens=1_000_000))["max_tokens"] == most
    assert work_body(model, WorkRequest("s", "u", max_tokens=5))["max_tokens"] == 5


def test_a_workers_call_asks_for_text() -> None:
    """A worker's call has its input as the only message.

    It asks for no output format that a server would have to enforce.
    """
    assert work_body("claude-haiku-5-5", WorkRequest("Observe.", "[M1] …")) == {
        "model": "claude-haiku-5-5",
        "max_tokens": 8192,
        "messages": [{"role": "user", "content": "[M1] …"}],
        "system": "Observe.",
    }


def test_anything_can_be_encoded() -> None:
    """A lone surrogate becomes a question mark, other text stays as it is.

    Read-only mappings become objects.
    """
    call = ToolUse("t", "n", MappingProxyType({"a": MappingProxyType({"b": "\ud800"})}))
    decoded = json.loads(encoded(body_of(ChatMessage("assistant", (Text("né 你好 \udfff"), call)))))
    assert decoded["messages"][0]["content"] == [
        {"type": "text", "text": "né 你好 ?"},
        {"type": "tool_use", "id": "t", "name": "n", "input": {"a": {"b": "?"}}},
    ]

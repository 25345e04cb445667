"""What the embedded model is told, and what its chunks mean."""

from typing import Any

import pytest

from construct.errors import ContextOverflowError, ModelBrokenError
from construct.llm.local_model import add_chunk, chat_body, work_body
from construct.llm.types import (
    ChatMessage,
    Opaque,
    Reply,
    Request,
    Text,
    Tool,
    ToolResult,
    ToolUse,
    Usage,
    WorkRequest,
)


def test_blocks_become_plain_text() -> None:
    """Text blocks are joined by blank lines.

    Tool calls and results are written out, other blocks are left out.
    """
    request = Request(
        (Text("Be kind."), Text("Rex is a dog.", mark=True)),
        (
            ChatMessage("user", (Text("Hi"), Text("Who is Rex?"))),
            ChatMessage(
                "assistant",
                (
                    Opaque({"type": "thinking"}),
                    Text("Let me see."),
                    ToolUse("t", "recall", {"q": 1}),
                ),
            ),
            ChatMessage("user", (ToolResult("t", "a dog"),)),
        ),
        (Tool("recall", "", {}),),
    )
    body = chat_body(request, limit=100)
    assert body["messages"] == [
        {"role": "system", "content": "Be kind.\n\nRex is a dog."},
        {"role": "user", "content": "Hi\n\nWho is Rex?"},
        {"role": "assistant", "content": 'Let me see.\n\n(recall: {"q": 1})'},
        {"role": "user", "content": "(Result: a dog)"},
    ]
    assert body["max_tokens"] == 100
    assert "tools" not in body


def test_no_message_is_empty_and_roles_alternate() -> None:
    """A message with nothing plain in it is left out, and its neighbours become one."""
    said = (
        ChatMessage("user", (Text("Hi \ud800"),)),
        ChatMessage("assistant", (Opaque({}),)),
        ChatMessage("user", (Text("there"),)),
    )
    assert chat_body(Request((), said), 100)["messages"] == [
        {"role": "user", "content": "Hi ?\n\nthere"}
    ]


def test_talk_and_work_have_a_slot_each() -> None:
    """A worker's call does not throw the conversation out of its slot."""
    work = work_body(WorkRequest("Extract.", "Rex"), 100)
    assert work["messages"] == [
        {"role": "system", "content": "Extract."},
        {"role": "user", "content": "Rex"},
    ]
    assert work["id_slot"] != chat_body(Request((), ()), 100)["id_slot"]


def test_chunks() -> None:
    """Words are added up.

    The counts are right at every moment, and the server's in the end.
    """
    reply = Reply()
    progress = {"total": 30, "cache": 20, "processed": 30}
    add_chunk(
        reply,
        {
            "choices": [{"delta": {"role": "assistant", "content": None}}],
            "prompt_progress": progress,
        },
    )
    assert reply.usage == Usage(10, 20)
    words = [
        add_chunk(reply, {"choices": [{"delta": {"content": word}}]}) for word in ("Hi", " there")
    ]
    assert words == ["Hi", " there"]
    assert reply.usage == Usage(10, 20, 0, 2)
    add_chunk(reply, {"choices": [{"finish_reason": "length", "delta": {}}]})
    usage = {
        "prompt_tokens": 30,
        "completion_tokens": 3,
        "prompt_tokens_details": {"cached_tokens": 20},
    }
    add_chunk(reply, {"choices": [], "usage": usage})
    assert reply == Reply("Hi there", [], Usage(10, 20, 0, 3), "max_tokens")


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (
            {"message": "request (9 tokens) exceeds the available context size (8 tokens)"},
            ContextOverflowError,
        ),
        ({"message": "Context size has been exceeded."}, ContextOverflowError),
        ({"message": "out of luck"}, ModelBrokenError),
        ("words", ModelBrokenError),
    ],
)
def test_errors(error: Any, kind: type[Exception]) -> None:
    """A chunk that reports an error raises it."""
    with pytest.raises(kind):
        add_chunk(Reply(), {"error": error})

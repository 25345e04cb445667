"""Replies as they arrive, whole."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from construct.llm.anthropic_model import AnthropicModel
from construct.llm.anthropic_stream import ReplyBuilder
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
    WorkReply,
    WorkRequest,
)
from tests.llm.conftest import Connect, RawServer, asking, events
from tests.support.fake_api import FakeApi, faults
from tests.support.fake_api import Reply as Answer

RECALL = Tool(
    "recall",
    "Look back.",
    {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]},
)


def built(*incoming: Mapping[str, Any]) -> Reply:
    """Return the reply that these events make."""
    builder = ReplyBuilder(Reply())
    for event in incoming:
        builder.take(event)
    builder.finish()
    return builder.reply


def block(
    index: int, start: Mapping[str, Any], *deltas: Mapping[str, Any], stop: bool = True
) -> list[dict[str, Any]]:
    """Return the events of one block."""
    begin = {"type": "content_block_start", "index": index, "content_block": start}
    middle = [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
    return [begin, *middle, *([{"type": "content_block_stop", "index": index}] if stop else [])]


async def test_words_come_as_they_are_made(api: FakeApi, model: AnthropicModel) -> None:
    """The pieces of a stream add up to the reply's text and its only block."""
    api.enqueue("chat", Answer("Hello there. How was the walk with Rex?", chunk_size=8))
    stream = model.stream(asking())
    pieces = [piece async for piece in stream]
    assert len(pieces) > 3
    assert "".join(pieces) == stream.reply.text == "Hello there. How was the walk with Rex?"
    assert stream.reply.blocks == [Text(stream.reply.text)]
    assert stream.reply.stop_reason == "end_turn"


async def test_nothing_is_sent_before_it_is_asked_for(api: FakeApi, model: AnthropicModel) -> None:
    """A stream that is never iterated sends nothing, and can be closed, twice too."""
    stream = model.stream(asking())
    await stream.aclose()
    await stream.aclose()
    assert api.requests == []


async def test_usage_is_the_servers(api: FakeApi, model: AnthropicModel) -> None:
    """Cache writes, cache reads and plain input are counted as the server says."""
    system = (Text("You are a companion. " * 400, mark=True),)
    counted = []
    for _ in range(2):
        stream = model.stream(Request(system, (ChatMessage("user", (Text("Hi"),)),)))
        assert [piece async for piece in stream]
        counted.append(stream.reply.usage)
    first, second = counted
    assert first.cache_write_tokens > 1024
    assert second.cache_read_tokens == first.cache_write_tokens
    assert second.cache_write_tokens == first.cache_read_tokens == 0
    assert 0 < first.input_tokens < 100
    assert first.output_tokens > 0


async def test_a_tool_call_and_its_answer(api: FakeApi, model: AnthropicModel) -> None:
    """Thinking and tool calls come back as blocks.

    They can be sent again with the tool's result.
    """
    api.enqueue(
        "chat",
        Answer("Let me see.", tool_calls=(("recall", {"q": "dog"}),), thinking="A dog?"),
        "It is Rex.",
    )
    ask = ChatMessage("user", (Text("What is my dog called?"),))
    first = model.stream(Request((), (ask,), (RECALL,)))
    assert [piece async for piece in first]
    assert first.reply.stop_reason == "tool_use"
    (call,) = first.reply.tool_calls
    assert (call.name, call.input) == ("recall", {"q": "dog"})
    assert [type(one) for one in first.reply.blocks] == [Opaque, Text, ToolUse]
    answer = ChatMessage("user", (ToolResult(call.id, "Rex"),))
    second = model.stream(
        Request((), (ask, ChatMessage("assistant", tuple(first.reply.blocks)), answer), (RECALL,))
    )
    assert [piece async for piece in second]
    assert second.reply.text == "It is Rex."


@pytest.mark.parametrize("reason", ["max_tokens", "refusal"])
async def test_stop_reasons_are_passed_on(api: FakeApi, model: AnthropicModel, reason: str) -> None:
    """A reply that is cut off or refused is no error; its stop reason tells."""
    api.fail("chat", faults.max_tokens() if reason == "max_tokens" else faults.refusal("No."))
    api.enqueue("chat", "A long reply that is cut somewhere in its middle.")
    stream = model.stream(asking())
    assert [piece async for piece in stream]
    assert stream.reply.stop_reason == reason


async def test_a_workers_answer(api: FakeApi, model: AnthropicModel) -> None:
    """A worker's answer is its text alone, with its tokens.

    Thinking before it is left out.
    """
    api.enqueue("chat", Answer("Rex\n", thinking="A name is wanted."))
    answer = await model.complete(WorkRequest("Extract.", "My dog is Rex."))
    usage = api.requests[0].usage
    assert usage is not None
    assert answer == WorkReply(
        "Rex\n", Usage(usage.input_tokens, 0, 0, usage.output_tokens), "end_turn"
    )


async def test_a_connection_is_used_again(api: FakeApi, model: AnthropicModel) -> None:
    """A reply that was read to its end leaves a connection to use again."""
    for _ in range(3):
        assert [piece async for piece in model.stream(asking())]
    assert api.hang_ups == 0
    assert model._client is not None
    pool = model._client._client._transport._pool
    assert len(pool.connections) == 1


async def test_servers_that_leave_things_out(connect: Connect) -> None:
    """Events may lack names, counts, a stop reason or the stop of their blocks."""
    answer = events(
        '{"type": "message_start", "message": {"usage": null}}',
        '{"type": "content_block_start", "index": 0, "content_block": {"type": "text"}}',
        '{"type": "content_block_delta", "index": 0, '
        '"delta": {"type": "text_delta", "text": "Hé"}}',
        '{"type": "content_block_delta", "index": 7, '
        '"delta": {"type": "text_delta", "text": "lost"}}',
        '{"type": "message_stop"}',
    )
    async with RawServer([answer]) as url:
        stream = connect(url).stream(asking())
        assert [piece async for piece in stream] == ["Hé"]
    assert stream.reply == Reply("Hé", [Text("Hé")], Usage(), "end_turn")


async def test_a_server_that_does_not_hang_up(connect: Connect) -> None:
    """The end of the message ends the reply, even if the stream stays open."""
    answer = events(
        '{"type": "message_start", "message": {}}', '{"type": "message_stop"}', names=True
    )
    async with RawServer([answer], holds_open=True) as url, asyncio.timeout(3):
        stream = connect(url).stream(asking())
        assert [piece async for piece in stream] == []
    assert stream.reply.stop_reason == "end_turn"


def test_unknown_blocks_are_kept_whole() -> None:
    """A block of an unknown kind is kept as it came.

    Its streamed JSON is put in its place.
    """
    search = {"type": "server_tool_use", "id": "s1", "name": "web", "input": {}}
    piece = {"type": "input_json_delta", "partial_json": '{"q": "rain"}'}
    assert built(*block(0, search, piece)).blocks == [Opaque({**search, "input": {"q": "rain"}})]
    redacted = {"type": "redacted_thinking", "data": "xyz"}
    assert built(*block(0, redacted)).blocks == [Opaque(redacted)]


def test_a_block_that_is_not_understood_is_dropped() -> None:
    """A block with unknown deltas is dropped.

    Sent back without them, it would say something else.
    """
    assert (
        built(*block(0, {"type": "hologram"}, {"type": "hologram_delta", "hologram": "…"})).blocks
        == []
    )


@pytest.mark.parametrize("cut", ['{"q": "do', "", "[1]", '{"q": NaN}'])
def test_tool_input_that_is_no_object_is_dropped(cut: str) -> None:
    """A tool call whose input was cut off by `max_tokens`, or is no object, is none."""
    start: dict[str, Any] = {"type": "tool_use", "id": "t1", "name": "recall", "input": None}
    assert built(*block(0, start, {"type": "input_json_delta", "partial_json": cut})).blocks == []


def test_half_a_tool_call_is_dropped_and_half_a_text_is_kept() -> None:
    """Cut-off text is kept; a cut-off tool call or thought is dropped."""
    call = {"type": "tool_use", "id": "t1", "name": "recall", "input": {}}
    reply = built(
        *block(
            0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "Let me"}, stop=False
        ),
        *block(1, call, {"type": "input_json_delta", "partial_json": "{}"}, stop=False),
        *block(2, {"type": "thinking"}, {"type": "thinking_delta", "thinking": "Hm"}, stop=False),
    )
    assert reply.blocks == [Text("Let me")]


def test_later_counts_are_totals() -> None:
    """Counts of a later event replace those before, and those it leaves out stay."""
    first = {"input_tokens": 10, "cache_read_input_tokens": 5, "output_tokens": 1}
    second = {"output_tokens": 9, "input_tokens": None}
    usage = built(
        {"type": "message_start", "message": {"usage": first}},
        {"type": "message_delta", "usage": second},
    ).usage
    assert usage == Usage(10, 5, 0, 9)


def test_values_that_make_no_sense_are_ignored() -> None:
    """An index that is no number, and a count too large to store, are as if left out."""
    events = block([], {"type": "text"}, {"type": "text_delta", "text": "Hi"})  # type: ignore[arg-type]
    reply = built(*events, {"type": "message_delta", "usage": {"output_tokens": 10**30}})
    assert reply == Reply("Hi", [Text("Hi")], Usage())

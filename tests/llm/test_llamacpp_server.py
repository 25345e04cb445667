"""A real llama.cpp server over HTTP: what a user of one meets."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from construct.errors import ModelError, ModelUnreachableError
from construct.llm.providers import Models, choose_models
from construct.llm.servers import look
from construct.llm.types import (
    ChatMessage,
    Request,
    Text,
    Tool,
    ToolResult,
    ToolUse,
    WorkRequest,
)
from construct.load_settings import load_settings
from tests.support.llamacpp_server import LlamaServer

WINDOW = 4096
HELLO = Request((), (ChatMessage("user", (Text("Say hello."),)),), max_tokens=20)
STORY = Request((), (ChatMessage("user", (Text("Tell me a long story."),)),), max_tokens=2000)
LOOK_UP = Tool(
    "recall",
    "Search what was said.",
    {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
)


@pytest.fixture(scope="module")
def server() -> Iterator[LlamaServer]:
    """Run the server once."""
    with LlamaServer(context=WINDOW) as running:
        yield running


@pytest.fixture(params=["anthropic", "openai"])
async def models(server: LlamaServer, request: pytest.FixtureRequest) -> AsyncIterator[Models]:
    """Return the models of somebody who set the server's address and nothing else.

    With each of the protocols that the server speaks.
    """
    address = {"ANTHROPIC_BASE_URL": server.url}
    if request.param == "openai":
        address = {"CONSTRUCT_PROVIDER": "openai", "OPENAI_BASE_URL": f"{server.url}/v1"}
    chosen = choose_models(load_settings(address))
    yield chosen
    await chosen.close()


async def reply(models: Models, request: Request) -> str:
    """Return the whole reply, as it was streamed."""
    stream = models.main.stream(request)
    pieces = [piece async for piece in stream]
    await stream.aclose()
    assert stream.reply.stop_reason is not None
    return "".join(pieces)


def test_it_is_found(server: LlamaServer) -> None:
    """With its real window and its size."""
    (found,) = look({"CONSTRUCT_LOOK_FOR": server.url})
    assert (found.source, found.context_window, found.vision) == ("llamacpp", WINDOW, False)
    assert found.parameters == 134_515_008


async def test_its_first_model_talks(models: Models) -> None:
    """Streaming; so small a model does not keep the memory."""
    assert models.main.context_window == WINDOW
    assert models.worker is None
    assert "--ctx-size" in models.advice
    assert await reply(models, HELLO)


async def test_a_tool_round_is_taken(models: Models) -> None:
    """Tools, a call and its result are accepted, with cache marks on them."""
    call = ToolUse("call_1", "recall", {"query": "dentist"})
    result = ToolResult("call_1", "message 3: The dentist is Dr. Sousa.", mark=True)
    messages = (
        ChatMessage("user", (Text("Who is my dentist?", mark=True),)),
        ChatMessage("assistant", (call,)),
        ChatMessage("user", (result,)),
    )
    request = Request((Text("Be brief.", mark=True),), messages, (LOOK_UP,), max_tokens=30)
    assert await reply(models, request)


async def test_work_is_answered(models: Models) -> None:
    """An observer's answer comes as lines of text, asked for without any schema."""
    asked = WorkRequest("Answer with <observations></observations>.", "Hello.", max_tokens=30)
    answer = await models.main.complete(asked)
    assert answer.text
    assert answer.usage.output_tokens > 0


async def test_an_interrupt_stops_it(models: Models) -> None:
    """The words that came are kept, and the server is free for the next one."""
    stream = models.main.stream(STORY)
    async for _ in stream:
        break
    await stream.aclose()
    assert stream.reply.text
    assert stream.reply.stop_reason is None
    async with asyncio.timeout(240):
        assert await reply(models, HELLO)


async def test_it_dies_and_comes_back(models: Models, server: LlamaServer) -> None:
    """In the middle of a reply, then before one; afterwards all goes on."""
    stream = models.main.stream(STORY)

    async def read() -> None:
        async for _ in stream:
            server.kill()

    with pytest.raises(ModelError):
        await read()
    assert stream.reply.stop_reason is None
    with pytest.raises(ModelUnreachableError):
        await reply(models, HELLO)
    server.start()
    assert await reply(models, HELLO)

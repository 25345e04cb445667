"""OpenAI's protocol: what is sent, what comes back, and what goes wrong."""

import json
from collections.abc import AsyncIterator, Callable, Iterator

import pytest

from construct.errors import (
    ContextOverflowError,
    ModelBrokenError,
    ModelBusyError,
    ModelError,
    ModelRejectedError,
    ModelUnreachableError,
)
from construct.llm.openai_model import OpenAIModel
from construct.llm.openai_wire import chat_body, work_body
from construct.llm.types import (
    ChatMessage,
    File,
    Opaque,
    Request,
    Text,
    Tool,
    ToolResult,
    ToolUse,
    Usage,
    WorkRequest,
)
from construct.vocabulary import AttachmentKind
from tests.llm.conftest import RawServer, asking, events, status
from tests.support.fake_api import FakeApi, Reply, faults

KEY = "sk-proj-secret-0123456789"
Connect = Callable[[str], OpenAIModel]
RECALL = Tool("recall", "Look back.", {"type": "object", "properties": {}})
PICTURE = File("cat.png", "image/png", b"\x89PNG\r\n\x1a\n", 200)


@pytest.fixture
async def connect() -> AsyncIterator[Connect]:
    """Make models of a server, closed when the test ends."""
    made: list[OpenAIModel] = []

    def make(url: str) -> OpenAIModel:
        made.append(OpenAIModel("some-model", api_key=KEY, base_url=f"{url}/v1"))
        return made[-1]

    yield make
    for model in made:
        await model.close()


@pytest.fixture
def api() -> Iterator[FakeApi]:
    """Return a fake of OpenAI's protocol."""
    with FakeApi(protocol="openai") as fake:
        yield fake


@pytest.fixture
def model(api: FakeApi, connect: Connect) -> OpenAIModel:
    """Return a model behind the fake."""
    return connect(api.url)


def test_what_a_request_becomes() -> None:
    """Results of tools are messages of their own; marks and others' blocks are left out."""
    request = Request(
        (Text("Be brief.", mark=True), Text(" "), Text("Be kind.")),
        (
            ChatMessage("user", (Text("What is this?", mark=True), PICTURE)),
            ChatMessage(
                "assistant",
                (
                    Opaque({"type": "thinking"}),
                    Text("Let me look."),
                    ToolUse("c1", "recall", {"q": 1}),
                ),
            ),
            ChatMessage("user", (ToolResult("c1", "No such day", is_error=True), Text("And?"))),
            ChatMessage("assistant", (ToolUse("c2", "recall", {}),)),
            ChatMessage("user", (ToolResult("c2", "A cat", mark=True),)),
        ),
        (RECALL,),
        max_tokens=300,
    )
    call = {"id": "c1", "type": "function", "function": {"name": "recall", "arguments": '{"q": 1}'}}
    empty = {"id": "c2", "type": "function", "function": {"name": "recall", "arguments": "{}"}}
    url = {"url": "data:image/png;base64,iVBORw0KGgo="}
    assert chat_body("m", request, "max_tokens") == {
        "model": "m",
        "max_tokens": 300,
        "stream": True,
        "stream_options": {"include_usage": True},
        "messages": [
            {"role": "system", "content": "Be brief.\n\nBe kind."},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "What is this?"},
                    {"type": "image_url", "image_url": url},
                ],
            },
            {"role": "assistant", "content": "Let me look.", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "Error: No such day"},
            {"role": "user", "content": "And?"},
            {"role": "assistant", "content": None, "tool_calls": [empty]},
            {"role": "tool", "tool_call_id": "c2", "content": "A cat"},
        ],
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "recall",
                    "description": "Look back.",
                    "parameters": {"type": "object", "properties": {}},
                },
            }
        ],
    }


def test_what_a_workers_request_becomes() -> None:
    """Without pictures its material is a plain text; OpenAI's own limit has another name."""
    plain = work_body("m", WorkRequest("Read.", "<notes>", max_tokens=10), "max_tokens")
    assert [one["content"] for one in plain["messages"]] == ["Read.", "<notes>"]
    seen = work_body("m", WorkRequest("", "Look.", pictures=(PICTURE,)), "max_completion_tokens")
    assert [part["type"] for part in seen["messages"][0]["content"]] == ["text", "image_url"]
    assert seen["max_completion_tokens"] == 8192
    assert OpenAIModel("m")._limit == "max_completion_tokens"
    assert OpenAIModel("m", base_url="http://localhost:8080/v1")._limit == "max_tokens"


async def test_a_picture_and_a_tool_round(api: FakeApi, model: OpenAIModel) -> None:
    """The server takes a picture, a call and its result; thinking is not kept."""
    looking = Reply(
        "Let me see.", tool_calls=(("recall", {"q": "é"}), ("agenda", {})), thinking="A cat?"
    )
    api.enqueue("chat", looking, "It is Rex.")
    ask = ChatMessage("user", (Text("Who is this?"), PICTURE))
    first = model.stream(Request((), (ask,), (RECALL,)))
    assert "".join([piece async for piece in first]) == "Let me see."
    assert first.reply.stop_reason == "tool_use"
    assert [(call.name, call.input) for call in first.reply.tool_calls] == [
        ("recall", {"q": "é"}),
        ("agenda", {}),
    ]
    results = tuple(ToolResult(call.id, "Rex") for call in first.reply.tool_calls)
    answered = (
        ask,
        ChatMessage("assistant", tuple(first.reply.blocks)),
        ChatMessage("user", results),
    )
    second = model.stream(Request((), answered, (RECALL,)))
    assert "".join([piece async for piece in second]) == "It is Rex."
    (usage,) = [one.usage for one in api.of("chat")[-1:]]
    assert usage is not None
    assert second.reply.usage == Usage(usage.input_tokens, 0, 0, usage.output_tokens)
    assert {one.status for one in api.requests} == {200}


@pytest.mark.parametrize(
    ("chunks", "text", "reason", "calls"),
    [
        (
            ['{"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]}'],
            "Hi",
            "end_turn",
            [],
        ),
        (['{"choices": [{"delta": {"content": "Hi"}}]}'], "Hi", None, []),
        (
            ['{"choices": [{"delta": {"refusal": "No."}, "finish_reason": "stop"}]}'],
            "No.",
            "refusal",
            [],
        ),
        (
            [
                '{"choices": [{"delta": {"tool_calls": [{"function": {"name": "a"}}]}}]}',
                '{"choices": [{"delta": {}, "finish_reason": "stop"}]}',
            ],
            "",
            "tool_use",
            [("a", {})],
        ),
        (
            [
                '{"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "x", "function": '
                '{"name": "a", "arguments": "{\\"q\\": 1}"}}]}}]}',
                '{"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "y", "function": '
                '{"name": "b", "arguments": "{}"}}]}, "finish_reason": "tool_calls"}]}',
            ],
            "",
            "tool_use",
            [("a", {"q": 1}), ("b", {})],
        ),
        (
            [
                '{"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "x", "function": '
                '{"name": "a", "arguments": "[1"}}]}, "finish_reason": "tool_calls"}]}'
            ],
            "",
            "tool_use",
            [],
        ),
    ],
)
async def test_servers_have_their_own_ways(
    connect: Connect, chunks: list[str], text: str, reason: str | None, calls: list[object]
) -> None:
    """A field may be missing, a call's number too; a stream may end without a reason."""
    answer = events('{"choices": []}', *chunks, "[DONE]")
    async with RawServer([answer]) as url:
        stream = connect(url).stream(asking())
        assert "".join([piece async for piece in stream]) == text
    assert stream.reply.stop_reason == reason
    assert [(call.name, call.input) for call in stream.reply.tool_calls] == calls


async def failing(connect: Connect, *answers: bytes) -> ModelError:
    """Return the error of a request that these answers make fail."""
    async with RawServer(list(answers)) as url:
        stream = connect(url).stream(asking())
        with pytest.raises(ModelError) as raised:
            [piece async for piece in stream]
    assert KEY not in str(raised.value)
    return raised.value


@pytest.mark.parametrize(
    ("code", "error", "kind", "words"),
    [
        (
            401,
            {"message": f"Incorrect API key: {KEY}"},
            ModelRejectedError,
            "Check OPENAI_API_KEY.",
        ),
        (404, {"message": "no model"}, ModelRejectedError, "CONSTRUCT_MODEL and OPENAI_BASE_URL"),
        (400, {"code": "context_length_exceeded"}, ContextOverflowError, "more than some-model"),
        (400, {"message": "odd"}, ModelRejectedError, "(odd)"),
        (429, {"code": "insufficient_quota"}, ModelRejectedError, "Check your account's billing"),
    ],
)
async def test_errors_are_in_our_words(
    connect: Connect, code: int, error: dict[str, str], kind: type[ModelError], words: str
) -> None:
    """They name OpenAI's settings, not Anthropic's, and never the key."""
    raised = await failing(connect, status(code, json.dumps({"error": error})))
    assert isinstance(raised, kind)
    assert words in str(raised)
    assert "ANTHROPIC" not in str(raised)


async def test_what_is_no_answer(connect: Connect) -> None:
    """Neither a page of HTML nor an error in the stream looks like a reply."""
    page = status(200, "<html>Welcome</html>", content_type="text/html")
    assert "speaks OpenAI's protocol" in str(await failing(connect, page, page, page))
    busy = events('{"error": {"message": "Overloaded", "code": 503}}')
    assert isinstance(await failing(connect, busy, busy, busy), ModelBusyError)
    broken = events('{"choices": [{"delta": {"content": "Hi"}}]}', '{"error": {"message": "Oops"}}')
    assert isinstance(await failing(connect, broken), ModelBrokenError)


async def test_nobody_there(connect: Connect) -> None:
    """It says where to look."""
    stream = connect("http://127.0.0.1:9").stream(asking())
    with pytest.raises(ModelUnreachableError, match="OPENAI_BASE_URL"):
        [piece async for piece in stream]


async def test_retries_are_told(api: FakeApi, model: OpenAIModel) -> None:
    """As with the other protocol, with a reason in a few words."""
    told: list[str] = []
    api.fail("chat", faults.http(429))
    request = Request((), (ChatMessage("user", (Text("Hi"),)),), on_retry=told.append)
    stream = model.stream(request)
    assert [piece async for piece in stream]
    assert len(told) == 1
    assert [one.status for one in api.of("chat")] == [429, 200]


async def test_what_the_environment_has_for_openai(
    monkeypatch: pytest.MonkeyPatch, connect: Connect
) -> None:
    """An organization and a project are named to OpenAI alone; headers where the user says."""
    for name, value in {
        "OPENAI_ORG_ID": "org-1",
        "OPENAI_PROJECT_ID": "proj-1",
        "OPENAI_ADMIN_KEY": "sk-admin",
        "OPENAI_CUSTOM_HEADERS": "X-Mine: 1",
    }.items():
        monkeypatch.setenv(name, value)
    answer = events('{"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]}')
    server = RawServer([answer, answer])
    async with server as url:
        model = OpenAIModel("m", base_url=f"{url}/v1", sends_custom_headers=False)
        assert [piece async for piece in model.stream(asking())] == ["Hi"]
        await model.close()
        assert [piece async for piece in connect(url).stream(asking())] == ["Hi"]
    first, second = (request.decode().lower() for request in server.requests)
    for secret in ("org-1", "proj-1", "sk-admin"):
        assert secret not in first + second
    assert "x-mine" not in first
    assert "x-mine" in second
    assert f"bearer {KEY}" in second


async def test_a_server_that_takes_no_pictures_is_believed(connect: Connect) -> None:
    """The turn goes on with the picture's name in its place."""
    refused = {"error": {"code": 500, "message": "image input is not supported - mmproj"}}
    answer = events('{"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]}')
    server = RawServer([status(500, json.dumps(refused)), answer])
    async with server as url:
        model = connect(url)
        model.reads = frozenset({AttachmentKind.IMAGE})
        ask = ChatMessage("user", (Text("Who is this?"), PICTURE))
        assert [piece async for piece in model.stream(Request((), (ask,)))] == ["Hi"]
    assert b"image_url" in server.requests[0]
    assert b"image_url" not in server.requests[1]
    assert b"[image: cat.png]" in server.requests[1]
    assert model.reads == frozenset()

"""The fake Messages API itself: how it answers, what it records, and how it breaks."""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator

import anthropic
import httpx2
import pytest

from tests.support.bodies import INPUT, MARK, block, figures, request, send, text, user, work
from tests.support.fake_api import FakeApi, Fault, Reply, faults


@pytest.fixture
async def client(api: FakeApi) -> AsyncIterator[anthropic.AsyncAnthropic]:
    """Connect the real SDK to it, without retries."""
    # Without `verify=False` each client would load the certificates, for 25 ms.
    plain = anthropic.DefaultAsyncHttpxClient(verify=False)
    async with anthropic.AsyncAnthropic(
        api_key="key", base_url=api.url, max_retries=0, http_client=plain
    ) as sdk:
        yield sdk


@pytest.mark.parametrize(
    ("header", "status"),
    [
        ({"x-api-key": "key"}, 200),
        ({"authorization": "Bearer key"}, 200),
        ({"accept": "*/*"}, 401),
        ({"x-api-key": "bad-key"}, 401),
        ({"authorization": "Bearer bad-key"}, 401),
        ({"authorization": "Basic key"}, 401),
    ],
)
def test_wants_a_key(api: FakeApi, header: dict[str, str], status: int) -> None:
    """A key in either header is needed, and the bad one is turned down."""
    assert send(api, request(), **header)[0] == status
    assert [one.status for one in api.of("chat")] == [status]


def test_knows_few_paths(api: FakeApi) -> None:
    """Anything but the messages and the models is not found, and recorded as other."""
    assert send(api, request(), path="/v1/complete")[0] == 404
    assert send(api, None, path="/v1/messages")[0] == 404
    assert send(api, None, path="/v1/models/none")[0] == 404
    assert [one.purpose for one in api.requests] == ["other"] * 3


def test_turns_down_what_does_not_fit() -> None:
    """A prompt larger than the context window is answered with 400."""
    with FakeApi(context_window=100) as api:
        status, error = send(api, request(user([block("a")])))
    assert (status, error["error"]["message"][:18]) == (400, "prompt is too long")


async def test_sdk_gets_an_answer(api: FakeApi, client: anthropic.AsyncAnthropic) -> None:
    """A plain request through the SDK gets a message.

    It is recorded with its key and token counts.
    """
    message = await client.messages.create(
        **request(user([text("I like figs"), text("<ambient>now</ambient>")]))
    )
    said = message.content[0]
    assert said.type == "text"
    assert said.text.startswith('You said: "I like figs".')
    assert message.stop_reason == "end_turn"
    (one,) = api.requests
    assert (one.purpose, one.status, one.answer, one.path) == (
        "chat",
        200,
        said.text,
        "/v1/messages",
    )
    assert one.headers["authorization"] == "Bearer key"
    assert one.usage is not None
    assert one.usage.prompt == one.prompt.tokens == message.usage.input_tokens
    assert 30 < message.usage.output_tokens == one.usage.output_tokens < 70
    assert "now" in one.texts


async def test_sdk_streams(api: FakeApi, client: anthropic.AsyncAnthropic) -> None:
    """A stream brings thinking, text in parts and tool calls.

    It ends with the same token counts.
    """
    api.enqueue(
        "chat",
        Reply("Größe: “ok”. " * 9, (("recall", {"query": "é"}),), thinking="hm", chunk_size=10),
    )
    async with client.messages.stream(**request()) as stream:
        parts = [part async for part in stream.text_stream]
        message = await stream.get_final_message()
    assert len(parts) > 5
    assert "".join(parts) == "Größe: “ok”. " * 9 == api.requests[0].answer
    assert [found.type for found in message.content] == ["thinking", "text", "tool_use"]
    assert message.content[2].to_dict()["input"] == {"query": "é"}
    assert message.stop_reason == "tool_use"
    usage = api.requests[0].usage
    assert usage is not None
    assert (message.usage.input_tokens, message.usage.output_tokens) == (
        usage.input_tokens,
        usage.output_tokens,
    )


async def test_sdk_lists_models(api: FakeApi, client: anthropic.AsyncAnthropic) -> None:
    """The models are listed, and each can be looked up."""
    assert [model.id async for model in client.models.list()] == list(api.models)
    assert (await client.models.retrieve("claude-haiku-5-5")).max_input_tokens == 1_000_000


def test_sdk_finds_it_by_environment(api: FakeApi) -> None:
    """A subprocess is led here by environment variables alone."""
    script = (
        "import os, urllib.request as u\n"
        "q = u.Request(os.environ['ANTHROPIC_BASE_URL'] + '/v1/models')\n"
        "q.add_header('x-api-key', os.environ['ANTHROPIC_API_KEY'])\n"
        "print(u.urlopen(q).status)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], env=os.environ | api.env(), capture_output=True, check=True
    )
    assert done.stdout == b"200\n"


def test_answers_can_be_scripted(api: FakeApi) -> None:
    """Enqueued answers serve once each and in order.

    Then the purpose's own answerer does.
    """
    api.chat = lambda body: f"{len(body['messages'])} messages"
    api.enqueue("chat", "first", lambda _body: Reply("second"))
    said = [send(api, request())[1]["content"][0]["text"] for _ in range(3)]
    assert said == ["first", "second", "1 messages"]


def test_a_failing_answerer_shows(api: FakeApi) -> None:
    """An answerer that raises is answered with 500 and its error."""
    api.enqueue("chat", lambda body: body["nothing"])
    status, error = send(api, request())
    assert status == 500
    assert "KeyError('nothing')" in error["error"]["message"]


def test_respects_max_tokens(api: FakeApi) -> None:
    """A text longer than was asked for is cut, and the stop reason says so."""
    api.enqueue("chat", "x" * 100)
    message = send(api, request(max_tokens=10))[1]
    assert (message["content"][0]["text"], message["stop_reason"]) == ("x" * 40, "max_tokens")
    assert message["usage"]["output_tokens"] == 10


def test_serves_many_at_once(api: FakeApi) -> None:
    """Slow answers overlap, and every request is recorded."""

    async def together() -> None:
        await asyncio.gather(*(asyncio.to_thread(send, api, request()) for _ in range(8)))

    api.chat = lambda _body: Reply("slow", delay=0.1)
    begin = time.monotonic()
    asyncio.run(together())
    assert time.monotonic() - begin < 0.6
    assert len(api.wait_for(8)) == 8


async def test_closes_fast(client: anthropic.AsyncAnthropic, api: FakeApi) -> None:
    """Closing does not wait for a hanging answer, and the client notices at once."""
    api.fail("chat", faults.hang(60))
    waiting = asyncio.create_task(client.messages.create(**request()))
    await asyncio.to_thread(api.wait_for, 1)
    begin = time.monotonic()
    await asyncio.to_thread(api.close)
    with pytest.raises(anthropic.APIConnectionError):
        await waiting
    assert time.monotonic() - begin < 0.5


async def test_counts_clients_that_hang_up(client: anthropic.AsyncAnthropic, api: FakeApi) -> None:
    """A client that leaves in the middle of a stream is noticed."""
    api.enqueue("chat", Reply("a b c d " * 50, chunk_delay=0.02))
    async with client.messages.stream(**request()) as stream:
        async for _part in stream.text_stream:
            break
    for _ in range(100):
        await asyncio.sleep(0.01)
        if api.hang_ups:
            break
    assert api.hang_ups == 1


async def streamed(
    client: anthropic.AsyncAnthropic, parts: list[str] | None = None
) -> tuple[str, anthropic.types.Message]:
    """Stream one reply and return its text with the final message.

    `parts` keeps what came before an error.
    """
    parts = [] if parts is None else parts
    async with client.messages.stream(**request()) as stream:
        async for part in stream.text_stream:
            parts.append(part)
        return "".join(parts), await stream.get_final_message()


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, anthropic.AuthenticationError),
        (403, anthropic.PermissionDeniedError),
        (404, anthropic.NotFoundError),
        (413, anthropic.RequestTooLargeError),
        (429, anthropic.RateLimitError),
        (500, anthropic.InternalServerError),
        (529, anthropic.OverloadedError),
    ],
)
async def test_fault_http(
    api: FakeApi,
    client: anthropic.AsyncAnthropic,
    status: int,
    kind: type[anthropic.APIStatusError],
) -> None:
    """An error status is the SDK's own error with retry-after, and strikes once."""
    api.fail("chat", faults.http(status, retry_after=7))
    with pytest.raises(kind) as caught:
        await client.messages.create(**request())
    assert caught.value.response.headers["retry-after"] == "7"
    await client.messages.create(**request())
    assert [(one.status, one.fault and one.fault.kind,
             one.usage is None) for one in api.requests] == [
        (status, "http", True), (200, None, False),
    ]  # fmt: skip


def test_faults_can_stay_and_be_healed(api: FakeApi) -> None:
    """A fault strikes only its purpose and as often as set.

    Without a number it strikes until healed.
    """
    api.fail("chat", faults.http(500), times=2)
    api.fail("chat", faults.http(529), times=None)
    assert send(api, work("graph", "Hi"))[0] == 200
    assert [send(api, request())[0] for _ in range(4)] == [500, 500, 529, 529]
    assert send(api, request(colour=1))[0] == 400
    api.heal()
    assert send(api, request())[0] == 200


@pytest.mark.parametrize("stream", [True, False])
async def test_fault_drop_before(
    api: FakeApi, client: anthropic.AsyncAnthropic, stream: bool
) -> None:
    """A connection that closes before the response is a connection error."""
    api.fail("chat", faults.drop_before)
    with pytest.raises(anthropic.APIConnectionError):
        await (streamed(client) if stream else client.messages.create(**request()))


async def test_fault_drop_during(api: FakeApi, client: anthropic.AsyncAnthropic) -> None:
    """A stream that breaks off gives its first deltas and then an httpx2 error."""
    api.fail("chat", faults.drop_during(3))
    api.enqueue("chat", Reply("abcdefghij", chunk_size=2))
    parts: list[str] = []
    with pytest.raises(httpx2.RemoteProtocolError):
        await streamed(client, parts)
    assert parts == ["ab", "cd", "ef"]
    assert api.requests[0].answer == "abcdef"


async def test_fault_silent_end(api: FakeApi, client: anthropic.AsyncAnthropic) -> None:
    """A stream that ends silently raises nothing: only the stop reason is missing."""
    api.fail("chat", faults.silent_end(2))
    api.enqueue("chat", Reply("abcdefghij", chunk_size=2))
    said, message = await streamed(client)
    assert (said, message.stop_reason) == ("abcd", None)


async def test_fault_sse_error(api: FakeApi, client: anthropic.AsyncAnthropic) -> None:
    """An error event is a status error with status 200 and the error's type."""
    api.fail("chat", faults.sse_error())
    with pytest.raises(anthropic.APIStatusError) as caught:
        await streamed(client)
    assert caught.value.type == "overloaded_error"
    assert caught.value.status_code == 200


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (faults.drop_during(), anthropic.APIConnectionError),
        (faults.silent_end(), json.JSONDecodeError),
        (faults.sse_error(), anthropic.OverloadedError),
        (faults.garbage(content_type="application/json"), json.JSONDecodeError),
    ],
)
async def test_faults_without_stream(
    api: FakeApi, client: anthropic.AsyncAnthropic, fault: Fault, kind: type[Exception]
) -> None:
    """The faults of streams have their like in plain answers."""
    api.fail("chat", fault)
    with pytest.raises(kind):
        await client.messages.create(**request())
    assert api.requests[0].fault == fault


def test_fault_garbage(api: FakeApi) -> None:
    """Garbage is a 200 that is neither JSON nor events."""
    api.fail("chat", faults.garbage())
    with pytest.raises(json.JSONDecodeError):
        send(api, request(stream=True))
    assert [(one.status, one.usage) for one in api.requests] == [(200, None)]


@pytest.mark.parametrize("said", ["", "I would rather not."])
async def test_fault_refusal(api: FakeApi, client: anthropic.AsyncAnthropic, said: str) -> None:
    """A refusal ends with its stop reason, with some text or none."""
    api.fail("chat", faults.refusal(said), times=2)
    streamed_text, message = await streamed(client)
    plain = await client.messages.create(**request())
    assert streamed_text == said
    assert [found.to_dict()["text"] for found in plain.content] == ([said] if said else [])
    assert plain.stop_reason == message.stop_reason == "refusal"


async def test_fault_max_tokens(api: FakeApi, client: anthropic.AsyncAnthropic) -> None:
    """A reply that was cut off has half its text and says why."""
    api.fail("chat", faults.max_tokens())
    api.enqueue("chat", "abcdefghij")
    said, message = await streamed(client)
    assert (said, message.stop_reason) == ("abcde", "max_tokens")


@pytest.mark.parametrize("after", [None, 2])
async def test_fault_hang(
    api: FakeApi, client: anthropic.AsyncAnthropic, after: int | None
) -> None:
    """An answer that hangs comes whole, but late.

    A timeout of the client's is noticed by it alone.
    """
    api.fail("chat", faults.hang(0.15, after))
    begin = time.monotonic()
    said, message = await streamed(client)
    assert time.monotonic() - begin >= 0.15
    assert (said, message.stop_reason) == (api.requests[0].answer, "end_turn")
    api.fail("chat", faults.hang(30, after))
    with pytest.raises((anthropic.APITimeoutError, httpx2.ReadTimeout)):
        await streamed(client.with_options(timeout=0.1))


def test_what_is_dropped_was_cached(api: FakeApi) -> None:
    """A stream that breaks off has filled the cache.

    A request that was turned down has not.
    """
    body = request(user([block("a"), block("b"), block("c", cache_control=MARK)]))
    api.fail("chat", faults.http(529))
    send(api, body)
    assert figures(api, body)[0] == 0
    api.advance(400)
    api.fail("chat", faults.refusal())
    send(api, body)
    assert figures(api, body)[0] == 3


def test_recorded_is_complete_before_the_answer() -> None:
    """A request is on record by the time its answer arrives, for every purpose."""
    with FakeApi() as api:
        for purpose in INPUT:
            send(api, work(purpose, "Hi"))
            assert api.requests[-1].purpose == purpose


def test_runs_by_hand() -> None:
    """`python -m tests.support.fake_api` prints where it serves."""
    command = [sys.executable, "-m", "tests.support.fake_api"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        process.terminate()
    assert line.startswith("ANTHROPIC_BASE_URL=http://127.0.0.1:")

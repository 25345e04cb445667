"""What can go wrong on the way, and what is kept of a reply then."""

import asyncio
import time
from dataclasses import replace
from email.utils import formatdate

import httpx2
import pytest

from construct.errors import (
    ContextOverflowError,
    ModelBrokenError,
    ModelBusyError,
    ModelError,
    ModelRejectedError,
    ModelUnreachableError,
)
from construct.llm import reply_stream, server_errors
from construct.llm.anthropic_model import AnthropicModel
from construct.llm.reply_stream import ServerStream
from construct.llm.types import Text, WorkRequest
from tests.llm.conftest import KEY, Connect, RawServer, asking, events, status
from tests.support.fake_api import FakeApi, Fault, faults
from tests.support.fake_api import Reply as Answer

STORY = Answer("Once upon a time there was a dog called Rex.", chunk_size=5)
START = '{"type": "message_start", "message": {"usage": {"input_tokens": 7, "output_tokens": 1}}}'
TEXT = (
    '{"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Once"}}'
)
END = (
    '{"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}}'
)


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the pauses between attempts short."""
    monkeypatch.setattr(reply_stream, "FIRST_PAUSE", 0.01)


async def read(stream: ServerStream) -> ModelError | None:
    """Read a stream to its end and return the error that ended it, if any."""
    try:
        async for _ in stream:
            pass
    except ModelError as error:
        return error
    return None


async def failure_of(connect: Connect, *answers: bytes) -> ModelError | None:
    """Return how a call ends that is answered so."""
    async with RawServer(list(answers)) as url:
        return await read(connect(url).stream(asking()))


async def test_broken_connection(api: FakeApi, model: AnthropicModel) -> None:
    """A connection that breaks after some words is an error.

    The words and the counts so far are kept.
    """
    api.fail("chat", faults.drop_during(after=3))
    api.enqueue("chat", STORY)
    stream = model.stream(asking())
    assert isinstance(await read(stream), ModelBrokenError)
    assert stream.reply.text == "Once upon a tim"
    assert stream.reply.blocks == [Text("Once upon a tim")]
    assert stream.reply.stop_reason is None
    assert stream.reply.usage.input_tokens > 0
    assert len(api.requests) == 1


async def test_error_event(api: FakeApi, model: AnthropicModel) -> None:
    """An error that comes after some words, as an event, is that kind of error.

    The words are kept.
    """
    api.fail("chat", faults.sse_error(after=3))
    api.enqueue("chat", STORY)
    stream = model.stream(asking())
    assert isinstance(await read(stream), ModelBusyError)
    assert (stream.reply.text, stream.reply.stop_reason) == ("Once upon a tim", None)
    assert len(api.requests) == 1


async def test_silent_end(api: FakeApi, model: AnthropicModel) -> None:
    """A stream that just ends raises nothing; that the stop reason is None tells."""
    api.fail("chat", faults.silent_end(after=3))
    api.enqueue("chat", STORY)
    stream = model.stream(asking())
    assert await read(stream) is None
    assert (stream.reply.text, stream.reply.stop_reason) == ("Once upon a tim", None)


async def test_broken_after_the_end(connect: Connect) -> None:
    """A connection that breaks when the stop reason had come has broken nothing."""
    broken = events(START, TEXT, END, "garbage")
    async with RawServer([broken]) as url:
        stream = connect(url).stream(asking())
        assert await read(stream) is None
    assert (stream.reply.text, stream.reply.stop_reason) == ("Once", "end_turn")


async def test_cancelling(api: FakeApi, model: AnthropicModel) -> None:
    """Cancelling ends at once, hangs up, and keeps what has come."""
    api.enqueue("chat", Answer("word " * 200, chunk_size=5, chunk_delay=0.02))
    stream = model.stream(asking())
    task = asyncio.create_task(read(stream))
    while len(stream.reply.text) < 20:
        await asyncio.sleep(0.01)
    began = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - began < 0.3
    assert stream.reply.text.startswith("word word")
    assert stream.reply.blocks == [Text(stream.reply.text)]
    assert stream.reply.stop_reason is None
    while not api.hang_ups:
        await asyncio.sleep(0.01)


async def test_leaving_a_stream(api: FakeApi, model: AnthropicModel) -> None:
    """Whoever has heard enough closes the stream; what had come is kept."""
    api.enqueue("chat", STORY)
    stream = model.stream(asking())
    async for _ in stream:
        break
    await stream.aclose()
    assert stream.reply.blocks == [Text("Once ")]


@pytest.mark.parametrize(
    "fault",
    [
        faults.http(529),
        faults.http(500),
        faults.http(408),
        faults.drop_before(),
        faults.sse_error(after=0),
    ],
)
async def test_passing_trouble_passes(api: FakeApi, model: AnthropicModel, fault: Fault) -> None:
    """What goes wrong before the first word is tried again, twice.

    In a few words it is told each time.
    """
    told: list[str] = []
    api.fail("chat", fault, times=2)
    api.enqueue("chat", *[STORY] * 3)
    stream = model.stream(replace(asking(), on_retry=told.append))
    assert await read(stream) is None
    assert stream.reply.stop_reason == "end_turn"
    assert len(api.requests) == 3
    assert len(told) == 2
    assert not any(mark in why for why in told for mark in ("\n", "(", "Try again", "Check"))


async def test_lasting_trouble_is(api: FakeApi, model: AnthropicModel) -> None:
    """After the third attempt the error comes out."""
    api.fail("chat", faults.http(529), times=None)
    error = await read(model.stream(asking()))
    assert isinstance(error, ModelBusyError)
    assert "Try again in a minute" in str(error)
    assert len(api.requests) == 3


@pytest.mark.parametrize(
    ("after", "words"), [("3600", "1 hour"), ("90", "2 minutes"), ("date", "2 hours")]
)
async def test_a_long_wait_is_not_waited(connect: Connect, after: str, words: str) -> None:
    """A server that wants to be left alone for long is.

    The error comes at once and says for how long.
    """
    after = formatdate(time.time() + 7200, usegmt=True) if after == "date" else after
    began = time.monotonic()
    error = await failure_of(connect, status(429, retry_after=after))
    assert isinstance(error, ModelBusyError)
    assert f"Try again in {words}." in str(error)
    assert time.monotonic() - began < 3


async def test_a_short_wait_is(connect: Connect) -> None:
    """A pause of a moment, if told to the millisecond, is kept to."""
    began = time.monotonic()
    assert (
        await failure_of(connect, status(429, retry_after_ms="200"), events(START, TEXT, END))
        is None
    )
    assert time.monotonic() - began > 0.2


async def test_the_server_may_forbid_another_try(connect: Connect) -> None:
    """`x-should-retry: false` is obeyed."""
    assert isinstance(
        await failure_of(connect, status(529, x_should_retry="false")), ModelBusyError
    )


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (
            status(401, '{"error": {"message": "invalid x-api-key"}}'),
            ModelRejectedError,
            "Check ANTHROPIC_API_KEY",
        ),
        (status(403), ModelRejectedError, "Check ANTHROPIC_API_KEY"),
        (status(402), ModelRejectedError, "billing"),
        (
            status(404),
            ModelRejectedError,
            "'claude-sonnet-5-5'. Check CONSTRUCT_MODEL and ANTHROPIC_BASE_URL",
        ),
        (
            status(400, '{"error": {"message": "credit balance is too low"}}'),
            ModelRejectedError,
            "credit balance",
        ),
        (status(400, "\x1b[31mno\u202e"), ModelRejectedError, "(no)"),
        (status(422, '{"error": "words"}'), ModelRejectedError, "(words)"),
        (status(413), ContextOverflowError, "more than claude-sonnet-5-5 can read"),
        (
            status(400, '{"error": {"message": "prompt is too long: 9 > 8"}}'),
            ContextOverflowError,
            "9 > 8",
        ),
        (
            status(400, '{"error": {"message": "the request exceeds the available context size"}}'),
            ContextOverflowError,
            "more than",
        ),
        (
            events('{"type": "error", "error": {"type": "authentication_error"}}'),
            ModelRejectedError,
            "rejected the key",
        ),
        (
            events('{"type": "error", "error": {"type": "billing_error"}}'),
            ModelRejectedError,
            "billing",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_what_asking_again_will_not_change(
    connect: Connect, answer: bytes, kind: type[ModelError], words: str
) -> None:
    """A rejected request is sent once, and the error says what to check.

    Its text is safe to print on a terminal.
    """
    error = await failure_of(connect, answer)
    assert type(error) is kind
    assert words in str(error)
    assert str(error).isprintable()


NO_ANSWERS = {
    "nothing": b"",
    "not HTTP": b"not HTTP\r\n\r\n",
    "a page": status(
        200, "<html>Welcome to the hotel's wireless network</html>", content_type="text/html"
    ),
    "no stream": status(200, '{"type": "message", "content": []}', content_type="application/json"),
    "not JSON": events("[DONE]"),
    "no object": events("5"),
    "nested too deeply": events("[" * 200_000),
    "no error": events('{"type": "error", "error": null}'),
    "not text": events(START) + b"data: \xff\xff\n\n",
    "an error page": status(500, "<html>oops</html>"),
}


@pytest.mark.parametrize("answer", NO_ANSWERS.values(), ids=NO_ANSWERS.keys())
async def test_what_is_no_answer(connect: Connect, answer: bytes) -> None:
    """Anything that is not a model's answer is an error with a suggestion."""
    error = await failure_of(connect, answer, answer, answer)
    assert isinstance(error, ModelBrokenError)
    assert "Try again" in str(error) or "ANTHROPIC_BASE_URL" in str(error)
    assert "<" not in str(error)


async def test_nobody_answers(connect: Connect) -> None:
    """A server that is not there is unreachable.

    The error names it, without the password in its address.
    """
    error = await read(connect("http://user:geheim@127.0.0.1:9").stream(asking()))
    assert isinstance(error, ModelUnreachableError)
    assert "127.0.0.1:9 cannot be reached" in str(error)
    assert "ANTHROPIC_BASE_URL" in str(error)
    assert "geheim" not in str(error)


async def test_a_network_that_swallows_everything(
    model: AnthropicModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A connection that times out is not tried again.

    A second try would take as long once more.
    """
    attempts = 0

    async def give_up(_: object) -> None:
        nonlocal attempts
        attempts += 1
        raise httpx2.ConnectTimeout("")

    monkeypatch.setattr(model, "send", give_up)
    error = await read(model.stream(asking()))
    assert isinstance(error, ModelUnreachableError)
    assert "it took too long" in str(error)
    assert attempts == 1


async def test_silence_is_not_endured_twice(
    api: FakeApi, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that takes the request and says nothing is asked only once."""
    monkeypatch.setattr(server_errors, "ANSWER_SECONDS", 0.3)
    api.fail("chat", faults.hang(30), times=None)
    error = await read(connect(api.url).stream(asking()))
    assert isinstance(error, ModelUnreachableError)
    assert "silent" in str(error)
    assert len(api.requests) == 1


async def test_silence_in_the_middle(
    api: FakeApi, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stream that stops without ending is given up on; the words are kept."""
    monkeypatch.setattr(server_errors, "ANSWER_SECONDS", 0.3)
    api.fail("chat", faults.hang(30, after=2))
    api.enqueue("chat", STORY)
    stream = connect(api.url).stream(asking())
    assert isinstance(await read(stream), ModelUnreachableError)
    assert stream.reply.text.startswith("Once ")


@pytest.mark.parametrize("code", [400, 401, 403, 404, 429, 500])
async def test_no_key_in_a_message(connect: Connect, code: int) -> None:
    """A server that quotes the key, or another that looks like one, is not quoted."""
    said = f'{{"error": {{"message": "bad key {KEY} or sk-ant-api03-abcdefgh"}}}}'
    error = await failure_of(connect, *[status(code, said, retry_after="99")] * 3)
    assert "bad key [key] or [key]" in str(error)
    assert KEY not in f"{error} {error!r}"


@pytest.mark.parametrize("key", ["sk-ant-ключ", "sk-ant-0 1", "sk-ant\n"])
async def test_a_key_that_cannot_be_sent(api: FakeApi, key: str) -> None:
    """A key with characters no key has is not sent, nor shown."""
    error = await read(AnthropicModel("m", api_key=key, base_url=api.url).stream(asking()))
    assert isinstance(error, ModelRejectedError)
    assert key not in str(error)
    assert api.requests == []


@pytest.mark.parametrize(
    ("fault", "trouble"),
    [
        (faults.silent_end(), "The server at HOST broke off its answer."),
        (faults.drop_during(), "The connection to HOST was lost."),
        (faults.sse_error(), "The server at HOST is busy."),
    ],
)
async def test_half_a_worker_answer_is_kept(
    api: FakeApi, model: AnthropicModel, fault: Fault, trouble: str
) -> None:
    """The part of a broken-off answer that arrived is kept.

    Its tokens and the reason are kept with it.
    """
    api.fail("chat", fault)
    api.enqueue("chat", STORY)
    reply = await model.complete(WorkRequest("Tell.", "A story, please."))
    assert (reply.text, reply.stop_reason) == ("Once upon ", None)
    assert reply.trouble == trouble.replace("HOST", model.end.host)
    assert reply.usage.input_tokens > 0
    assert reply.usage.output_tokens >= 3
    assert len(api.requests) == 1


async def test_a_worker_that_says_nothing_is_an_error(api: FakeApi, model: AnthropicModel) -> None:
    """When not even the beginning of an answer arrives, the error is raised."""
    api.fail("chat", faults.http(529), times=None)
    with pytest.raises(ModelBusyError):
        await model.complete(WorkRequest("Tell.", "A story, please."))


async def test_a_hopeless_answer_is_stopped(api: FakeApi, model: AnthropicModel) -> None:
    """An answer is judged at each line end, and a reason to stop ends the call."""
    seen: list[str] = []

    def hopeless(begun: str) -> str | None:
        seen.append(begun)
        return "It goes in circles." if begun.count("again") > 2 else None

    api.enqueue("chat", Answer("once\nagain and " * 200, chunk_size=5, chunk_delay=0.001))
    reply = await model.complete(WorkRequest("Tell.", "A story, please.", hopeless=hopeless))
    assert reply.trouble == "It goes in circles."
    assert reply.stop_reason is None
    assert len(seen) == 4
    assert reply.text == seen[-1]
    while not api.hang_ups:
        await asyncio.sleep(0.01)


async def test_a_line_that_does_not_end_is_judged_too(api: FakeApi, model: AnthropicModel) -> None:
    """An answer without a line end is judged as well, now and then."""
    api.enqueue("chat", "again " * 2_000)
    reply = await model.complete(WorkRequest("Tell.", "A story, please.", hopeless=lambda _: "No."))
    assert reply.trouble == "No."


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.2, "1 second"),
        (59, "59 seconds"),
        (60, "1 minute"),
        (61, "2 minutes"),
        (3600, "1 hour"),
        (3601, "2 hours"),
    ],
)
def test_times_in_words(seconds: float, words: str) -> None:
    """A wait is rounded up, in the largest unit that fits."""
    assert server_errors.in_words(seconds) == words


@pytest.mark.parametrize("said", ["", "soon", "nan", "inf", "-5", "Mon, 01 Jan 99999 00:00:00 GMT"])
def test_waits_that_make_no_sense(said: str) -> None:
    """A `retry-after` that is no time is as if it were not there."""
    assert server_errors.retry_after({"retry-after": said}) is None

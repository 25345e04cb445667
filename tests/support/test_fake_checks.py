"""What the fake rejects."""

import pytest

from tests.support.bodies import (
    CALL,
    HOUR,
    MARK,
    RESULT,
    TOOL,
    assistant,
    request,
    send,
    text,
    user,
)
from tests.support.fake_api import FakeApi
from tests.support.fake_types import Json

REJECTED: dict[str, tuple[Json, str]] = {
    "an unknown parameter": (request(colour="red"), "colour: Extra inputs"),
    "temperature": (request(temperature=0.5), "`temperature` is not supported"),
    "top_p": (request(top_p=0.5), "`top_p` is not supported"),
    "top_k": (request(top_k=5), "`top_k` is not supported"),
    "no model": ({"max_tokens": 5, "messages": [user("Hi")]}, "model: Field required"),
    "no max_tokens": ({"model": "m", "messages": [user("Hi")]}, "max_tokens: Field required"),
    "no messages": ({"model": "m", "max_tokens": 5}, "messages: Field required"),
    "a negative max_tokens": (request(max_tokens=-1), "max_tokens"),
    "an enormous max_tokens": (request(max_tokens=1_000_000), "max_tokens"),
    "empty messages": ({"model": "m", "max_tokens": 5, "messages": []}, "at least one message"),
    "the assistant first": (request(assistant("Hi"), user("Hi")), "first message"),
    "the assistant last": (request(user("Hi"), assistant("{")), "prefill"),
    "an unknown role": (request({"role": "system", "content": "Hi"}), "Unexpected role"),
    "an unknown message key": (request({**user("Hi"), "name": "Ann"}), "messages.0.name"),
    "two user messages in a row": (request(user("a"), user("b")), "alternate"),
    "two assistant messages in a row": (
        request(user("a"), assistant("b"), assistant("c"), user("d")),
        "alternate",
    ),
    "an unknown block": (request(user([{"type": "video", "url": "x"}])), "'video'"),
    "a block that is no object": (request(user(["Hi"])), "should be an object"),
    "a user's tool call": (request(user([CALL])), "'tool_use'"),
    "an unknown block key": (request(user([text("Hi", id=1)])), "messages.0.content.0.id"),
    "a text that is a number": (request(user([{"type": "text", "text": 5}])), "valid str"),
    "empty content": (request(user("")), "non-empty content"),
    "no blocks": (request(user([])), "non-empty content"),
    "an empty text": (request(user([text("")])), "must be non-empty"),
    "a blank text": (request(user([text(" \n\t")])), "non-whitespace"),
    "a blank string": (request(user("  ")), "non-whitespace"),
    "a blank reply": (request(user("a"), assistant([text(" ")]), user("b")), "non-whitespace"),
    "thinking last": (
        request(
            user("a"),
            assistant([{"type": "thinking", "thinking": "h", "signature": "s"}]),
            user("b"),
        ),
        "cannot be `thinking`",
    ),
    "a blank system": (request(system=" "), "system: text content blocks"),
    "a blank system block": (request(system=[text("")]), "system.0"),
    "a system block that is no text": (request(system=[RESULT]), "system.0.type"),
    "five breakpoints": (
        request(
            user([text(str(n), cache_control=MARK) for n in range(4)]),
            system=[text("s", cache_control=MARK)],
        ),
        "Found 5",
    ),
    "a fifth breakpoint at the top": (
        request(
            user([*(text(str(n), cache_control=MARK) for n in range(4)), text("5")]),
            cache_control=MARK,
        ),
        "Found 5",
    ),
    "another kind of cache_control": (
        request(user([text("a", cache_control={"type": "for ever"})])),
        "'ephemeral'",
    ),
    "another ttl": (
        request(user([text("a", cache_control={**MARK, "ttl": "2h"})])),
        "'5m' or '1h'",
    ),
    "an unknown key in cache_control": (
        request(user([text("a", cache_control={**MARK, "x": 1})])),
        "cache_control.x",
    ),
    "a long life after a short one": (
        request(user([text("a", cache_control=HOUR)]), system=[text("s", cache_control=MARK)]),
        "must not come after",
    ),
    "a mark inside a tool result": (
        request(
            user("a"),
            assistant([CALL]),
            user([{**RESULT, "content": [text("b", cache_control=MARK)]}]),
            tools=[TOOL],
        ),
        "inside a block",
    ),
    "a call without result": (
        request(user("a"), assistant([CALL]), user("b")),
        "without `tool_result`",
    ),
    "a result too late": (
        request(user("a"), assistant([CALL]), user("b"), assistant("c"), user([RESULT])),
        "without `tool_result`",
    ),
    "a result without call": (request(user([RESULT])), "unexpected `tool_use_id`"),
    "a result after text": (
        request(user("a"), assistant([CALL]), user([text("b"), RESULT])),
        "come first",
    ),
    "two results of one call": (
        request(user("a"), assistant([CALL]), user([RESULT, RESULT])),
        "single result",
    ),
    "one id for two calls": (request(user("a"), assistant([CALL, CALL]), user([RESULT])), "unique"),
    "one id in two rounds": (
        request(user("a"), assistant([CALL]), user([RESULT]), assistant([CALL]), user([RESULT])),
        "unique",
    ),
    "two tools of one name": (request(tools=[TOOL, TOOL]), "unique"),
    "a tool name with a blank": (request(tools=[{**TOOL, "name": "look up"}]), "pattern"),
    "a tool without schema": (request(tools=[{"name": "x"}]), "input_schema"),
    "an unknown tool key": (request(tools=[{**TOOL, "cost": 1}]), "tools.0.cost"),
    "any tool forced": (request(tools=[TOOL], tool_choice={"type": "any"}), "forced"),
    "one tool forced": (
        request(tools=[TOOL], tool_choice={"type": "tool", "name": "recall"}),
        "forced",
    ),
    "a tool choice without tools": (request(tool_choice={"type": "auto"}), "while providing tools"),
    "a thinking budget": (
        request(thinking={"type": "enabled", "budget_tokens": 2000}),
        "budget_tokens",
    ),
    "stream as a word": (request(stream="yes"), "stream"),
    "a metadata key": (request(metadata={"name": "x"}), "metadata.name"),
    "a diagnostics key": (request(diagnostics={"why": "x"}), "diagnostics.why"),
    "structured output": (
        request(output_config={"format": {"type": "json_schema"}}),
        "output_config: Extra inputs",
    ),
    "an effort": (request(output_config={"effort": "low"}), "output_config: Extra inputs"),
    "a strict tool": (request(tools=[{**TOOL, "strict": True}]), "tools.0.strict"),
}


@pytest.mark.parametrize(("body", "says"), REJECTED.values(), ids=REJECTED.keys())
def test_rejects(api: FakeApi, body: Json, says: str) -> None:
    """What the API would reject is answered with 400 and a reason, and recorded."""
    status, error = send(api, body)
    assert (status, error["type"], error["error"]["type"]) == (
        400,
        "error",
        "invalid_request_error",
    )
    assert says in error["error"]["message"]
    assert error["request_id"]
    assert [(one.status, one.error) for one in api.requests] == [(400, error["error"]["message"])]


def test_accepts_all_that_is_allowed(api: FakeApi) -> None:
    """A request with every allowed parameter and four breakpoints is answered.

    The long-lived breakpoints come first.
    """
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    body = request(
        user([text("a")]),
        assistant([thought, text("b"), CALL, {**CALL, "id": "t2"}]),
        user(
            [
                {**RESULT, "tool_use_id": "t2", "content": [text("x")]},
                {**RESULT, "cache_control": MARK},
                text("c"),
            ]
        ),
        system=[text("s", cache_control=HOUR), text("t", cache_control=None)],
        tools=[{**TOOL, "cache_control": HOUR}],
        tool_choice={"type": "auto"},
        metadata={"user_id": "u"},
        stop_sequences=["END"],
        stream=False,
        thinking={"type": "adaptive"},
        service_tier="auto",
        container=None,
        diagnostics={"previous_message_id": None},
        cache_control=MARK,
        inference_geo=None,
        speed="standard",
    )
    assert send(api, body)[0] == 200


@pytest.mark.parametrize("raw", [b"{", b"\xff", b"[]", b'{"model": "\\ud800"}'])
def test_rejects_what_is_no_json(api: FakeApi, raw: bytes) -> None:
    """A body that is no JSON object, or no valid Unicode, is answered with 400."""
    assert send(api, raw)[0] == 400

"""Requests for the fake, and a way to send them by hand."""

import http.client
import json

from tests.support.fake_api import FakeApi
from tests.support.fake_types import Json, Worker

MARK = {"type": "ephemeral"}
HOUR = {"type": "ephemeral", "ttl": "1h"}
SIZE = 400
"""Tokens of a text block made by `block`, about."""


CALL = {"type": "tool_use", "id": "t1", "name": "recall", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "found"}
TOOL = {"name": "recall", "description": "Look it up.", "input_schema": {"type": "object"}}


def user(content: object) -> Json:
    """Return a user message."""
    return {"role": "user", "content": content}


def assistant(content: object) -> Json:
    """Return an assistant message."""
    return {"role": "assistant", "content": content}


def text(words: str, **more: object) -> Json:
    """Return a text block."""
    return {"type": "text", "text": words, **more}


def block(name: str, **more: object) -> Json:
    """Return a text block of about `SIZE` tokens."""
    return text(f"{name} ".ljust(SIZE * 4, "x"), **more)


def request(*messages: Json, **more: object) -> Json:
    """Return the body of a request, a greeting without messages."""
    return {
        "model": "claude-sonnet-5-5",
        "max_tokens": 1000,
        "messages": list(messages) or [user("Hello")],
        **more,
    }


INPUT: dict[Worker, str] = {
    "observer": "<transcript>\n{}\n</transcript>",
    "reflector": "<notes>\n{}\n</notes>",
    "verifier": '<group n="1" is="line">\n{}\n=> {}\n</group>',
    "graph": "<memories>\n{}\n</memories>",
}


def work(purpose: Worker, words: str) -> Json:
    """Return a request to a worker, with the words between its tags."""
    return request(user(INPUT[purpose].replace("{}", words)))


def send(
    api: FakeApi, body: object, *, path: str = "/v1/messages", **headers: str
) -> tuple[int, Json]:
    """Send one request by hand and return the status and the JSON of the answer."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    connection = http.client.HTTPConnection(api.url.removeprefix("http://"), timeout=5)
    try:
        connection.request("POST" if body else "GET", path, raw, headers or {"x-api-key": "key"})
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def answer(api: FakeApi, body: Json) -> str:
    """Return the text of an answer."""
    status, message = send(api, body)
    assert status == 200, message
    return str(message["content"][0]["text"])


def figures(api: FakeApi, body: Json) -> tuple[int, int, int]:
    """Send a request and return what was read, written and neither, in whole blocks."""
    status, message = send(api, body)
    assert status == 200, message
    usage = message["usage"]
    names = ("cache_read_input_tokens", "cache_creation_input_tokens", "input_tokens")
    read, written, neither = (round(usage[name] / SIZE) for name in names)
    return read, written, neither

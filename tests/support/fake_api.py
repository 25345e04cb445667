"""A strict fake of the Anthropic Messages API, or of OpenAI's protocol, on 127.0.0.1.

    with FakeApi() as api:
        api.enqueue("chat", "Hello.")
        ...  # a client with base_url=api.url, or a subprocess with api.env()

By hand: `python -m tests.support.fake_api --port 8080`.
"""

import argparse
import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import count
from types import TracebackType
from typing import Any, Literal, Self

from tests.support import fake_adversarial as adversarial
from tests.support import fake_faults as faults
from tests.support import fake_openai as openai
from tests.support.fake_cache import CacheReport, Prompt, PromptCache, read_prompt, report
from tests.support.fake_checks import check
from tests.support.fake_faults import Fault, Sending
from tests.support.fake_messages import RejectedError
from tests.support.fake_request import Recorded, RefusedError, Request, authenticate, parse
from tests.support.fake_script import Script
from tests.support.fake_server import Server
from tests.support.fake_types import Json, Purpose, Reply, Search, Usage, purpose_of, to_reply
from tests.support.fake_wire import (
    Message,
    cut,
    error_body,
    events_of,
    message_json,
    output_tokens,
    text_of,
)

__all__ = [
    "CacheReport",
    "FakeApi",
    "Fault",
    "Recorded",
    "Reply",
    "Search",
    "Usage",
    "adversarial",
    "faults",
]


class FakeApi(Script):
    """The server with its script, its cache and its record.

    It runs from the moment it is made until `close`.
    """

    def __init__(
        self,
        port: int = 0,
        *,
        cache_minimum: int = 1024,
        context_window: int = 1_000_000,
        protocol: Literal["anthropic", "openai"] = "anthropic",
    ) -> None:
        super().__init__()
        self.protocol = protocol
        self.clock: Callable[[], float] = time.monotonic
        self.cache_minimum = cache_minimum
        self.context_window = context_window
        self.models: tuple[str, ...] = ("claude-sonnet-5-5", "claude-haiku-5-5", "claude-opus-5-5")
        self.requests: list[Recorded] = []
        self._changed = threading.Condition()
        self._ids = count(1)
        self._advanced = 0.0
        self._cache = PromptCache()
        self._server = Server(self._handle, port)

    @property
    def url(self) -> str:
        """Return the base URL for a client."""
        return f"http://127.0.0.1:{self._server.port}"

    @property
    def hang_ups(self) -> int:
        """Return how many clients went away before their answer was complete."""
        return self._server.hang_ups

    def env(self, key: str = "test-key") -> dict[str, str]:
        """Return the environment variables that lead a subprocess here."""
        if self.protocol == "anthropic":
            return {"ANTHROPIC_BASE_URL": self.url, "ANTHROPIC_API_KEY": key}
        return {
            "CONSTRUCT_PROVIDER": "openai",
            "OPENAI_BASE_URL": f"{self.url}/v1",
            "OPENAI_API_KEY": key,
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop at once: waits end, connections are closed."""
        self._server.stop()

    def now(self) -> float:
        """Return the time the cache goes by."""
        return self.clock() + self._advanced

    def advance(self, seconds: float) -> None:
        """Move the cache's time on."""
        with self._changed:
            self._advanced += seconds

    def of(self, purpose: Purpose) -> list[Recorded]:
        """Return the recorded requests of one purpose."""
        with self._changed:
            return [one for one in self.requests if one.purpose == purpose]

    def wait_for(
        self, number: int, purpose: Purpose = "chat", timeout: float = 5.0
    ) -> list[Recorded]:
        """Wait until so many requests of a purpose are recorded and return them.

        Raise TimeoutError otherwise.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: len(self.of(purpose)) >= number, timeout):
                raise TimeoutError(f"{len(self.of(purpose))} of {number} {purpose} requests came")
            return self.of(purpose)

    def cache_report(self, purpose: Purpose = "chat") -> CacheReport:
        """Sum up how the answered requests of a purpose used the cache."""
        answered = [(one.prompt, one.usage) for one in self.of(purpose) if one.usage is not None]
        return report(answered, self.cache_minimum)

    def _handle(self, method: str, path: str, headers: Mapping[str, str], raw: bytes) -> Sending:
        """Decide what one request is answered with, and record both."""
        request = Request(
            time.time(), method, path.partition("?")[0], headers, f"req_{next(self._ids):06d}"
        )
        body = parse(raw)
        is_openai = self.protocol == "openai"
        if is_openai and request.path == "/v1/chat/completions" and isinstance(body, dict):
            try:
                body = openai.translated(body)
            except RejectedError as error:
                body = RefusedError(400, str(error))
        if request.path == self._path and method == "POST":
            known = {} if isinstance(body, RefusedError) else body
            request = replace(request, body=known, purpose=purpose_of(known))
        try:
            (openai.authenticate if is_openai else authenticate)(headers)
            if request.purpose == "other":
                return self._models(request)
            return (
                self._turn_down(request, body)
                if isinstance(body, RefusedError)
                else self._messages(request)
            )
        except RefusedError as refused:
            return self._turn_down(request, refused)
        except Exception as error:  # noqa: BLE001 - a script that fails must not look like a lost connection
            return self._turn_down(
                request, RefusedError(500, f"the fake or its script failed: {error!r}")
            )

    @property
    def _path(self) -> str:
        return "/v1/chat/completions" if self.protocol == "openai" else "/v1/messages"

    def _messages(self, request: Request) -> Sending:
        prompt = self._checked(request.body)
        fault = self.next_fault(request.purpose)
        if fault is None or not fault.unanswered:
            return self._answer(request, prompt, fault)
        sending = self._spoken(faults.unanswered(fault, request.id))
        self._record(request, sending.status, fault=fault, prompt=prompt)
        return sending

    def _checked(self, body: Json) -> Prompt:
        try:
            check(body)
        except RejectedError as error:
            raise RefusedError(400, str(error)) from None
        prompt = read_prompt(body)
        if prompt.tokens > self.context_window:
            raise RefusedError(
                400, f"prompt is too long: {prompt.tokens} tokens > {self.context_window} maximum"
            )
        return prompt

    def _answer(self, request: Request, prompt: Prompt, fault: Fault | None) -> Sending:
        body = request.body
        reply = cut(to_reply(self.answer(request.purpose, body)), body["max_tokens"])
        reply = faults.on_reply(fault, reply)
        with self._changed:
            usage = self._cache.use(prompt, self.now(), self.cache_minimum)
        searches = len(reply.searches)
        usage = replace(usage, output_tokens=output_tokens(reply), web_searches=searches)
        message = Message(request.id.replace("req_", "msg_"), body["model"], reply, usage)
        sending = self._spoken(
            faults.on_sending(
                fault, _answered(message, request.id, stream=bool(body.get("stream"))), request.id
            )
        )
        sent = reply.text if sending.events is None else text_of(sending.events)
        self._record(request, sending.status, fault=fault, prompt=prompt, answer=sent, usage=usage)
        return sending

    def _spoken(self, sending: Sending) -> Sending:
        """Return what is sent in the protocol that this server speaks."""
        if self.protocol == "anthropic":
            return sending
        if sending.events is not None:
            return replace(sending, encode=openai.ChunkEncoder())
        if sending.status < 400:
            return sending
        message = json.loads(sending.body)["error"]["message"]
        body = json.dumps(openai.error_body(sending.status, message)).encode()
        return replace(sending, body=body)

    def _models(self, request: Request) -> Sending:
        listed = {f"/v1/models/{name}": self._model(name) for name in self.models}
        page = {
            "data": [*listed.values()],
            "has_more": False,
            "first_id": self.models[0],
            "last_id": self.models[-1],
        }
        value = page if request.path == "/v1/models" else listed.get(request.path)
        if value is None or request.method != "GET":
            raise RefusedError(404, f"Not found: {request.method} {request.path}")
        self._record(request, 200)
        return _json(200, value, request.id)

    def _model(self, name: str) -> Json:
        if self.protocol == "openai":  # with the window, as OpenRouter lists it
            listed = {"id": name, "object": "model", "created": 1, "owned_by": "fake"}
            return listed | {"context_length": self.context_window}
        return {
            "type": "model",
            "id": name,
            "display_name": name.replace("-", " ").title(),
            "created_at": "2026-06-01T00:00:00Z",
            "lifecycle": "active",
            "max_input_tokens": self.context_window,
            "max_tokens": 128_000,
        }

    def _turn_down(self, request: Request, refused: RefusedError) -> Sending:
        self._record(request, refused.status, error=refused.message)
        body = error_body(refused.status, refused.message, request.id)
        return self._spoken(_json(refused.status, body, request.id))

    def _record(self, request: Request, status: int, **what: Any) -> None:
        one = Recorded(
            request.time,
            request.path,
            request.body,
            request.purpose,
            request.headers,
            status,
            **what,
        )
        with self._changed:
            self.requests.append(one)
            self._changed.notify_all()


def _json(status: int, value: Json, request_id: str) -> Sending:
    headers = {"content-type": "application/json", "request-id": request_id}
    return Sending(status, headers, json.dumps(value).encode())


def _answered(message: Message, request_id: str, *, stream: bool) -> Sending:
    reply = message.reply
    if not stream:
        return replace(_json(200, message_json(message), request_id), delay=reply.delay)
    headers = {"content-type": "text/event-stream; charset=utf-8", "request-id": request_id}
    return Sending(
        200, headers, events=events_of(message), delay=reply.delay, chunk_delay=reply.chunk_delay
    )


def main() -> None:
    """Serve until interrupted, a line a request."""
    parser = argparse.ArgumentParser(description="A strict fake of the Anthropic Messages API.")
    parser.add_argument("--port", type=int, default=0)
    with FakeApi(parser.parse_args().port) as api:
        print(f"ANTHROPIC_BASE_URL={api.url} ANTHROPIC_API_KEY=test-key", flush=True)
        seen = 0
        try:
            while True:
                time.sleep(0.2)
                for one in api.requests[seen:]:
                    seen += 1
                    print(
                        f"{one.status} {one.path} {one.purpose} {one.usage or one.error}",
                        flush=True,
                    )
        except KeyboardInterrupt:
            return


if __name__ == "__main__":
    main()

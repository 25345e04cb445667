"""What can go wrong between the API and a client.

Each fault is a value that a test hands to `FakeApi.fail`.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

from tests.support.fake_types import Reply
from tests.support.fake_wire import Event, encode, error_body, is_delta

Kind = Literal[
    "http",
    "drop_before",
    "drop_during",
    "silent_end",
    "sse_error",
    "garbage",
    "refusal",
    "max_tokens",
    "hang",
]

_MESSAGES = {
    401: "invalid x-api-key",
    403: "Your API key does not have permission to use the specified resource.",
    404: "model: not found",
    413: "Request exceeds the maximum size",
    429: "This request would exceed your rate limit.",
    500: "Internal server error",
    529: "Overloaded",
}


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that goes wrong; made by the functions below."""

    kind: Kind
    status: int = 200
    retry_after: float | None = None
    after: int | None = None
    """How many deltas go out before it happens."""
    text: str = ""
    share: float = 1.0
    """How much of the text is kept."""
    content_type: str = ""
    error_type: str = ""
    seconds: float = 0.0

    @property
    def unanswered(self) -> bool:
        """Tell whether the model is never asked.

        Then no answer is used up, and nothing is cached or billed.
        """
        return self.kind in ("http", "drop_before", "garbage")


def http(status: int, retry_after: float | None = None, text: str = "") -> Fault:
    """Answer with an error status, the API's error JSON, and maybe `retry-after`.

    `text` is the error's message, if it is not the API's usual one.
    """
    return Fault("http", status=status, retry_after=retry_after, text=text)


def drop_before() -> Fault:
    """Close the connection before any byte of the response."""
    return Fault("drop_before")


def drop_during(after: int = 2) -> Fault:
    """Close the connection after some deltas, without a final chunk.

    In the middle of a JSON body.
    """
    return Fault("drop_during", after=after)


def silent_end(after: int = 2) -> Fault:
    """End the stream after some deltas, without `message_delta` and `message_stop`.

    The connection is closed properly. A JSON body is cut short.
    """
    return Fault("silent_end", after=after)


def sse_error(after: int = 2, error_type: str = "overloaded_error") -> Fault:
    """Send an `error` event after some deltas; 529 when the request does not stream."""
    return Fault("sse_error", after=after, error_type=error_type)


def garbage(
    text: str = "<html><body>Welcome to the hotel's wireless network</body></html>",
    content_type: str = "text/html",
) -> Fault:
    """Answer 200 with a text that is neither JSON nor events."""
    return Fault("garbage", text=text, content_type=content_type)


def refusal(text: str = "") -> Fault:
    """Answer with stop reason `refusal` and this text."""
    return Fault("refusal", text=text)


def max_tokens(share: float = 0.5) -> Fault:
    """Answer with stop reason `max_tokens` and only this share of the text."""
    return Fault("max_tokens", share=share)


def hang(seconds: float, after: int | None = None) -> Fault:
    """Wait this long, before the response or after some deltas, then go on."""
    return Fault("hang", seconds=seconds, after=after)


@dataclass(frozen=True, slots=True)
class Sending:
    """What goes over the wire, and how: the last step of an answer."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    events: list[Event] | None = None
    """The stream's events; None: `body` is sent."""
    silent: bool = False
    """Close without any response."""
    breaks_off: bool = False
    """Close where the events, or half the body, end."""
    delay: float = 0.0
    chunk_delay: float = 0.0
    pause: float = 0.0
    pause_at: int = -1
    """The event before which `pause` seconds pass."""
    encode: Callable[[Event], bytes] = encode
    """How an event is written."""


def on_reply(fault: Fault | None, reply: Reply) -> Reply:
    """Return the reply that a model with this fault gives."""
    if fault is None:
        return reply
    if fault.kind == "refusal":
        return replace(reply, text=fault.text, thinking="", tool_calls=(), stop_reason="refusal")
    if fault.kind == "max_tokens":
        kept = int(len(reply.text) * fault.share)
        return replace(reply, text=reply.text[:kept], tool_calls=(), stop_reason="max_tokens")
    return reply


def unanswered(fault: Fault, request_id: str) -> Sending:
    """Return what is sent by a fault that keeps the model from being asked."""
    if fault.kind == "drop_before":
        return Sending(silent=True)
    if fault.kind == "garbage":
        return Sending(headers={"content-type": fault.content_type}, body=fault.text.encode())
    message = fault.text or _MESSAGES.get(fault.status, f"status {fault.status}")
    headers = {} if fault.retry_after is None else {"retry-after": f"{fault.retry_after:g}"}
    return _error(fault.status, message, request_id, headers)


def _error(status: int, message: str, request_id: str, headers: dict[str, str]) -> Sending:
    body = json.dumps(error_body(status, message, request_id)).encode()
    return Sending(status, {"content-type": "application/json", **headers}, body)


def on_sending(fault: Fault | None, sending: Sending, request_id: str) -> Sending:
    """Return what is sent, and how, when this fault strikes an answer on its way."""
    if fault is None:
        return sending
    if fault.kind == "hang":
        return _hanging(fault, sending)
    if fault.kind not in ("drop_during", "silent_end", "sse_error"):
        return sending
    return (
        _broken_body(fault, sending, request_id)
        if sending.events is None
        else _broken_stream(fault, sending)
    )


def _hanging(fault: Fault, sending: Sending) -> Sending:
    if sending.events is None or fault.after is None:
        return replace(sending, delay=sending.delay + fault.seconds)
    return replace(sending, pause=fault.seconds, pause_at=len(_first(sending.events, fault.after)))


def _broken_body(fault: Fault, sending: Sending, request_id: str) -> Sending:
    if fault.kind == "sse_error":
        return _error(529, "Overloaded", request_id, {})
    if fault.kind == "silent_end":
        return replace(sending, body=sending.body[: len(sending.body) // 2])
    return replace(sending, breaks_off=True)


def _broken_stream(fault: Fault, sending: Sending) -> Sending:
    events = _first(sending.events or [], fault.after or 0)
    if fault.kind == "sse_error":
        events = [
            *events,
            ("error", {"error": {"type": fault.error_type, "message": "Overloaded"}}),
        ]
    return replace(sending, events=events, breaks_off=fault.kind == "drop_during")


def _first(events: list[Event], deltas: int) -> list[Event]:
    """Return the events up to the given delta, or to the last one if there are fewer.

    The end is never among them.
    """
    places = [index for index, event in enumerate(events) if is_delta(event)][:deltas]
    if places:
        return events[: places[-1] + 1]
    return events[
        : next((index for index, event in enumerate(events) if is_delta(event)), len(events) - 2)
    ]

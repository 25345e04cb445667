"""A request from the moment it comes in until it is on record."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.support.fake_cache import Prompt
from tests.support.fake_faults import Fault
from tests.support.fake_types import Json, Purpose, Usage, strings_in

_BIGGEST_BODY = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Recorded:
    """One request and its outcome, recorded before the answer's first byte is sent."""

    time: float
    path: str
    body: Json
    purpose: Purpose
    headers: Mapping[str, str]
    """Their names in lower case."""
    status: int
    answer: str = ""
    """The text that goes out; for a stream that breaks off, as far as it goes."""
    usage: Usage | None = None
    """None when the model was not asked."""
    prompt: Prompt = field(default_factory=Prompt)
    fault: Fault | None = None
    error: str = ""
    """Why the request was turned down."""

    @property
    def texts(self) -> str:
        """Return every string in the request, to check whether a word was sent."""
        return "\n".join(strings_in(self.body))


@dataclass(frozen=True, slots=True)
class Request:
    """What came in."""

    time: float
    method: str
    path: str
    headers: Mapping[str, str]
    id: str
    body: Json = field(default_factory=dict)
    purpose: Purpose = "other"


class RefusedError(Exception):
    """The request is answered with an error status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


def authenticate(headers: Mapping[str, str]) -> None:
    """Refuse a request without a key, or with the one that is known to be bad."""
    bearer = headers.get("authorization", "")
    key = headers.get("x-api-key") or (
        bearer.removeprefix("Bearer ") if bearer.startswith("Bearer ") else ""
    )
    if not key.strip():
        raise RefusedError(401, "x-api-key header is required")
    if key.strip() == "bad-key":
        raise RefusedError(401, "invalid x-api-key")


def parse(raw: bytes) -> Json | RefusedError:
    """Return the JSON object in the body, or the error to answer with.

    The error is returned, not raised, since the key is checked first.
    """
    if len(raw) > _BIGGEST_BODY:
        return RefusedError(413, "Request exceeds the maximum size")
    try:
        body = json.loads(raw.decode())
        json.dumps(
            body, ensure_ascii=False
        ).encode()  # a lone surrogate is no valid JSON to the API
    except ValueError as error:
        return RefusedError(400, f"The request body is not valid JSON: {error}")
    return (
        body
        if isinstance(body, dict)
        else RefusedError(400, "The request body should be an object")
    )

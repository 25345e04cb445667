"""Turns failures of a model's server into errors that say what to do next."""

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from construct.errors import (
    ContextOverflowError,
    ModelBrokenError,
    ModelBusyError,
    ModelError,
    ModelRejectedError,
    ModelUnreachableError,
    PicturesRefusedError,
)
from construct.llm import network
from construct.text import shorten

ANSWER_SECONDS = 120
_AGAIN = "Try again."

# The HTTP status that each type of error stands for. Inside a stream the status is 200.
_STATUS_OF_TYPE = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "timeout_error": 504,
    "overloaded_error": 529,
    "insufficient_quota": 402,
    "rate_limit_exceeded": 429,
}
_BUSY = frozenset({408, 409, 429, 503, 504, 529})
# How Anthropic, OpenAI, llama.cpp and vLLM say that the prompt is too long.
_TOO_LONG = re.compile(
    r"prompt is too long|exceeds?\b.{0,40}\bcontext|maximum context length|exceed_context_size"
    r"|context_length_exceeded",
    re.IGNORECASE,
)
# How servers say that they take no pictures. Not: that one picture is broken or too large.
_NO_PICTURES = re.compile(
    r"(?=.*(?:image|picture|vision|multi-?modal|mmproj))"
    r".*(?:n[o']t support|unsupported|not (?:a )?(?:multi-?modal|vision)|only supported"
    r"|no endpoints|at most 0|missing data|expected .?text|should be .?text"
    r"|must be (?:a )?(?:string|text)|not (?:allowed|enabled|available|accept))",
    re.IGNORECASE | re.DOTALL,
)
_SECRET = re.compile(r"\bsk-[\w-]{8,}")


@dataclass(frozen=True, slots=True)
class Failure:
    """One failed attempt: the error, and whether and when to try again."""

    error: ModelError
    may_retry: bool = False
    wait: float | None = None


@dataclass(frozen=True, slots=True)
class Api:
    """What messages call a protocol, its makers' own server, and its settings."""

    company: str
    """Whose server answers if no address is set."""
    protocol: str
    default_url: str
    key_setting: str
    token_setting: str
    url_setting: str

    @property
    def set_key(self) -> str:
        """Advice for a server that asks for a key and was sent none."""
        return f"Set {self.key_setting} in the same place as {self.url_setting}."


ANTHROPIC = Api(
    "Anthropic",
    "the Messages API",
    "https://api.anthropic.com",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_BASE_URL",
)
OPENAI = Api(
    "OpenAI",
    "OpenAI's protocol",
    "https://api.openai.com/v1",
    "OPENAI_API_KEY",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The server of a model, described for messages without revealing a key."""

    api: Api
    model: str
    model_setting: str = "CONSTRUCT_MODEL"
    api_key: str | None = None
    auth_token: str | None = None
    base_url: str | None = None

    @property
    def who(self) -> str:
        """The server's name for messages."""
        return self.api.company if self.base_url is None else f"The server at {self.host}"

    @property
    def host(self) -> str:
        """The server's address without user and password."""
        return urlsplit(self.base_url or self.api.default_url).netloc.rpartition("@")[2]

    @property
    def check_key(self) -> str:
        """Advice about which credential to check."""
        is_token = self.auth_token and not self.api_key
        return f"Check {self.api.token_setting if is_token else self.api.key_setting}."

    @property
    def check_url(self) -> str:
        """Advice about what to check when nothing answers."""
        if self.base_url is None:
            return "Check the network connection."
        return f"Check that it is running and that its address ({self.api.url_setting}) is right."

    def quote(self, words: object) -> str:
        """Return a server's message for display: short, on one line, without a key."""
        text = words if isinstance(words, str) else ""
        for secret in filter(None, (self.api_key, self.auth_token)):
            text = text.replace(secret, "[key]")
        return shorten(_SECRET.sub("[key]", text), 200).rstrip(".")


def from_response(end: Endpoint, status: int, headers: Mapping[str, str], body: object) -> Failure:
    """Return the failure for an HTTP error status."""
    wait = retry_after(headers)
    failure = _from_status(end, status, _error_of(body), wait)
    told = headers.get("x-should-retry")
    return Failure(failure.error, failure.may_retry if told is None else told == "true", wait)


def from_event(end: Endpoint, body: object) -> Failure:
    """Return the failure for an error inside a stream."""
    error = _error_of(body)
    return _from_status(end, _status_of(error) or 500, error, None)


def _status_of(error: Mapping[str, Any]) -> int | None:
    """Return the HTTP status that an error's code or type stands for, None if unknown."""
    code = error.get("code")
    if isinstance(code, int) and 400 <= code < 600:
        return code
    return _STATUS_OF_TYPE.get(str(code)) or _STATUS_OF_TYPE.get(str(error.get("type")))


def unreachable(end: Endpoint, error: BaseException, *, may_retry: bool = True) -> Failure:
    """Return the failure for a server that cannot be reached.

    Pass `may_retry=False` if it took long, since another try would take as long again.
    """
    reason = end.quote(network.cause(error)) or "it took too long"
    error_shown = ModelUnreachableError(
        f"{end.host} cannot be reached", _what_to_check(end, reason), f" ({reason})"
    )
    return Failure(error_shown, may_retry)


def _what_to_check(end: Endpoint, reason: str) -> str:
    """Return advice that names the setting which the failed connection depended on."""
    if "CERTIFICATE_VERIFY_FAILED" in reason:
        trusted = network.certificate_variable()
        if trusted is not None:
            return f"Check {trusted}: it must hold the certificate that signed the server's."
        return "Set SSL_CERT_FILE to a file with the certificate that signed the server's."
    if "WRONG_VERSION_NUMBER" in reason and end.base_url is not None:
        url = end.api.url_setting
        return f"Check {url}: a server without encryption has an address with http://."
    proxy = network.proxy_variable(end.base_url or end.api.default_url)
    if proxy is not None:
        return f"Check {proxy}, which names the proxy; NO_PROXY lists hosts that need none."
    return end.check_url


def silent(end: Endpoint) -> Failure:
    """Return the failure for a server that is silent for too long.

    It is not tried again: that would double the wait.
    """
    return Failure(
        ModelUnreachableError(f"{end.who} was silent for {ANSWER_SECONDS} seconds", _AGAIN)
    )


def broken(end: Endpoint) -> Failure:
    """Return the failure for a connection that broke during the answer."""
    return Failure(
        ModelBrokenError(f"The connection to {end.host} was lost", _AGAIN), may_retry=True
    )


def no_answer(end: Endpoint) -> Failure:
    """Return the failure for a response that is not a model's answer."""
    hint = _AGAIN
    if end.base_url is not None:
        hint = (
            f"Check that {end.api.url_setting} is the address of a server that speaks "
            f"{end.api.protocol}."
        )
    return Failure(ModelBrokenError(f"{end.who} sent no readable answer", hint), may_retry=True)


def bad_key(end: Endpoint) -> ModelError:
    """Return the error for a key that cannot be put into a header."""
    return ModelRejectedError("The key contains characters that no key has", end.check_key)


def bad_address(end: Endpoint, error: Exception) -> ModelError:
    """Return the error for an address, the server's or a proxy's, that cannot be used."""
    variable = network.bad_proxy_variable() or end.api.url_setting
    return ModelRejectedError(
        f"No connection to {end.host} is possible",
        f"Check {variable}.",
        f" ({end.quote(str(error))})",
    )


def bad_certificates(error: OSError) -> ModelError:
    """Return the error for certificates that cannot be read."""
    variable = network.certificate_variable() or "SSL_CERT_FILE"
    reason = shorten(error.strerror or str(error), 200)
    return ModelRejectedError(
        "The certificates cannot be read", f"Check {variable}.", f" ({reason})"
    )


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that `retry-after` asks to wait, or None."""
    # Seldom needed, and not worth its milliseconds at start-up.
    from email.utils import mktime_tz, parsedate_tz

    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) / unit
        except ValueError:
            continue
        if 0 <= seconds < float("inf"):  # which NaN is not, either
            return seconds
    date = parsedate_tz(headers.get("retry-after", ""))
    try:
        return max(0.0, mktime_tz(date) - time.time()) if date else None
    except (ValueError, OverflowError):  # an impossible date
        return None


def in_words(seconds: float) -> str:
    """Return a duration in words, rounded up."""
    for size, unit in ((3600, "hour"), (60, "minute")):
        if seconds > size * 0.99:
            count = -int(-seconds // size)
            return f"{count} {unit}{'s' * (count != 1)}"
    count = max(1, -int(-seconds // 1))
    return f"{count} second{'s' * (count != 1)}"


def _from_status(
    end: Endpoint, status: int, error: Mapping[str, Any], wait: float | None
) -> Failure:
    said = end.quote(error.get("message"))
    quoted = f" ({said})" if said else ""
    if error.get("code") == "insufficient_quota":  # sent with the status of a passing limit
        status = 402
    if status == 413 or _TOO_LONG.search(f"{said} {error.get('type')} {error.get('code')}"):
        what = f"This is more than {end.model} can read at once"
        return Failure(ContextOverflowError(what, details=quoted))
    if _NO_PICTURES.match(said):
        return Failure(PicturesRefusedError(*_rejected(end, status), quoted))
    if status in _BUSY:
        state = "is limiting your requests" if status == 429 else "is busy"
        when = "in a minute" if wait is None else f"in {in_words(wait)}"
        busy = ModelBusyError(f"{end.who} {state}", f"Try again {when}.", quoted)
        return Failure(busy, may_retry=True)
    if status >= 500:
        failed = ModelBrokenError(f"{end.who} failed with status {status}", _AGAIN, quoted)
        return Failure(failed, may_retry=True)
    what, advice = _rejected(end, status)
    is_unexplained = not quoted and what.endswith("rejected the request")
    return Failure(
        ModelRejectedError(what, advice, f" with status {status}" if is_unexplained else quoted)
    )


def _rejected(end: Endpoint, status: int) -> tuple[str, str]:
    """Return what a status that rejects a request means, and what to do."""
    match status:
        case 401 if not (end.api_key or end.auth_token):
            return f"{end.who} asks for a key, and none was sent", end.api.set_key
        case 401:
            return f"{end.who} rejected the key", end.check_key
        case 403:
            return f"{end.who} does not permit this", end.check_key
        case 402:
            return f"{end.who} asks for payment first", "Check your account's billing."
        case 404:
            also = f" and {end.api.url_setting}" if end.base_url else ""
            model = repr(end.quote(end.model))
            return f"{end.who} has no model {model}", f"Check {end.model_setting}{also}."
        case 301 | 302 | 303 | 307 | 308:
            check = f"Check {end.api.url_setting}." if end.base_url else end.check_url
            return f"{end.who} redirects to another address, and nothing was sent there", check
    return f"{end.who} rejected the request", "Asking again will not help."


def _error_of(body: object) -> Mapping[str, Any]:
    """Return the `error` object of a body. Plain text becomes its message; HTML is ignored."""
    if isinstance(body, dict):
        inner = body.get("error", body)
        return inner if isinstance(inner, dict) else {"message": inner}
    return {"message": body if isinstance(body, str) and "<" not in body else None}

"""Query model servers over HTTP with the standard library.

Each query has a time limit, follows no redirect and uses no proxy. It sends credentials
only if the caller passes them as `headers`, for a server that the user has chosen.
The chat's first screen waits for this, so neither `anthropic` nor its HTTP client,
which are slow to import, is used. Answers are untrusted JSON of any shape.
"""

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar
from urllib.parse import urlsplit

from construct.llm.capable import parameters_in
from construct.llm.servers.types import Ask, FoundModel

T = TypeVar("T")

PATIENCE = 0.3
"""Time limit for one answer, in seconds."""
CHOSEN_SERVER_SECONDS = 2.0
"""Time limit for one answer of a server that the user has chosen, which may be far away."""
_MAX_BYTES = 1 << 20
"""Longer answers are ignored."""


def asker(
    base_url: str, headers: Mapping[str, str] | None = None, patience: float = PATIENCE
) -> Ask:
    """Return a function that queries one server and caches its answers to GET requests."""
    cached: dict[str, Any] = {}

    def ask(path: str, body: Mapping[str, object] | None = None) -> Any:
        if body is None and path in cached:
            return cached[path]
        (answer,) = at_once(
            [partial(_answer, base_url, path, body, headers or {}, patience)], patience
        )
        if body is None:
            cached[path] = answer
        return answer

    return ask


def at_once(
    questions: Sequence[Callable[[], T]], patience: float | None = PATIENCE
) -> list[T | None]:
    """Call functions in parallel; return their results, None where one failed or was late.

    Each runs in a daemon thread, so a late one cannot delay the program or its exit.
    `patience` is the time limit in seconds for all of them.
    """
    answers: list[T | None] = [None] * len(questions)

    def run(place: int, question: Callable[[], T]) -> None:
        # Nothing is listening, or it is not a model server.
        with suppress(OSError, ValueError, RecursionError):
            answers[place] = question()

    threads = [
        threading.Thread(target=run, args=(place, question), daemon=True)
        for place, question in enumerate(questions)
    ]
    for thread in threads:
        thread.start()
    end = None if patience is None else time.monotonic() + patience
    for thread in threads:
        thread.join(None if end is None else max(0.0, end - time.monotonic()))
    return list(answers)


def _answer(
    base_url: str,
    path: str,
    body: Mapping[str, object] | None,
    headers: Mapping[str, str],
    patience: float,
) -> Any:
    import http.client  # takes 10 ms, and a chat with an API key does not need it

    parts = urlsplit(base_url)
    secure = parts.scheme == "https"
    kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=patience)
    try:
        all_headers = {"Accept": "application/json", **headers}
        text = None
        if body is not None:
            all_headers["Content-Type"] = "application/json"
            text = json.dumps(body)
        method = "GET" if body is None else "POST"
        connection.request(method, parts.path.rstrip("/") + path, text, all_headers)
        response = connection.getresponse()
        if response.status != http.client.OK:
            return None
        content = response.read(_MAX_BYTES + 1)
    except http.client.HTTPException as error:
        raise OSError(str(error)) from error
    finally:
        connection.close()
    return json.loads(content) if len(content) <= _MAX_BYTES else None


def entries(answer: Any, key: str) -> list[dict[str, Any]] | None:
    """Return the objects in the list under a key, or None when there is no such list."""
    listed = answer.get(key) if isinstance(answer, dict) else None
    if not isinstance(listed, list):
        return None
    return [entry for entry in listed if isinstance(entry, dict)]


def at(answer: Any, *path: str) -> Any:
    """Return the value at a path of keys, or None."""
    for key in path:
        answer = answer.get(key) if isinstance(answer, dict) else None
    return answer


def count(value: Any) -> int | None:
    """Return the value if it is a positive whole number, else None."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and value > 0 else None


def name_of(entry: dict[str, Any], *keys: str) -> str | None:
    """Return the first printable name under one of the keys."""
    for key in keys:
        value = entry.get(key)
        if isinstance(value, str) and value.strip() and value.isprintable():
            return value.strip()
    return None


def owned_by(answer: Any, owner: str) -> bool:
    """Return whether any listed model has this `owned_by`, which identifies a server."""
    return any(entry.get("owned_by") == owner for entry in entries(answer, "data") or [])


def listed_models(answer: Any, base_url: str, source: str, *windows: str) -> list[FoundModel]:
    """Return the models of a `/v1/models` answer that can chat, judged by their names.

    `windows` has the keys that may hold a model's context window; the first one that
    does is used.
    """
    named = [(name_of(entry, "id"), entry) for entry in entries(answer, "data") or []]
    return [
        FoundModel(
            name,
            base_url,
            source,
            next(filter(None, (count(entry.get(key)) for key in windows)), None),
            parameters=count(at(entry, "meta", "n_params")) or parameters_in(name),
        )
        for name, entry in named
        if name is not None and "embed" not in name.lower()
    ]

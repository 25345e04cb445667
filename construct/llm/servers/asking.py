"""Asking servers over HTTP with the standard library, within a time limit.

No redirect is followed, no proxy used, no credentials sent. The chat's first screen waits
for this, so neither `anthropic` nor its HTTP client is imported.
"""

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar
from urllib.parse import urlsplit

from construct.llm.servers.types import Ask

T = TypeVar("T")

PATIENCE = 0.3
"""Seconds that one answer may take."""
_MOST_BYTES = 1 << 20


def asker(
    base_url: str, headers: Mapping[str, str] | None = None, patience: float = PATIENCE
) -> Ask:
    """Return what asks the server at a base URL; what was got once is not asked again."""
    known: dict[str, Any] = {}

    def ask(path: str, body: Mapping[str, object] | None = None) -> Any:
        if body is None and path in known:
            return known[path]
        (answer,) = at_once(
            [partial(_answer, base_url, path, body, headers or {}, patience)], patience
        )
        if body is None:
            known[path] = answer
        return answer

    return ask


def at_once(
    questions: Sequence[Callable[[], T]], patience: float | None = PATIENCE
) -> list[T | None]:
    """Return the answers in order, None for one that fails or takes longer than `patience`.

    Each question runs in a thread of its own. One that is too late is left behind: its
    thread cannot hold up the program, not even at its end.
    """
    answers: list[T | None] = [None] * len(questions)

    def run(place: int, question: Callable[[], T]) -> None:
        # Nobody listens, or what answers is no server of models.
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
    import http.client  # 10 ms, and a chat with a key never asks

    parts = urlsplit(base_url)
    secure = parts.scheme == "https"
    kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=patience)
    try:
        given = {"Accept": "application/json", **headers}
        text = None
        if body is not None:
            given["Content-Type"] = "application/json"
            text = json.dumps(body)
        method = "GET" if body is None else "POST"
        connection.request(method, parts.path.rstrip("/") + path, text, given)
        response = connection.getresponse()
        if response.status != http.client.OK:
            return None
        content = response.read(_MOST_BYTES + 1)
    except http.client.HTTPException as error:
        raise OSError(str(error)) from error
    finally:
        connection.close()
    return json.loads(content) if len(content) <= _MOST_BYTES else None

"""Ask a server of unknown kind how much one of its models can read at once.

Each kind of server says it elsewhere. Only `construct setup` asks in all these places, since
some of the requests would look odd to a server that is far away.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any
from urllib.parse import quote

from construct.llm.servers.asking import CHOSEN_SERVER_SECONDS, asker, at_once, count, owned_by
from construct.llm.servers.lmstudio import LMSTUDIO
from construct.llm.servers.ollama import OLLAMA
from construct.llm.servers.types import FoundModel

_PLACES = (
    "/props",  # llama.cpp, and what is built on it
    "/api/extra/true_max_context_length",  # KoboldCpp
    "/v1/model",  # TabbyAPI: the model that is loaded
    "/api/v0/models",  # LM Studio
    "/get_server_info",  # SGLang
    "/info",  # TGI
    "/v1/models/{name}",  # Anthropic's form
    "/v1/model/info",  # LiteLLM
    "/model/info",
)
"""Where servers say it: first those that say what the model runs with."""
_KEYS = (
    "n_ctx",
    "loaded_context_length",
    "max_model_len",
    "max_seq_len",
    "max_total_tokens",
    "max_input_tokens",
    "context_length",
    "context_window",
    "value",
)
_INSIDE = ("default_generation_settings", "parameters", "model_info", "top_provider", "limits")
"""Objects inside an answer or an entry that may hold one of the keys."""
_NAMES = ("id", "model", "name", "model_name", "key")


def ask_for_window(base_url: str, name: str, headers: Mapping[str, str]) -> int | None:
    """Return a model's context window in tokens, or None if the server does not say."""
    ask = asker(base_url, headers, CHOSEN_SERVER_SECONDS)
    if owned_by(ask("/v1/models"), LMSTUDIO.owner):
        return None  # elsewhere it says what a model could read, not what it is loaded with
    paths = [place.format(name=quote(name, safe="")) for place in _PLACES]
    answers = at_once([partial(ask, path) for path in paths], CHOSEN_SERVER_SECONDS)
    for answer in answers:
        if (window := window_in(answer, name)) is not None:
            return window
    assert OLLAMA.describe is not None
    described = OLLAMA.describe(ask, base_url, name)
    return None if described is None else described.context_window


def window_in(answer: Any, name: str) -> int | None:
    """Return the window that an answer of any shape gives for a model, or None."""
    return next(_windows_in(answer, name), None)


def _windows_in(answer: Any, name: str) -> Iterator[int]:
    if not isinstance(answer, dict):
        return
    yield from filter(None, (count(answer.get(key)) for key in _KEYS))
    for key in _INSIDE:
        yield from _windows_in(answer.get(key), name)
    for entry in [*_listed(answer, "data"), *_listed(answer, "models")]:
        if _is_of(entry, name):
            yield from _windows_in(entry, name)


def _listed(answer: dict[str, Any], key: str) -> list[Any]:
    value = answer.get(key)
    return value if isinstance(value, list) else []


def _is_of(entry: Any, name: str) -> bool:
    """Return whether an entry of a list describes this model."""
    if not isinstance(entry, dict):
        return False
    names = [value for key in _NAMES if isinstance(value := entry.get(key), str)]
    return any(FoundModel(value, "", "").answers_to(name) for value in names)

"""Ollama, 0.14 and later: the Messages API at `/v1/messages`, the rest at `/api`.

Ollama decides the context window, whatever the model could take: the model's `num_ctx`,
else the server's setting, else a size that depends on the graphics memory (4,096 tokens
on most machines). It cuts longer prompts silently. It ignores `cache_control` and
`tool_choice`, and drops document blocks and `output_config`.
"""

import re
from functools import partial
from typing import Any

from construct.llm.capable import parameters_in
from construct.llm.servers.asking import at, at_once, count, entries, name_of
from construct.llm.servers.types import Ask, FoundModel, ServerKind

_SOURCE = "ollama"
_DEFAULT_WINDOW = 4_096
"""The window that Ollama gives a model on a machine with less than 24 GB of graphics memory."""
_NUM_CTX = re.compile(r"^num_ctx\s+(\d+)\s*$", re.MULTILINE)


def find(ask: Ask, base_url: str) -> list[FoundModel] | None:
    """List the models that can chat, or return None if this is not Ollama."""
    listed = entries(ask("/api/tags"), "models")
    if listed is None:
        return None
    names = [name for entry in listed if (name := name_of(entry, "model", "name"))]
    loaded = _loaded(ask)
    shown = at_once([partial(ask, "/api/show", {"model": name}) for name in names])
    return [
        _described(base_url, name, answer, loaded)
        for name, answer in zip(names, shown, strict=True)
        if _can_chat(answer)
    ]


def describe(ask: Ask, base_url: str, name: str) -> FoundModel | None:
    """Describe one model."""
    shown = ask("/api/show", {"model": name})
    return None if shown is None else _described(base_url, name, shown, _loaded(ask))


def _loaded(ask: Ask) -> dict[str, int | None]:
    running = entries(ask("/api/ps"), "models") or []
    return {
        name: count(entry.get("context_length"))
        for entry in running
        if (name := name_of(entry, "model", "name"))
    }


def _described(base_url: str, name: str, shown: Any, loaded: dict[str, int | None]) -> FoundModel:
    capabilities = at(shown, "capabilities")
    in_full = name if name in loaded else f"{name}:latest"
    return FoundModel(
        name,
        base_url,
        _SOURCE,
        loaded.get(in_full) or _configured_window(shown),
        "vision" in capabilities if isinstance(capabilities, list) else None,
        parameters_in(str(at(shown, "details", "parameter_size") or "")) or parameters_in(name),
        is_loaded=in_full in loaded,
    )


def _configured_window(shown: Any) -> int:
    """Return the context window that a model probably has once it is loaded.

    The server's own setting is not known here, so it is not considered.
    """
    configured = _NUM_CTX.search(str(at(shown, "parameters") or ""))
    facts = at(shown, "model_info")
    largest = [
        count(value)
        for key, value in (facts.items() if isinstance(facts, dict) else ())
        if key.endswith(".context_length")
    ]
    wanted = int(configured[1]) if configured else _DEFAULT_WINDOW
    return min(wanted, next(filter(None, largest), wanted)) or _DEFAULT_WINDOW


def _can_chat(shown: Any) -> bool:
    capabilities = at(shown, "capabilities")
    return not isinstance(capabilities, list) or "completion" in capabilities


OLLAMA = ServerKind(
    source=_SOURCE,
    name="Ollama",
    owner="library",
    address="http://127.0.0.1:11434",
    find=find,
    raise_window=(
        "Start Ollama with OLLAMA_CONTEXT_LENGTH=16384, or raise the context length in its app's"
        " settings."
    ),
    describe=describe,
)

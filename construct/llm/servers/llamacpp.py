"""The llama.cpp server: the Messages API at `/v1/messages` (start it with `--jinja`).

`/props` gives the window of one slot, which is what a request can use. The server
ignores `output_config`. It caches prompts on its own and reports the cached tokens as
cache reads.
"""

from dataclasses import replace
from typing import Any

from construct.llm.servers.asking import at, count, entries, listed_models, owned_by
from construct.llm.servers.types import Ask, FoundModel, ServerKind

_SOURCE = "llamacpp"
_OWNER = "llamacpp"


def find(ask: Ask, base_url: str) -> list[FoundModel] | None:
    """List the server's models, or return None if it is not a llama.cpp server.

    There is one model, unless the server runs as a router.
    """
    answer = ask("/v1/models")
    props = ask("/props") if entries(answer, "data") else None
    if not (owned_by(answer, _OWNER) or at(props, "default_generation_settings")):
        return None
    return [_with_props(m, props) for m in listed_models(answer, base_url, _SOURCE)]


def _with_props(model: FoundModel, props: Any) -> FoundModel:
    window = count(at(props, "default_generation_settings", "n_ctx"))
    vision = at(props, "modalities", "vision")
    return replace(
        model,
        context_window=window,
        vision=vision if isinstance(vision, bool) else None,
        is_loaded=window is not None,
    )


LLAMACPP = ServerKind(
    source=_SOURCE,
    name="llama.cpp",
    owner=_OWNER,
    address="http://127.0.0.1:8080",
    find=find,
    raise_window="Start llama-server with a larger --ctx-size, such as 16384.",
)

"""LM Studio, 0.4.1 and later: the Messages API at `/v1/messages`.

`/v1/models` does not give context windows. LM Studio's own `/api/v0/models` does, and is
asked once the user has chosen a model.
"""

from dataclasses import replace

from construct.llm.servers.asking import count, entries, listed_models, owned_by
from construct.llm.servers.types import Ask, FoundModel, ServerKind

_SOURCE = "lmstudio"
_OWNER = "organization_owner"


def find(ask: Ask, base_url: str) -> list[FoundModel] | None:
    """List the models that can chat, or return None if this is not LM Studio."""
    answer = ask("/v1/models")
    if not owned_by(answer, _OWNER):
        return None
    return listed_models(answer, base_url, _SOURCE)


def describe(ask: Ask, base_url: str, name: str) -> FoundModel | None:
    """Describe one model. Its context window is None until LM Studio has loaded it."""
    known = next((model for model in find(ask, base_url) or [] if model.name == name), None)
    facts = entries(ask("/api/v0/models"), "data") or []
    mine = next((entry for entry in facts if entry.get("id") == name), None)
    if known is None or mine is None:
        return known
    loaded = count(mine.get("loaded_context_length"))
    return replace(
        known, context_window=loaded, vision=mine.get("type") == "vlm", is_loaded=loaded is not None
    )


LMSTUDIO = ServerKind(
    source=_SOURCE,
    name="LM Studio",
    owner=_OWNER,
    address="http://127.0.0.1:1234",
    find=find,
    raise_window="Load the model in LM Studio with a larger context length.",
    describe=describe,
)

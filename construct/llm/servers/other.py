"""Any other server that speaks the Messages API: OpenRouter, LiteLLM, a proxy."""

from dataclasses import replace

from construct.llm.servers.asking import entries, listed_models
from construct.llm.servers.types import SERVER, Ask, FoundModel, ServerKind
from construct.llm.servers.windows import window_in


def find(ask: Ask, base_url: str) -> list[FoundModel] | None:
    """Return the server's models, or None if it has no list of models.

    Many lists, Anthropic's and OpenRouter's among them, give the context windows too.
    """
    answer = ask("/v1/models")
    if entries(answer, "data") is None:
        return None
    models = listed_models(answer, base_url, SERVER)
    return [replace(model, context_window=window_in(answer, model.name)) for model in models]


OTHER = ServerKind(
    source=SERVER,
    name="the server",
    owner="",
    address="",
    find=find,
    raise_window="Raise the model's context window in the server's own settings.",
)

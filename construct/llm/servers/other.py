"""Any other server that speaks the Messages API: OpenRouter, LiteLLM, a proxy."""

from construct.llm.servers.asking import entries, listed_models
from construct.llm.servers.types import SERVER, Ask, FoundModel, ServerKind


def find(ask: Ask, base_url: str) -> list[FoundModel] | None:
    """Return the server's models, or None if it has no list of models.

    Lists in Anthropic's and OpenRouter's formats give the context windows too.
    """
    answer = ask("/v1/models")
    if entries(answer, "data") is None:
        return None
    windows = ("max_model_len", "max_input_tokens", "context_length")
    return listed_models(answer, base_url, SERVER, *windows)


OTHER = ServerKind(
    source=SERVER,
    name="the server",
    owner="",
    address="",
    find=find,
    raise_window="Raise the model's context window in the server's own settings.",
)

"""Any other server that speaks the Messages API: OpenRouter, LiteLLM, a proxy of your own."""

from dataclasses import replace

from construct.llm.servers.reading import count, entries, listed_models
from construct.llm.servers.types import Ask, FoundModel, Kind, Source


def find(ask: Ask, base_url: str) -> list[FoundModel] | None:
    """List its models; Anthropic's form of the list says windows too."""
    answer = ask("/v1/models")
    listed = entries(answer, "data")
    if listed is None:
        return None
    windows = {entry.get("id"): count(entry.get("max_input_tokens")) for entry in listed}
    return [
        replace(model, context_window=model.context_window or windows.get(model.name))
        for model in listed_models(answer, base_url, Source.SERVER)
    ]


def describe(ask: Ask, base_url: str, name: str) -> FoundModel | None:
    """Describe one model."""
    return next((model for model in find(ask, base_url) or [] if model.name == name), None)


OTHER = Kind(
    Source.SERVER,
    "the server",
    "",
    "",
    find,
    describe,
    "Raise the model's context window in the server's own settings.",
    reads_documents=True,
)

"""vLLM, 0.22 and later: the Messages API at `/v1/messages`; the list says the window."""

from construct.llm.servers.reading import entries, listed_models, owned_by
from construct.llm.servers.types import Ask, FoundModel, Kind, Source

_OWNER = "vllm"


def find(ask: Ask, base_url: str) -> list[FoundModel] | None:
    """List its models."""
    answer = ask("/v1/models")
    says_window = any("max_model_len" in entry for entry in entries(answer, "data") or [])
    if not (owned_by(answer, _OWNER) or says_window):
        return None
    return listed_models(answer, base_url, Source.VLLM)


def describe(ask: Ask, base_url: str, name: str) -> FoundModel | None:
    """Describe one model."""
    return next((model for model in find(ask, base_url) or [] if model.name == name), None)


VLLM = Kind(
    Source.VLLM,
    "vLLM",
    _OWNER,
    "http://127.0.0.1:8000",
    find,
    describe,
    "Start vLLM with a larger --max-model-len, such as 16384.",
    reads_documents=False,
)

"""vLLM 0.22 and later, which speaks the Messages API and lists context windows."""

from construct.llm.servers.asking import entries, listed_models, owned_by
from construct.llm.servers.types import Ask, FoundModel, ServerKind

_SOURCE = "vllm"
_OWNER = "vllm"


def find(ask: Ask, base_url: str) -> list[FoundModel] | None:
    """Return the server's models, or None if the server is not vLLM."""
    answer = ask("/v1/models")
    says_window = any("max_model_len" in entry for entry in entries(answer, "data") or [])
    if not (owned_by(answer, _OWNER) or says_window):
        return None
    return listed_models(answer, base_url, _SOURCE, "max_model_len")


VLLM = ServerKind(
    source=_SOURCE,
    name="vLLM",
    owner=_OWNER,
    address="http://127.0.0.1:8000",
    find=find,
    raise_window="Start vLLM with a larger --max-model-len, such as 16384.",
)

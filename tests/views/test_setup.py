"""The available models, as text."""

from construct.llm.servers.types import GGUF, SERVER, FoundModel
from construct.views.setup import described, models_text


def test_where_a_model_runs() -> None:
    """A server of unknown kind is named by its address, without a password in it."""
    remote = FoundModel("mistral", "http://me:secret@10.0.0.5:9000", SERVER)
    file = FoundModel("local:small", "/models/small.gguf", GGUF)
    assert described(remote) == "mistral at 10.0.0.5:9000"
    assert described(file) == "local:small in a file"
    first, second = models_text([remote, file]).splitlines()
    assert first.split() == ["mistral", "10.0.0.5:9000"]
    assert second.split() == ["local:small", "a", "file", "free"]

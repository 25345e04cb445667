"""How large a model is, by its name, and what it is trusted with."""

import pytest

from construct.llm.anthropic_model import AnthropicModel
from construct.llm.capable import is_capable, parameters_in


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("qwen2.5:1.5b", 1_500_000_000),
        ("SmolLM2-135M", 135_000_000),
        ("local:SmolLM2-135M-Instruct.Q4_1", 135_000_000),
        ("llama3.2:3b-instruct", 3_000_000_000),
        ("Llama-3.1-8B-Instruct-Q4_K_M", 8_000_000_000),
        ("mixtral:8x7b", 56_000_000_000),
        ("Qwen3-30B-A3B", 30_000_000_000),
        ("Qwen2.5-7B-Instruct-1M", 7_000_000_000),
        ("internlm-chat-1m", None),
        ("gemma3n:e4b", None),
        ("phi-3-mini-4k-instruct-8bit", None),
        ("claude-haiku-5-5", None),
        ("claude-haiku-4-5-20251001", None),
        (f"{'9' * 320}b", None),
        (f"{'9' * 5_000}x7b", None),
    ],
)
def test_sizes_in_names(name: str, parameters: int | None) -> None:
    """A size counts only where a name plainly gives one.

    Windows, quantization and dates are no sizes.
    """
    assert parameters_in(name) == parameters


@pytest.mark.parametrize(
    ("name", "capable"),
    [("qwen2.5:1.5b", False), ("phi3:3.8b", False), ("qwen3:4b", True), ("claude-haiku-5-5", True)],
)
def test_who_is_capable(name: str, capable: bool) -> None:
    """A model is too small only if known to have under four billion parameters."""
    assert is_capable(AnthropicModel(name)) == capable

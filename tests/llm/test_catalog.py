"""What is known of models, and what calls cost."""

import pytest

from construct.llm.catalog import cost_usd, main_model, model_info, worker_model
from construct.llm.types import CacheLife, Usage


@pytest.mark.parametrize(
    ("model", "usage", "life", "dollars"),
    [
        ("claude-sonnet-5-5", Usage(input_tokens=1_000_000), "5m", 2.0),
        ("claude-sonnet-5-5", Usage(output_tokens=1_000_000), "5m", 10.0),
        ("claude-sonnet-5-5", Usage(cache_read_tokens=1_000_000), "5m", 0.1),
        ("claude-sonnet-5-5", Usage(cache_write_tokens=1_000_000), "5m", 2.5),
        ("claude-sonnet-5-5", Usage(cache_write_tokens=1_000_000), "1h", 4.0),
        ("claude-opus-5-5", Usage(1000, 2000, 4000, 500), "5m", 0.0344),
        ("claude-haiku-5-5", Usage(input_tokens=100_000), "5m", 0.01),
        ("claude-haiku-5-5", Usage(input_tokens=100_001), "5m", 0.0500005),
        ("claude-haiku-5-5", Usage(60_000, 60_000, 0, 1000), "5m", 0.0355),
        ("claude-haiku-5-5-20260901", Usage(output_tokens=1000), "5m", 0.0005),
        ("local:anything", Usage(1000, 0, 0, 1000), "5m", 0.0),
        ("llama-9", Usage(1000, 0, 0, 1000), "5m", None),
    ],
)
def test_costs(model: str, usage: Usage, life: CacheLife, dollars: float | None) -> None:
    """Cache writes cost 1.25 or 2 times the input.

    A long prompt multiplies every price. The cost of an unknown model is None.
    """
    assert cost_usd(model, usage, life) == (None if dollars is None else pytest.approx(dollars))


def test_dated_names_are_their_family() -> None:
    """A dated or `-latest` name has the window of its family, under its own name."""
    for name in (
        "claude-haiku-4-5-20251001",
        "claude-haiku-4-5-latest",
        "claude-haiku-4-5@20251001",
    ):
        info = model_info(name)
        assert (info.name, info.window, info.cache_minimum) == (name, 200_000, 4096)


def test_unknown_models_have_cautious_limits() -> None:
    """Of an unknown model nothing is promised: a usual window, no prices."""
    info = model_info("llama-9")
    assert info.window == 200_000
    assert info.max_output == 8192
    assert info.prices is None


def test_roles_are_known_models() -> None:
    """The models that serve unless set have prices: Sonnet talks, Haiku observes."""
    assert "sonnet" in main_model()
    assert "haiku" in worker_model()
    assert model_info(main_model()).prices
    assert model_info(worker_model()).prices

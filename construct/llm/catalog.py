"""Context windows, limits and prices of known models, read from `data/models.toml`."""

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from construct.prompts import shipped
from construct.tokens import Usage

if TYPE_CHECKING:  # imported at startup: keep it light
    from construct.llm.types import CacheLife

LOCAL_PREFIX = "local:"
_WRITE_FACTOR: dict["CacheLife", float] = {"5m": 1.25, "1h": 2.0}
# `claude-haiku-5-5-20260901`, `claude-haiku-5-5@20260901` and `claude-haiku-5-5-latest`
# are all `claude-haiku-5-5`.
_RELEASE = re.compile(r"(?:[-@]20\d{6}|-latest)$")


@dataclass(frozen=True, slots=True)
class Prices:
    """US dollars per million tokens."""

    input: float
    output: float
    cache_read: float
    long_above: int | None = None
    """Above this number of prompt tokens a call costs `long_factor` times as much."""
    long_factor: float = 1.0


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What is known about one model. Sizes are in tokens."""

    name: str
    window: int
    """The context window."""
    max_output: int
    cache_minimum: int
    """The shortest beginning of a prompt that the server caches."""
    prices: Prices | None
    """None if they are unknown."""


@cache
def model_info(name: str) -> ModelInfo:
    """Return what is known about a model, or defaults without prices."""
    if name.startswith(LOCAL_PREFIX):
        return _info(name, _catalog()["local"])
    known = _catalog()["models"]
    return _info(name, known.get(name) or known.get(_RELEASE.sub("", name)) or {})


def known_models() -> list[str]:
    """Return the names of the known models."""
    return list(_catalog()["models"])


def is_known(name: str) -> bool:
    """Return whether a model's prices are known."""
    return model_info(name).prices is not None


def is_claude(name: str) -> bool:
    """Return whether a model is Anthropic's. All of those read pictures, PDF and text."""
    return "claude" in name.lower()


def main_model() -> str:
    """Return the default main model."""
    return str(_catalog()["roles"]["main"])


def worker_model() -> str:
    """Return the default worker model."""
    return str(_catalog()["roles"]["worker"])


def openais_window(name: str) -> int:
    """Return the context window of a model on OpenAI's own server, which does not say it."""
    windows: dict[str, int] = _catalog()["openai"]
    return windows.get(name, windows["others"])


def cost_usd(name: str, usage: Usage, life: "CacheLife" = "5m") -> float | None:
    """Return the cost of a call in dollars, or None when the prices are unknown.

    `life` is the lifetime of its cache writes.
    """
    prices = model_info(name).prices
    if prices is None:
        return None
    is_long = prices.long_above is not None and usage.prompt_tokens > prices.long_above
    dollars = (
        usage.input_tokens * prices.input
        + usage.cache_write_tokens * prices.input * _WRITE_FACTOR[life]
        + usage.cache_read_tokens * prices.cache_read
        + usage.output_tokens * prices.output
    )
    searches = usage.web_searches * _catalog()["web"]["per_1000_searches"] / 1_000
    return dollars * (prices.long_factor if is_long else 1.0) / 1_000_000 + float(searches)


@cache
def _catalog() -> dict[str, Any]:
    return tomllib.loads(shipped("data/models.toml").read_text("utf-8"))


def _info(name: str, entry: dict[str, Any]) -> ModelInfo:
    facts = {**_catalog()["default"], **entry}
    return ModelInfo(
        name, facts["window"], facts["max_output"], facts["cache_minimum"], _prices(entry)
    )


def _prices(entry: dict[str, Any]) -> Prices | None:
    if "input" not in entry:
        return None
    long_prompt = entry.get("long_prompt", {})
    return Prices(
        input=entry["input"],
        output=entry["output"],
        cache_read=entry["cache_read"],
        long_above=long_prompt.get("above"),
        long_factor=long_prompt.get("factor", 1.0),
    )

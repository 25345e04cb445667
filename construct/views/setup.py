"""What is within reach, as lines of a screen and as JSON.

Plain text, not rich: this is the first screen, and it should be there at once.
"""

from collections.abc import Sequence
from typing import Any

from construct.llm.catalog import model_info
from construct.llm.servers import KINDS, kind_of
from construct.llm.servers.types import ANTHROPIC, GGUF, SERVER, FoundModel
from construct.operations.setup import NOTEBOOK, Kept, Origin, Reach
from construct.text import shorten
from construct.views.words import model_words

_MOST_MODELS = 9
_WHERE = {
    Origin.ENVIRONMENT: "from the environment",
    Origin.SETUP: "chosen by `construct setup`",
    Origin.FILES: "from .env or config.env",
}
PROTOCOLS = (
    "Servers and keys that speak only OpenAI's protocol do not work here. These speak Anthropic's"
    f" Messages API and do: {', '.join(kind.name for kind in KINDS)}, OpenRouter, LiteLLM."
)


_KEYS = {
    "k": "Claude, with an API key from https://console.anthropic.com",
    "u": "a server on another machine, by its address",
    "d": "look around a demo life first",
    "n": "continue without a model: a notebook that finds what you wrote",
    "q": "leave everything as it is",
}
"""What can be picked beside a model, each by its key."""


def screen(reach: Reach, heading: str) -> str:
    """Return the whole screen, the models found before the other choices."""
    models = enumerate(map(described, reach.models[:_MOST_MODELS]), 1)
    lines = [heading, "", _status_line(reach), ""]
    lines += [f"  {key}  {text}" for key, text in (*models, *_KEYS.items())]
    hidden = len(reach.models) - _MOST_MODELS
    if hidden > 0:
        lines.append(f"     and {hidden} more: `construct models`, `construct setup --use MODEL`")
    if not reach.models:
        lines.append("     (no model server was found on this machine)")
    return "\n".join([*lines, "", PROTOCOLS])


def _status_line(reach: Reach) -> str:
    if reach.model == NOTEBOOK:
        return "No model is set up yet. Pick one with a key:"
    origin = f" ({_WHERE[reach.credentials]})" if reach.credentials else ""
    return f"Replies come from {model_words(reach.model)}{origin}. Pick another with a key:"


def described(model: FoundModel) -> str:
    """Return a model in a few words: its name, where it runs, its size and its window."""
    facts = [_size(model.parameters)] if model.parameters else []
    facts += [f"reads {model.context_window:,} tokens"] if model.context_window else []
    facts += ["loaded"] if model.is_loaded else []
    where = "a file" if model.source == GGUF else kind_of(model.source).name
    text = f"{model_words(model.name)} in {where}"
    return f"{text} ({', '.join(facts)})" if facts else text


def _size(parameters: int) -> str:
    billions = parameters / 1e9
    return f"{billions:.1f}B".replace(".0B", "B") if billions >= 1 else f"{parameters / 1e6:.0f}M"


def price_words(model: FoundModel) -> str:
    """Return "free", or what a million tokens cost; empty where that is not known."""
    prices = model_info(model.name).prices if model.source == ANTHROPIC else None
    if prices is not None:
        return f"${prices.input:g} in, ${prices.output:g} out per million tokens"
    is_here = model.source not in {ANTHROPIC, SERVER}
    return "free" if is_here else ""


def models_text(models: Sequence[FoundModel]) -> str:
    """Return the models within reach, one a line."""
    if not models:
        return "No models are within reach. `construct setup` helps to set one up."
    lines = []
    for model in models:
        where = "Anthropic" if model.source == ANTHROPIC else kind_of(model.source).name
        window = f"{model.context_window:,} tokens" if model.context_window else ""
        facts = [where, window, price_words(model)]
        lines.append(f"{model_words(model.name):<32}  {'  '.join(filter(None, facts))}".rstrip())
    return "\n".join(lines)


def models_json(models: Sequence[FoundModel]) -> list[dict[str, Any]]:
    """Return the models as `construct models --json` prints them."""
    return [
        {
            "name": model.name,
            "server": model.server,
            "context_window": model.context_window,
            "vision": model.vision,
            "source": model.source,
        }
        for model in models
    ]


def reach_json(reach: Reach) -> dict[str, Any]:
    """Return what is configured and within reach as `construct setup --json` prints it."""
    return {
        "provider": reach.provider.value,
        "model": reach.model,
        "credentials": reach.credentials.value if reach.credentials else None,
        "config_file": str(reach.config_file),
        "models": models_json(reach.models),
    }


def kept_text(kept: Kept) -> str:
    """Return what was chosen, and what the model said."""
    name = model_words(kept.choice.model)
    lines = [f"{name}: {shorten(kept.said, 200)}"] if kept.said else []
    if kept.choice.model == NOTEBOOK:
        lines.append("Continuing without a model. `construct setup` shows this screen again.")
    else:
        lines.append(f"Chosen: {name}. Written to {kept.config_file}.")
    if kept.is_overridden:
        lines.append(
            "Credentials in the environment come first: unset them for this choice to count."
        )
    return "\n".join(lines)


def kept_json(kept: Kept) -> dict[str, Any]:
    """Return the same for programs."""
    return {
        "model": kept.choice.model,
        "server": kept.choice.server,
        "reply": kept.said,
        "config_file": str(kept.config_file),
        "overridden_by_environment": kept.is_overridden,
    }

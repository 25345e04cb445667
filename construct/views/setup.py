"""Render the setup screen and the available models, as plain text and as JSON.

Does not import rich: this is the first screen, and it should appear at once.
"""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from construct.llm.catalog import model_info
from construct.llm.servers import KINDS, kind_of
from construct.llm.servers.types import ANTHROPIC, GGUF, SERVER, FoundModel
from construct.operations.setup import (
    CREDENTIALS_ELSEWHERE,
    NOTEBOOK,
    CredentialOrigin,
    Reach,
    SavedChoice,
)
from construct.program import as_typed
from construct.text import shorten
from construct.views.words import model_words
from construct.vocabulary import Provider

_MAX_MODELS = 9
"""Models on the screen: each is picked by a digit."""
_ORIGINS = {
    CredentialOrigin.ENVIRONMENT: "credentials from the environment",
    CredentialOrigin.SETUP: "set up with `construct setup`",
    CredentialOrigin.FILES: "credentials from .env or config.env",
}
_NAMED_PLACES = {ANTHROPIC: "Anthropic", GGUF: "a file"}
"""The place shown for a model from one of these sources."""
PROTOCOLS = (
    "These speak Anthropic's Messages API, which Construct uses best:"
    f" {', '.join(kind.name for kind in KINDS)}, OpenRouter, LiteLLM. For a server that speaks only"
    " OpenAI's protocol press o."
)
_NO_MARKS = (
    "OpenAI's protocol has no cache marks: the server alone decides what it caches, so long"
    " conversations may cost more."
)


_OTHER_CHOICES = {
    "k": "Claude, with an API key from https://console.anthropic.com",
    "u": "a server by its address, on this machine or another",
    "o": "OpenAI, or a server that speaks OpenAI's protocol (extra `openai`)",
    "d": "try the demo first: the memories of an invented person",
    "n": "continue without a model: a notebook that finds what you wrote",
    "q": "leave everything as it is",
}
"""What can be picked besides a model, by key."""


def screen(reach: Reach, heading: str) -> str:
    """Return the setup screen: the models found, then the other choices."""
    models = enumerate(map(described, reach.models[:_MAX_MODELS]), 1)
    lines = [heading, "", _status_line(reach), ""]
    if not reach.models:
        lines[2:2] = ["No server with a chat model was found on this machine.", ""]
    lines += [f"  {key}  {text}" for key, text in (*models, *_OTHER_CHOICES.items())]
    hidden = len(reach.models) - _MAX_MODELS
    if hidden > 0:
        lines.append(
            f"     and {hidden} more: {as_typed('models')}, {as_typed('setup --use MODEL')}"
        )
    return "\n".join([*lines, "", PROTOCOLS])


def _status_line(reach: Reach) -> str:
    if reach.model == NOTEBOOK:
        return "No model is set up yet. Choose one:"
    is_server = reach.provider in {Provider.ANTHROPIC, Provider.OPENAI}
    credentials = reach.credentials if is_server else None
    origin = f" ({_ORIGINS[credentials]})" if credentials else ""
    return f"Replies come from {model_words(reach.model)}{origin}. Choose another:"


def described(model: FoundModel) -> str:
    """Return a model's name and server, with its size and window if they are known."""
    facts = [_size(model.parameters)] if model.parameters else []
    facts += [f"reads {model.context_window:,} tokens"] if model.context_window else []
    facts += ["loaded"] if model.is_loaded else []
    text = f"{model_words(model.name)} {'at' if model.source == SERVER else 'in'} {_place(model)}"
    return f"{text} ({', '.join(facts)})" if facts else text


def _place(model: FoundModel) -> str:
    """Return where a model runs: its server's name, or the address of one of unknown kind."""
    if model.source == SERVER:
        return urlsplit(model.server).netloc.rpartition("@")[2]
    return _NAMED_PLACES.get(model.source) or kind_of(model.source).name


def _size(parameters: int) -> str:
    billions = parameters / 1e9
    return f"{billions:.1f}B".replace(".0B", "B") if billions >= 1 else f"{parameters / 1e6:.0f}M"


def price_words(model: FoundModel) -> str:
    """Return "free", or the price of a million tokens; "" if it is unknown."""
    prices = model_info(model.name).prices if model.source == ANTHROPIC else None
    if prices is not None:
        return f"${prices.input:g} in, ${prices.output:g} out per million tokens"
    runs_locally = model.source not in {ANTHROPIC, SERVER}
    return "free" if runs_locally else ""


def models_text(models: Sequence[FoundModel]) -> str:
    """Return the available models, one per line."""
    if not models:
        return f"No model is available. Run {as_typed('setup')} to set one up."
    lines = []
    for model in models:
        window = f"{model.context_window:,} tokens" if model.context_window else ""
        facts = [_place(model), window, price_words(model)]
        lines.append(f"{model_words(model.name):<32}  {'  '.join(filter(None, facts))}".rstrip())
    return "\n".join(lines)


def models_json(models: Sequence[FoundModel]) -> list[dict[str, Any]]:
    """Return the JSON form of `models_text`."""
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
    """Return the JSON form of the setup screen."""
    return {
        "provider": reach.provider.value,
        "model": reach.model,
        "credentials": reach.credentials.value if reach.credentials else None,
        "config_file": str(reach.config_file),
        "models": models_json(reach.models),
    }


def saved_text(saved: SavedChoice, *, with_advice: bool) -> str:
    """Return which model was chosen, and what it replied when it was tried."""
    name = model_words(saved.choice.model)
    lines = [f"{name}: {shorten(saved.answer, 200)}"] if saved.answer else []
    if saved.choice.model == NOTEBOOK:
        lines.append(f"Continuing without a model. To choose one later, run {as_typed('setup')}.")
    else:
        lines.append(f"Chosen: {name}. Written to {saved.config_file}.")
    if saved.overridden_by == CREDENTIALS_ELSEWHERE:
        lines.append(
            "Credentials in the environment or a trusted .env take precedence. "
            "Remove them to use this choice."
        )
    elif saved.overridden_by is not None:
        lines.append(
            f"{saved.overridden_by} in the environment, .env or config.env takes precedence. "
            "Remove it to use this choice."
        )
    if saved.choice.provider is Provider.OPENAI:
        lines.append(_NO_MARKS)
    if saved.found_window is not None:
        where = "that file" if saved.stores_window else "the environment"
        lines.append(
            f"Its server says that it reads {saved.found_window:,} tokens at once. To change that,"
            f" set CONSTRUCT_CONTEXT_WINDOW in {where}."
        )
    if with_advice and saved.advice:
        lines.append(saved.advice)
    return "\n".join(lines)


def saved_json(saved: SavedChoice) -> dict[str, Any]:
    """Return the JSON form of `saved_text`."""
    return {
        "model": saved.choice.model,
        "server": saved.choice.server,
        "reply": saved.answer,
        "config_file": str(saved.config_file),
        "overridden_by_environment": saved.overridden_by is not None,
        "advice": saved.advice,
    }

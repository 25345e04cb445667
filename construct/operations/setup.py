"""Choosing a model: what is within reach, and keeping the choice in `config.env`.

What is written there are the usual settings, and CONSTRUCT_SETUP, which names them: they
do not count where the environment holds credentials (contract.md, "Settings").
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from construct.config import CHOSEN, CREDENTIALS, Settings
from construct.env_file import write_settings
from construct.errors import ConstructError, ModelError, UsageError
from construct.llm import servers
from construct.llm.catalog import is_known, known_models, main_model, model_info
from construct.llm.notebook import Notebook
from construct.llm.providers import Models, choose_models, named_provider
from construct.llm.servers.types import ANTHROPIC, GGUF, FoundModel
from construct.llm.types import ChatMessage, Request, Text
from construct.store.database import make_folder
from construct.vocabulary import Provider

ANTHROPICS_URL = "https://api.anthropic.com"
NOTEBOOK = Notebook.name
ON_THIS_MACHINE = frozenset(kind.source for kind in servers.KINDS)
_SENTENCE = "Say hello in one short sentence."
_ANSWER_TOKENS = 64


class Origin(StrEnum):
    """Where credentials come from."""

    ENVIRONMENT = "environment"
    SETUP = "setup"
    FILES = "files"


@dataclass(frozen=True, slots=True)
class Reach:
    """What is configured, and what is within reach."""

    provider: Provider
    model: str
    """The model that talks now, or "notebook"."""
    credentials: Origin | None
    models: tuple[FoundModel, ...]
    """Those of servers on this machine, sensible ones first."""
    config_file: Path


@dataclass(frozen=True, slots=True)
class Choice:
    """What was chosen: the settings to write, and what they mean."""

    model: str
    server: str | None
    settings: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Kept:
    """A choice that was tried and written down."""

    choice: Choice
    said: str | None
    """What the model answered; None where there is none to answer."""
    advice: str
    """What its user should know of its window, or empty."""
    config_file: Path
    is_overridden: bool
    """Whether credentials in the environment come first."""


def within_reach(settings: Settings, environ: Mapping[str, str] = os.environ) -> Reach:
    """Look for servers on this machine and return them with what is configured."""
    provider = named_provider(settings)
    model = NOTEBOOK
    is_without_key = provider is Provider.ANTHROPIC and not settings.has_credentials
    if provider is not Provider.NOTEBOOK and not is_without_key:
        model = settings.model or (main_model() if provider is Provider.ANTHROPIC else "local")
    origin = None
    if any(environ.get(name, "").strip() for name in CREDENTIALS):
        origin = Origin.ENVIRONMENT
    elif settings.has_credentials:
        origin = Origin.SETUP if settings.is_chosen_by_setup else Origin.FILES
    return Reach(provider, model, origin, tuple(servers.look(environ)), config_file(settings))


def all_models(settings: Settings, environ: Mapping[str, str] = os.environ) -> list[FoundModel]:
    """Return every model within reach: of the configured server, this machine, and a GGUF file."""
    found: list[FoundModel] = []
    if settings.has_credentials and settings.base_url in (None, ANTHROPICS_URL):
        found += [
            FoundModel(name, ANTHROPICS_URL, ANTHROPIC, model_info(name).window, vision=True)
            for name in known_models()
        ]
    elif settings.base_url is not None:
        key = settings.api_key or settings.auth_token
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        found += servers.list_models(settings.base_url, headers)
    known = {(model.server, model.name) for model in found}
    found += [m for m in servers.look(environ) if (m.server, m.name) not in known]
    if settings.local_model is not None:
        path = settings.local_model
        found.append(FoundModel(f"local:{path.stem}", str(path), GGUF))
    return found


def choose_server(url: str, model: str | None = None, key: str | None = None) -> Choice:
    """Choose a server by its address, with the first model that it lists unless one is named.

    Raises ConstructError when it lists none.
    """
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    listed = servers.list_models(url, headers)
    if model is None and not listed:
        raise ConstructError(f"No model answers at {url}. Check the address and the server.")
    named = (found.name for found in listed if model is None or found.answers_to(model))
    model = next(named, model or "")
    settings = {"ANTHROPIC_BASE_URL": url.rstrip("/"), "CONSTRUCT_MODEL": model}
    if key:
        settings["ANTHROPIC_AUTH_TOKEN"] = key
    return Choice(model, url, settings)


def choose_key(key: str, model: str | None = None) -> Choice:
    """Choose Claude, by a key for Anthropic's API."""
    settings = {"ANTHROPIC_API_KEY": key}
    if model is not None:
        settings["CONSTRUCT_MODEL"] = model
    return Choice(model or main_model(), None, settings)


def choose_notebook() -> Choice:
    """Choose to continue without a model."""
    return Choice(NOTEBOOK, None, {"CONSTRUCT_PROVIDER": Provider.NOTEBOOK})


def choose_named(settings: Settings, name: str, environ: Mapping[str, str] = os.environ) -> Choice:
    """Choose a model by its name, wherever it is within reach.

    Raises UsageError when it is nowhere, or in several places.
    """
    if name.lower() == NOTEBOOK:
        return choose_notebook()
    found = [model for model in servers.look(environ) if model.answers_to(name)]
    if name.lower().endswith(".gguf") and not found:
        path = Path(name).expanduser().absolute()
        written = {"CONSTRUCT_PROVIDER": Provider.LOCAL, "CONSTRUCT_LOCAL_MODEL": str(path)}
        return Choice(f"local:{path.stem}", None, written)
    if len(found) > 1:
        places = " or ".join(model.server for model in found)
        raise UsageError(f"{name} is in several places. Name one with --server: {places}.")
    if found:
        return choose_server(found[0].server, found[0].name)
    if settings.has_credentials and (is_known(name) or settings.base_url):
        return _on_the_same_server(settings, name)
    raise UsageError(
        f"No model {name} was found on this machine.\n"
        "`construct models` lists those within reach; name a server elsewhere with --server URL."
    )


def _on_the_same_server(settings: Settings, name: str) -> Choice:
    written = {"CONSTRUCT_MODEL": name}
    if settings.is_chosen_by_setup:
        given = {
            "ANTHROPIC_BASE_URL": settings.base_url,
            "ANTHROPIC_API_KEY": settings.api_key,
            "ANTHROPIC_AUTH_TOKEN": settings.auth_token,
        }
        written = {key: value for key, value in given.items() if value} | written
    return Choice(name, settings.base_url, written)


async def keep(settings: Settings, choice: Choice, environ: Mapping[str, str] = os.environ) -> Kept:
    """Try a choice with one sentence, then write it down.

    Nothing is written when the model does not answer. Raises ModelError then, OSError when
    the file cannot be written.
    """
    said, advice = await _tried(_with_choice(settings, choice))
    path = config_file(settings)
    make_folder(path.parent)
    written: dict[str, str | None]
    if choice.settings.keys() == {"CONSTRUCT_MODEL"}:  # of what is configured otherwise
        others = settings.setup_names - {"CONSTRUCT_MODEL"}
        written = {**choice.settings, CHOSEN: ",".join(sorted(others)) or None}
    else:
        before = {*settings.setup_names, "CONSTRUCT_PROVIDER", "CONSTRUCT_MODEL"}
        gone = dict.fromkeys(sorted(before - choice.settings.keys()))
        written = {**gone, **choice.settings, CHOSEN: ",".join(choice.settings)}
    write_settings(path, written)
    is_overridden = any(environ.get(name, "").strip() for name in CREDENTIALS)
    return Kept(choice, said, advice, path, is_overridden)


def config_file(settings: Settings) -> Path:
    """Return the file that choices are written to."""
    return settings.config_dir / "config.env"


def _with_choice(settings: Settings, choice: Choice) -> Settings:
    given = choice.settings
    if not given.keys() & set(CREDENTIALS) and "CONSTRUCT_PROVIDER" not in given:
        return replace(settings, model=given.get("CONSTRUCT_MODEL"))
    local = given.get("CONSTRUCT_LOCAL_MODEL")
    return replace(
        settings,
        provider=given.get("CONSTRUCT_PROVIDER", "auto"),
        api_key=given.get("ANTHROPIC_API_KEY"),
        auth_token=given.get("ANTHROPIC_AUTH_TOKEN"),
        base_url=given.get("ANTHROPIC_BASE_URL"),
        model=given.get("CONSTRUCT_MODEL"),
        local_model=Path(local) if local else settings.local_model,
        is_address_from_env_file=False,
    )


async def _tried(settings: Settings) -> tuple[str | None, str]:
    """Return what the model answers to one sentence, and what to know of its window."""
    models = choose_models(settings)
    try:
        return (None if models.is_notebook else await _answer(models)), models.advice
    finally:
        await models.close()


async def _answer(models: Models) -> str:
    asked = ChatMessage("user", (Text(_SENTENCE),))
    stream = models.main.stream(Request((), (asked,), max_tokens=_ANSWER_TOKENS))
    try:
        async for _ in stream:
            pass
    except ModelError:
        if not stream.reply.text:
            raise
    finally:
        await stream.aclose()
    return stream.reply.text.strip()

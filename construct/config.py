"""Read the settings from the environment, `.env` and `config.env`.

The first of these that has a setting wins. `.env` is in the working directory,
`config.env` in the configuration directory. A `.env` may have come with somebody else's
repository, so most of it counts only once the user has trusted it (docs/settings.md).
"""

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, time
from functools import partial
from pathlib import Path
from typing import TypeVar

from platformdirs import user_config_path, user_data_path

from construct.clock import Clock, read_moment, read_time_of_day, read_zone
from construct.env_file import EnvFile, Trust, read_env_file, trust_in
from construct.errors import UsageError
from construct.setting_sources import (
    ANTHROPIC_SECRETS,
    OPENAI_SECRETS,
    Credentials,
    Values,
)
from construct.user_rules import MAX_RULES_BYTES
from construct.vocabulary import MemorySetting, Provider, Scope

T = TypeVar("T")

PROVIDERS = ("auto", *Provider)
SCOPES = tuple(Scope)
MEMORY_SETTINGS = tuple(MemorySetting)
THEMES = ("auto", "light", "dark")
EDITING_MODES = ("auto", "emacs", "vi")
NOTIFY_TEXTS = ("label", "full")
HARMLESS_IN_ENV_FILE = frozenset(
    {
        "CONSTRUCT_OBSERVER_THRESHOLD",
        "CONSTRUCT_COMPACT_THRESHOLD",
        "CONSTRUCT_REFLECTOR_THRESHOLD",
        "CONSTRUCT_OBSERVATION_BUDGET",
        "CONSTRUCT_RETAIN",
        "CONSTRUCT_BLOCK_AFTER",
        "CONSTRUCT_RECENT_MESSAGES",
        "CONSTRUCT_SCOPE",
        "CONSTRUCT_TZ",
        "CONSTRUCT_THEME",
        "CONSTRUCT_EDITING_MODE",
        "CONSTRUCT_MODEL",
        "MEMORY_WORKER_MODEL",
    }
)
"""Settings that count in a `.env` even if the user has not trusted it."""
LOOK_FOR = "CONSTRUCT_LOOK_FOR"
"""The setting that lists where to look for model servers."""
_MAX_NUMBER = 1_000_000_000
"""The highest whole number that a setting can have."""
_MIN_WINDOW = 2_048
"""The smallest context window that can be set, in tokens."""
# Closer to the ends of the calendar, dates some days before or after could not be computed.


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Thresholds of memory work, in tokens or as multiples of `compact` (docs/settings.md)."""

    observer: int = 3000
    compact: int = 6000
    reflector: int = 4000
    budget: int = 8000
    retain: float = 0.2
    block_after: float = 1.5


@dataclass(frozen=True, slots=True)
class UntrustedFile:
    """A `.env` that the user has not trusted, and the settings in it that do not count."""

    file: EnvFile
    ignored: tuple[str, ...]
    """The settings that would count now."""
    settings: Mapping[str, str] = field(repr=False, hash=False)
    """All its settings that count only once it is trusted, and their values."""
    is_refused: bool = False
    """Whether the user was asked to trust it and refused."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one process.

    After they are loaded, only two modules read Construct's settings from the environment:
    `construct.llm.servers` reads CONSTRUCT_LOOK_FOR, and `construct.operations.setup` checks
    where the credentials come from.
    """

    db: Path
    config_dir: Path
    clock: Clock = Clock()
    thresholds: Thresholds = Thresholds()
    provider: str = "auto"
    model: str | None = None
    context_window: int | None = None
    """The main model's context window in tokens; None for what the server or catalog says."""
    worker_model: str | None = None
    local_model: Path | None = None
    semantic_model: Path | None = None
    api_key: str | None = None
    auth_token: str | None = None
    base_url: str | None = None
    openai: Credentials = Credentials()
    """Those for a server that speaks OpenAI's protocol; the ones above are for Anthropic's."""
    persona: Path | None = None
    """The file named by CONSTRUCT_PERSONA."""
    recent_messages: int = 20
    scope: str = Scope.USER
    memory: str = MemorySetting.ON
    memory_rules: Path | None = None
    """The file with the user's rules for the memory; it need not exist."""
    worker_daily_usd: float = 1.0
    remind_at: time = time(8)
    """When on a day a reminder of something without a time of day is due."""
    notify_text: str = "label"
    """How much of a note a reminder that leaves the machine carries: `label` or `full`."""
    notify: str | None = field(default=None, repr=False)
    """Where reminders go when no chat is open: `desktop`, or an Apprise URL."""
    theme: str = "auto"
    editing_mode: str = "auto"
    unknown: tuple[str, ...] = ()
    """Names that look like settings but are not: misspelt, or of another version."""
    untrusted: UntrustedFile | None = None
    """The `.env`, if the user has not trusted it and some of its settings were ignored."""
    setup_names: frozenset[str] = frozenset()
    """Names of the settings in `config.env` that `construct setup` wrote."""
    is_chosen_by_setup: bool = False
    """Whether what `construct setup` wrote counts: no other source has credentials."""
    is_address_from_env_file: bool = False
    """Whether the server's address comes from `.env`. Then no key from elsewhere is sent to it."""

    @property
    def learns(self) -> bool:
        """Whether memory work is done at all."""
        return self.memory == MemorySetting.ON

    def require_learning(self) -> None:
        """Raise UsageError if learning is switched off."""
        if not self.learns:
            raise UsageError(
                f"CONSTRUCT_MEMORY is {self.memory}, so nothing is learned. Set it to on first."
            )

    @property
    def persona_file(self) -> Path:
        """The user's own persona file. If it does not exist, the shipped one is used."""
        if self.persona is not None:
            return self.persona
        current = self.config_dir / "persona.md"
        old = self.config_dir / "companion.md"  # its name in older versions
        return old if old.is_file() and not current.exists() else current

    @property
    def is_configured(self) -> bool:
        """Whether replies have a source: credentials, setup's choice or a local model.

        CONSTRUCT_PROVIDER is not considered.
        """
        return self.has_credentials or self.is_chosen_by_setup or self.local_model is not None

    @property
    def has_credentials(self) -> bool:
        """Whether there is a key or an address for a server with the Messages API."""
        return bool(self.api_key or self.auth_token or self.base_url)


def load_settings(environ: Mapping[str, str] | None = None, *, db: Path | None = None) -> Settings:
    """Load the settings; `db` is the command line's `--db`.

    Raises UsageError, which names the variable, if a setting is invalid.
    """
    environ = os.environ if environ is None else environ
    config_dir = user_config_path("construct", appauthor=False)
    env_file = read_env_file(Path(".env"))
    trust = trust_in(env_file, config_dir)
    values = Values(
        environ,
        env_file,
        read_env_file(config_dir / "config.env"),
        HARMLESS_IN_ENV_FILE,
        is_trusted=trust is Trust.TRUSTED,
    )
    default = Settings(user_data_path("construct", appauthor=False) / "construct.db", config_dir)
    thresholds = default.thresholds
    zone = values.get("CONSTRUCT_TZ", read_zone, None)
    if zone is None:
        _check_system_zone()
    credentials = values.credentials("ANTHROPIC_BASE_URL", ANTHROPIC_SECRETS)
    provider = values.get("CONSTRUCT_PROVIDER", _one_of(PROVIDERS), default.provider)
    openai = Credentials()
    if provider == Provider.OPENAI or values.env_file_wants(Provider.OPENAI):
        openai = values.credentials("OPENAI_BASE_URL", OPENAI_SECRETS)
    values.mark_known(LOOK_FOR)  # read from the environment only, where servers are looked for
    if db is None:
        db = values.get("CONSTRUCT_DB", _path, default.db)
    else:
        values.mark_overridden("CONSTRUCT_DB")
    return Settings(
        db=db,
        config_dir=config_dir,
        clock=Clock(values.get("CONSTRUCT_NOW", partial(read_moment, zone=zone), None), zone),
        thresholds=Thresholds(
            observer=values.get("CONSTRUCT_OBSERVER_THRESHOLD", _positive, thresholds.observer),
            compact=values.get("CONSTRUCT_COMPACT_THRESHOLD", _positive, thresholds.compact),
            reflector=values.get("CONSTRUCT_REFLECTOR_THRESHOLD", _positive, thresholds.reflector),
            budget=values.get("CONSTRUCT_OBSERVATION_BUDGET", _positive, thresholds.budget),
            retain=values.get("CONSTRUCT_RETAIN", _number(0, 1), thresholds.retain),
            block_after=values.get(
                "CONSTRUCT_BLOCK_AFTER", _number(1, math.inf), thresholds.block_after
            ),
        ),
        provider=provider,
        model=values.get("CONSTRUCT_MODEL", model_name, None),
        context_window=values.get("CONSTRUCT_CONTEXT_WINDOW", _window, None),
        worker_model=values.get("MEMORY_WORKER_MODEL", model_name, None),
        local_model=values.get("CONSTRUCT_LOCAL_MODEL", _path, None),
        semantic_model=values.get("CONSTRUCT_SEMANTIC_MODEL", _path, None),
        api_key=credentials.api_key,
        auth_token=credentials.auth_token,
        base_url=credentials.base_url,
        openai=openai,
        persona=values.get("CONSTRUCT_PERSONA", _readable_file, None),
        recent_messages=values.get("CONSTRUCT_RECENT_MESSAGES", _positive, default.recent_messages),
        scope=values.get("CONSTRUCT_SCOPE", _one_of(SCOPES), default.scope),
        memory=values.get("CONSTRUCT_MEMORY", _one_of(MEMORY_SETTINGS), default.memory),
        memory_rules=values.get(
            "CONSTRUCT_MEMORY_RULES", _rules_file, config_dir / "memory-rules.md"
        ),
        worker_daily_usd=values.get(
            "CONSTRUCT_WORKER_DAILY_USD", _number(0, math.inf), default.worker_daily_usd
        ),
        remind_at=values.get("CONSTRUCT_REMIND_AT", read_time_of_day, default.remind_at),
        notify_text=values.get("CONSTRUCT_NOTIFY_TEXT", _one_of(NOTIFY_TEXTS), "label"),
        notify=values.get_own("CONSTRUCT_NOTIFY", _notify_address, None),
        theme=values.get("CONSTRUCT_THEME", _one_of(THEMES), default.theme),
        editing_mode=values.get(
            "CONSTRUCT_EDITING_MODE", _one_of(EDITING_MODES), default.editing_mode
        ),
        unknown=values.unknown(),
        untrusted=UntrustedFile(
            env_file, tuple(values.ignored), values.need_trust(), trust is Trust.REFUSED
        )
        if values.ignored
        else None,
        setup_names=values.setup_names,
        is_chosen_by_setup=values.is_chosen_by_setup,
        is_address_from_env_file=credentials.is_address_from_env_file,
    )


def _positive(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1 or value > _MAX_NUMBER:
        raise ValueError(f"it must be a whole number from 1 to {_MAX_NUMBER:,}")
    return value


def _window(text: str) -> int:
    tokens = _positive(text)
    if tokens < _MIN_WINDOW:
        raise ValueError(f"it must be at least {_MIN_WINDOW}")
    return tokens


def _number(low: float, high: float) -> Callable[[str], float]:
    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not (low <= value <= high and math.isfinite(value)):
            raise ValueError(
                f"it must be a number from {low:g}"
                + (f" to {high:g}" if math.isfinite(high) else " up")
            )
        return value

    return parse


def _one_of(allowed: tuple[str, ...]) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text.lower() not in allowed:
            raise ValueError(f"it must be one of {', '.join(allowed)}")
        return text.lower()

    return parse


def _notify_address(text: str) -> str:
    if text.lower() == "desktop":
        return "desktop"
    if "://" not in text or not text.isprintable():
        raise ValueError("it must be desktop, or an Apprise URL such as ntfy://topic")
    return text


def _path(text: str) -> Path:
    if "\0" in text:
        raise ValueError("it must not contain a NUL byte")
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise ValueError("it begins with the home folder of an unknown user") from None


def _readable_file(text: str) -> Path:
    path = _path(text)
    try:
        path.read_bytes()
    except OSError as error:
        raise ValueError(f"it cannot be read ({error.strerror or error})") from None
    return path


def _rules_file(text: str) -> Path:
    path = _readable_file(text)
    if path.stat().st_size > MAX_RULES_BYTES:
        raise ValueError("it is larger than 100 kB; make your memory rules shorter")
    return path


def model_name(text: str) -> str:
    """Return the name of a model; raises ValueError if it cannot be one."""
    if not text.strip() or not text.isprintable():
        raise ValueError("it must be the name of a model")
    return text.strip()


def _check_system_zone() -> None:
    """Raise UsageError if the system's time zone, which TZ can set, is a day off or more."""
    try:
        for month in range(1, 13):
            datetime(2000, month, 1).astimezone()
    except (ValueError, OverflowError):
        raise UsageError(
            f"TZ is {os.environ.get('TZ', '')!r}, which is a day or more away from UTC.\n"
            "Set TZ or CONSTRUCT_TZ to one such as Europe/Lisbon."
        ) from None

"""Settings, by precedence: the environment, `.env` here, `config.env` in its folder.

The environment and `config.env` are the user's own. A `.env` may have come with somebody
else's repository, so most of it counts only once the user has trusted it (contract.md,
"Files of settings and trust").
"""

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from pathlib import Path
from typing import TypeVar, cast
from urllib.parse import urlsplit

from platformdirs import user_config_path, user_data_path

from construct.clock import Clock
from construct.env_file import EnvFile, Trust, read_env_file, trust_in
from construct.errors import UsageError
from construct.vocabulary import Provider, Scope

T = TypeVar("T")

PROVIDERS = ("auto", *Provider)
SCOPES = tuple(Scope)
MEMORY_MODES = ("on", "read-only", "off")
THEMES = ("auto", "light", "dark")
EDITING_MODES = ("auto", "emacs", "vi")
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
"""What a `.env` may set before anybody has trusted it."""
LOOK_FOR = "CONSTRUCT_LOOK_FOR"
CHOSEN = "CONSTRUCT_SETUP"
"""Names, in `config.env`, the settings there that `construct setup` wrote, with commas."""
_LEAST_WINDOW = 2_048
# Beyond these, dates a few days off could not be told.
_FIRST_YEAR, _LAST_YEAR = 1000, 9000


@dataclass(frozen=True, slots=True)
class Thresholds:
    """When memory work is due, in tokens (contract.md, "Settings")."""

    observer: int = 3000
    compact: int = 6000
    reflector: int = 4000
    budget: int = 8000
    retain: float = 0.2
    block_after: float = 1.5


@dataclass(frozen=True, slots=True)
class UntrustedFile:
    """A `.env` that the user has not trusted, and what it would set."""

    file: EnvFile
    ignored: Mapping[str, str] = field(repr=False, hash=False)
    """The settings that were ignored, with their values."""
    is_refused: bool = False
    """Whether the user was asked and said no."""


@dataclass(frozen=True, slots=True)
class Settings:
    """One process's settings; nothing reads the environment after this is made."""

    db: Path
    config_dir: Path
    clock: Clock = Clock()
    thresholds: Thresholds = Thresholds()
    provider: str = "auto"
    model: str | None = None
    context_window: int | None = None
    """Tokens that the main model can be sent; None: what the server or the catalog says."""
    worker_model: str | None = None
    local_model: Path | None = None
    semantic_model: Path | None = None
    api_key: str | None = None
    auth_token: str | None = None
    base_url: str | None = None
    persona: Path | None = None
    """The file that CONSTRUCT_PERSONA names."""
    recent_messages: int = 20
    scope: str = Scope.USER
    memory: str = "on"
    memory_rules: Path | None = None
    """The file with what the user wants remembered or left out; there may be none."""
    worker_daily_usd: float = 1.0
    theme: str = "auto"
    editing_mode: str = "auto"
    unknown: tuple[str, ...] = ()
    """Names like those of settings that are none: misspelt, or of a newer version."""
    untrusted: UntrustedFile | None = None
    """The `.env` whose settings were partly ignored, because the user has not trusted it."""
    setup_names: frozenset[str] = frozenset()
    """Names of settings in `config.env` that `construct setup` wrote."""
    is_chosen_by_setup: bool = False
    """Whether these count: no credentials come from before `config.env`."""
    is_address_from_env_file: bool = False
    """Whether the server's address comes from a `.env`: no key from elsewhere is sent to it."""

    def must_learn(self) -> None:
        """Raise UsageError where the memory is not to learn anything."""
        if self.memory != "on":
            raise UsageError(
                f"CONSTRUCT_MEMORY is {self.memory}: nothing is learned. Set it to on for that."
            )

    @property
    def persona_file(self) -> Path:
        """The file that says how the companion talks; without it the shipped one does."""
        own = self.config_dir / "persona.md"
        before = self.config_dir / "companion.md"  # its name in older versions
        return self.persona or (before if before.is_file() and not own.exists() else own)

    @property
    def is_configured(self) -> bool:
        """Whether anything says where replies come from."""
        return self.has_credentials or self.is_chosen_by_setup or self.local_model is not None

    @property
    def has_credentials(self) -> bool:
        """Whether an Anthropic-speaking server can be asked."""
        return bool(self.api_key or self.auth_token or self.base_url)


def load_settings(environ: Mapping[str, str] | None = None, *, db: Path | None = None) -> Settings:
    """Return the settings in force; `db` is the command line's `--db`.

    Raises UsageError naming the variable when a setting is wrong.
    """
    environ = os.environ if environ is None else environ
    config_dir = user_config_path("construct", appauthor=False)
    env_file = read_env_file(Path(".env"))
    trust = trust_in(env_file, config_dir)
    values = _Values(
        environ,
        env_file,
        read_env_file(config_dir / "config.env"),
        is_trusted=trust is Trust.TRUSTED,
    )
    usual = Settings(user_data_path("construct", appauthor=False) / "construct.db", config_dir)
    limits = usual.thresholds
    zone = values.get("CONSTRUCT_TZ", _zone, None)
    credentials = values.credentials()
    values.pass_over(LOOK_FOR)  # read where servers are looked for, from the environment only
    if db is None:
        db = values.get("CONSTRUCT_DB", _path, usual.db)
    else:
        values.pass_over("CONSTRUCT_DB")
    return Settings(
        db=db,
        config_dir=config_dir,
        clock=Clock(values.get("CONSTRUCT_NOW", _moment(zone), None), zone),
        thresholds=Thresholds(
            observer=values.get("CONSTRUCT_OBSERVER_THRESHOLD", _positive, limits.observer),
            compact=values.get("CONSTRUCT_COMPACT_THRESHOLD", _positive, limits.compact),
            reflector=values.get("CONSTRUCT_REFLECTOR_THRESHOLD", _positive, limits.reflector),
            budget=values.get("CONSTRUCT_OBSERVATION_BUDGET", _positive, limits.budget),
            retain=values.get("CONSTRUCT_RETAIN", _number(0, 1), limits.retain),
            block_after=values.get(
                "CONSTRUCT_BLOCK_AFTER", _number(1, math.inf), limits.block_after
            ),
        ),
        provider=values.get("CONSTRUCT_PROVIDER", _one_of(PROVIDERS), usual.provider),
        model=values.get("CONSTRUCT_MODEL", model_name, None),
        context_window=values.get("CONSTRUCT_CONTEXT_WINDOW", _window, None),
        worker_model=values.get("MEMORY_WORKER_MODEL", model_name, None),
        local_model=values.get("CONSTRUCT_LOCAL_MODEL", _path, None),
        semantic_model=values.get("CONSTRUCT_SEMANTIC_MODEL", _path, None),
        api_key=credentials.api_key,
        auth_token=credentials.auth_token,
        base_url=credentials.base_url,
        persona=values.get("CONSTRUCT_PERSONA", _readable_file, None),
        recent_messages=values.get("CONSTRUCT_RECENT_MESSAGES", _positive, usual.recent_messages),
        scope=values.get("CONSTRUCT_SCOPE", _one_of(SCOPES), usual.scope),
        memory=values.get("CONSTRUCT_MEMORY", _one_of(MEMORY_MODES), usual.memory),
        memory_rules=values.get("CONSTRUCT_MEMORY_RULES", _path, config_dir / "memory-rules.md"),
        worker_daily_usd=values.get(
            "CONSTRUCT_WORKER_DAILY_USD", _number(0, math.inf), usual.worker_daily_usd
        ),
        theme=values.get("CONSTRUCT_THEME", _one_of(THEMES), usual.theme),
        editing_mode=values.get(
            "CONSTRUCT_EDITING_MODE", _one_of(EDITING_MODES), usual.editing_mode
        ),
        unknown=values.unknown(),
        untrusted=UntrustedFile(env_file, values.ignored, trust is Trust.REFUSED)
        if values.ignored
        else None,
        setup_names=values.setup_names,
        is_chosen_by_setup=values.is_chosen_by_setup,
        is_address_from_env_file=credentials.is_address_from_env_file,
    )


@dataclass(frozen=True, slots=True)
class _Credentials:
    base_url: str | None
    api_key: str | None
    auth_token: str | None
    is_address_from_env_file: bool


class _Values:
    """The settings as text, from all sources, in their order of precedence."""

    def __init__(
        self, environ: Mapping[str, str], env_file: EnvFile, config: EnvFile, *, is_trusted: bool
    ) -> None:
        self._env_file = env_file.values
        self._is_trusted = is_trusted
        self._asked: set[str] = {CHOSEN}
        self.ignored: dict[str, str] = {}
        """What the `.env` sets and may not."""
        given = [environ, *([env_file.values] if is_trusted else [])]
        named = frozenset(filter(None, config.values.get(CHOSEN, "").split(",")))
        is_over = any(source.get(name, "").strip() for source in given for name in CREDENTIALS)
        self.setup_names = named
        self.is_chosen_by_setup = bool(named) and not is_over
        # The choice is one thing: a key of yours must not go to an address that setup wrote.
        dormant = named if is_over else frozenset(CREDENTIALS) - named if named else frozenset()
        kept = {name: value for name, value in config.values.items() if name not in dormant}
        self._sources = [environ, env_file.values, kept]

    def get(self, name: str, parse: Callable[[str], T], default: T) -> T:
        """Return the parsed value of a setting, its default when no source has one."""
        found = self._find(name)
        return default if found is None else _parsed(name, found[0], parse)

    def credentials(self) -> _Credentials:
        """Return the server's address and the key for it.

        An address from a `.env` gets a key from that same file or none: whoever wrote
        the file decides where the key goes.
        """
        address = self._find("ANTHROPIC_BASE_URL")
        is_from_env_file = address is not None and address[1] is self._env_file
        secrets = {}
        for name in SECRETS:
            found = self._find(name)
            value = self._usable(name, self._env_file) if is_from_env_file else found and found[0]
            secrets[name] = _parsed(name, value, _secret, is_secret=True) if value else None
        return _Credentials(
            base_url=self.get("ANTHROPIC_BASE_URL", server_address, None),
            api_key=secrets["ANTHROPIC_API_KEY"],
            auth_token=secrets["ANTHROPIC_AUTH_TOKEN"],
            is_address_from_env_file=is_from_env_file,
        )

    def pass_over(self, name: str) -> None:
        """Note that a setting exists, though the command line has gone before it."""
        self._asked.add(name)

    def unknown(self) -> tuple[str, ...]:
        """Return the names that look like a setting of ours and that nothing has asked for."""
        given = {name for source in self._sources for name in source if name.startswith(_PREFIXES)}
        return tuple(sorted(given - self._asked))

    def _find(self, name: str) -> tuple[str, Mapping[str, str]] | None:
        """Return the first value of a setting and the source it comes from.

        Blank values count as not set.
        """
        self._asked.add(name)
        for source in self._sources:
            value = self._usable(name, source)
            if value is not None:
                return value, source
        return None

    def _usable(self, name: str, source: Mapping[str, str]) -> str | None:
        value = source.get(name, "").strip()
        if not value:
            return None
        if source is self._env_file and not self._is_trusted and name not in HARMLESS_IN_ENV_FILE:
            self.ignored[name] = value
            return None
        return value


_PREFIXES = ("CONSTRUCT_", "MEMORY_WORKER_")
SECRETS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
CREDENTIALS = (*SECRETS, "ANTHROPIC_BASE_URL")
"""Where any of these is set in the environment, what `construct setup` chose does not count."""


def _parsed(name: str, text: str, parse: Callable[[str], T], *, is_secret: bool = False) -> T:
    try:
        return parse(text)
    except ValueError as error:
        value = "" if is_secret else f" is {text[:60]!r}"
        raise UsageError(
            f"{name}{value}: {error}. Correct it in the environment, .env or config.env."
        ) from error


def _positive(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1 or value > 1_000_000_000:
        raise ValueError("it must be a whole number above 0")
    return value


def _window(text: str) -> int:
    tokens = _positive(text)
    if tokens < _LEAST_WINDOW:
        raise ValueError(f"it must be at least {_LEAST_WINDOW}")
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


def _path(text: str) -> Path:
    if "\0" in text:
        raise ValueError("it must not have a NUL in it")
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


def model_name(text: str) -> str:
    """Return the name of a model; raises ValueError for what can be none."""
    if not text.strip() or not text.isprintable():
        raise ValueError("it must be the name of a model")
    return text.strip()


def _secret(text: str) -> str:
    if not text.isascii() or not text.isprintable():
        raise ValueError("it holds characters that a key cannot have")
    return text


def server_address(text: str) -> str:
    """Return the address of a server; raises ValueError when it is none."""
    parts = urlsplit(text)
    if (
        parts.scheme not in {"http", "https"}
        or not parts.hostname
        or not text.isprintable()
        or " " in text
    ):
        raise ValueError("it must be an address that begins with http:// or https://")
    _ = parts.port  # raises ValueError
    return text


def _moment(zone: tzinfo | None) -> Callable[[str], datetime | None]:
    def parse(text: str) -> datetime:
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            moment = datetime.min  # noqa: DTZ901 (no year that is taken)
        if not _FIRST_YEAR <= moment.year <= _LAST_YEAR:
            raise ValueError("it must be an ISO 8601 time such as 2026-03-01T14:30:00+01:00")
        return (
            moment
            if moment.tzinfo
            else moment.replace(tzinfo=zone)
            if zone
            else moment.astimezone()
        )

    return parse


def _zone(text: str) -> tzinfo | None:
    from zoneinfo import ZoneInfo

    try:
        return cast(tzinfo, ZoneInfo(text))
    except (
        KeyError,
        ValueError,
        OSError,
    ):  # ZoneInfoNotFoundError is a KeyError; a folder's name an OSError
        raise ValueError("it must be a time zone such as Europe/Lisbon") from None

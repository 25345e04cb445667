"""Settings: environment, then `.env` in the working directory, then `config.env` in the configuration directory."""

import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, tzinfo
from pathlib import Path
from typing import TypeVar, cast
from urllib.parse import urlsplit

from platformdirs import user_config_path, user_data_path

from construct.clock import Clock
from construct.errors import UsageError

T = TypeVar("T")

PROVIDERS = ("auto", "anthropic", "local")
SCOPES = ("user", "conversation")
MEMORY_MODES = ("on", "read-only", "off")
THEMES = ("auto", "light", "dark")
EDITING_MODES = ("auto", "emacs", "vi")
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
class Settings:
    """One process's settings; nothing reads the environment after this is made."""

    db: Path
    config_dir: Path
    clock: Clock = Clock()
    thresholds: Thresholds = Thresholds()
    provider: str = "auto"
    model: str | None = None
    worker_model: str | None = None
    local_model: Path | None = None
    semantic_model: Path | None = None
    api_key: str | None = None
    auth_token: str | None = None
    base_url: str | None = None
    recent_messages: int = 20
    scope: str = "user"
    memory: str = "on"
    worker_daily_usd: float = 1.0
    theme: str = "auto"
    editing_mode: str = "auto"
    unknown: tuple[str, ...] = ()
    """Names like those of settings that are none: misspelt, or of a newer version."""

    def must_learn(self) -> None:
        """Raise UsageError where the memory is not to learn anything."""
        if self.memory != "on":
            raise UsageError(f"CONSTRUCT_MEMORY is {self.memory}: nothing is learned. Set it to on for that.")

    @property
    def has_credentials(self) -> bool:
        """Tell whether an Anthropic-speaking server can be asked."""
        return bool(self.api_key or self.auth_token or self.base_url)


def load_settings(environ: Mapping[str, str] | None = None, *, db: Path | None = None) -> Settings:
    """Return the settings in force; `db` is the command line's `--db`.

    Raises UsageError naming the variable when a setting is wrong.
    """
    environ = os.environ if environ is None else environ
    config_dir = user_config_path("construct", appauthor=False)
    values = _Values([environ, _env_file(Path(".env")), _env_file(config_dir / "config.env")])
    usual = Settings(user_data_path("construct", appauthor=False) / "construct.db", config_dir)
    limits = usual.thresholds
    zone = values.get("CONSTRUCT_TZ", _zone, None)
    return Settings(
        db=db or values.get("CONSTRUCT_DB", _path, usual.db),
        config_dir=config_dir,
        clock=Clock(values.get("CONSTRUCT_NOW", _moment(zone), None), zone),
        thresholds=Thresholds(
            observer=values.get("CONSTRUCT_OBSERVER_THRESHOLD", _positive, limits.observer),
            compact=values.get("CONSTRUCT_COMPACT_THRESHOLD", _positive, limits.compact),
            reflector=values.get("CONSTRUCT_REFLECTOR_THRESHOLD", _positive, limits.reflector),
            budget=values.get("CONSTRUCT_OBSERVATION_BUDGET", _positive, limits.budget),
            retain=values.get("CONSTRUCT_RETAIN", _number(0, 1), limits.retain),
            block_after=values.get("CONSTRUCT_BLOCK_AFTER", _number(1, math.inf), limits.block_after),
        ),
        provider=values.get("CONSTRUCT_PROVIDER", _one_of(PROVIDERS), usual.provider),
        model=values.get("CONSTRUCT_MODEL", model_name, None),
        worker_model=values.get("MEMORY_WORKER_MODEL", model_name, None),
        local_model=values.get("CONSTRUCT_LOCAL_MODEL", _path, None),
        semantic_model=values.get("CONSTRUCT_SEMANTIC_MODEL", _path, None),
        api_key=values.get("ANTHROPIC_API_KEY", _secret, None, shown=False),
        auth_token=values.get("ANTHROPIC_AUTH_TOKEN", _secret, None, shown=False),
        base_url=values.get("ANTHROPIC_BASE_URL", _url, None),
        recent_messages=values.get("CONSTRUCT_RECENT_MESSAGES", _positive, usual.recent_messages),
        scope=values.get("CONSTRUCT_SCOPE", _one_of(SCOPES), usual.scope),
        memory=values.get("CONSTRUCT_MEMORY", _one_of(MEMORY_MODES), usual.memory),
        worker_daily_usd=values.get("CONSTRUCT_WORKER_DAILY_USD", _number(0, math.inf), usual.worker_daily_usd),
        theme=values.get("CONSTRUCT_THEME", _one_of(THEMES), usual.theme),
        editing_mode=values.get("CONSTRUCT_EDITING_MODE", _one_of(EDITING_MODES), usual.editing_mode),
        unknown=values.never_asked_for(),
    )


class _Values:
    def __init__(self, sources: list[Mapping[str, str]]) -> None:
        self._sources = sources
        self._asked: set[str] = set()

    def get(self, name: str, parse: Callable[[str], T], default: T, *, shown: bool = True) -> T:
        """Return the first non-blank value of `name`, parsed; a wrong one that is a secret is not `shown`."""
        self._asked.add(name)
        text = next((s[name].strip() for s in self._sources if s.get(name, "").strip()), None)
        if text is None:
            return default
        try:
            return parse(text)
        except ValueError as error:
            value = f" is {text[:60]!r}" if shown else ""
            raise UsageError(f"{name}{value}: {error}. Correct it in the environment, .env or config.env.") from error

    def never_asked_for(self) -> tuple[str, ...]:
        """Return what is named like a setting, and has not been asked for."""
        given = {name for source in self._sources for name in source if name.startswith(_PREFIXES)}
        return tuple(sorted(given - self._asked))


_PREFIXES = ("CONSTRUCT_", "MEMORY_WORKER_")
_OURS = re.compile(r"\b(?:CONSTRUCT_|ANTHROPIC_|MEMORY_WORKER_)")


def _env_file(path: Path) -> Mapping[str, str]:
    try:
        if not path.is_file():
            return {}
        from dotenv.parser import parse_stream

        with path.open(encoding="utf-8-sig") as file:
            found = list(parse_stream(file))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read ({type(error).__name__}). Correct or remove it.") from error
    for line in (one.original for one in found if one.error):
        if _OURS.search(line.string):  # what other programs keep in `.env` is none of our business
            raise UsageError(f"{path}, line {line.line}: that is not NAME=VALUE. Correct it.")
    return {one.key: one.value for one in found if one.key is not None and one.value is not None}


def _positive(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1 or value > 1_000_000_000:
        raise ValueError("it must be a whole number above 0")
    return value


def _number(low: float, high: float) -> Callable[[str], float]:
    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not (low <= value <= high and math.isfinite(value)):
            raise ValueError(f"it must be a number from {low:g}" + (f" to {high:g}" if math.isfinite(high) else " up"))
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
        raise ValueError("it begins with the home folder of nobody here") from None


def model_name(text: str) -> str:
    """Return the name of a model; raises ValueError for what can be none."""
    if not text.strip() or not text.isprintable():
        raise ValueError("it must be the name of a model")
    return text.strip()


def _secret(text: str) -> str:
    if not text.isascii() or not text.isprintable():
        raise ValueError("it holds characters that no key has")
    return text


def _url(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in {"http", "https"} or not parts.hostname or not text.isprintable() or " " in text:
        raise ValueError("it must be an address that begins with http:// or https://")
    _ = parts.port  # raises ValueError
    return text


def _moment(zone: tzinfo | None) -> Callable[[str], datetime | None]:
    """Return the parser of a time; one without an offset is the user's wall clock."""

    def parse(text: str) -> datetime:
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            moment = datetime.min  # noqa: DTZ901 (no year that is taken)
        if not _FIRST_YEAR <= moment.year <= _LAST_YEAR:
            raise ValueError("it must be an ISO 8601 time such as 2026-03-01T14:30:00+01:00")
        return moment if moment.tzinfo else moment.replace(tzinfo=zone) if zone else moment.astimezone()

    return parse


def _zone(text: str) -> tzinfo | None:
    from zoneinfo import ZoneInfo

    try:
        return cast(tzinfo, ZoneInfo(text))
    except (KeyError, ValueError, OSError):  # ZoneInfoNotFoundError is a KeyError; a folder's name an OSError
        raise ValueError("it must be a time zone such as Europe/Lisbon") from None

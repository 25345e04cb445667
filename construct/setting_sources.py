"""Look settings up in the environment, `.env` and `config.env`, in that order.

Which of them may set what: `.env` may be a stranger's, and what `construct setup` wrote
into `config.env` counts as a whole or not at all.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple, TypeVar
from urllib.parse import urlsplit

from construct.env_file import EnvFile
from construct.errors import UsageError
from construct.vocabulary import Provider

T = TypeVar("T")

WRITTEN_BY_SETUP = "CONSTRUCT_SETUP"
"""The setting in `config.env` that lists the settings `construct setup` wrote there."""
_PREFIXES = ("CONSTRUCT_", "MEMORY_WORKER_")
ANTHROPIC_SECRETS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
OPENAI_SECRETS = ("OPENAI_API_KEY",)
SECRETS = frozenset({*ANTHROPIC_SECRETS, *OPENAI_SECRETS})
"""Settings whose values are never shown."""
CREDENTIALS = (*ANTHROPIC_SECRETS, "ANTHROPIC_BASE_URL")
"""What `construct setup` wrote does not count if one of these comes from elsewhere.

"Elsewhere" is the environment, or a `.env` that the user has trusted.
"""
OPENAI_CREDENTIALS = (*OPENAI_SECRETS, "OPENAI_BASE_URL")
"""The same, if CONSTRUCT_PROVIDER is `openai` there too."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """The address of a server, and what is sent to it to prove who asks."""

    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    auth_token: str | None = field(default=None, repr=False)
    is_address_from_env_file: bool = False
    """Whether the address comes from `.env`. Then no key from elsewhere is sent to it."""

    def __bool__(self) -> bool:
        return bool(self.base_url or self.api_key or self.auth_token)


class Values:
    """Looks up settings as text in all sources, in their order of precedence."""

    def __init__(
        self,
        environ: Mapping[str, str],
        env_file: EnvFile,
        config: EnvFile,
        harmless: Collection[str],
        *,
        is_trusted: bool,
    ) -> None:
        """`harmless`: the settings that count in a `.env` that is not trusted."""
        self._harmless = harmless
        self._env_file = env_file.values
        self._is_trusted = is_trusted
        self._looked_up: set[str] = set()
        self._known_elsewhere = {WRITTEN_BY_SETUP}
        self.ignored: dict[str, None] = {}
        """Settings that an untrusted `.env` would change, among those looked up so far."""
        listed = config.values.get(WRITTEN_BY_SETUP, "").split(",")
        self.setup_names = frozenset(filter(None, listed))
        has_credentials = _names_server(environ) or (is_trusted and _names_server(env_file.values))
        self.is_chosen_by_setup = bool(self.setup_names) and not has_credentials
        # What setup wrote counts as a whole or not at all: a key from elsewhere must not be
        # sent to an address that setup wrote, nor the other way round.
        unused: frozenset[str] = frozenset()
        if has_credentials:
            unused = self.setup_names
        elif self.setup_names:
            unused = frozenset((*CREDENTIALS, *OPENAI_CREDENTIALS)) - self.setup_names
        chose_openai = not self.setup_names.isdisjoint(OPENAI_CREDENTIALS)
        # Many have an OPENAI_API_KEY for other programs. It is not sent where setup says.
        self._from_config_only = frozenset(
            OPENAI_CREDENTIALS if self.is_chosen_by_setup and chose_openai else ()
        )
        used = {name: value for name, value in config.values.items() if name not in unused}
        self._sources = [environ, env_file.values, used]

    def get(self, name: str, parse: Callable[[str], T], default: T) -> T:
        """Return the parsed value of a setting, or its default if no source has it."""
        value = self._first_value(name)
        return default if value is None else _parsed(name, value.text, parse)

    def get_own(self, name: str, parse: Callable[[str], T], default: T) -> T:
        """Return a secret setting from the environment or `config.env`; never from `.env`."""
        self._known_elsewhere.add(name)
        own_sources = (source for source in self._sources if source is not self._env_file)
        texts = (source.get(name, "").strip() for source in own_sources)
        text = next(filter(None, texts), None)
        return default if text is None else _parsed(name, text, parse, is_secret=True)

    def credentials(self, address_name: str, secret_names: Sequence[str]) -> Credentials:
        """Return a server's address and its keys: the API key, and maybe a token.

        If the address comes from `.env`, so must the keys: whoever wrote that file decides
        where they are sent.
        """
        address = self._first_value(address_name)
        is_from_env_file = address is not None and address.source is self._env_file
        secrets: dict[str, str | None] = {}
        for name in secret_names:
            value = self._first_value(name)
            text = value.text if value else None
            if is_from_env_file:
                text = self._value_in(name, self._env_file)
            secrets[name] = _parsed(name, text, _secret, is_secret=True) if text else None
        return Credentials(
            base_url=self.get(address_name, server_address, None),
            api_key=secrets[secret_names[0]],
            auth_token=secrets.get("ANTHROPIC_AUTH_TOKEN"),
            is_address_from_env_file=is_from_env_file,
        )

    def env_file_wants(self, provider: Provider) -> bool:
        """Return whether `.env` names this provider, trusted or not."""
        return self._env_file.get("CONSTRUCT_PROVIDER", "").strip().lower() == provider

    def mark_overridden(self, name: str) -> None:
        """Record that a setting exists, although another value is used now."""
        self._looked_up.add(name)

    def mark_known(self, name: str) -> None:
        """Record that a setting exists, although it is not looked up here."""
        self._known_elsewhere.add(name)

    def unknown(self) -> tuple[str, ...]:
        """Return the names that look like a setting of ours but were never looked up."""
        names = {name for name in chain(*self._sources) if name.startswith(_PREFIXES)}
        return tuple(sorted(names - self._looked_up - self._known_elsewhere))

    def need_trust(self) -> dict[str, str]:
        """Return the settings in `.env` that count only if it is trusted, with their values."""
        names = sorted(self._looked_up.difference(self._harmless))
        given = {name: self._env_file.get(name, "").strip() for name in names}
        return {name: value for name, value in given.items() if value}

    def _first_value(self, name: str) -> "_Value | None":
        """Return a setting from the first source that has it. Blank values are skipped."""
        self._looked_up.add(name)
        sources = self._sources[-1:] if name in self._from_config_only else self._sources
        for source in sources:
            text = self._value_in(name, source)
            if text is not None:
                return _Value(text, source)
        return None

    def _value_in(self, name: str, source: Mapping[str, str]) -> str | None:
        value = source.get(name, "").strip()
        if not value:
            return None
        if source is self._env_file and not self._is_trusted and name not in self._harmless:
            self.ignored[name] = None
            return None
        return value


class _Value(NamedTuple):
    """A setting as text, and the source it comes from."""

    text: str
    source: Mapping[str, str]


def _names_server(source: Mapping[str, str]) -> bool:
    """Return whether a source has credentials that count without `construct setup`."""
    provider = source.get("CONSTRUCT_PROVIDER", "").strip().lower()
    names = OPENAI_CREDENTIALS if provider == Provider.OPENAI else CREDENTIALS
    return any(source.get(name, "").strip() for name in names)


def _parsed(name: str, text: str, parse: Callable[[str], T], *, is_secret: bool = False) -> T:
    try:
        return parse(text)
    except ValueError as error:
        value = "" if is_secret else f" is {text[:60]!r}"
        raise UsageError(
            f"{name}{value}: {error}. Correct it in the environment, .env or config.env."
        ) from error


def _secret(text: str) -> str:
    if not text.isascii() or not text.isprintable():
        raise ValueError("it contains characters that no key has")
    return text


def server_address(text: str) -> str:
    """Return the address of a server; raises ValueError if it is not an HTTP address."""
    try:
        parts = urlsplit(text)
        is_address = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:  # the port is not a number, or a bracket is not closed
        is_address = False
    if not is_address or not text.isprintable() or " " in text:
        raise ValueError("it must be an address such as http://localhost:8080")
    return text

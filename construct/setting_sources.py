"""Look settings up in the environment, `.env` and `config.env`, in that order.

Which of them may set what: `.env` may be a stranger's, and what `construct setup` wrote
into `config.env` counts as a whole or not at all.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple

from construct.env_file import EnvFile
from construct.errors import UsageError
from construct.setting import AllowedIn, Setting
from construct.vocabulary import Provider

WRITTEN_BY_SETUP = "CONSTRUCT_SETUP"
"""The setting in `config.env` that lists the settings `construct setup` wrote there."""
_PREFIXES = ("CONSTRUCT_", "MEMORY_WORKER_")
ANTHROPIC_SECRETS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
OPENAI_SECRETS = ("OPENAI_API_KEY",)
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


@dataclass(frozen=True, slots=True)
class GivenSetting:
    """A setting that some source has."""

    name: str
    text: str | None
    """None for what must not be shown: a secret, and an address that may hold a password."""
    source: str
    """`environment`, `.env` or `config.env`."""


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


class Values:
    """Looks up settings in all sources, in their order of precedence."""

    def __init__(
        self,
        settings: Mapping[str, Setting],
        environ: Mapping[str, str],
        env_file: EnvFile,
        config: EnvFile,
        *,
        is_trusted: bool,
    ) -> None:
        """`settings`: all that there are, by name."""
        self._settings = settings
        self._file = env_file
        self._env_file = env_file.values
        self._is_trusted = is_trusted
        self._looked_up: set[str] = set()
        self._ignored: dict[str, None] = {}
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
        self._sources = {"environment": environ, ".env": env_file.values, "config.env": used}

    def get(self, name: str) -> Any:
        """Return the value of a setting, or None if no source has it. Blank ones are skipped.

        Raises UsageError if it is invalid.
        """
        found = self._first(name)
        return None if found is None else self._read(name, found.text)

    def credentials(self, address_name: str, secret_names: Sequence[str]) -> Credentials:
        """Return a server's address and its keys: the API key, and maybe a token.

        If the address comes from `.env`, so must the keys: whoever wrote that file decides
        where they are sent.
        """
        address = self._first(address_name)
        is_from_env_file = address is not None and address.source == ".env"
        secrets: dict[str, str | None] = {}
        for name in secret_names:
            found = self._first(name)
            text = found.text if found else None
            if is_from_env_file:
                text = self._text_in(".env", name)
            secrets[name] = self._read(name, text) if text else None
        return Credentials(
            base_url=self.get(address_name),
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

    def given(self) -> tuple[GivenSetting, ...]:
        """Return the settings that were found, and where."""
        found = [(name, self._first(name)) for name in self._settings if name in self._looked_up]
        return tuple(
            GivenSetting(name, None if self._is_private(name, one.text) else one.text, one.source)
            for name, one in found
            if one is not None
        )

    def unknown(self) -> tuple[str, ...]:
        """Return the names that look like a setting of ours but are none."""
        names = {n for n in chain(*self._sources.values()) if n.startswith(_PREFIXES)}
        return tuple(sorted(names - self._settings.keys() - {WRITTEN_BY_SETUP}))

    def misplaced(self) -> tuple[str, ...]:
        """Return the settings in `.env` that count in no `.env`."""
        given = [name for name, text in self._env_file.items() if text.strip()]
        never = {AllowedIn.OWN_FILE, AllowedIn.NO_FILE}
        return tuple(
            name
            for name in given
            if name in self._settings and self._settings[name].allowed_in in never
        )

    def untrusted(self, *, is_refused: bool) -> UntrustedFile | None:
        """Return the `.env` if it would change settings that were looked up, if it were trusted."""
        if not self._ignored:
            return None
        needing_trust = sorted(
            name
            for name in self._looked_up
            if self._settings[name].allowed_in is AllowedIn.TRUSTED_FILE
        )
        texts = {name: self._env_file.get(name, "").strip() for name in needing_trust}
        given = {name: text for name, text in texts.items() if text}
        return UntrustedFile(self._file, tuple(self._ignored), given, is_refused)

    def _first(self, name: str) -> "_Found | None":
        """Return a setting from the first source that has it."""
        self._looked_up.add(name)
        sources = ["config.env"] if name in self._from_config_only else self._sources
        for source in sources:
            text = self._text_in(source, name)
            if text is not None:
                return _Found(text, source)
        return None

    def _text_in(self, source: str, name: str) -> str | None:
        """Return a setting from one source, if it may come from there."""
        text = self._sources[source].get(name, "").strip()
        allowed_in = self._settings[name].allowed_in
        if not text or source == "environment":
            return text or None
        if allowed_in is AllowedIn.NO_FILE:
            return None
        if source == "config.env" or allowed_in is AllowedIn.ANY_FILE:
            return text
        if allowed_in is AllowedIn.OWN_FILE:
            return None
        if not self._is_trusted:
            self._ignored[name] = None
            return None
        return text

    def _read(self, name: str, text: str) -> Any:
        setting = self._settings[name]
        try:
            return setting.read(text)
        except ValueError as error:
            value = "" if setting.is_secret else f" is {text[:60]!r}"
            raise UsageError(
                f"{name}{value}: {error}. Correct it in the environment, .env or config.env."
            ) from error

    def _is_private(self, name: str, text: str) -> bool:
        return self._settings[name].is_secret or "@" in text


class _Found(NamedTuple):
    """A setting as text, and the source it comes from."""

    text: str
    source: str


def _names_server(source: Mapping[str, str]) -> bool:
    """Return whether a source has credentials that count without `construct setup`."""
    provider = source.get("CONSTRUCT_PROVIDER", "").strip().lower()
    names = OPENAI_CREDENTIALS if provider == Provider.OPENAI else CREDENTIALS
    return any(source.get(name, "").strip() for name in names)

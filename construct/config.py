"""The settings: what each is called, how it is read, its default and its meaning.

To add one, declare a field of `Settings` with `setting`, and use the field.
`load_settings.py` reads them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import time
from pathlib import Path

from construct.clock import Clock, read_moment, read_time_of_day, read_zone
from construct.errors import UsageError
from construct.setting import AllowedIn, Section, Setting, declared_in, made_of, setting
from construct.setting_sources import Credentials, GivenSetting, UntrustedFile
from construct.setting_values import (
    context_window,
    line,
    model_name,
    notify_address,
    number,
    on_or_off,
    one_of,
    path,
    readable_file,
    rules_file,
    secret,
    server_address,
    whole_number,
)
from construct.user_rules import RulesFile
from construct.vocabulary import LearnSetting, MemorySetting, Provider, Scope


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Thresholds of memory work, in tokens or as multiples of `compact` (docs/settings.md)."""

    observer: int = setting(
        "CONSTRUCT_OBSERVER_THRESHOLD",
        Section.MEMORY,
        whole_number(1),
        "unobserved tokens that start the observer",
        default="3000",
        allowed_in=AllowedIn.ANY_FILE,
    )
    compact: int = setting(
        "CONSTRUCT_COMPACT_THRESHOLD",
        Section.MEMORY,
        whole_number(1),
        "tokens in the window at which observed messages leave it",
        default="6000",
        allowed_in=AllowedIn.ANY_FILE,
    )
    reflector: int = setting(
        "CONSTRUCT_REFLECTOR_THRESHOLD",
        Section.MEMORY,
        whole_number(1),
        "tokens of active observations that start the reflector",
        default="4000",
        allowed_in=AllowedIn.ANY_FILE,
    )
    budget: int = setting(
        "CONSTRUCT_OBSERVATION_BUDGET",
        Section.MEMORY,
        whole_number(1),
        "the most tokens of observations that the main model is shown",
        default="8000",
        allowed_in=AllowedIn.ANY_FILE,
    )
    retain: float = setting(
        "CONSTRUCT_RETAIN",
        Section.MEMORY,
        number(0, 1),
        "the tokens that stay in the window after a compaction, as a share of the compact"
        " threshold",
        default="0.2",
        allowed_in=AllowedIn.ANY_FILE,
    )
    block_after: float = setting(
        "CONSTRUCT_BLOCK_AFTER",
        Section.MEMORY,
        number(1),
        "when a turn waits for the observer, as a multiple of the compact threshold",
        default="1.5",
        allowed_in=AllowedIn.ANY_FILE,
    )


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one process.

    After they are loaded, only two modules read Construct's settings from the environment:
    `construct.llm.servers` reads CONSTRUCT_LOOK_FOR, and `construct.operations.setup` checks
    where the credentials come from.
    """

    db: Path = field(
        metadata=made_of(
            Setting(
                "CONSTRUCT_DB",
                Section.COMMON,
                path,
                "the database file; `--db` overrides it",
                otherwise="`construct.db` in the data directory",
            )
        )
    )
    config_dir: Path
    api_key: str | None = field(
        default=None,
        repr=False,
        metadata=made_of(
            Setting(
                "ANTHROPIC_API_KEY",
                Section.COMMON,
                secret,
                "your key for Anthropic's API; never written to the database, an export or a log",
                is_secret=True,
            )
        ),
    )
    auth_token: str | None = field(
        default=None,
        repr=False,
        metadata=made_of(
            Setting(
                "ANTHROPIC_AUTH_TOKEN",
                Section.COMMON,
                secret,
                "a bearer token instead of a key",
                is_secret=True,
            )
        ),
    )
    base_url: str | None = setting(
        "ANTHROPIC_BASE_URL",
        Section.COMMON,
        server_address,
        "any server that speaks the Messages API; a local one needs no key",
    )
    openai: Credentials = field(
        default=Credentials(),
        metadata=made_of(
            Setting(
                "OPENAI_API_KEY",
                Section.COMMON,
                secret,
                "for `CONSTRUCT_PROVIDER=openai`: your key; with any other provider it means"
                " nothing",
                is_secret=True,
            ),
            Setting(
                "OPENAI_BASE_URL",
                Section.COMMON,
                server_address,
                "for `CONSTRUCT_PROVIDER=openai`: the address of any server that speaks OpenAI's"
                " chat completions, such as `http://localhost:8080/v1`",
                otherwise="OpenAI's own",
            ),
        ),
    )
    """Those for a server that speaks OpenAI's protocol; the ones above are for Anthropic's."""
    model: str | None = setting(
        "CONSTRUCT_MODEL",
        Section.COMMON,
        model_name,
        "the main model, which you talk to; `--model` and `/model` change it for one chat",
        otherwise="a current Sonnet; on another server the one chosen in setup, else the first"
        " it lists",
        allowed_in=AllowedIn.ANY_FILE,
    )
    worker_model: str | None = setting(
        "MEMORY_WORKER_MODEL",
        Section.COMMON,
        model_name,
        "the worker model, which observes and condenses. `extractive`: by rule, without a model;"
        " `local`: the GGUF file",
        otherwise="a current Haiku; on another server the main model, or `extractive` if that has"
        " fewer than 4 billion parameters; with a GGUF file or no model `extractive`",
        allowed_in=AllowedIn.ANY_FILE,
    )
    worker_daily_usd: float = setting(
        "CONSTRUCT_WORKER_DAILY_USD",
        Section.COMMON,
        number(0),
        "the most US dollars that the worker may cost in a day (without `observe --dry-run`;"
        " `observe --budget` replaces it); after that, observations are made by rule until"
        " midnight. Only calls of models with a price in `data/models.toml`, which are Claude's,"
        " add to the sum; for others there is `CONSTRUCT_WORKER_DAILY_TOKENS`",
        default="1.00",
    )
    worker_daily_tokens: int = setting(
        "CONSTRUCT_WORKER_DAILY_TOKENS",
        Section.COMMON,
        whole_number(0),
        "the most tokens, read and written, that a worker whose price is unknown may use in a day;"
        " after that, observations are made by rule until midnight",
        default="2000000",
    )
    persona: Path | None = setting(
        "CONSTRUCT_PERSONA",
        Section.COMMON,
        readable_file,
        "a file that says how the companion talks: its name, tone and language. A file named here"
        " must exist; `/persona` opens it in your editor, and creates `persona.md` if you name"
        " none",
        otherwise="`persona.md` in the configuration directory, else the shipped"
        " `prompts/companion.md`",
    )
    memory: str = setting(
        "CONSTRUCT_MEMORY",
        Section.COMMON,
        one_of(*MemorySetting),
        "`on`: the model sees the memory, and Construct learns; `read-only`: the model sees the"
        " memory, but nothing is learned; `off`: it sees no memory either. Messages are still"
        " stored, and once this is `on` again Construct learns from them. For talk that must never"
        " be learned, use `/private on`",
        default=MemorySetting.ON,
    )
    learn: str = setting(
        "CONSTRUCT_LEARN",
        Section.COMMON,
        one_of(*LearnSetting),
        "`on`: what is learned counts everywhere; `ask`: outside the conversation it comes from,"
        " it counts only once you have accepted it",
        default=LearnSetting.ON,
    )
    memory_rules: RulesFile | None = setting(
        "CONSTRUCT_MEMORY_RULES",
        Section.COMMON,
        rules_file,
        "a file with what you want remembered or left out. The observer reads it; code enforces"
        " its [`never:` lines](memory.md#your-own-rules). A file that is named must be"
        " readable; one that becomes unreadable or exceeds 100 kB stops learning until it is"
        " mended. `/rules` creates it and opens it in your editor",
        otherwise="`memory-rules.md` in the configuration directory, if it exists",
    )
    theme: str = setting(
        "CONSTRUCT_THEME",
        Section.MACHINE,
        one_of("auto", "light", "dark"),
        "`light` or `dark`: the background of your terminal. `auto`: what the terminal reports; if"
        " it reports nothing, colours that can be read on both. `NO_COLOR=1` turns off all colours",
        default="auto",
        allowed_in=AllowedIn.ANY_FILE,
    )
    editing_mode: str = setting(
        "CONSTRUCT_EDITING_MODE",
        Section.MACHINE,
        one_of("auto", "emacs", "vi"),
        "the keys at the prompt: `emacs` or `vi`; F4 switches between them. `auto`: as in your"
        " `~/.inputrc`",
        default="auto",
        allowed_in=AllowedIn.ANY_FILE,
    )
    remind_at: time = setting(
        "CONSTRUCT_REMIND_AT",
        Section.MACHINE,
        read_time_of_day,
        "when on a day you are reminded of what has no time of day",
        default="08:00",
    )
    notify_text: str = setting(
        "CONSTRUCT_NOTIFY_TEXT",
        Section.MACHINE,
        one_of("label", "full"),
        "how much a reminder that leaves this machine says: `label` (a few words and the time) or"
        " `full` (the whole note)",
        default="label",
    )
    notify: str | None = setting(
        "CONSTRUCT_NOTIFY",
        Section.MACHINE,
        notify_address,
        "where reminders go when no chat is open: `desktop`, or an"
        " [Apprise](https://github.com/caronc/apprise) URL (extra `notify`)",
        otherwise="`desktop`, once `construct remind install` was used",
        allowed_in=AllowedIn.OWN_FILE,
        is_secret=True,
    )
    scope: str = setting(
        "CONSTRUCT_SCOPE",
        Section.MACHINE,
        one_of(*Scope),
        "`user`: in every conversation the model sees what was learned in all of them;"
        " `conversation`: only what was learned in that one, or before the fork in the one it was"
        " forked from. The model's `recall` has the same limit, except for what you kept with"
        " `/remember` or the model with its own `remember`. Your own search always finds"
        " everything",
        default=Scope.USER,
        allowed_in=AllowedIn.ANY_FILE,
    )
    provider: str = setting(
        "CONSTRUCT_PROVIDER",
        Section.MACHINE,
        one_of("auto", *Provider),
        "`anthropic`: any server that speaks the Messages API; `openai`: any server that speaks"
        " OpenAI's protocol (extra `openai`); `local`: a GGUF file in this process; `notebook`: no"
        " model. `auto`: Anthropic if the environment or a trusted `.env` has credentials or a"
        " base URL; else what `construct setup` chose; else Anthropic if `config.env` has"
        " credentials or a base URL; else the GGUF file, if one is set and the extra `local` is"
        " installed; else the notebook",
        default="auto",
    )
    local_model: Path | None = setting(
        "CONSTRUCT_LOCAL_MODEL",
        Section.MACHINE,
        path,
        "a GGUF file for the provider `local`",
    )
    semantic_model: Path | None = setting(
        "CONSTRUCT_SEMANTIC_MODEL",
        Section.MACHINE,
        path,
        "a folder with `model.onnx` and `vocab.txt` of a MiniLM-like sentence model (mean pooling,"
        " WordPiece), for search by meaning. A database has the vectors of one model; run"
        " `construct reindex` after you change it",
        otherwise="the weights that come with the extra `semantic`",
    )
    web: bool = setting(
        "CONSTRUCT_WEB",
        Section.MACHINE,
        on_or_off,
        "`on`: Claude may search the web with its own search tool, without asking first",
        default="off",
        allowed_in=AllowedIn.OWN_FILE,
    )
    sync_folder: Path | None = setting(
        "CONSTRUCT_SYNC",
        Section.MACHINE,
        path,
        "the folder through which your machines exchange their memory (extra `sync`)",
        allowed_in=AllowedIn.OWN_FILE,
    )
    key_command: str | None = setting(
        "CONSTRUCT_KEY_COMMAND",
        Section.MACHINE,
        line,
        "a command that prints the key of an encrypted database (extra `encrypted`)",
        allowed_in=AllowedIn.OWN_FILE,
        is_secret=True,
    )
    key_file: Path | None = setting(
        "CONSTRUCT_KEY_FILE",
        Section.MACHINE,
        path,
        "a file that holds the key of an encrypted database (extra `encrypted`)",
        allowed_in=AllowedIn.OWN_FILE,
    )
    context_window: int | None = setting(
        "CONSTRUCT_CONTEXT_WINDOW",
        Section.MEMORY,
        context_window,
        "the context window of the main model, in tokens; with a GGUF file, more takes more RAM",
        otherwise="what the server or `data/models.toml` says, else 8192; with a GGUF file what it"
        " says, but at most 16384 (4096 if it does not say)",
    )
    thresholds: Thresholds = Thresholds()
    recent_messages: int = setting(
        "CONSTRUCT_RECENT_MESSAGES",
        Section.MEMORY,
        whole_number(1),
        "how many messages the model is shown when `CONSTRUCT_MEMORY` is `off`",
        default="20",
        allowed_in=AllowedIn.ANY_FILE,
    )
    clock: Clock = field(
        default=Clock(),
        metadata=made_of(
            Setting(
                "CONSTRUCT_TZ",
                Section.MACHINE,
                read_zone,
                "your time zone, such as `Europe/Lisbon`",
                otherwise="the system's",
                allowed_in=AllowedIn.ANY_FILE,
            ),
            Setting(
                "CONSTRUCT_NOW",
                Section.MEMORY,
                read_moment,
                "an ISO 8601 time that the memory uses as the present, for tests and for trying"
                " things out",
            ),
        ),
    )
    given: tuple[GivenSetting, ...] = field(default=(), compare=False)
    """The settings that are not left at their defaults, and where each comes from."""
    unknown: tuple[str, ...] = ()
    """Names that look like settings but are not: misspelt, or of another version."""
    misplaced: tuple[str, ...] = ()
    """Settings in a `.env` that never count there."""
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


LOOK_FOR = Setting(
    "CONSTRUCT_LOOK_FOR",
    Section.MACHINE,
    str,
    "where to look for model servers on this machine: base URLs, separated by commas; blank means"
    " nowhere",
    otherwise="model servers on their usual ports",
    allowed_in=AllowedIn.NO_FILE,
)
"""Read where servers are looked for; no field holds it."""
SETTINGS: Mapping[str, Setting] = {
    one.name: one for one in (*declared_in(Thresholds), *declared_in(Settings), LOOK_FOR)
}
"""Every setting by its name."""

"""Settings: where they come from, and what is said of a bad one."""

import json
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from construct.config import Settings, Thresholds
from construct.env_file import answers_file, read_env_file, record_answer
from construct.errors import ExitStatus, UsageError
from construct.load_settings import load_settings, warnings

DEFAULTS = Settings(db=Path(), config_dir=Path())


@pytest.fixture
def config_env(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the path of `config.env` in a configuration directory of its own."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    path = tmp_path / "config" / "construct" / "config.env"
    path.parent.mkdir(parents=True)
    return path


def test_the_defaults() -> None:
    """With nothing set, all is as documented, the database in the data directory."""
    found = load_settings({})
    assert found.db == Path.home() / ".local/share/construct/construct.db"
    assert found.config_dir == Path.home() / ".config/construct"
    assert found.thresholds == Thresholds(3000, 6000, 4000, 8000, 0.2, 1.5)
    assert (found.provider, found.model, found.worker_model, found.local_model) == (
        "auto",
        None,
        None,
        None,
    )
    assert (found.recent_messages, found.scope, found.memory, found.worker_daily_usd) == (
        20,
        "user",
        "on",
        1.0,
    )
    assert not found.has_credentials
    assert found.clock.zone is None
    assert abs(found.clock.now() - datetime.now(UTC)) < timedelta(seconds=5)


def test_where_a_setting_comes_from(config_env: Path) -> None:
    """The environment goes before `.env`, which goes before `config.env`.

    A blank value is none.
    """
    name = "CONSTRUCT_RECENT_MESSAGES"
    config_env.write_text(f"{name}=1\nCONSTRUCT_SCOPE=conversation\n")
    assert load_settings({}).recent_messages == 1
    Path(".env").write_text(f"export {name}='2'\n# a comment\n")
    assert load_settings({}).recent_messages == 2
    assert load_settings({name: "3"}).recent_messages == 3
    assert load_settings({name: " "}).recent_messages == 2
    Path(".env").write_text(f"{name}=\n")
    assert load_settings({name: ""}).recent_messages == 1
    assert load_settings({}).scope == "conversation"


@pytest.mark.parametrize(
    "text", ["\ufeff{}=m", "{}=m\r\n", "{} = m # mine", "MODEL\n{}=m", "export {}='m'"]
)
def test_env_files_of_other_editors(text: str) -> None:
    """A byte order mark, other line ends, comments and empty lines do no harm."""
    Path(".env").write_text(text.format("CONSTRUCT_MODEL"), encoding="utf-8", newline="")
    assert load_settings({}).model == "m"


def test_names_that_are_no_settings_are_noted(config_env: Path) -> None:
    """A misspelt one is found wherever it stands.

    Other programs' names are none of ours.
    """
    Path(".env").write_text("CONSTRUCT_MODLE=m\nPATH_TO_IT=x\nCONSTRUCT_MODEL=m\n")
    config_env.write_text("MEMORY_WORKER=x\nMEMORY_WORKER_MODLE=x\n")
    assert load_settings({"CONSTRUCT_": "x"}).unknown == (
        "CONSTRUCT_",
        "CONSTRUCT_MODLE",
        "MEMORY_WORKER_MODLE",
    )


def test_a_misspelt_name_is_pointed_out() -> None:
    """With the nearest name, if one is near; any other may be another program's."""
    names = (
        "CONSTRUCT_MODLE",
        "CONSTRUCT_OBSERVER_TRESHOLD",
        "CONSTRUCT_X11",
        "CONSTRUCT_\x1b[31m",
    )
    assert list(warnings(load_settings(dict.fromkeys(names, "x")))) == [
        "No such setting: CONSTRUCT_MODLE. Did you mean CONSTRUCT_MODEL?",
        "No such setting: CONSTRUCT_OBSERVER_TRESHOLD. Did you mean CONSTRUCT_OBSERVER_THRESHOLD?",
    ]


def test_what_is_given_is_told_with_its_source(config_env: Path) -> None:
    """A key, a command that prints one and an address with a password are only named."""
    Path(".env").write_text("CONSTRUCT_TZ=UTC\nCONSTRUCT_SCOPE=user\n")
    config_env.write_text(
        "CONSTRUCT_SCOPE=conversation\nANTHROPIC_API_KEY=k\nCONSTRUCT_KEY_COMMAND=echo hush\n"
    )
    found = load_settings({"ANTHROPIC_BASE_URL": "http://me:hush@x.test", "CONSTRUCT_LEARN": "ask"})
    assert {(one.name, one.text, one.source) for one in found.given} == {
        ("ANTHROPIC_BASE_URL", None, "environment"),
        ("CONSTRUCT_LEARN", "ask", "environment"),
        ("CONSTRUCT_SCOPE", "user", ".env"),
        ("CONSTRUCT_TZ", "UTC", ".env"),
        ("ANTHROPIC_API_KEY", None, "config.env"),
        ("CONSTRUCT_KEY_COMMAND", None, "config.env"),
    }


def test_an_env_file_is_taken_literally(config_env: Path) -> None:
    """A value with a dollar sign stays as it is: nothing is expanded."""
    config_env.write_text("ANTHROPIC_API_KEY=a$HOME${PATH}\n")
    assert load_settings({}).api_key == "a$HOME${PATH}"


def test_an_env_file_that_is_no_text(config_env: Path) -> None:
    """A file that is not UTF-8 is named, with what to do, if it is meant for us."""
    Path(".env").write_bytes(b"NAME=Jos\xe9\n")
    load_settings({})
    for content in (b"CONSTRUCT_MODEL=\xe9", "CONSTRUCT_MODEL=m".encode("utf-16")):
        Path(".env").write_bytes(content)
        with pytest.raises(UsageError, match=r"\.env cannot be read"):
            load_settings({})
    Path(".env").unlink()
    config_env.write_bytes(b"\xff\xfeC\x00")
    with pytest.raises(UsageError, match=r"config\.env cannot be read"):
        load_settings({})


@pytest.mark.parametrize(
    "line", ["CONSTRUCT_SCOPE conversation", "'CONSTRUCT_SCOPE=x", "CONSTRUCT_TZ='Europe"]
)
def test_a_line_that_sets_nothing(
    config_env: Path, line: str, caplog: pytest.LogCaptureFixture
) -> None:
    """One that means us is a wrong setting, named with its file.

    Other programs' lines are passed over silently.
    """
    config_env.write_text(f"if true; then\nCONSTRUCT_MEMORY=off\n{line}\n")
    with pytest.raises(UsageError, match=r"config\.env, line 3"):
        load_settings({})
    config_env.write_text("if true; then\n = 3\n{\nCONSTRUCT_MEMORY=off\n")
    assert load_settings({}).memory == "off"
    assert not caplog.records


def test_an_env_file_out_of_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that may not be looked into is a wrong setting, not a traceback."""

    def refuse(_path: Path) -> bool:
        raise PermissionError

    monkeypatch.setattr(Path, "is_file", refuse)
    with pytest.raises(UsageError, match="cannot be read"):
        load_settings({})


def test_a_folder_in_an_env_files_place() -> None:
    """A folder named `.env` is passed over."""
    Path(".env").mkdir()
    assert load_settings({}).model is None


BAD = {
    "CONSTRUCT_OBSERVER_THRESHOLD": ["0", "-1", "1.5", "many", "1e3", "99999999999", "9" * 5000,
                                     "nan"],
    "CONSTRUCT_COMPACT_THRESHOLD": ["0", "six"],
    "CONSTRUCT_REFLECTOR_THRESHOLD": ["-4"],
    "CONSTRUCT_OBSERVATION_BUDGET": ["0"],
    "CONSTRUCT_RECENT_MESSAGES": ["0", "x"],
    "CONSTRUCT_RETAIN": ["-0.1", "1.1", "nan", "inf", "a fifth"],
    "CONSTRUCT_BLOCK_AFTER": ["0.9", "inf", "nan", "x"],
    "CONSTRUCT_WORKER_DAILY_USD": ["-1", "nan", "free", "inf"],
    "CONSTRUCT_WORKER_DAILY_TOKENS": ["-1", "1.5", "all"],
    "CONSTRUCT_LEARN": ["off"],
    "CONSTRUCT_WEB": ["search"],
    "CONSTRUCT_SYNC": ["~nobody-at-all/sync"],
    "CONSTRUCT_KEY_FILE": ["~nobody-at-all/key"],
    "CONSTRUCT_PERSONA": ["/nowhere/persona.md", "/"],
    "CONSTRUCT_MEMORY_RULES": ["/nowhere/rules.md", "/"],
    "CONSTRUCT_PROVIDER": ["gemini", "anthropic local"],
    "CONSTRUCT_SCOPE": ["world"],
    "CONSTRUCT_MEMORY": ["yes"],
    "CONSTRUCT_THEME": ["solarized"],
    "CONSTRUCT_EDITING_MODE": ["vim keys"],
    "CONSTRUCT_TZ": ["Mars/Olympus", "../etc/passwd", "/etc/localtime", "Europe", "a" * 5000,
                     "Zürich", "zone.tab"],
    "CONSTRUCT_NOW": ["now", "2026-13-01", "2026-02-30T10:00", "14:30", "0001-01-01T00:00+14:00",
                      "9999-12-31T23:59-12:00"],
    "CONSTRUCT_DB": ["~nobody-at-all/construct.db"],
    "CONSTRUCT_LOCAL_MODEL": ["~nobody-at-all/x.gguf"],
    "ANTHROPIC_BASE_URL": ["localhost:8000", "ftp://x", "http://", "https:///path", "http://[::1",
                           "http://x:port",
                           "http://a b"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in BAD.items() for value in values]
)
def test_a_bad_value_is_named(name: str, value: str) -> None:
    """Every bad value is wrong usage: one or two plain lines that name the variable."""
    with pytest.raises(UsageError) as caught:
        load_settings({name: value})
    assert caught.value.status is ExitStatus.USAGE
    text = str(caught.value)
    assert text.startswith(f"{name} is ")
    assert len(text.splitlines()) <= 2
    assert len(text) < 400
    assert text.isprintable()


def test_a_number_that_is_too_large_is_told_the_limit() -> None:
    """It is above 0."""
    with pytest.raises(UsageError, match="from 1 to 1,000,000,000"):
        load_settings({"CONSTRUCT_OBSERVER_THRESHOLD": "2000000000"})


def test_a_bad_value_in_a_file_is_named_too(config_env: Path) -> None:
    """A NUL, which no environment can hold, is refused in a path from a file."""
    config_env.write_bytes(b"CONSTRUCT_DB=a\x00b\n")
    with pytest.raises(UsageError, match="CONSTRUCT_DB"):
        load_settings({})


@pytest.mark.parametrize(
    ("name", "value", "field", "expected"),
    [
        ("CONSTRUCT_PROVIDER", " Local ", "provider", "local"),
        ("CONSTRUCT_MEMORY", "READ-ONLY", "memory", "read-only"),
        ("CONSTRUCT_MODEL", " claude-x ", "model", "claude-x"),
        ("CONSTRUCT_THEME", "Light", "theme", "light"),
        ("CONSTRUCT_EDITING_MODE", "vi", "editing_mode", "vi"),
        ("MEMORY_WORKER_MODEL", "extractive", "worker_model", "extractive"),
        ("CONSTRUCT_DB", "~/my.db", "db", Path("~/my.db").expanduser()),
        ("CONSTRUCT_WORKER_DAILY_USD", "0", "worker_daily_usd", 0.0),
        ("ANTHROPIC_BASE_URL", "http://127.0.0.1:8000/v1", "base_url", "http://127.0.0.1:8000/v1"),
        ("ANTHROPIC_BASE_URL", "HTTPS://[::1]:8000", "base_url", "HTTPS://[::1]:8000"),
        ("ANTHROPIC_AUTH_TOKEN", "t", "auth_token", "t"),
        ("CONSTRUCT_WORKER_DAILY_TOKENS", "0", "worker_daily_tokens", 0),
        ("CONSTRUCT_LEARN", "Ask", "learn", "ask"),
        ("CONSTRUCT_WEB", "ON", "web", True),
        ("CONSTRUCT_SYNC", "/mnt/cloud", "sync_folder", Path("/mnt/cloud")),
        ("CONSTRUCT_KEY_COMMAND", "pass show construct", "key_command", "pass show construct"),
        ("CONSTRUCT_KEY_FILE", "/run/key", "key_file", Path("/run/key")),
    ],
)
def test_good_values(name: str, value: str, field: str, expected: object) -> None:
    """Space around a value is ignored, and so is the case of a choice.

    `~` is the home folder.
    """
    wanted = Path("~/my.db").expanduser() if field == "db" else expected
    assert getattr(load_settings({name: value}), field) == wanted


def test_thresholds() -> None:
    """Each threshold has its variable; the bounds of a share are allowed."""
    names = ("OBSERVER_THRESHOLD", "COMPACT_THRESHOLD", "REFLECTOR_THRESHOLD", "OBSERVATION_BUDGET")
    environ = {f"CONSTRUCT_{name}": str(i) for i, name in enumerate(names, 1)}
    found = load_settings(
        environ | {"CONSTRUCT_RETAIN": "0", "CONSTRUCT_BLOCK_AFTER": "1"}
    ).thresholds
    assert found == Thresholds(1, 2, 3, 4, 0.0, 1.0)


def test_the_command_line_goes_first() -> None:
    """`--db` goes before the variable, even before a bad one."""
    assert load_settings({"CONSTRUCT_DB": "~nobody-at-all/x"}, db=Path("mine.db")).db == Path(
        "mine.db"
    )


def test_db_beside_its_variable_is_not_a_misspelt_name() -> None:
    """The variable is a setting, even when `--db` goes before it."""
    assert load_settings({"CONSTRUCT_DB": "theirs.db"}, db=Path("mine.db")).unknown == ()


# What a stranger's `.env` may do


HARMLESS = {
    "CONSTRUCT_OBSERVER_THRESHOLD": "11", "CONSTRUCT_COMPACT_THRESHOLD": "12",
    "CONSTRUCT_REFLECTOR_THRESHOLD": "13", "CONSTRUCT_OBSERVATION_BUDGET": "14",
    "CONSTRUCT_RETAIN": "0.5", "CONSTRUCT_BLOCK_AFTER": "3", "CONSTRUCT_RECENT_MESSAGES": "15",
    "CONSTRUCT_SCOPE": "conversation", "CONSTRUCT_TZ": "UTC", "CONSTRUCT_THEME": "dark",
    "CONSTRUCT_EDITING_MODE": "vi", "CONSTRUCT_MODEL": "a-model",
    "MEMORY_WORKER_MODEL": "a-worker",
}  # fmt: skip
NEEDING_TRUST = {
    "ANTHROPIC_BASE_URL": "http://evil.example", "ANTHROPIC_API_KEY": "k",
    "ANTHROPIC_AUTH_TOKEN": "t", "CONSTRUCT_DB": "theirs.db", "CONSTRUCT_PROVIDER": "local",
    "CONSTRUCT_LOCAL_MODEL": "theirs.gguf", "CONSTRUCT_SEMANTIC_MODEL": "theirs",
    "CONSTRUCT_MEMORY": "off", "CONSTRUCT_WORKER_DAILY_USD": "1000",
    "CONSTRUCT_NOW": "2020-01-01T00:00:00+00:00", "CONSTRUCT_MEMORY_RULES": "theirs.md",
    "CONSTRUCT_PERSONA": "theirs.md", "CONSTRUCT_LEARN": "ask",
    "CONSTRUCT_WORKER_DAILY_TOKENS": "9", "CONSTRUCT_CONTEXT_WINDOW": "9000",
}  # fmt: skip


def env_file(settings: dict[str, str]) -> None:
    """Write a `.env` into the working directory."""
    Path(".env").write_text("".join(f"{name}={value}\n" for name, value in settings.items()))


def trust(config_dir: Path, *, trusted: bool = True) -> None:
    """Answer for the `.env` in the working directory, as it is now."""
    record_answer(read_env_file(Path(".env")), config_dir, trusted=trusted)


def test_by_itself_an_env_file_sets_what_is_harmless() -> None:
    """Without trust, a file may set thresholds, scope, zone, looks and model names."""
    env_file(HARMLESS)
    found = load_settings({})
    assert found.untrusted is None
    assert found.thresholds == Thresholds(11, 12, 13, 14, 0.5, 3.0)
    assert (found.recent_messages, found.scope, found.theme, found.editing_mode) == (
        15,
        "conversation",
        "dark",
        "vi",
    )
    assert (found.model, found.worker_model, str(found.clock.zone)) == (
        "a-model",
        "a-worker",
        "UTC",
    )


@pytest.mark.parametrize("name", NEEDING_TRUST)
def test_anything_else_in_an_env_file_needs_trust(config_env: Path, name: str) -> None:
    """Until the file is trusted, the setting is ignored, even a bad one.

    The program names what it ignored.
    """
    usual = load_settings({})
    Path("theirs.md").touch()
    env_file({name: NEEDING_TRUST[name]})
    for config_dir, answer in ((None, None), (config_env.parent, False)):
        if config_dir is not None:
            trust(config_dir, trusted=bool(answer))
        found = load_settings({})
        assert found.untrusted is not None
        assert found.untrusted.ignored == (name,)
        assert found.untrusted.settings == {name: NEEDING_TRUST[name]}
        assert found.untrusted.is_refused is (answer is False)
        assert replace(found, untrusted=None, clock=usual.clock) == usual
        assert abs(found.clock.now() - datetime.now(UTC)) < timedelta(seconds=5)
    trust(config_env.parent)
    found = load_settings({})
    assert found.untrusted is None
    assert (found.clock, replace(found, clock=usual.clock)) != (usual.clock, usual)


NEVER = {
    "CONSTRUCT_NOTIFY": "json://elsewhere", "CONSTRUCT_WEB": "on", "CONSTRUCT_SYNC": "/theirs",
    "CONSTRUCT_KEY_COMMAND": "theirs", "CONSTRUCT_KEY_FILE": "/theirs",
}  # fmt: skip


def test_some_settings_count_in_no_env_file(config_env: Path) -> None:
    """Trusted or not; the program says so. In `config.env` they count."""
    usual = load_settings({})
    env_file({**NEVER, "CONSTRUCT_LOOK_FOR": "http://127.0.0.1:1", "CONSTRUCT_MEMORY": "on"})
    trust(config_env.parent)
    found = load_settings({})
    assert replace(found, misplaced=()) == usual
    assert set(found.misplaced) == {*NEVER, "CONSTRUCT_LOOK_FOR"}
    assert list(warnings(found))[1:] == [
        *(f"Ignored {name} from .env: it counts only in the environment or in config.env."
          for name in list(NEVER)[1:]),
        "Ignored CONSTRUCT_LOOK_FOR from .env: it counts only in the environment.",
    ]  # fmt: skip
    Path(".env").rename(config_env)
    found = load_settings({})
    assert (found.notify, found.web, found.key_command) == ("json://elsewhere", True, "theirs")
    assert (found.sync_folder, found.key_file) == (Path("/theirs"), Path("/theirs"))


def test_trust_is_in_one_state_of_one_file(
    config_env: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One changed byte, or the same file in another place, has to be trusted anew.

    The first state stays trusted.
    """
    env_file({"CONSTRUCT_MEMORY": "off"})
    trust(config_env.parent)
    assert load_settings({}).memory == "off"
    content = Path(".env").read_text()
    Path(".env").write_text(content + "\n")
    assert load_settings({}).memory == "on"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / ".env").write_text(content)
    with monkeypatch.context() as patched:
        patched.chdir(elsewhere)
        assert load_settings({}).memory == "on"
    Path(".env").write_text(content)
    assert load_settings({}).memory == "off"


def test_answers_are_private_and_outlive_a_damaged_line(config_env: Path) -> None:
    """The file is 0600 whatever its mode was; the last answer counts."""
    env_file({"CONSTRUCT_MEMORY": "off"})
    answers = answers_file(config_env.parent)
    answers.write_text("[]\n{\nnull\n" + "[" * 5000 + "\n")
    answers.chmod(0o644)
    trust(config_env.parent)
    assert answers.stat().st_mode & 0o777 == 0o600
    assert load_settings({}).memory == "off"
    trust(config_env.parent, trusted=False)
    assert load_settings({}).memory == "on"


def test_a_folders_name_cannot_forge_an_answer(
    config_env: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder's name cannot forge a line in the file of answers."""
    env_file({"CONSTRUCT_MEMORY": "off"})
    digest, place = read_env_file(Path(".env")).digest, str(Path(".env").resolve())
    forged = json.dumps({"path": place, "sha256": digest, "trusted": True}).replace("/", "\\u002f")
    home = Path.cwd()
    trap = tmp_path / f"x\n{forged}\n"
    trap.mkdir()
    monkeypatch.chdir(trap)
    env_file({"CONSTRUCT_MEMORY": "off"})
    trust(config_env.parent)
    monkeypatch.chdir(home)
    assert load_settings({}).memory == "on"


KEYS = {"ANTHROPIC_API_KEY": "own-key", "ANTHROPIC_AUTH_TOKEN": "own-token"}


@pytest.mark.parametrize("trusted", [True, False])
@pytest.mark.parametrize("from_config", [True, False], ids=["config.env", "environment"])
def test_an_address_from_an_env_file_gets_no_key_of_the_users(
    config_env: Path, from_config: bool, trusted: bool
) -> None:
    """Trusted, the address gets no key; untrusted, the keys go where they always go."""
    env_file({"ANTHROPIC_BASE_URL": "http://evil.example"})
    if from_config:
        config_env.write_text("".join(f"{name}={value}\n" for name, value in KEYS.items()))
    trust(config_env.parent, trusted=trusted)
    found = load_settings({} if from_config else KEYS)
    if trusted:
        assert (found.base_url, found.api_key, found.auth_token) == (
            "http://evil.example",
            None,
            None,
        )
    else:
        assert (found.base_url, found.api_key, found.auth_token) == (None, "own-key", "own-token")
    assert found.is_address_from_env_file is trusted


def test_an_address_and_a_key_of_one_trusted_file_belong_together(config_env: Path) -> None:
    """The file's key goes to the file's address, though the environment has another.

    The user's address gets his.
    """
    env_file({"ANTHROPIC_BASE_URL": "http://work.example", "ANTHROPIC_API_KEY": "work-key"})
    trust(config_env.parent)
    found = load_settings(KEYS)
    assert (found.base_url, found.api_key, found.auth_token) == (
        "http://work.example",
        "work-key",
        None,
    )
    found = load_settings({**KEYS, "ANTHROPIC_BASE_URL": "http://own.example"})
    assert (found.base_url, found.api_key, found.auth_token) == (
        "http://own.example",
        "own-key",
        "own-token",
    )
    assert not found.is_address_from_env_file


OPENAI = {"CONSTRUCT_PROVIDER": "openai"}


@pytest.mark.parametrize("trusted", [True, False])
@pytest.mark.parametrize("from_config", [True, False], ids=["config.env", "environment"])
def test_an_address_for_openais_protocol_gets_no_key_of_the_users_either(
    config_env: Path, from_config: bool, trusted: bool
) -> None:
    """The rule holds for both protocols; a key in the same trusted file goes along."""
    mine = OPENAI | {"OPENAI_API_KEY": "own-key"}
    if from_config:
        config_env.write_text("".join(f"{name}={value}\n" for name, value in mine.items()))
    environ = {} if from_config else mine
    theirs = {"OPENAI_BASE_URL": "http://evil.example/v1"}
    env_file(theirs)
    trust(config_env.parent, trusted=trusted)
    found = load_settings(environ).openai
    expected = ("http://evil.example/v1", None) if trusted else (None, "own-key")
    assert (found.base_url, found.api_key) == expected
    assert found.is_address_from_env_file is trusted
    env_file(theirs | {"OPENAI_API_KEY": "their-key"})
    trust(config_env.parent)
    assert load_settings(environ).openai.api_key == "their-key"
    assert "own-key" not in repr(load_settings(environ).openai)


def test_an_untrusted_file_cannot_choose_openai(config_env: Path) -> None:
    """All that it would set is named when trust is asked for."""
    theirs = OPENAI | {"OPENAI_BASE_URL": "http://evil.example/v1", "OPENAI_API_KEY": "k"}
    env_file(theirs)
    found = load_settings({})
    assert (found.provider, bool(found.openai)) == ("auto", False)
    assert found.untrusted is not None
    assert found.untrusted.settings == theirs
    # Another program's key is not worth a question.
    env_file({"OPENAI_API_KEY": "k"})
    assert load_settings({}).untrusted is None


def test_what_setup_chose_for_openai_counts_as_a_whole(config_env: Path) -> None:
    """A key for other programs goes nowhere; credentials for Anthropic come first."""
    names = "CONSTRUCT_PROVIDER,CONSTRUCT_MODEL,OPENAI_BASE_URL"
    config_env.write_text(
        "CONSTRUCT_PROVIDER=openai\nCONSTRUCT_MODEL=m\nOPENAI_BASE_URL=http://mine.example/v1\n"
        f"CONSTRUCT_SETUP={names}\n"
    )
    other = {"OPENAI_API_KEY": "other-key", "OPENAI_BASE_URL": "http://other.example/v1"}
    for environ in ({}, other):
        found = load_settings(environ)
        assert (found.provider, found.model) == ("openai", "m")
        assert (found.openai.base_url, found.openai.api_key) == ("http://mine.example/v1", None)
    found = load_settings(other | OPENAI)
    assert (found.openai.api_key, found.openai.base_url) == ("other-key", other["OPENAI_BASE_URL"])
    assert found.model is None
    found = load_settings({"ANTHROPIC_API_KEY": "k"})
    assert (found.provider, bool(found.openai)) == ("auto", False)


@pytest.mark.parametrize(
    "name", ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"]
)
def test_credentials(name: str) -> None:
    """A key, a token, or a base URL is enough to ask a server."""
    assert load_settings({name: "http://localhost"}).has_credentials


@pytest.mark.parametrize(
    ("now", "zone", "moment", "today"),
    [
        ("2026-03-01T14:30:00+01:00", "", "2026-03-01T13:30:00+00:00", None),
        ("2026-03-01T14:30:00Z", "Asia/Tokyo", "2026-03-01T14:30:00+00:00", "2026-03-01"),
        ("2026-03-01T15:30:00Z", "Asia/Tokyo", "2026-03-01T15:30:00+00:00", "2026-03-02"),
        ("2026-03-01T00:30:00", "Asia/Tokyo", "2026-02-28T15:30:00+00:00", "2026-03-01"),
        ("2026-07-01T00:30", "Europe/Lisbon", "2026-06-30T23:30:00+00:00", "2026-07-01"),
        ("2026-03-01", "America/New_York", "2026-03-01T05:00:00+00:00", "2026-03-01"),
        ("2026-03-01 14:30", "UTC", "2026-03-01T14:30:00+00:00", "2026-03-01"),
    ],
)
def test_a_time_that_stands_for_now(now: str, zone: str, moment: str, today: str | None) -> None:
    """`CONSTRUCT_NOW` with an offset is that moment.

    Without one it is the user's own wall clock.
    """
    clock = load_settings({"CONSTRUCT_NOW": now, "CONSTRUCT_TZ": zone}).clock
    assert clock.now() == datetime.fromisoformat(moment)
    assert clock.now().utcoffset() == timedelta(0)
    if today:
        assert clock.today() == date.fromisoformat(today)

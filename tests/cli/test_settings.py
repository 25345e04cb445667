"""Settings: where they are read from, what is wrong with them, what they do."""

from pathlib import Path

import pytest

from tests.memory.builders import Life
from tests.support.fake_api import FakeApi
from tests.support.program import Program

WRONG = [
    ("CONSTRUCT_PROVIDER", "gemini"),
    ("CONSTRUCT_DB", "~nobody-here/x.db"),
    *((f"CONSTRUCT_{name}", value)
      for name in ("OBSERVER_THRESHOLD", "COMPACT_THRESHOLD", "REFLECTOR_THRESHOLD")
      for value in ("x", "0", "-1", "1.5")),
    ("CONSTRUCT_OBSERVATION_BUDGET", "many"),
    ("CONSTRUCT_RETAIN", "2"),
    ("CONSTRUCT_RETAIN", "nan"),
    ("CONSTRUCT_BLOCK_AFTER", "0.5"),
    ("CONSTRUCT_RECENT_MESSAGES", "0"),
    ("CONSTRUCT_SCOPE", "world"),
    ("CONSTRUCT_MEMORY", "maybe"),
    ("CONSTRUCT_WORKER_DAILY_USD", "-1"),
    ("CONSTRUCT_TZ", "Mars/Olympus"),
    ("CONSTRUCT_TZ", "../../etc/passwd"),
    ("CONSTRUCT_NOW", "yesterday"),
    ("CONSTRUCT_MODEL", "a\x1bb"),
    ("MEMORY_WORKER_MODEL", "a\udcffb"),
    ("ANTHROPIC_BASE_URL", "ftp://host"),
    ("ANTHROPIC_BASE_URL", "http://host:99999"),
    ("ANTHROPIC_API_KEY", "ключ"),
    ("ANTHROPIC_AUTH_TOKEN", "two\nlines"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_a_wrong_setting_is_named(program: Program, name: str, value: str) -> None:
    """It exits 2 with a line that names the variable, and makes no database."""
    done = program.run("status", more={name: value})
    assert (done.returncode, done.stdout) == (2, "")
    assert name in done.stderr
    assert len(done.stderr.splitlines()) <= 2
    assert not program.db.exists()


def test_a_wrong_secret_is_not_shown(program: Program) -> None:
    """Only its variable is named."""
    assert "hush" not in program.run("status", more={"ANTHROPIC_API_KEY": "hush\u00e9"}).stderr


def test_the_environment_goes_before_env_before_config(program: Program) -> None:
    """The environment wins over `.env`, and `.env` wins over `config.env`.

    `.env` is that of the working directory. A blank value counts as not set.
    """
    config = program.folder / "config" / "construct" / "config.env"
    config.parent.mkdir(parents=True)
    more = {"XDG_CONFIG_HOME": str(program.folder / "config")}

    def threshold(**env: str) -> int:
        figures = program.json("status", more={**more, **env})
        return int(figures["progress"]["observation"]["threshold"])

    assert threshold() == 3000
    config.write_text("CONSTRUCT_OBSERVER_THRESHOLD=100\n")
    assert threshold() == 100
    (program.folder / ".env").write_text("CONSTRUCT_OBSERVER_THRESHOLD=200\n")
    assert threshold() == 200
    assert threshold(CONSTRUCT_OBSERVER_THRESHOLD="300") == 300
    assert threshold(CONSTRUCT_OBSERVER_THRESHOLD=" ") == 200


def test_a_file_of_settings_that_is_no_text_is_wrong(program: Program) -> None:
    """It exits 2 and names the file."""
    (program.folder / ".env").write_bytes(b"CONSTRUCT_TZ=\xff\xfe\n")
    done = program.run("status")
    assert done.returncode == 2
    assert ".env" in done.stderr


def test_db_names_another_file(program: Program, tmp_path: Path) -> None:
    """`--db` wins over CONSTRUCT_DB; the folders it makes are 0700, the file 0600."""
    other = tmp_path / "new" / "deep" / "other.db"
    assert program.run("--db", str(other), "memory", "add", "Something").returncode == 0
    assert not program.db.exists()
    assert other.stat().st_mode & 0o777 == 0o600
    assert {folder.stat().st_mode & 0o777 for folder in (other.parent, other.parent.parent)} == {
        0o700
    }


def test_the_log_is_private_and_not_the_database(lived: Program, tmp_path: Path) -> None:
    """`--log-file` makes folders 0700 and a file 0600.

    The database, by link too, and a folder are refused.
    """
    log = tmp_path / "a" / "b" / "construct.log"
    assert lived.run("--log-file", str(log), "status").returncode == 0
    assert log.stat().st_mode & 0o777 == 0o600
    assert {folder.stat().st_mode & 0o777 for folder in (log.parent, log.parent.parent)} == {0o700}
    link = tmp_path / "link.log"
    link.symlink_to(lived.db)
    before = lived.db.read_bytes()
    for target in (lived.db, link, Path(f"{lived.db}-wal"), tmp_path):
        assert lived.run("--log-file", str(target), "status").returncode == 2
    assert lived.db.read_bytes() == before


def test_now_stands_for_now(program: Program) -> None:
    """What is said is dated by CONSTRUCT_NOW, and shown in CONSTRUCT_TZ.

    A time without offset is the user's.
    """
    more = {"CONSTRUCT_NOW": "2030-12-31T23:30:00", "CONSTRUCT_TZ": "America/New_York"}
    program.run("ask", "--no-wait", "Hello.", more=more)
    (message, _) = program.json("conversations", "show", "1")["messages"]
    assert message["created_at"] == "2031-01-01T04:30:00.000000+00:00"
    assert "2030-12-31 23:30" in program.run("conversations", "show", "1", more=more).stdout
    program.run("memory", "add", "Keep this", more=more)
    assert "[2030-12-31] Keep this" in program.run("memory", "list", more=more).stdout


def test_the_latest_conversation_is_the_one_last_talked_in(program: Program) -> None:
    """Also where CONSTRUCT_NOW lets everything happen at one moment."""
    program.run("ask", "--no-wait", "One.")
    program.run("ask", "--no-wait", "--new", "Two.")
    program.run("ask", "--no-wait", "--conversation", "1", "Three.")
    assert program.json("ask", "--no-wait", "Four.")["conversation"] == 1
    assert program.json("status")["conversation"] == 1
    assert [one["id"] for one in program.json("conversations", "list")] == [1, 2]


def test_scope_conversation_shows_only_its_own(program: Program, life: Life, api: FakeApi) -> None:
    """With CONSTRUCT_SCOPE=conversation the prompt has no other talk's observations."""
    life.learn(life.talk(), "My cat is called Quixote")
    for scope, shown in (("user", True), ("conversation", False)):
        program.run("ask", "--new", "--no-wait", "Good morning.", more={"CONSTRUCT_SCOPE": scope})
        assert ("Quixote" in str(api.of("chat")[-1].body)) is shown


def test_recent_messages_are_shown_without_memory(program: Program, api: FakeApi) -> None:
    """With CONSTRUCT_MEMORY=off the model gets CONSTRUCT_RECENT_MESSAGES at most."""
    more = {"CONSTRUCT_MEMORY": "off", "CONSTRUCT_RECENT_MESSAGES": "3"}
    for word in ("one", "two", "three", "four"):
        program.run("ask", word, more=more)
    assert len(api.of("chat")[-1].body["messages"]) <= 4


def test_a_worker_model_can_be_named(program: Program, api: FakeApi) -> None:
    """MEMORY_WORKER_MODEL is who observes, CONSTRUCT_MODEL who answers."""
    more = {"MEMORY_WORKER_MODEL": "claude-opus-5-5", "CONSTRUCT_MODEL": "claude-haiku-5-5"}
    program.run("ask", "--no-wait", "My locker has the code 1234.", more=more)
    program.run("compact", more=more)
    assert api.of("chat")[-1].body["model"] == "claude-haiku-5-5"
    assert api.of("observer")[-1].body["model"] == "claude-opus-5-5"


@pytest.mark.parametrize("command", ["status --json", "memory list --json", "export"])
def test_a_database_that_was_named_and_has_nothing_in_it_may_be_a_slip(
    program: Program, command: str
) -> None:
    """One line beside what a command that reads prints says so.

    The one that settings name is simply new.

    Neither makes a file.
    """
    mistyped = program.run("--db", "construkt.db", *command.split())
    assert mistyped.stderr == (
        "Nothing is stored in construkt.db. Is the path right? "
        "`construct --db PATH` begins a conversation there.\n"
    )
    new = program.run(*command.split())
    assert (new.returncode, new.stderr) == (mistyped.returncode, "") == (0, "")
    assert not program.db.exists()
    assert not (program.folder / "construkt.db").exists()


def test_a_named_database_with_a_talk_in_it_is_just_read(lived: Program) -> None:
    """There is nothing to say beside."""
    assert lived.run("--db", "construct.db", "conversations", "list").stderr == ""

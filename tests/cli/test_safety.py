"""Nothing that was said can move the cursor, and no secret is in any file."""

import json
import re
from pathlib import Path

import pytest

from tests.support.fake_api import FakeApi
from tests.support.program import Program

ATTACK = "\x1b[2Jred\x1b]0;owned\x07\x9b31m\x85\u202eevil\u2066\u200f\x00\x08\x7f\ufeff"
FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


@pytest.fixture
def attacked(program: Program, api: FakeApi, tmp_path: Path) -> Program:
    """A database whose titles, messages, replies and memories are hostile.

    So are its observations and imports.
    """
    line = {
        "type": "message",
        "conversation": f"Title {ATTACK}",
        "role": "user",
        "content": f"Imported {ATTACK} words",
    }
    (tmp_path / "talk.jsonl").write_text(
        json.dumps(line | {"created_at": "2026-03-01T14:30:00+01:00"}) + "\n"
    )
    assert program.run("import", "talk.jsonl").returncode == 0
    api.enqueue("chat", f"Reply {ATTACK} words")
    observed = {
        "content": f"Observed {ATTACK} words", "priority": "high", "stance": "stated",
        "observation_date": "2026-03-10", "referenced_date": None, "sources": ["M1"],
    }  # fmt: skip
    answer = {
        "observations": [observed],
        "current_task": f"Task {ATTACK}",
        "suggested_response": f"Say {ATTACK}",
    }
    api.enqueue("observer", json.dumps(answer | {"conversation_title": f"Titled {ATTACK}"}))
    program.run("ask", "--no-wait", "-", stdin=f"Asked {ATTACK} words, Observed words")
    assert program.run("compact").returncode == 0
    program.run("memory", "add", f"Kept {ATTACK} words")
    program.run("memory", "edit", "1", f"Edited {ATTACK} words")
    program.run("conversations", "rename", "1", f"Renamed {ATTACK}")
    return program


COMMANDS = [
    "status", "usage", "undo", "doctor", "memory list", "memory list --all", "memory search words",
    "memory show 1", "memory show message:1", "memory show message:2",
    "memory why 1", "memory why 2", "memory diff", "memory forget 2", "conversations list",
    "conversations show 1", "conversations show 2", "conversations delete 1",
    "export --format markdown", "report",
]  # fmt: skip


@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
def test_no_command_prints_what_moves_a_cursor(attacked: Program, as_json: bool) -> None:
    """No output has control characters, on either stream.

    In JSON they are escaped.
    """
    for command in COMMANDS:
        if as_json and command.startswith(("export", "report")):
            continue
        done = attacked.run(*command.split(), *(["--json"] if as_json else []))
        assert done.returncode in {0, 1, 2}, command
        assert not FORBIDDEN.search(done.stdout + done.stderr), (command, done.stdout + done.stderr)
        assert "owned" not in done.stdout + done.stderr or as_json, command
        if as_json and done.returncode == 0:
            json.loads(done.stdout)


def test_the_export_escapes_it(attacked: Program) -> None:
    """JSONL on a terminal is plain ASCII."""
    assert not FORBIDDEN.search(attacked.run("export").stdout)


def test_no_line_of_a_piped_chat_moves_a_cursor(attacked: Program, api: FakeApi) -> None:
    """Neither a reply nor what a command shows."""
    api.enqueue("chat", f"Reply {ATTACK}")
    lines = [
        "/conversations",
        "/memory",
        "/recall words",
        "/why 1",
        "/status",
        "/context",
        "/diff",
        "/graph",
        "Hello",
    ]
    done = attacked.run(
        "chat",
        "--commands",
        stdin="\n".join([*lines, f"/bogus{ATTACK}", "/switch 1", "/why message:1"]) + "\n",
    )
    assert not FORBIDDEN.search(done.stdout + done.stderr)
    assert "Reply" in done.stdout


@pytest.mark.parametrize(
    "command",
    [
        ("memory", "show", ATTACK), ("--db", "/dev/null/\x1b[2J\x9bx", "status"),
        ("import", f"x{ATTACK[:8]}"), ("export", "--format", ATTACK),
        ("memory", "list", "--as-of", ATTACK), (f"b{ATTACK}",), ("ask", "--model", ATTACK, "Hi"),
        ("memory", f"b{ATTACK}"), ("status", f"--b{ATTACK}"),
    ],
    ids=ascii,
)  # fmt: skip
def test_no_error_message_moves_a_cursor(program: Program, command: tuple[str, ...]) -> None:
    """What was typed is said again without it."""
    done = program.run(*command)
    assert done.returncode != 0
    assert not FORBIDDEN.search(done.stderr)
    assert len(done.stderr.splitlines()) <= 2


def test_with_json_nothing_else_is_on_standard_output(lived: Program) -> None:
    """Every command with `--json` prints one JSON value and no error output."""
    for command in (
        "status", "usage", "doctor", "memory list", "memory search Lisbon", "memory show 3",
        "memory why 4", "memory pin 3", "memory edit 3 Words", "memory add More", "memory diff",
        "conversations list", "conversations show 1", "conversations rename 1 New",
        "conversations fork 1", "compact", "memory forget 1 --yes",
        "conversations delete 2 --yes", "undo", "ask --no-wait Hello",
    ):  # fmt: skip
        done = lived.run(*command.split(), "--json")
        assert (done.returncode, done.stderr) == (0, ""), command
        json.loads(done.stdout)


def test_secrets_are_in_no_file(program: Program, tmp_path: Path) -> None:
    """Neither key nor token is in the database, its log, an export or the log file."""
    more = {"ANTHROPIC_API_KEY": "sk-ant-hush-hush", "ANTHROPIC_AUTH_TOKEN": "bearer-of-secrets"}
    for command in (
        "ask Hello",
        "compact",
        "doctor",
        "export -o a.jsonl",
        "export --format sqlite -o b.db",
    ):
        assert (
            program.run("--log-file", "log/construct.log", *command.split(), more=more).returncode
            == 0
        ), command
    program.run(
        "--log-file",
        "log/construct.log",
        "ask",
        "Hi",
        more={**more, "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"},
    )
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert {"construct.db", "a.jsonl", "b.db", "construct.log"} <= {file.name for file in files}
    for file in files:
        assert b"hush-hush" not in file.read_bytes(), file
        assert b"bearer-of-secrets" not in file.read_bytes(), file
        if file.parent != tmp_path / "home":
            assert file.stat().st_mode & 0o077 == 0, file


def test_the_database_is_private(program: Program, tmp_path: Path) -> None:
    """The database and the files beside it are 0600, also while it is open.

    That holds whatever the umask, and also for a file whose mode was wider.
    """
    program.run("memory", "add", "Something")
    program.db.chmod(0o644)
    assert program.run("ask", "--no-wait", "Hello").returncode == 0
    assert {file.stat().st_mode & 0o777 for file in tmp_path.glob("construct.db*")} == {0o600}

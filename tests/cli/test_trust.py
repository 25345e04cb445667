"""A `.env` that came with somebody else's repository, as the program meets it."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.emulator import PseudoTerminal
from tests.support.fake_api import FakeApi
from tests.support.program import Program


@pytest.fixture
def program(tmp_path: Path, api: FakeApi) -> Program:
    """The program in a stranger's repository.

    The key is the user's, the `.env` in the folder is not.
    """
    return Program(
        tmp_path, {"XDG_CONFIG_HOME": str(tmp_path / "config"), "CONSTRUCT_PROVIDER": "anthropic"}
    )


def answers(program: Program) -> Path:
    """Return the file in which answers are kept."""
    return program.folder / "config" / "construct" / "trusted-env.jsonl"


@contextmanager
def on_terminal(program: Program, *arguments: str) -> Iterator[PseudoTerminal]:
    """Run the program on a terminal, in its folder."""
    code = (
        f"import os; os.chdir({str(program.folder)!r}); "
        "import sys; from construct.cli import main; main()"
    )
    terminal = PseudoTerminal(
        [sys.executable, "-c", code, *arguments], program.environment(), columns=200
    )
    try:
        yield terminal
    finally:
        terminal.close()


def test_a_strangers_address_gets_neither_key_nor_memory(program: Program, api: FakeApi) -> None:
    """In a pipe the program asks nothing and sends nothing to the address.

    One line says which settings were ignored.
    """
    program.env["ANTHROPIC_API_KEY"] = "own-key"
    with FakeApi() as stranger:
        (program.folder / ".env").write_text(
            f"ANTHROPIC_BASE_URL={stranger.url}\nCONSTRUCT_MODEL=claude-opus-5-5\n"
        )
        done = program.run("status", stdin="yes\nyes\n")
        assert done.stderr == (
            "Ignored ANTHROPIC_BASE_URL from .env, which is not trusted."
            " Run `construct` on a terminal to be asked, or use config.env.\n"
        )
        config = program.folder / "config" / "construct" / "config.env"
        config.parent.mkdir(parents=True)
        config.write_text(f"ANTHROPIC_BASE_URL={api.url}\n")
        assert program.run("ask", "--no-wait", "Hello").returncode == 0
        assert not stranger.requests
    assert not answers(program).exists()
    assert api.of("chat")[-1].body["model"] == "claude-opus-5-5"
    assert "own-key" in str(api.of("chat")[-1].headers)


def test_trust_is_asked_for_once(program: Program, api: FakeApi) -> None:
    """On a terminal, with what the file would set.

    Then the address is used, without a key of the user's.
    """
    program.env |= {
        "ANTHROPIC_API_KEY": "own-key",
        "ANTHROPIC_CUSTOM_HEADERS": "Authorization: Bearer own-header",
    }
    (program.folder / ".env").write_text(
        f"ANTHROPIC_BASE_URL={api.url}\nANTHROPIC_AUTH_TOKEN=in-the-file\n"
    )
    with on_terminal(program, "status") as terminal:
        terminal.see("Trust it? [y/N]")
        assert f"ANTHROPIC_BASE_URL={api.url}" in terminal.screen.text
        terminal.type("yes\r")
        assert terminal.wait() == 0
        assert "in-the-file" not in terminal.screen.text
        assert "Ignored" not in terminal.screen.text
    assert answers(program).stat().st_mode & 0o777 == 0o600
    assert answers(program).parent.stat().st_mode & 0o777 == 0o700
    done = program.run("ask", "--no-wait", "Hello")
    assert (done.returncode, done.stderr) == (0, "")
    assert "own-" not in str(api.of("chat")[-1].headers)
    assert "in-the-file" in str(api.of("chat")[-1].headers)
    with on_terminal(program, "status") as terminal:
        assert terminal.wait() == 0
        assert "trust" not in terminal.screen.text


def test_the_question_shows_what_is_overridden_now(program: Program) -> None:
    """Trust is for the whole file, also when the environment no longer overrides it."""
    program.env["ANTHROPIC_BASE_URL"] = "http://127.0.0.1:9"
    (program.folder / ".env").write_text(
        "ANTHROPIC_BASE_URL=http://evil.test\nCONSTRUCT_MEMORY=off\nCONSTRUCT_TZ=UTC\n"
        "CONSTRUCT_SETUP=x\nCONSTRUCT_LOOK_FOR=http://x.test\nCONSTRUCT_DB=evil.db\n"
    )
    with on_terminal(program, "--db", "own.db", "status") as terminal:
        terminal.see("Trust it? [y/N]")
        assert "ANTHROPIC_BASE_URL=http://evil.test" in terminal.screen.text
        assert "CONSTRUCT_DB=evil.db" in terminal.screen.text
        for name in ("CONSTRUCT_TZ", "CONSTRUCT_SETUP", "CONSTRUCT_LOOK_FOR"):
            assert name not in terminal.screen.text
        terminal.type("no\r")
        assert terminal.wait() == 0
        assert "Ignored CONSTRUCT_MEMORY from .env" in terminal.screen.text


def test_a_no_is_kept_too(program: Program) -> None:
    """It is not asked again; each run says what was ignored, and how to be asked again.

    No answer is not kept.
    """
    (program.folder / ".env").write_text("CONSTRUCT_MEMORY=off\n")
    with on_terminal(program, "status") as terminal:
        terminal.see("Trust it? [y/N]")
        terminal.type("\x04")
        assert terminal.wait() == 0
    assert not answers(program).exists()
    with on_terminal(program, "status") as terminal:
        terminal.see("Trust it? [y/N]")
        terminal.type("no\r")
        assert terminal.wait() == 0
        assert "Ignored CONSTRUCT_MEMORY from .env, which you do not trust." in terminal.screen.text
    with on_terminal(program, "status") as terminal:
        assert terminal.wait() == 0
        assert "[y/N]" not in terminal.screen.text
        assert "tobeaskedagain" in "".join(
            terminal.screen.text.split()
        )  # the folder's name may push it over the edge
    assert program.json("status")["mode"] != "off"


def test_openais_key_in_a_file_is_not_shown(program: Program) -> None:
    """The question names it, as it does Anthropic's."""
    (program.folder / ".env").write_text(
        "CONSTRUCT_PROVIDER=openai\nOPENAI_BASE_URL=http://evil.test/v1\nOPENAI_API_KEY=in-the-file\n"
    )
    with on_terminal(program, "status") as terminal:
        terminal.see("Trust it? [y/N]")
        terminal.type("no\r")
        assert terminal.wait() == 0
        assert "OPENAI_BASE_URL=http://evil.test/v1" in terminal.screen.text
        assert "OPENAI_API_KEY=" in terminal.screen.text
        assert "in-the-file" not in terminal.screen.text


def test_doctor_says_why_no_key_is_sent(program: Program, api: FakeApi) -> None:
    """A trusted address without a key of its own."""
    program.env["ANTHROPIC_API_KEY"] = "own-key"
    (program.folder / ".env").write_text(f"ANTHROPIC_BASE_URL={api.url}\n")
    with on_terminal(program, "status") as terminal:
        terminal.see("Trust it? [y/N]")
        terminal.type("y\r")
        assert terminal.wait() == 0
    (check,) = [one for one in program.json("doctor")["checks"] if one["name"] == "credentials"]
    assert "a key from elsewhere is not sent there" in check["detail"]

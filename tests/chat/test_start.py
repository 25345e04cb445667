"""Starting in a real terminal: what is imported first, and what a terminal does."""

import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from construct.store.database import open_database
from tests.support.emulator import PseudoTerminal, python
from tests.support.fake_api import FakeApi, Reply, faults
from tests.support.talks import LOW, facts

CHAT = """
import sys
from construct.load_settings import load_settings
from construct.chat.app import run_chat
from construct.operations.opening import open_chat
sys.exit(run_chat(open_chat(load_settings(), None, new=False, model=None, private=False)))
"""

DRAWN = """
import json, os, sys
import prompt_toolkit.renderer
draw = prompt_toolkit.renderer.Renderer.render
def draw_once(*arguments, **options):
    draw(*arguments, **options)
    with open(os.environ["MODULES"], "w") as file:
        json.dump(sorted(sys.modules), file)
    prompt_toolkit.renderer.Renderer.render = draw
prompt_toolkit.renderer.Renderer.render = draw_once
"""

HEAVY = {
    "anthropic",
    "httpx2",
    "pydantic",
    "tiktoken",
    "rich.markdown",
    "markdown_it",
    "rich.console",
    "typer",
    "psutil",
    "sqlite_utils",
    "construct.talk.companion",
    "xllamacpp",
    "construct.llm.types",
    "construct.memory.shown.transcript",
}


@pytest.fixture
def env(api: FakeApi, tmp_path: Path) -> dict[str, str]:
    """Return the environment of a chat with the fake, its database made already."""
    open_database(tmp_path / "construct.db").close()
    return {
        "PATH": os.environ["PATH"],
        "XTERM_VERSION": "1",
        "CONSTRUCT_DB": str(tmp_path / "construct.db"),
        "XDG_CONFIG_HOME": str(tmp_path),
        "MEMORY_WORKER_MODEL": "extractive",
        "MODULES": str(tmp_path / "modules.json"),
        **api.env(),
    }


@pytest.fixture
def terminal(env: dict[str, str]) -> Iterator[PseudoTerminal]:
    """Start a chat in a pseudo-terminal."""
    behind = PseudoTerminal(python(DRAWN + CHAT), env)
    yield behind
    behind.close()


def test_a_real_terminal(api: FakeApi, terminal: PseudoTerminal, env: dict[str, str]) -> None:
    """The prompt waits for nothing heavy; type-ahead is answered.

    Ctrl-C, a resize and SIGTERM do what they should.
    """
    api.enqueue("chat", Reply("going on and on " * 300, chunk_delay=0.02, chunk_size=16), "Well.")
    terminal.see("›")
    terminal.type("go\r")
    terminal.see("going on")
    modules = set(json.loads(Path(env["MODULES"]).read_text()))
    assert "prompt_toolkit" in modules
    assert not modules & HEAVY
    terminal.type("ahead")
    terminal.see("› ahead")
    terminal.type("\x03")
    terminal.see("interrupted")
    terminal.see("› ahead")
    terminal.resize(50, 20)
    time.sleep(0.2)
    terminal.type("!\r")
    terminal.see("Well.")
    os.kill(terminal.pid, signal.SIGTERM)
    assert terminal.wait() == 130
    assert "Traceback" not in terminal.screen.text


def hang_up(terminal: PseudoTerminal) -> None:
    """Close the terminal over and over, as it, the shell and `uv run` all report it."""
    deadline = time.monotonic() + 20
    while (
        not os.waitid(os.P_PID, terminal.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        and time.monotonic() < deadline
    ):
        os.kill(terminal.pid, signal.SIGHUP)
        time.sleep(0.001)
    terminal.wait()


def test_a_dumb_terminal(api: FakeApi, env: dict[str, str]) -> None:
    """A terminal that only prints lines gets no escape sequences.

    The chat works on it.
    """
    terminal = PseudoTerminal(python(CHAT), env | {"TERM": "dumb"})
    try:
        terminal.see(lambda screen: screen.lines[-1:] == [">"])
        terminal.type("quit\n")
        terminal.see("/quit or Ctrl-D leaves.")
        terminal.type("hello\n")
        terminal.see("You said")
        terminal.type("/rename Tea\n")
        terminal.see("is now called Tea")
        terminal.type("/conversations delete 1\n")
        terminal.see("[y/N]")
        terminal.type("\x03")
        terminal.see("interrupted")
        api.enqueue("chat", Reply("You said much. " * 20, chunk_delay=0.02, chunk_size=10))
        terminal.type("hello again\n")
        terminal.see("You said much")
        terminal.type("/conversations delete 1\ny\n")
        terminal.see(lambda screen: screen.lines[-1].endswith("[y/N]"))
        terminal.type("no\n")
        terminal.see("Nothing was deleted.")
        terminal.see(lambda screen: bool(api.of("chat")[2:]))
        terminal.type("/rename Coffee\n")
        terminal.see("is now called Coffee")
        terminal.type("\x04")
        assert terminal.wait() == 0
        assert "\x1b" not in terminal.screen.raw
    finally:
        terminal.close()


def test_leaving_a_dumb_terminal(api: FakeApi, env: dict[str, str]) -> None:
    """It says that memory work is going on, and Ctrl-C leaves that for later."""
    api.fail("observer", faults.hang(20), times=None)
    more = {**LOW, "TERM": "dumb", "MEMORY_WORKER_MODEL": ""}
    terminal = PseudoTerminal(python(CHAT), env | more)
    try:
        terminal.see(lambda screen: screen.lines[-1:] == [">"])
        terminal.type(f"{' '.join(facts(12))}\n")
        terminal.see("You said")
        terminal.type("\x04")
        terminal.see("finishing memory work… Ctrl-C leaves it for later")
        terminal.type("\x03")
        terminal.see("left for later")
        assert terminal.wait(10) == 0
    finally:
        terminal.close()


def test_no_color_and_a_closed_terminal(api: FakeApi, env: dict[str, str]) -> None:
    """With NO_COLOR neither prompt nor reply nor view is coloured.

    A terminal that is closed keeps what came.
    """
    long = Reply("going on and on " * 300, chunk_delay=0.02, chunk_size=16)
    api.enqueue("chat", "# Head\n\n`code` and **bold**", long)
    terminal = PseudoTerminal(python(CHAT), env | {"NO_COLOR": "1"})
    try:
        terminal.see("›")
        terminal.type("hello\r/status\r")
        terminal.see("next observation")
        for code in ("\x1b[3", "\x1b[4", "\x1b[9", ";3"):
            assert f"{code}1m" not in terminal.screen.raw
            assert f"{code}5m" not in terminal.screen.raw
        terminal.type("go\r")
        terminal.see("going on")
        hang_up(terminal)
    finally:
        terminal.close()
    with closing(open_database(Path(env["CONSTRUCT_DB"]))) as db:
        assert db.execute("SELECT role, status FROM messages").fetchall()[-1] == (
            "assistant",
            "interrupted",
        )

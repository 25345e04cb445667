"""The first minute on a terminal: one screen, one key."""

from pathlib import Path

import pytest

from tests.cli.test_trust import on_terminal
from tests.support.fake_api import FakeApi
from tests.support.model_servers import ModelServer, ollama
from tests.support.program import Program

ENTER = "\r"
CTRL_C = "\x03"
CTRL_D = "\x04"


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """Return a program that nobody has configured."""
    more = {"XDG_CONFIG_HOME": str(tmp_path / "config"), "CONSTRUCT_LOOK_FOR": "", "TERM": "xterm"}
    return Program(tmp_path, more)


def config(program: Program) -> Path:
    """Return the file that choices are written to."""
    return program.folder / "config" / "construct" / "config.env"


def test_on_without_a_model_and_back_again(program: Program) -> None:
    """The choice is remembered: the second start asks nothing."""
    with on_terminal(program) as terminal:
        terminal.see("Choose one:")
        terminal.type("n")
        terminal.see("This is a notebook")
        terminal.see("new conversation")
        terminal.type(f"My dentist is Dr. Sousa.{ENTER}")
        terminal.see("Noted.")
        terminal.type(CTRL_D)
        assert terminal.wait() == 0
    with on_terminal(program) as terminal:
        terminal.see("notebook")
        assert "Pick one" not in terminal.screen.text
        terminal.type(f"Who is my dentist?{ENTER}")
        terminal.see("message:1")
        terminal.type(CTRL_D)
        assert terminal.wait() == 0


def test_the_demo_leads_back_to_the_choice(program: Program) -> None:
    """Whoever has looked around can go on with a life of their own."""
    with on_terminal(program) as terminal:
        terminal.see("try the demo first")
        terminal.type("d")
        terminal.see("a year in the life of Mara")
        terminal.see("observe 0%")
        terminal.type(CTRL_D)
        terminal.see(lambda screen: "leave everything as it is" in "".join(screen.lines[-8:]))
        terminal.type("n")
        terminal.see("This is a notebook")
        terminal.see(lambda screen: "observe 0%" in screen.lines[-1])
        terminal.type(CTRL_D)
        assert terminal.wait() == 0


def test_a_key_is_typed_hidden_and_a_wrong_one_is_not_kept(program: Program) -> None:
    """The screen stays, and leaving it changes nothing."""
    with on_terminal(program) as terminal:
        terminal.see("continue without a model")
        terminal.type("k")
        terminal.see("API key (not shown):")
        terminal.type(f"two words{ENTER}")
        terminal.see("Choose again")
        assert "two words" not in terminal.screen.text
        terminal.type("u")
        terminal.see("Address")
        terminal.type(CTRL_C)
        terminal.type("7")
        terminal.see("Press one of the keys above")
        terminal.type("q")
        assert terminal.wait() == 0
    assert not config(program).exists()
    assert not program.db.exists()


def test_a_model_found_on_this_machine(program: Program, api: FakeApi) -> None:
    """One key picks a found model and tries it with a message.

    When it gives no answer, nothing is saved.
    """
    answers = ollama({"gemma4:12b": {"size": "12B", "loaded": 4096}})
    with ModelServer(answers) as server:
        found = {"CONSTRUCT_LOOK_FOR": server.url}
        with on_terminal(Program(program.folder, program.env | found)) as terminal:
            terminal.see("1  gemma4:12b in Ollama")
            terminal.type("1")
            terminal.see("Choose again")  # this fake answers no messages
            terminal.type("q")
            assert terminal.wait() == 0
        assert "POST /v1/messages" in server.asked
    assert not config(program).exists()


def test_a_server_elsewhere_by_its_address(program: Program, api: FakeApi) -> None:
    """With its key, the first model that it lists, and the chat at once."""
    api.models = ("gemma4",)
    with on_terminal(program) as terminal:
        terminal.see("continue without a model")
        terminal.type("u")
        terminal.see("Address")
        terminal.type(f"{api.url}{ENTER}")
        terminal.see("Key, if it needs one")
        terminal.type(f"test-key{ENTER}")
        terminal.see("You are talking to gemma4.")
        terminal.see("new conversation")
        terminal.type(CTRL_D)
        assert terminal.wait() == 0
        assert "test-key" not in terminal.screen.text
    assert "ANTHROPIC_AUTH_TOKEN=test-key" in config(program).read_text()


def test_a_server_of_openais_protocol(program: Program) -> None:
    """Its models are named before one is asked for, and the chat goes on with it."""
    with FakeApi(protocol="openai") as api:
        api.models = ("gpt-a", "gpt-b")
        with on_terminal(program) as terminal:
            terminal.see("continue without a model")
            terminal.type("o")
            terminal.see("Address (Enter for OpenAI's own)")
            terminal.type(f"{api.url}{ENTER}")
            terminal.see("Key, if it needs one")
            terminal.type(f"test-key{ENTER}")
            terminal.see("It has gpt-a, gpt-b.")
            terminal.type(f"gpt-b{ENTER}")
            terminal.see("You are talking to gpt-b.")
            terminal.see("new conversation")
            terminal.type(f"Hello{ENTER}")
            terminal.see("taken note of it")
            terminal.type(CTRL_D)
            assert terminal.wait() == 0
            assert "test-key" not in terminal.screen.text
    assert "OPENAI_API_KEY=test-key" in config(program).read_text()


def test_setup_says_that_a_window_is_small(program: Program, api: FakeApi) -> None:
    """The screen gives the same advice as `--use`."""
    api.models, api.context_window = ("gemma4",), 4096
    with on_terminal(program, "setup") as terminal:
        terminal.see("continue without a model")
        terminal.type("u")
        terminal.see("Address")
        terminal.type(f"{api.url}{ENTER}")
        terminal.see("Key, if it needs one")
        terminal.type(f"test-key{ENTER}")
        assert terminal.wait() == 0
        assert "gemma4 can read only 4,096 tokens at once." in terminal.screen.text


def test_ctrl_c_interrupts_the_screen(program: Program) -> None:
    """Nothing is written, and the exit status says that it was interrupted."""
    with on_terminal(program) as terminal:
        terminal.see("leave everything as it is")
        terminal.type("\x03")
        assert terminal.wait() == 130
    assert not config(program).exists()

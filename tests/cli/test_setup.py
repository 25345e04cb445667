"""`setup` and `models`: choosing a model without editing a file."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.fake_api import FakeApi
from tests.support.fake_faults import http
from tests.support.model_servers import ModelServer, llamacpp, ollama
from tests.support.program import Program
from tests.support.weights import smollm

NOWHERE = {"CONSTRUCT_LOOK_FOR": ""}


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """Return a program that nobody has configured."""
    return Program(tmp_path, {"XDG_CONFIG_HOME": str(tmp_path / "config"), **NOWHERE})


def config(program: Program) -> Path:
    """Return the file that choices are written to."""
    return program.folder / "config" / "construct" / "config.env"


def test_without_a_choice_nothing_changes(program: Program) -> None:
    """It prints what it found, a key before each choice, and exits 0."""
    with ModelServer(ollama({"gemma4": {"loaded": 4096}})) as server:
        done = program.run("setup", more={"CONSTRUCT_LOOK_FOR": server.url})
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert "  1  gemma4 in Ollama (8B, reads 4,096 tokens, loaded)" in lines
    assert [line[2] for line in lines if line[:2] == "  " and line[2:3].strip()] == list("1kuodnq")
    assert "OpenAI" in done.stdout
    assert not config(program).exists()


def test_models_lists_what_is_within_reach(program: Program) -> None:
    """With the fields that docs/programs.md lists."""
    with ModelServer(ollama({"gemma4": {"loaded": 4096}})) as server:
        done = program.run("models", "--json", more={"CONSTRUCT_LOOK_FOR": server.url})
    assert json.loads(done.stdout) == [
        {
            "name": "gemma4",
            "server": server.url,
            "context_window": 4096,
            "vision": False,
            "source": "ollama",
        }
    ]
    keyed = program.run("models", "--json", more={"ANTHROPIC_API_KEY": "sk-x"})
    assert "claude-sonnet-5-5" in {model["name"] for model in json.loads(keyed.stdout)}
    gguf = program.run("models", "--json", more={"CONSTRUCT_LOCAL_MODEL": str(smollm())})
    assert [model["source"] for model in json.loads(gguf.stdout)] == ["gguf"]


def test_a_server_is_chosen_by_its_address(program: Program, api: FakeApi) -> None:
    """One sentence is tried; the file is private, and other lines in it stay."""
    config(program).parent.mkdir(parents=True)
    config(program).write_text("# mine\nCONSTRUCT_SCOPE=conversation\n")
    api.enqueue("chat", "Hello!")
    done = program.run("setup", "--server", api.url, "--use", "claude-sonnet-5-5")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Hello!" in done.stdout
    assert config(program).stat().st_mode & 0o777 == 0o600
    assert config(program).read_text().splitlines() == [
        "# mine",
        "CONSTRUCT_SCOPE=conversation",
        f"ANTHROPIC_BASE_URL={api.url}",
        "CONSTRUCT_MODEL=claude-sonnet-5-5",
        "CONSTRUCT_SETUP=ANTHROPIC_BASE_URL,CONSTRUCT_MODEL",
    ]
    assert json.loads(program.run("status", "--json").stdout)["provider"] == "anthropic"


def test_a_choice_that_does_not_answer_is_not_kept(program: Program, api: FakeApi) -> None:
    """What it was before stays."""
    api.fail("chat", http(401))
    done = program.run("setup", "--server", api.url, "--use", "x", "--key", "-", stdin="sk-bad\n")
    assert done.returncode == 1
    assert "sk-bad" not in done.stdout + done.stderr
    assert done.stderr.endswith(" Check the key.\n")
    assert not config(program).exists()


def test_advice_names_what_was_typed(program: Program, api: FakeApi) -> None:
    """The settings of the same meaning are not used."""
    api.fail("chat", http(404))
    done = program.run("setup", "--server", api.url, "--use", "x")
    assert done.stderr.endswith(" Check the model's name and the address.\n")
    api.fail("chat", http(401))
    done = program.run("setup", "--server", api.url, "--use", "x")
    assert "asks for a key, and none was sent" in done.stderr
    assert done.stderr.endswith(" Give its key too.\n")
    done = program.run("setup", "--use", "missing.gguf")
    assert done.stderr.endswith(" Name a GGUF file.\n")


def test_a_second_choice_replaces_the_first(program: Program, api: FakeApi) -> None:
    """Nothing of the first one is left, and no key reaches another address."""
    api.enqueue("chat", "Hello!")
    program.run("setup", "--server", api.url, "--use", "m", "--key", "-", stdin="sk-one\n")
    assert "sk-one" in config(program).read_text()
    assert program.run("setup", "--use", "notebook").returncode == 0
    assert config(program).read_text().splitlines() == [
        "CONSTRUCT_PROVIDER=notebook",
        "CONSTRUCT_SETUP=CONSTRUCT_PROVIDER",
    ]
    status = json.loads(program.run("status", "--json").stdout)
    assert status["provider"] == "notebook"


def test_the_environment_comes_first(program: Program, api: FakeApi) -> None:
    """A choice is kept, and the user told why it does not count yet."""
    mine = {"ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": "sk-env"}
    done = program.run("setup", "--use", "notebook", more=mine)
    assert "Credentials in the environment or a trusted .env take precedence" in done.stdout
    assert json.loads(program.run("status", "--json", more=mine).stdout)["provider"] == "anthropic"


def test_another_model_counts_beside_credentials_in_the_environment(
    program: Program, api: FakeApi
) -> None:
    """It is the only choice they leave open, unless the environment names the model too."""
    mine = {"ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": "sk-env"}
    api.enqueue("chat", "Hello!", "Hello!")
    done = program.run("setup", "--use", "claude-sonnet-5-5", more=mine)
    assert done.returncode == 0
    assert "precedence" not in done.stdout
    named = mine | {"CONSTRUCT_MODEL": "other"}
    done = program.run("setup", "--use", "claude-sonnet-5-5", more=named)
    assert "CONSTRUCT_MODEL in the environment, .env or config.env takes precedence" in done.stdout


def test_such_a_model_is_not_asked_of_the_server_chosen_before(
    program: Program, api: FakeApi
) -> None:
    """Without the credentials from the environment, nothing is chosen any more."""
    api.enqueue("chat", "Hello!", "Hello!")
    program.run("setup", "--server", api.url, "--use", "small", "--key", "-", stdin="sk")
    mine = {"ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": "sk-env"}
    assert program.run("setup", "--use", "claude-sonnet-5-5", more=mine).returncode == 0
    assert program.json("status")["provider"] == "notebook"


@pytest.mark.parametrize(
    ("name", "value", "overrides"),
    [
        ("CONSTRUCT_MODEL", "small", True),
        ("CONSTRUCT_PROVIDER", "notebook", True),
        ("CONSTRUCT_MODEL", "big", False),
        ("CONSTRUCT_PROVIDER", "anthropic", False),
    ],
)
@pytest.mark.parametrize("has_credentials", [True, False])
def test_a_model_or_a_provider_set_elsewhere_comes_first(
    program: Program, api: FakeApi, name: str, value: str, overrides: bool, has_credentials: bool
) -> None:
    """The message names the setting. What was chosen is tried all the same."""
    api.models = ("big", "small")
    api.enqueue("chat", "Hello!")
    if has_credentials:
        options, more = [], api.env()
    else:
        options, more = ["--server", api.url, "--key", "-"], {}
    done = program.run("setup", "--use", "big", *options, stdin="sk\n", more={name: value, **more})
    assert "big: Hello!" in done.stdout
    assert (
        f"{name} in the environment, .env or config.env takes precedence" in done.stdout
    ) == overrides


@pytest.mark.parametrize(
    ("more", "model"),
    [
        ({}, "big"),
        ({"CONSTRUCT_MODEL": "small"}, "small"),
        ({"ANTHROPIC_BASE_URL": ""}, "claude-sonnet-5-5"),
        ({"CONSTRUCT_PROVIDER": "local", "CONSTRUCT_LOCAL_MODEL": "x.gguf"}, "local:x"),
        (
            {
                "CONSTRUCT_PROVIDER": "local",
                "CONSTRUCT_LOCAL_MODEL": "x.gguf",
                "CONSTRUCT_MODEL": "claude-sonnet-5-5",
            },
            "local:x",
        ),
        ({"CONSTRUCT_PROVIDER": "local"}, "notebook"),
    ],
)
def test_it_names_the_model_that_replies(
    program: Program, api: FakeApi, more: dict[str, str], model: str
) -> None:
    """On another server, that is the first it lists; with a local provider, the file's."""
    api.models = ("big", "small")
    if "CONSTRUCT_PROVIDER" not in more:
        more = {**api.env(), **more}
    assert program.json("setup", more=more)["model"] == model


def test_doctor_of_a_notebook(program: Program) -> None:
    """No model is a choice, not a fault."""
    done = program.run("doctor", "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["ok"] is True


@pytest.mark.parametrize(
    ("arguments", "stdin", "named"),
    [
        (["--key", "sk-visible"], None, "--key -"),
        (["--key", "-"], "", "which was empty"),
        (["--key", "-"], "two words\n", "Not a key"),
        (["--server", "ftp://x"], None, "ftp://x"),
        (["--use", "no-such-model"], None, "construct models"),
        (["--use", "~nosuchuser/x.gguf"], None, "~nosuchuser"),
    ],
)
def test_wrong_usage(program: Program, arguments: list[str], stdin: str | None, named: str) -> None:
    """One plain line that says what to do; a key is never printed."""
    done = program.run("setup", *arguments, stdin=stdin)
    assert done.returncode == 2
    assert named in done.stderr
    assert not config(program).exists()


def test_a_server_without_models(program: Program) -> None:
    """An address where nothing answers is told, and nothing is written."""
    done = program.run("setup", "--server", "http://127.0.0.1:9")
    assert done.returncode == 1
    assert "http://127.0.0.1:9" in done.stderr


def test_setup_helps_where_a_provider_lacks_its_key(program: Program) -> None:
    """The error of other commands leads here."""
    done = program.run("setup", more={"CONSTRUCT_PROVIDER": "anthropic"})
    assert done.returncode == 0
    assert "No model is set up yet" in done.stdout


def test_other_lines_stay_to_the_byte(program: Program) -> None:
    """Values of several lines and odd line ends too."""
    file = config(program)
    file.parent.mkdir(parents=True)
    file.write_bytes(b'# mine\x0cA\r\nexport CONSTRUCT_MODEL=old\nX="a\nCONSTRUCT_MODEL=b\n"')
    assert program.run("setup", "--use", "notebook").returncode == 0
    expected = b'# mine\x0cA\r\nX="a\nCONSTRUCT_MODEL=b\n"\n'
    expected += b"CONSTRUCT_PROVIDER=notebook\nCONSTRUCT_SETUP=CONSTRUCT_PROVIDER\n"
    assert file.read_bytes() == expected


def test_a_linked_config_file_is_written_where_it_is(program: Program, tmp_path: Path) -> None:
    """The new file is made beside the real one, which may be on another disk."""
    file, real = config(program), tmp_path / "dotfiles" / "config.env"
    file.parent.mkdir(parents=True)
    real.parent.mkdir()
    real.write_text("# mine\n")
    file.symlink_to(real)
    file.parent.chmod(0o500)
    try:
        done = program.run("setup", "--use", "notebook")
    finally:
        file.parent.chmod(0o700)
    assert done.returncode == 0
    assert file.is_symlink()
    assert real.read_text().startswith("# mine\n")
    assert "CONSTRUCT_PROVIDER=notebook" in real.read_text()


def test_the_file_in_use_is_known_by_its_name(program: Program) -> None:
    """As `construct models` lists it. It is tried, and here it cannot be loaded."""
    more = {"CONSTRUCT_LOCAL_MODEL": str(program.folder / "tiny.gguf")}
    done = program.run("setup", "--use", "local:tiny", more=more)
    assert "tiny.gguf cannot be used as a local model" in done.stderr


def test_a_models_short_name_will_do(program: Program) -> None:
    """llama.cpp names a model by its path; the screen shows the file's name."""
    with ModelServer(llamacpp("/models/tiny.gguf", 4096)) as server:
        found = {"CONSTRUCT_LOOK_FOR": server.url}
        done = program.run("setup", "--use", "tiny.gguf", more=found)
        assert "POST /v1/messages" in server.asked  # it was tried, and this fake knows no messages
        assert "extra `local`" not in done.stderr
        done = program.run("setup", "--use", "tiny.gguf", "--server", server.url)
    assert done.returncode == 1
    assert "/models/tiny.gguf" in done.stderr


def test_a_server_of_openais_protocol(program: Program) -> None:
    """It is chosen with an option, and what the protocol lacks is said once."""
    with FakeApi(protocol="openai") as api:
        api.models = ("gpt-first", "gpt-second")
        api.enqueue("chat", "Hello!", "Hi there.", "Hello!")
        chosen = program.run("setup", "--openai", "--server", api.url, "--key", "-", stdin="sk-o\n")
        assert (chosen.returncode, chosen.stderr) == (0, "")
        assert "gpt-first: Hello!" in chosen.stdout
        assert "no cache marks" in chosen.stdout
        assert config(program).read_text().splitlines() == [
            "CONSTRUCT_PROVIDER=openai",
            "CONSTRUCT_MODEL=gpt-first",
            f"OPENAI_BASE_URL={api.url}/v1",
            "OPENAI_API_KEY=sk-o",
            "CONSTRUCT_SETUP=CONSTRUCT_PROVIDER,CONSTRUCT_MODEL,OPENAI_BASE_URL,OPENAI_API_KEY",
        ]
        assert program.json("status")["provider"] == "openai"
        reach = program.json("setup")
        assert (reach["provider"], reach["model"], reach["credentials"]) == (
            "openai",
            "gpt-first",
            "setup",
        )
        listed = program.json("models")
        assert [model["name"] for model in listed] == ["gpt-first", "gpt-second"]
        asked = program.run("ask", "--no-wait", "Hello")
        assert (asked.stdout, asked.stderr) == ("Hi there.\n", "")
        # A key for other programs changes nothing, and is not sent to this server.
        program.run("ask", "--no-wait", "Hello", more={"OPENAI_API_KEY": "sk-other"})
        assert {one.headers["authorization"] for one in api.requests} == {"Bearer sk-o"}
        assert program.run("setup", "--use", "gpt-second").returncode == 0
        assert "CONSTRUCT_MODEL=gpt-second" in config(program).read_text()
        assert program.json("status")["provider"] == "openai"


def test_openais_own_server_needs_a_model(program: Program) -> None:
    """The first that it lists need not even talk."""
    done = program.run("setup", "--openai", "--key", "-", stdin="sk-o\n")
    assert done.returncode == 1
    assert "--use MODEL" in done.stderr
    mine = {"CONSTRUCT_PROVIDER": "openai", "OPENAI_API_KEY": "sk-o"}
    done = program.run("ask", "--no-wait", "Hello", more=mine)
    assert done.returncode == 3
    assert "Set CONSTRUCT_MODEL" in done.stderr


def test_an_openai_key_alone_chooses_nothing(program: Program, api: FakeApi) -> None:
    """Many have one for other programs: `auto` looks at it only if setup chose it."""
    mine = {"OPENAI_API_KEY": "sk-o", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    assert program.json("status", more=mine)["provider"] == "notebook"
    assert program.json("status", more=mine | api.env())["provider"] == "anthropic"
    done = program.run("ask", "--no-wait", "Hello", more={"CONSTRUCT_PROVIDER": "openai"})
    assert done.returncode == 3
    assert "set OPENAI_API_KEY or OPENAI_BASE_URL" in done.stderr


def test_without_the_extra_openai(program: Program) -> None:
    """It is named, with the command that adds it."""
    code = (
        "import importlib.util as u; find = u.find_spec; "
        "u.find_spec = lambda name, *a: None if name == 'openai' else find(name, *a); "
        "from construct.cli import main; main()"
    )
    env = {"CONSTRUCT_PROVIDER": "openai", "OPENAI_API_KEY": "sk-o", "CONSTRUCT_MODEL": "m"}
    done = subprocess.run(
        [sys.executable, "-c", code, "ask", "--no-wait", "Hello"],
        env=program.environment() | env,
        cwd=program.folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3
    assert "needs the extra `openai`. Add it: " in done.stderr


REPLY = "".join(
    f"data: {json.dumps(event)}\n\n"
    for event in (
        {"type": "message_start", "message": {}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "ok"}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        {"type": "message_stop"},
    )
).encode()
WINDOWS: dict[str, dict[str, Any]] = {
    "/props": {"default_generation_settings": {"n_ctx": 40_960}},
    "/api/extra/true_max_context_length": {"value": 40_960},
    "/v1/model": {"id": "m", "parameters": {"max_seq_len": 40_960}},
    "/api/v0/models": {"data": [{"id": "x"}, {"id": "m", "loaded_context_length": 40_960}]},
    "/get_server_info": {"context_length": 40_960},
    "/info": {"max_total_tokens": 40_960},
    "/v1/models/m": {"id": "m", "max_input_tokens": 40_960},
    "/v1/model/info": {
        "data": [{"model_name": "m", "model_info": {"max_input_tokens": 40_960, "id": "9"}}]
    },
    "/model/info": {"data": [{"model_name": "m", "model_info": {"max_input_tokens": 40_960}}]},
}
"""What servers of several makes answer, by where they say what the model `m` can read."""


@pytest.mark.parametrize("path", WINDOWS)
def test_setup_asks_the_server_for_its_window_in_every_way(program: Program, path: str) -> None:
    """It says what it took and how to change it, and later starts know."""
    answers = {
        "GET /v1/models": {"data": [{"id": "m"}]},
        f"GET {path}": WINDOWS[path],
        "POST /v1/messages": REPLY,
    }
    with ModelServer(answers) as server:
        done = program.run("setup", "--server", server.url, "--use", "m")
        assert done.returncode == 0, done.stderr
        assert "40,960 tokens at once" in done.stdout
        assert "CONSTRUCT_CONTEXT_WINDOW" in done.stdout
        assert "m reads 40,960 tokens at once" in program.run("status").stdout


def test_a_window_that_nobody_says_is_said_to_be_assumed(program: Program, api: FakeApi) -> None:
    """By setup and by `status`, with the setting that changes it."""
    api.models = ("m",)
    done = program.run("setup", "--server", api.url, "--use", "m")
    assert "Construct takes 8,192 tokens, too few for the tools" in done.stdout
    assert "set CONSTRUCT_CONTEXT_WINDOW" in done.stdout
    shown = " ".join(program.run("status").stdout.split())
    assert "m reads 8,192 tokens at once, as its server does not say" in shown
    more = {"CONSTRUCT_CONTEXT_WINDOW": "40000"}
    assert "m reads 40,000 tokens at once" in program.run("status", more=more).stdout
    assert "does not say" not in program.run("status", more=more).stdout

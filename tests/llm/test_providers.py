"""Which models serve."""

from pathlib import Path

import pytest

from construct.errors import NotConfiguredError, UsageError
from construct.llm.anthropic_model import AnthropicModel
from construct.llm.local_model import LocalModel
from construct.llm.notebook import Notebook
from construct.llm.openai_model import OpenAIModel
from construct.llm.providers import Models, choose_models, named_provider
from construct.llm.servers import look
from construct.load_settings import load_settings
from construct.vocabulary import AttachmentKind, Provider
from tests.support.model_servers import ModelServer, llamacpp, ollama, vllm
from tests.support.weights import smollm

KEY = {"ANTHROPIC_API_KEY": "sk-ant-0123456789"}
GGUF = {"CONSTRUCT_LOCAL_MODEL": str(smollm())}
SMOL = f"local:{smollm().stem}"
LOCAL = {"CONSTRUCT_PROVIDER": "local", **GGUF}
NOTEBOOK = "notebook"


@pytest.fixture(autouse=True)
def _nothing_around(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the developer's own `.env` and `config.env` out."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


def chosen(**environ: str) -> Models:
    """Return the models that these variables choose."""
    return choose_models(load_settings(environ))


@pytest.mark.parametrize(
    ("environ", "main", "worker"),
    [
        (KEY, "claude-sonnet-5-5", "claude-haiku-5-5"),
        ({"ANTHROPIC_AUTH_TOKEN": "t"}, "claude-sonnet-5-5", "claude-haiku-5-5"),
        ({**KEY, **GGUF}, "claude-sonnet-5-5", "claude-haiku-5-5"),
        ({**KEY, "CONSTRUCT_MODEL": "claude-opus-5-5"}, "claude-opus-5-5", "claude-haiku-5-5"),
        ({**KEY, **GGUF, "CONSTRUCT_MODEL": "local"}, SMOL, "extractive"),
        ({**KEY, "MEMORY_WORKER_MODEL": "extractive"}, "claude-sonnet-5-5", "extractive"),
        ({**KEY, **GGUF, "MEMORY_WORKER_MODEL": "local"}, "claude-sonnet-5-5", SMOL),
        ({**KEY, "MEMORY_WORKER_MODEL": "claude-x"}, "claude-sonnet-5-5", "claude-x"),
        ({}, NOTEBOOK, "extractive"),
        ({**KEY, "CONSTRUCT_PROVIDER": "notebook"}, NOTEBOOK, "extractive"),
        (GGUF, SMOL, "extractive"),
        ({**KEY, **LOCAL}, SMOL, "extractive"),
        ({**KEY, **LOCAL, "MEMORY_WORKER_MODEL": "claude-x"}, SMOL, "claude-x"),
        ({**LOCAL, "MEMORY_WORKER_MODEL": "LOCAL"}, SMOL, SMOL),
    ],
)
def test_choice(environ: dict[str, str], main: str, worker: str) -> None:
    """Credentials choose Anthropic, else a GGUF file serves, else the notebook."""
    models = chosen(**environ)
    assert (models.main.name, models.worker_name) == (main, worker)
    assert (models.worker is None) == (worker == "extractive")
    assert bool(models.worker_reason) == (worker == "extractive")


@pytest.mark.parametrize("changed", [{}, {"CONSTRUCT_PROVIDER": "anthropic"}])
def test_a_local_model_beside_credentials_replies(changed: dict[str, str]) -> None:
    """The provider is that of the model that replies, whatever the worker model needs."""
    environ = {**KEY, **GGUF, "CONSTRUCT_MODEL": "local", **changed}
    assert chosen(**environ).provider is Provider.LOCAL
    assert named_provider(load_settings(environ)) is Provider.LOCAL


def test_a_server_is_asked_what_the_settings_leave_open() -> None:
    """The server's first model talks and does the memory work.

    Its window is the one that it really has.
    """
    with ModelServer(vllm({"Qwen/Qwen3-32B": 32_768, "other": 4096})) as server:
        models = chosen(ANTHROPIC_BASE_URL=server.url)
    assert (models.main.name, models.main.context_window) == ("Qwen/Qwen3-32B", 32_768)
    assert models.worker is models.main
    assert models.advice == ""


def test_a_small_window_is_said_with_the_servers_own_setting() -> None:
    """4,096 tokens hold little; the sentence says how to get more."""
    answers = ollama({"gemma4": {"size": "12B", "loaded": 4096}})
    with ModelServer(answers) as server:
        models = chosen(ANTHROPIC_BASE_URL=server.url, CONSTRUCT_MODEL="gemma4")
    assert models.main.context_window == 4096
    assert "4,096" in models.advice
    assert "OLLAMA_CONTEXT_LENGTH" in models.advice
    with ModelServer(vllm({"gemma4": 32_768})) as server:
        models = chosen(ANTHROPIC_BASE_URL=server.url, CONSTRUCT_CONTEXT_WINDOW="4096")
    assert "4,096 tokens at once. Raise CONSTRUCT_CONTEXT_WINDOW" in models.advice


def test_a_small_model_does_not_keep_the_memory() -> None:
    """Below four billion parameters memory is made by rule, and the reason is kept."""
    with ModelServer(llamacpp("qwen2.5-1.5b.gguf", 16_384)) as server:
        models = chosen(ANTHROPIC_BASE_URL=server.url)
    assert models.worker is None
    assert "4 billion" in models.worker_reason


def test_the_window_can_be_set() -> None:
    """`CONSTRUCT_CONTEXT_WINDOW` comes before what anybody says."""
    assert chosen(**KEY, CONSTRUCT_CONTEXT_WINDOW="9000").main.context_window == 9000
    unreachable = {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9", "CONSTRUCT_MODEL": "x"}
    assert chosen(**unreachable).main.context_window == 8192
    assert chosen(**unreachable, CONSTRUCT_CONTEXT_WINDOW="9000").main.context_window == 9000


def test_a_set_window_replaces_only_the_main_models_window() -> None:
    """The server is still asked for the rest, and for the worker model's window."""
    with ModelServer(llamacpp("a.gguf", 16_384, vision=True)) as server:
        environ = {"ANTHROPIC_BASE_URL": server.url, "CONSTRUCT_CONTEXT_WINDOW": "9000"}
        main = chosen(**environ).main
        worker = chosen(**environ, CONSTRUCT_MODEL="b", MEMORY_WORKER_MODEL="a.gguf").worker
    assert (main.context_window, main.reads) == (9000, frozenset({AttachmentKind.IMAGE}))
    assert worker is not None
    assert worker.context_window == 16_384


def test_a_found_model_is_sent_no_key() -> None:
    """Going on with a model of this machine takes no key there."""
    with ModelServer(ollama({"gemma4": {"loaded": 16_384}})) as server:
        (found,) = look({"CONSTRUCT_LOOK_FOR": server.url})
        models = chosen(**KEY).with_found(found)
    assert isinstance(models.main, AnthropicModel)
    assert models.main.end.api_key is None
    assert not models.main.sends_custom_headers
    assert models.main.end.base_url == server.url
    assert models.worker_name == "claude-haiku-5-5"


@pytest.mark.parametrize(
    ("setting", "window"), [({}, 8192), ({"CONSTRUCT_CONTEXT_WINDOW": "4096"}, 4096)]
)
def test_the_setting_narrows_the_window_of_a_local_model(
    setting: dict[str, str], window: int
) -> None:
    """Without it, the file's header says how much the model can be sent."""
    assert chosen(CONSTRUCT_PROVIDER="local", **GGUF, **setting).main.context_window == window


def test_one_local_model_is_enough() -> None:
    """One model for talk and memory is loaded once.

    That holds after a change of model too.
    """
    models = chosen(**LOCAL, MEMORY_WORKER_MODEL="local")
    assert models.main is models.worker
    assert models.with_model("local").main is models.worker


def test_another_main_model() -> None:
    """`with_model` changes the main model, across providers, and nothing else."""
    models = chosen(**KEY, **GGUF)
    opus = models.with_model("claude-opus-5-5")
    assert isinstance(opus.main, AnthropicModel)
    assert opus.main.name == "claude-opus-5-5"
    assert opus.worker is models.worker
    local = models.with_model("local")
    assert isinstance(local.main, LocalModel)
    assert local.provider is Provider.LOCAL


def test_a_smaller_window_holds_for_another_local_model() -> None:
    """`/model local` heeds CONSTRUCT_CONTEXT_WINDOW, though the worker's window is larger."""
    models = chosen(**KEY, **GGUF, MEMORY_WORKER_MODEL="local", CONSTRUCT_CONTEXT_WINDOW="2048")
    assert models.with_model("local").main.context_window == 2048


def test_a_local_worker_needs_a_file() -> None:
    """The error names the setting that is wrong."""
    with pytest.raises(NotConfiguredError, match="MEMORY_WORKER_MODEL is local, but"):
        chosen(**KEY, MEMORY_WORKER_MODEL="local")


def test_another_main_model_needs_credentials() -> None:
    """Replacing the notebook by a model that needs credentials fails without them."""
    with pytest.raises(NotConfiguredError, match="ANTHROPIC_API_KEY, or name another model"):
        chosen().with_model("claude-opus-5-5")


async def test_the_notebook_is_no_model() -> None:
    """Asking it is an error that says what to do."""
    models = chosen()
    assert models.is_notebook
    assert isinstance(models.main, Notebook)
    models.warm()
    await models.close()


@pytest.mark.parametrize(
    ("environ", "named"),
    [
        ({"CONSTRUCT_PROVIDER": "anthropic"}, "CONSTRUCT_PROVIDER"),
        ({"CONSTRUCT_PROVIDER": "local"}, "CONSTRUCT_LOCAL_MODEL"),
        ({"MEMORY_WORKER_MODEL": "claude-haiku-5-5"}, "MEMORY_WORKER_MODEL"),
    ],
)
def test_what_is_set_cannot_be_had(environ: dict[str, str], named: str) -> None:
    """A model that is asked for and cannot be had is named, never quietly replaced."""
    with pytest.raises(NotConfiguredError, match=named):
        chosen(**environ)


def test_setup_yields_to_the_environment(tmp_path: Path) -> None:
    """What setup chose counts until the environment holds credentials."""
    (tmp_path / "construct").mkdir()
    (tmp_path / "construct" / "config.env").write_text(
        "CONSTRUCT_SETUP=ANTHROPIC_BASE_URL,CONSTRUCT_MODEL\n"
        "ANTHROPIC_BASE_URL=http://127.0.0.1:9\nCONSTRUCT_MODEL=gemma4\nCONSTRUCT_SCOPE=user\n"
    )
    mine = {"XDG_CONFIG_HOME": str(tmp_path)}
    assert load_settings(mine).base_url == "http://127.0.0.1:9"
    settings = load_settings({**mine, **KEY})
    assert (settings.base_url, settings.model) == (None, None)
    assert settings.unknown == ()


@pytest.mark.parametrize("path", ["/nowhere/model.gguf", "/", __file__])
def test_a_local_model_that_is_none(path: str) -> None:
    """A path where no model is, is a wrong setting, named."""
    with pytest.raises(UsageError, match="CONSTRUCT_LOCAL_MODEL"):
        chosen(CONSTRUCT_LOCAL_MODEL=path)


@pytest.mark.parametrize("url", ["http://", "http://[::1", "http://a:b", "http://host:99999"])
def test_an_address_that_is_none(url: str) -> None:
    """A base URL that no client could use is a wrong setting, named."""
    with pytest.raises(UsageError, match="ANTHROPIC_BASE_URL"):
        chosen(ANTHROPIC_BASE_URL=url)


async def test_closing_closes_both() -> None:
    """Closing is for both models, and may be done twice."""
    models = chosen(**KEY, **GGUF, MEMORY_WORKER_MODEL="local")
    await models.close()
    await models.close()


def test_warming_is_quiet(tmp_path: Path) -> None:
    """An error while warming up is reported by the first call, not by the thread."""
    broken = tmp_path / "model.gguf"
    broken.write_bytes(b"GGUF\x03" + bytes(19))
    chosen(CONSTRUCT_LOCAL_MODEL=str(broken)).warm()


def test_openais_protocol() -> None:
    """Its own server says no windows; another is asked, and its first model replies."""
    openai = {"CONSTRUCT_PROVIDER": "openai"}
    own = chosen(**openai, OPENAI_API_KEY="sk", CONSTRUCT_MODEL="gpt-x")
    assert own.provider is Provider.OPENAI
    assert (own.main.context_window, own.main.reads) == (128_000, frozenset({AttachmentKind.IMAGE}))
    assert own.worker is own.main
    assert own.with_model("gpt-y").main.name == "gpt-y"
    with ModelServer(llamacpp("a-1b.gguf", 4096)) as server:
        models = chosen(**openai, OPENAI_BASE_URL=f"{server.url}/v1")
    assert isinstance(models.main, OpenAIModel)
    assert (models.main.name, models.main.context_window) == ("a-1b.gguf", 4096)
    assert models.worker is None
    assert "--ctx-size" in models.advice
    nobody = chosen(**openai, OPENAI_BASE_URL="http://127.0.0.1:9/v1").main
    assert (nobody.name, nobody.context_window) == ("default", 8192)

"""Which models serve."""

from pathlib import Path

import pytest

from construct.config import load_settings
from construct.errors import NotConfiguredError, UsageError
from construct.llm import local_model
from construct.llm.anthropic_model import AnthropicModel
from construct.llm.local_model import LocalModel, find_weights
from construct.llm.providers import Models, choose_models

KEY = {"ANTHROPIC_API_KEY": "sk-ant-0123456789"}
SMOL = "local:SmolLM2-135M-Instruct.Q4_1"


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
        ({"ANTHROPIC_BASE_URL": "http://localhost:1"}, "claude-sonnet-5-5", "claude-haiku-5-5"),
        ({**KEY, "CONSTRUCT_MODEL": "claude-opus-5-5"}, "claude-opus-5-5", "claude-haiku-5-5"),
        ({**KEY, "CONSTRUCT_MODEL": "local"}, SMOL, "claude-haiku-5-5"),
        ({**KEY, "MEMORY_WORKER_MODEL": "extractive"}, "claude-sonnet-5-5", "extractive"),
        ({**KEY, "MEMORY_WORKER_MODEL": "local"}, "claude-sonnet-5-5", SMOL),
        ({**KEY, "MEMORY_WORKER_MODEL": "claude-x"}, "claude-sonnet-5-5", "claude-x"),
        ({}, SMOL, "extractive"),
        ({**KEY, "CONSTRUCT_PROVIDER": "local"}, SMOL, "extractive"),
        ({**KEY, "CONSTRUCT_PROVIDER": "local", "MEMORY_WORKER_MODEL": "claude-x"}, SMOL, "claude-x"),
        ({"CONSTRUCT_PROVIDER": "local", "MEMORY_WORKER_MODEL": "LOCAL"}, SMOL, SMOL),
    ],
)
def test_choice(environ: dict[str, str], main: str, worker: str) -> None:
    """Credentials choose Anthropic, else the embedded model serves, with memory made by rule; each can be set."""
    models = chosen(**environ)
    assert (models.main.name, models.worker_name) == (main, worker)
    assert (models.worker is None) == (worker == "extractive")


def test_one_local_model_is_enough() -> None:
    """When the embedded model both talks and observes it is loaded once, after a change of model too."""
    models = chosen(CONSTRUCT_PROVIDER="local", MEMORY_WORKER_MODEL="local")
    assert models.main is models.worker
    assert models.with_model("local").main is models.worker


def test_another_main_model() -> None:
    """`with_model` changes the main model, across providers, and nothing else."""
    models = chosen(**KEY)
    opus = models.with_model("claude-opus-5-5")
    assert isinstance(opus.main, AnthropicModel)
    assert opus.main.name == "claude-opus-5-5"
    assert opus.worker is models.worker
    assert isinstance(models.with_model("local").main, LocalModel)


def test_another_main_model_needs_credentials() -> None:
    """Without credentials the embedded model cannot be exchanged for one that needs them."""
    with pytest.raises(NotConfiguredError, match="ANTHROPIC_API_KEY"):
        chosen().with_model("claude-opus-5-5")


def test_nothing_to_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    """With neither credentials nor an embedded model the error names the three ways, in two lines."""
    monkeypatch.setattr(local_model, "is_available", lambda: False)
    with pytest.raises(NotConfiguredError) as caught:
        chosen()
    message = str(caught.value)
    assert message.count("\n") == 1
    for way in ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "--extra local", "CONSTRUCT_LOCAL_MODEL"):
        assert way in message


def test_weights_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """llama.cpp without weights is told apart from nothing at all, when it is asked for."""
    monkeypatch.setattr(local_model, "find_weights", lambda _: None)
    with pytest.raises(NotConfiguredError, match="no weights"):
        chosen(CONSTRUCT_PROVIDER="local")
    with pytest.raises(NotConfiguredError, match="No model is configured"):
        chosen()


@pytest.mark.parametrize(
    "environ",
    [
        {"CONSTRUCT_PROVIDER": "anthropic"},
        {"MEMORY_WORKER_MODEL": "claude-haiku-5-5"},
    ],
)
def test_what_is_set_cannot_be_had(environ: dict[str, str]) -> None:
    """A model that is asked for and cannot be had is said by name, never quietly replaced."""
    with pytest.raises(NotConfiguredError, match=next(iter(environ))):
        chosen(**environ)


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


def test_the_weights_that_are_set_come_first(tmp_path: Path) -> None:
    """`CONSTRUCT_LOCAL_MODEL` goes before the package's weights, which are found without importing it."""
    own = tmp_path / "own.gguf"
    assert find_weights(load_settings({"CONSTRUCT_LOCAL_MODEL": str(own)})) == own
    found = find_weights(load_settings({}))
    assert found is not None
    assert found.name == "SmolLM2-135M-Instruct.Q4_1.gguf"


async def test_closing_closes_both() -> None:
    """Closing is for both models, and may be done twice."""
    models = chosen(**KEY, MEMORY_WORKER_MODEL="local")
    await models.close()
    await models.close()


def test_warming_is_quiet(tmp_path: Path) -> None:
    """What goes wrong while warming up is told by the first call, not by the thread that warms."""
    broken = tmp_path / "model.gguf"
    broken.write_bytes(b"GGUF\x03" + bytes(19))
    chosen(CONSTRUCT_LOCAL_MODEL=str(broken)).warm()

"""Model servers on this machine: what is found of them, and what they are asked."""

import socket
import threading
import time
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pytest

from construct.errors import UsageError
from construct.llm import servers
from construct.llm.servers import describe, list_models, look
from construct.llm.servers.types import Ask, FoundModel, models_named
from tests.support.model_servers import ModelServer, llamacpp, lmstudio, ollama, vllm

OLLAMA = ollama(
    {
        "qwen3:0.6b": {"size": "751.63M", "largest": 40_960},
        "llama3.1:8b": {"size": "8.0B", "num_ctx": 8192},
        "gemma4:latest": {
            "size": "9.6B",
            "loaded": 4096,
            "capabilities": ["completion", "vision", "tools"],
        },
        "nomic-embed-text": {"capabilities": ["embedding"]},
    }
)


def looked(answers: Any, **options: Any) -> tuple[list[FoundModel], ModelServer]:
    """Return what is found at one server, and the server."""
    with ModelServer(answers, **options) as server:
        return look({"CONSTRUCT_LOOK_FOR": server.url}), server


def test_ollama_says_the_window_it_runs_with() -> None:
    """Loaded models come first, small ones last, embedding models not at all.

    Windows are those that Ollama really runs with.
    """
    found, server = looked(OLLAMA)
    assert [(m.name, m.context_window, m.vision) for m in found] == [
        ("gemma4:latest", 4096, True),
        ("llama3.1:8b", 8192, False),
        ("qwen3:0.6b", 4096, False),
    ]
    assert {m.source for m in found} == {"ollama"}
    assert found[2].parameters == 751_630_000
    assert set(server.asked) == {"GET /api/tags", "GET /api/ps", "POST /api/show"}


def test_llamacpp_says_the_window_of_a_slot() -> None:
    """The window is what one request may use, not what the model was trained for."""
    found, _ = looked(llamacpp("qwen.gguf", 4096, vision=True))
    assert [(m.source, m.context_window, m.vision) for m in found] == [("llamacpp", 4096, True)]


def test_vllm_and_lm_studio_are_told_by_their_lists() -> None:
    """LM Studio says no window before it is asked about a chosen model."""
    found, _ = looked(vllm({"Qwen/Qwen3-8B": 32_768}))
    assert [(m.source, m.context_window) for m in found] == [("vllm", 32_768)]
    answers = lmstudio({"ibm/granite-4": {"loaded": 8192}, "text-embedding-nomic": {}})
    found, server = looked(answers)
    assert [(m.name, m.source, m.context_window) for m in found] == [
        ("ibm/granite-4", "lmstudio", None)
    ]
    assert "GET /api/v0/models" not in server.asked


def test_a_chosen_model_is_described() -> None:
    """Only then may a server be asked for more than its list."""
    with ModelServer(lmstudio({"pixtral": {"loaded": 8192, "type": "vlm"}})) as server:
        model = describe(server.url, "pixtral", {})
        assert model is not None
        assert (model.context_window, model.vision) == (8192, True)
    with ModelServer(llamacpp("/models/qwen.gguf", 4096)) as server:
        model = describe(server.url, "qwen.gguf", {})
        assert model is not None
        assert model.context_window == 4096
    with ModelServer(OLLAMA) as server:
        model = describe(server.url, "gemma4:latest", {})
        assert model is not None
        assert (model.source, model.context_window) == ("ollama", 4096)
        untagged = describe(server.url, "gemma4", {})
        assert untagged is not None
        assert untagged.is_loaded
        assert describe(server.url, "none", {}) is None


def test_a_name_means_the_model_that_has_just_this_name() -> None:
    """Only if there is none, a tag or a folder may be missing."""
    small, large, tagged = (
        FoundModel(name, "s", "server") for name in ("small/gpt", "gpt", "some/gemma:latest")
    )
    models = [small, large, tagged, gemma := replace(tagged, name="gemma:latest")]
    assert models_named(models, "gpt") == [large]
    assert models_named(models, "gemma") == [gemma]
    assert models_named([small, tagged], "gpt") == [small]
    assert models_named(models, "none") == []


def test_any_other_server_lists_its_models() -> None:
    """In its order, with the key it was given, and with windows where it says them."""
    listed = [{"id": "b", "max_input_tokens": 9000}, {"id": "a"}, {"id": "c", "context_length": 9}]
    answers = {"GET /v1/models": {"data": listed}}
    with ModelServer(answers) as server:
        found = list_models(server.url, {"Authorization": "Bearer k"})
    assert [(m.name, m.context_window, m.source) for m in found] == [
        ("b", 9000, "server"),
        ("a", None, "server"),
        ("c", 9, "server"),
    ]
    assert [headers["Authorization"] for headers in server.headers] == ["Bearer k"]


@pytest.mark.parametrize(
    "answer",
    [
        b"<html>It works!</html>",
        b"\xff\xfe",
        b"[" * 100_000,
        b"",
        404,
        500,
        302,
        None,
        [],
        {"data": "x", "models": {"a": 1}},
        {"data": [1, None, {}, {"id": 7}, {"id": "  "}, {"id": "a\x1b[2J"}]},
        {"data": [{"id": "x" * (1 << 21)}]},
    ],
)
def test_whatever_else_listens_is_no_model(answer: Any) -> None:
    """Nothing that answers on a port can break the search or get into it."""
    paths = ["GET /api/tags", "GET /v1/models", "GET /props"]
    found, server = looked(dict.fromkeys(paths, answer))
    assert found == []
    assert "GET /elsewhere" not in server.asked


def test_nobody_waits_for_a_slow_server() -> None:
    """One that is silent, or drips, costs three tenths of a second a question."""
    with socket.socket() as silent, ExitStack() as stack:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        dripping = stack.enter_context(_Dripping())
        good = stack.enter_context(ModelServer(OLLAMA))
        urls = [f"http://127.0.0.1:{silent.getsockname()[1]}", dripping.url, good.url]
        begun = time.monotonic()
        found = look({"CONSTRUCT_LOOK_FOR": ",".join(urls)})
        assert time.monotonic() - begun < 10  # for ever, without a limit
    assert len(found) == 3


class _Dripping:
    """A server that sends a byte of its answer now and then, for ever."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._stopped = threading.Event()

    def __enter__(self) -> "_Dripping":
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def _serve(self) -> None:
        while not self._stopped.is_set():
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._drip, args=(connection,), daemon=True).start()

    def _drip(self, connection: socket.socket) -> None:
        with connection:
            for byte in b"HTTP/1.1 200 OK\r\nX: " + b"y" * 1000:
                try:
                    connection.sendall(bytes([byte]))
                except OSError:
                    return
                if self._stopped.wait(0.05):
                    return

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._socket.close()


def test_no_credentials_and_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search sends no key, and goes to the server itself."""
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    found, server = looked(OLLAMA)
    assert len(found) == 3
    assert "sk-secret" not in str(server.headers)
    assert all("Authorization" not in headers for headers in server.headers)


@pytest.mark.parametrize("value", ["http://example.com", "localhost:11434", "http://[::1", "x"])
def test_only_this_machine_is_searched(value: str) -> None:
    """An address elsewhere is refused, and the variable named."""
    with pytest.raises(UsageError, match="CONSTRUCT_LOOK_FOR"):
        look({"CONSTRUCT_LOOK_FOR": value})


def test_a_blank_list_means_nowhere() -> None:
    """Blank is a value here."""
    assert look({"CONSTRUCT_LOOK_FOR": " "}) == []


@pytest.mark.parametrize(
    ("host", "is_used"),
    [
        ("{host}", True),
        ("http://{host}", True),
        ("'{host}'", True),
        ("ollama.example.com", False),
        (":::", False),
    ],
)
def test_ollama_host(host: str, is_used: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """OLLAMA_HOST is where Ollama is looked for, when that is on this machine."""
    with ModelServer(OLLAMA) as server:
        found = look({"OLLAMA_HOST": host.format(host=server.url.removeprefix("http://"))})
    assert ("ollama" in {m.source for m in found}) is is_used


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:11434"),
        ("http://127.0.0.1", "http://127.0.0.1:80"),
        ("https://localhost/", "https://localhost:443"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
    ],
)
def test_the_port_that_ollama_host_leaves_out(
    host: str, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is the one that Ollama would listen on."""
    asked: list[str] = []

    def asker(base_url: str) -> Ask:
        asked.append(base_url)
        return lambda path, body=None: None

    monkeypatch.setattr(servers, "asker", asker)
    assert look({"OLLAMA_HOST": host}) == []
    assert url in asked

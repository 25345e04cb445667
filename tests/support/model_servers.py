"""Model servers on the loopback: Ollama, LM Studio and vLLM.

They behave as the real servers were measured to, and answer what a list of models
needs. For replies, `FakeApi` stands in.
"""

import json
import threading
import time
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any


class ModelServer:
    """A server that answers paths with JSON and keeps what it was asked.

    `answers` maps "GET /path" or "POST /path" to JSON, to bytes sent as they are, to a
    number (the HTTP status), or to a function of the request's body that returns JSON.
    """

    def __init__(self, answers: Mapping[str, Any], *, delay: float = 0.0) -> None:
        self.asked: list[str] = []
        self.headers: list[dict[str, str]] = []
        fake = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._answer("GET", None)

            def do_POST(self) -> None:
                length = int(self.headers.get("Content-Length", 0))
                self._answer("POST", json.loads(self.rfile.read(length) or b"null"))

            def _answer(self, method: str, body: Any) -> None:
                fake.asked.append(f"{method} {self.path}")
                fake.headers.append(dict(self.headers.items()))
                time.sleep(delay)
                answer = answers.get(f"{method} {self.path}", 404)
                if callable(answer):
                    answer = answer(body)
                status = answer if isinstance(answer, int) else 200
                content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                self.send_response(status)
                if status in {301, 302, 307}:
                    self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing."""

            def handle(self) -> None:
                try:
                    super().handle()
                except ConnectionError:  # who asked has lost patience
                    self.close_connection = True

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> "ModelServer":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def ollama(models: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the answers of an Ollama with these models.

    Each has `size` ("8.0B"), `largest` (what it was trained for), `capabilities`, and
    maybe `num_ctx` and `loaded` (the window it runs with).
    """

    def show(body: Any) -> Any:
        name = body.get("model")
        model = models.get(name) or models.get(f"{name}:latest")
        if model is None:
            return 404
        parameters = "temperature 0.7"
        if "num_ctx" in model:
            parameters += f"\nnum_ctx                        {model['num_ctx']}"
        return {
            "details": {"parameter_size": model.get("size", "8.0B")},
            "model_info": {"llama.context_length": model.get("largest", 131_072)},
            "parameters": parameters,
            "capabilities": model.get("capabilities", ["completion", "tools"]),
        }

    return {
        "GET /api/tags": {"models": [{"name": name, "model": name} for name in models]},
        "GET /api/ps": {
            "models": [
                {"name": name, "model": name, "context_length": model["loaded"]}
                for name, model in models.items()
                if "loaded" in model
            ]
        },
        "POST /api/show": show,
        "GET /v1/models": {
            "object": "list",
            "data": [{"id": name, "object": "model", "owned_by": "library"} for name in models],
        },
    }


def lmstudio(models: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the answers of an LM Studio; each model has `type` and maybe `loaded`."""
    return {
        "GET /v1/models": {
            "object": "list",
            "data": [{"id": name, "owned_by": "organization_owner"} for name in models],
        },
        "GET /api/v0/models": {
            "data": [
                {"id": name, "type": model.get("type", "llm"), "max_context_length": 131_072}
                | ({"loaded_context_length": model["loaded"]} if "loaded" in model else {})
                for name, model in models.items()
            ]
        },
    }


def vllm(models: Mapping[str, int]) -> dict[str, Any]:
    """Return the answers of a vLLM: names and windows."""
    return {
        "GET /v1/models": {
            "object": "list",
            "data": [
                {"id": name, "owned_by": "vllm", "max_model_len": window}
                for name, window in models.items()
            ],
        }
    }


def llamacpp(name: str, window: int, *, vision: bool = False) -> dict[str, Any]:
    """Return the answers of a llama.cpp server."""
    return {
        "GET /v1/models": {
            "object": "list",
            "data": [{"id": name, "owned_by": "llamacpp", "meta": {"n_params": 1_543_714_304}}],
        },
        "GET /props": {
            "default_generation_settings": {"n_ctx": window},
            "modalities": {"vision": vision, "audio": False},
        },
    }

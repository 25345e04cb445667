"""Servers to talk to, and requests to send."""

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from construct.llm.anthropic_model import AnthropicModel
from construct.llm.types import ChatMessage, Request, Text
from tests.support.fake_api import FakeApi

KEY = "sk-ant-secret-0123456789"
Connect = Callable[[str], AnthropicModel]


def asking(words: str = "Hello", max_tokens: int = 1000) -> Request:
    """Return a request with one message."""
    system = (Text("You are a companion."),)
    return Request(system, (ChatMessage("user", (Text(words),)),), max_tokens=max_tokens)


@pytest.fixture
async def connect() -> AsyncIterator[Connect]:
    """Make models of a server, closed when the test ends."""
    made: list[AnthropicModel] = []

    def make(url: str) -> AnthropicModel:
        made.append(AnthropicModel("claude-sonnet-5-5", api_key=KEY, base_url=url))
        return made[-1]

    yield make
    for model in made:
        await model.close()


@pytest.fixture
def model(api: FakeApi, connect: Connect) -> AnthropicModel:
    """Return a model behind the fake."""
    return connect(api.url)


class RawServer:
    """Answers each request with the next of some bytes, and keeps what came in."""

    def __init__(self, answers: list[bytes], *, holds_open: bool = False) -> None:
        self.requests: list[bytes] = []
        self._answers = answers
        self._holds_open = holds_open
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> str:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(
            int(line[15:])
            for line in head.lower().split(b"\r\n")
            if line.startswith(b"content-length:")
        )
        self.requests.append(head + await reader.readexactly(length))
        writer.write(self._answers.pop(0))
        await writer.drain()
        if self._holds_open:
            await reader.read()
        writer.close()


def events(*data: str, names: bool = False) -> bytes:
    """Return a response that streams these events and closes.

    Without their names unless wanted.
    """
    lines = [
        (f"event: {one.split(chr(34))[3]}\n" if names else "") + f"data: {one}\n\n" for one in data
    ]
    head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
    return (head + "".join(lines)).encode()


def status(code: int, body: str = "", **headers: str) -> bytes:
    """Return a response with this status and nothing else."""
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    head = (
        f"HTTP/1.1 {code} Status\r\n{lines}content-length: {len(body.encode())}\r\n"
        "connection: close\r\n\r\n"
    )
    return (head + body).encode()

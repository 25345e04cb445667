"""The door over HTTP, in a real process: three endpoints, and who is let through."""

import http.client
import json
import socket
import sys
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import pytest
from starlette.types import Message

from construct.mcp.http import http_app, read_token
from tests.support.program import Program


@dataclass(frozen=True, slots=True)
class Door:
    """A program that serves, its port and its token."""

    program: Program
    port: int
    token: str

    def ask(
        self, method: str, path: str, more: Mapping[str, str] | None = None
    ) -> tuple[int, Any, Mapping[str, str]]:
        """Return status, body and headers of the answer to a request with the token."""
        headers = {"Authorization": f"Bearer {self.token}", **(more or {})}
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        line.request(method, path, headers={k: v for k, v in headers.items() if v})
        answer = line.getresponse()
        body = answer.read()
        line.close()
        return answer.status, json.loads(body), {k.lower(): v for k, v in answer.getheaders()}


@pytest.fixture
def door(lived: Program) -> Iterator[Door]:
    """A program that serves the life of `lived`."""
    with lived.start("serve", "--port", "0") as process:
        assert process.stdout
        line = process.stdout.readline()
        where, file = line.removeprefix("Serving on http://127.0.0.1:").split(". The token is in ")
        token = Path(file.strip().removesuffix("."))
        assert token.stat().st_mode & 0o777 == 0o600
        assert token.name == "token"
        secret = token.read_text().strip()
        assert len(secret) > 30
        assert secret not in line
        try:
            yield Door(lived, int(where), secret)
        finally:
            process.terminate()


def test_who_is_let_through(door: Door) -> None:
    """A foreign Host, a foreign page and a missing token are refused, in this order."""
    path, here = "/api/sessions/1/memory", f"127.0.0.1:{door.port}"
    expected = [
        ({}, 200),
        ({"Host": f"localhost:{door.port}"}, 200),
        ({"Origin": f"http://{here}"}, 200),
        ({"Host": "evil.example"}, 400),
        ({"Host": f"evil.example:{door.port}"}, 400),
        ({"Host": "evil.example", "Authorization": ""}, 400),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": f"http://localhost:{door.port + 1}", "Authorization": ""}, 403),
        ({"Authorization": ""}, 401),
        ({"Authorization": f"Bearer {door.token}x"}, 401),
        ({"Authorization": f"Basic {door.token}"}, 401),
        ({"Authorization": "Bearer \xe9"}, 401),
    ]
    for more, status in expected:
        found, _, headers = door.ask("GET", path, more)
        assert (more, found) == (more, status)
        assert not [name for name in headers if name.startswith("access-control")]
    assert door.ask("OPTIONS", path)[0] == 405
    for unknown in (
        "/api/sessions/99/memory",
        "/api/sessions/x/memory",
        "/",
        f"{path}/",
        f"{path}/more",
    ):
        assert door.ask("GET", unknown)[0] == 404
        assert door.ask("GET", unknown, {"Authorization": ""})[0] == 401
    assert door.ask("POST", "/api/sessions/99/compact")[0] == 404


@pytest.mark.parametrize(
    ("host", "port", "status"),
    [("127.0.0.1", 80, 404), ("localhost:80", 80, 404), ("evil.example", 80, 400),
     ("127.0.0.1", 8000, 400)],
)  # fmt: skip
async def test_the_default_port_need_not_be_named(host: str, port: int, status: int) -> None:
    """Clients leave port 80 out of the Host header."""
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        return {"type": "http.request"}

    headers = [(b"host", host.encode()), (b"authorization", b"Bearer token")]
    scope = {"type": "http", "method": "GET", "path": "/", "headers": headers}
    await http_app(_nothing, _nothing, "token", port)(scope, receive, send)
    assert sent[0]["status"] == status


def _nothing(*_: object) -> NoReturn:
    raise AssertionError("no endpoint was asked for")


def test_the_three_endpoints(door: Door) -> None:
    """The panel, what is in it, and compacting, which answers with the panel."""
    _, found, _ = door.ask("GET", "/api/sessions/1/memory")
    assert found["conversation"] == 1
    assert found["observations"]["pending"]["count"] == 1
    _, details, _ = door.ask("GET", "/api/sessions/1/memory/details")
    assert "I bought a tandem" in [one["text"] for one in details["observations"]]
    assert [one["supportingObservationIds"] for one in details["reflections"]] == [[1, 2]]
    status, compacted, _ = door.ask("POST", "/api/sessions/2/compact")
    assert (status, compacted["conversation"]) == (200, 2)
    assert compacted["messages"]["unobserved"] == 0
    counted = {(by["client"], by["tool"]): by["calls"] for by in door.program.json("doors")}
    assert counted == {("HTTP", "memory"): 1, ("HTTP", "details"): 1, ("HTTP", "compact"): 1}


def test_a_taken_port(door: Door) -> None:
    """It exits 1 and says what to do."""
    done = door.program.process("serve", "--port", str(door.port))
    assert done.returncode == 1
    assert "--port" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere loopback is one address")
def test_listens_on_loopback_alone(door: Door) -> None:
    """No other address of this machine is answered."""
    with socket.socket() as other:
        assert other.connect_ex(("127.0.0.2", door.port)) != 0


def test_a_number_too_long_is_no_session(door: Door) -> None:
    """It is not cut down to another session's."""
    assert door.ask("GET", "/api/sessions/0000000000000000015/memory")[0] == 404


def test_two_first_starts_agree_on_the_token(tmp_path: Path) -> None:
    """Whoever comes first makes it."""
    folder = tmp_path / "tokens"
    folder.mkdir()
    for number in range(40):
        file = folder / str(number)
        together = threading.Barrier(2)

        def read(file: Path = file, together: threading.Barrier = together) -> str:
            together.wait()
            return read_token(file)

        with ThreadPoolExecutor(2) as pool:
            first, second = pool.submit(read), pool.submit(read)
            tokens = {first.result(), second.result(), file.read_text().strip()}
        assert len(tokens) == 1
        assert file.stat().st_mode & 0o777 == 0o600
    assert len(list(folder.iterdir())) == 40
    (folder / "0").write_text("")  # a start that was stopped
    assert len(read_token(folder / "0")) > 30

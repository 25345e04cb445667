"""Proxies, certificates and time zones of the environment: obeyed, or named in the error."""

import socket
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.support.fake_api import FakeApi
from tests.support.program import Program

CERTIFICATE = Path(__file__).parents[1] / "support/loopback.pem"
"""A certificate for localhost, with its key: for tests alone."""
ELSEWHERE = "http://models.example"
"""The address of a server that only a proxy can reach."""


@pytest.fixture
def socks(api: FakeApi) -> Iterator[str]:
    """A SOCKS proxy that connects everything to the fake; its address."""
    port = urlsplit(api.url).port
    listening = socket.create_server(("127.0.0.1", 0))

    def relay(source: socket.socket, target: socket.socket) -> None:
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)

    def serve() -> None:
        client, _ = listening.accept()
        with client, socket.create_connection(("127.0.0.1", port)) as server:
            client.recv(262)
            client.sendall(b"\x05\x00")
            client.recv(262)
            client.sendall(b"\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x00")
            back = threading.Thread(target=relay, args=(server, client), daemon=True)
            back.start()
            relay(client, server)
            back.join()

    threading.Thread(target=serve, daemon=True).start()
    yield f"127.0.0.1:{listening.getsockname()[1]}"
    listening.close()


@pytest.mark.parametrize("scheme", ["socks5", "socks5h"])
def test_a_socks_proxy_is_used(program: Program, socks: str, scheme: str) -> None:
    """Nothing more needs to be installed."""
    more = {
        "ALL_PROXY": f"{scheme}://{socks}",
        "ANTHROPIC_BASE_URL": ELSEWHERE,
        "CONSTRUCT_MODEL": "claude-sonnet-5-5",
    }
    done = program.run("ask", "--no-wait", "Hello.", more=more)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"HTTP_PROXY": "http://127.0.0.1:9"}, ("Connection refused", "Check HTTP_PROXY")),
        ({"all_proxy": "socks5://127.0.0.1:9"}, ("Connection refused", "Check all_proxy")),
        ({"ALL_PROXY": "socks4://127.0.0.1:9"}, ("Unknown scheme", "Check ALL_PROXY")),
        ({"HTTPS_PROXY": "http://127.0.0.1:x"}, ("Invalid port", "Check HTTPS_PROXY")),
        (
            {"HTTP_PROXY": "http://127.0.0.1:9", "NO_PROXY": "localhost,[::1],http://[::1"},
            ("Connection refused", "Check HTTP_PROXY"),
        ),
        ({"NO_PROXY": "localhost,[::1]"}, ("models.example cannot", "ANTHROPIC_BASE_URL")),
        (
            {"SSL_CERT_FILE": "/missing.pem", "ANTHROPIC_BASE_URL": "https://localhost:9"},
            ("No such file", "Check SSL_CERT_FILE"),
        ),
    ],
)
def test_the_error_names_the_cause_and_the_variable(
    program: Program, more: dict[str, str], said: tuple[str, str]
) -> None:
    """Whichever it is that keeps the server out of reach."""
    model = {"CONSTRUCT_MODEL": "claude-sonnet-5-5"}
    done = program.run(
        "ask", "--no-wait", "Hi.", more={"ANTHROPIC_BASE_URL": ELSEWHERE, **model, **more}
    )
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) <= 2
    for part in said:
        assert part in done.stderr


@pytest.mark.parametrize("no_proxy", ["", "localhost,[::1]", "::1", "[::1", "*"])
def test_a_server_on_this_machine_is_reached_without_a_proxy(
    program: Program, no_proxy: str
) -> None:
    """Whatever NO_PROXY says."""
    more = {"HTTP_PROXY": "http://127.0.0.1:9", "ALL_PROXY": "socks4://x", "NO_PROXY": no_proxy}
    done = program.run("ask", "--no-wait", "Hello.", more=more)
    assert (done.returncode, done.stderr) == (0, "")


class _NotFound(BaseHTTPRequestHandler):
    """Answers nothing but that there is nothing."""

    def do_POST(self) -> None:
        """Answer."""
        self.send_error(404)

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


def test_a_certificate_of_this_machine_is_trusted_if_it_is_named(program: Program) -> None:
    """SSL_CERT_FILE counts on the loopback too, and the error says that it would help."""
    server = HTTPServer(("127.0.0.1", 0), _NotFound)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    more = {
        "ANTHROPIC_BASE_URL": f"https://127.0.0.1:{server.server_port}",
        "CONSTRUCT_MODEL": "claude-sonnet-5-5",
    }
    untrusted = program.run("ask", "--no-wait", "Hi.", more=more)
    trusted = program.run(
        "ask", "--no-wait", "Hi.", more={**more, "SSL_CERT_FILE": str(CERTIFICATE)}
    )
    server.shutdown()
    server.server_close()
    assert "CERTIFICATE_VERIFY_FAILED" in untrusted.stderr
    assert "Set SSL_CERT_FILE to a file" in untrusted.stderr
    assert "has no model" in trusted.stderr


@pytest.mark.parametrize(
    ("zone", "status"),
    [("UTC+25", 2), ("AAA24", 2), ("AAA-23BBB-26,J1,J365", 2), ("Mars/Phobos", 0), ("", 0)],
)
def test_an_odd_time_zone_is_one_plain_line_or_utc(
    program: Program, zone: str, status: int
) -> None:
    """No traceback, and TZ is named."""
    env = {**program.env, "CONSTRUCT_TZ": "", "TZ": zone}
    done = Program(program.folder, env).process("ask", "--no-wait", "Hello.")
    assert done.returncode == status
    assert done.stderr.startswith(f"TZ is {zone!r}" if status else "")
    assert len(done.stderr.splitlines()) <= 2

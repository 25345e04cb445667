"""The HTTP side of the fake: sockets, chunks, delays and connections that break."""

import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import Any

from tests.support.fake_faults import Sending

Decide = Callable[[str, str, Mapping[str, str], bytes], Sending]
"""Method, path, headers (names in lower case) and body of a request → what is sent."""

_POLL = 0.02
"""Seconds within which a wait notices that the client, or the server, has gone."""


class Server(ThreadingHTTPServer):
    """A server on 127.0.0.1 that runs in a background thread from the start."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, decide: Decide, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.decide = decide
        self.closing = threading.Event()
        self.hang_ups = 0
        self._lock = threading.Lock()
        self._connections: set[socket.socket] = set()
        self._thread = threading.Thread(target=self._run, name="fake-api", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self.closing.is_set():
            self.handle_request()

    @property
    def port(self) -> int:
        """Return the port that the system assigned."""
        return int(self.server_address[1])

    def server_bind(self) -> None:
        """Bind without looking up the host's name, which can take seconds."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = "127.0.0.1", self.server_address[1]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Stay silent: a connection that breaks is part of what is tested."""

    def opened(self, connection: socket.socket) -> None:
        """Remember a connection, so that `stop` can end it."""
        with self._lock:
            self._connections.add(connection)

    def closed(self, connection: socket.socket) -> None:
        """Forget a connection that has ended."""
        with self._lock:
            self._connections.discard(connection)

    def hung_up(self) -> None:
        """Count a client that went away before its answer was complete."""
        with self._lock:
            self.hang_ups += 1

    def stop(self) -> None:
        """End the waits, stop serving and close every connection.

        A second call does nothing.
        """
        if self.closing.is_set():
            return
        self.closing.set()
        # A connection wakes the thread that waits for one; `serve_forever` would have
        # to be polled.
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
            self._thread.join()
        self.server_close()
        with self._lock:
            connections = list(self._connections)
        for connection in connections:
            _shut(connection)


class _ClosingError(Exception):
    """The server stops while an answer is under way."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Server

    def setup(self) -> None:
        super().setup()
        self.server.opened(self.connection)

    def finish(self) -> None:
        self.server.closed(self.connection)
        super().finish()

    def log_message(self, *args: Any) -> None:
        """Print nothing."""

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def _serve(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        sending = self.server.decide(self.command, self.path, headers, raw)
        try:
            self._send(sending)
        except _ClosingError:
            self._break()
        except ConnectionError:
            self.server.hung_up()
            self.close_connection = True

    def _send(self, sending: Sending) -> None:
        self._wait(sending.delay)
        if sending.silent:
            self._break()
            return
        self.send_response(sending.status)
        for name, value in sending.headers.items():
            self.send_header(name, value)
        if sending.events is None:
            self._send_body(sending)
        else:
            self._send_events(sending)
        if sending.breaks_off:
            self._break()

    def _send_body(self, sending: Sending) -> None:
        body = sending.body
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if sending.breaks_off else body)

    def _send_events(self, sending: Sending) -> None:
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for index, event in enumerate(sending.events or []):
            delay = sending.chunk_delay if event[0] == "content_block_delta" else 0.0
            self._wait(delay + (sending.pause if index == sending.pause_at else 0.0))
            self._chunk(sending.encode(event))
        if len(sending.events or []) == sending.pause_at:
            self._wait(sending.pause)
        if not sending.breaks_off:
            self._chunk(b"")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))

    def _wait(self, seconds: float) -> None:
        """Let time pass, unless the client or the server goes before."""
        end = time.monotonic() + seconds
        while True:
            if self.server.closing.is_set():
                raise _ClosingError
            if self._client_is_gone():
                raise ConnectionAbortedError
            left = end - time.monotonic()
            if left <= 0:
                return
            self.server.closing.wait(min(_POLL, left))

    def _client_is_gone(self) -> bool:
        """Tell whether the client has closed its end.

        Nothing is due from it while it waits for an answer.
        """
        self.connection.settimeout(0)
        try:
            return not self.connection.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        finally:
            self.connection.settimeout(None)

    def _break(self) -> None:
        self.close_connection = True
        _shut(self.connection)


def _shut(connection: socket.socket) -> None:
    with suppress(OSError):  # it may have ended already
        connection.shutdown(socket.SHUT_RDWR)

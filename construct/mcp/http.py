"""An HTTP server with three endpoints for programs on this machine, on loopback only.

Web pages in a browser can send requests to loopback too. So each request must name this
server as its host (which stops DNS rebinding), must not have the origin of another page,
and must have the token, which pages cannot read.
"""

import os
import secrets
import socket
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from construct.errors import ConstructError, NotFoundError, UsageError
from construct.operations.context import Context
from construct.operations.conversations import conversation
from construct.operations.doors import details, record_call
from construct.operations.status import status
from construct.views.doors import details_json
from construct.views.status import status_json

HOST = "127.0.0.1"
_NAMES = (HOST, "localhost")
_DEFAULT_PORT = 80
"""The port that clients leave out of the Host header."""
_MAX_ID_DIGITS = 18
"""Longer numbers may not fit in a SQLite integer."""

Opener = Callable[[], AbstractContextManager[Context]]
"""Opens the database for one request."""
Compact = Callable[[int], Awaitable[object]]
"""Compacts a conversation."""
_ReportBuilder = Callable[[Context], dict[str, Any]]


def listening(port: int) -> socket.socket:
    """Return a socket that listens on loopback; port 0 stands for any free port.

    Raises ConstructError if the port cannot be used.
    """
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
        listener.listen()
    except OSError as error:
        listener.close()
        raise ConstructError(
            f"Port {port} cannot be used: {error.strerror}.\nPass --port with another number."
        ) from error
    return listener


def serve(listener: socket.socket, app: ASGIApp) -> None:
    """Answer requests until the process is told to stop."""
    config = uvicorn.Config(
        app, log_level="critical", access_log=False, server_header=False, lifespan="off", ws="none"
    )
    uvicorn.Server(config).run(sockets=[listener])


def read_token(file: Path) -> str:
    """Return the token that clients must send, created at the first start.

    Processes that first start at the same time normally get the same one.
    Raises OSError.
    """
    if not _stored_token(file):
        descriptor, new = tempfile.mkstemp(dir=file.parent, prefix=".token-")  # 0600
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
                stream.write(secrets.token_urlsafe(32) + "\n")
            _move_unless_present(Path(new), file)
        finally:
            Path(new).unlink(missing_ok=True)
    file.chmod(0o600)
    return _stored_token(file)


def _move_unless_present(new: Path, file: Path) -> None:
    """Put a new file in place unless there is one that is not empty."""
    try:
        file.hardlink_to(new)  # fails if the file exists, so that only one process succeeds
    except OSError:  # the file exists, or the disk does not support links
        if not _stored_token(file):
            new.replace(file)


def _stored_token(file: Path) -> str:
    try:
        return file.read_text("utf-8", "replace").strip()
    except FileNotFoundError:
        return ""


def http_app(opened: Opener, compact: Compact, token: str, port: int) -> ASGIApp:
    """Return the application that answers requests that carry the token."""

    async def report(request: Request, tool: str | None, build: _ReportBuilder) -> JSONResponse:
        """Answer with what `build` returns, and record the call unless `tool` is None."""
        session = _session(request)

        def read() -> dict[str, Any]:
            with opened() as ctx:
                conversation(ctx, session)  # raises NotFoundError if there is none
                if tool is not None:
                    record_call(ctx, "HTTP", tool, 1)
                return build(replace(ctx, conversation_id=session))

        return JSONResponse(await run_in_threadpool(read))

    def memory_status(ctx: Context) -> dict[str, Any]:
        return status_json(status(ctx))

    async def memory(request: Request) -> JSONResponse:
        return await report(request, "memory", memory_status)

    async def memory_details(request: Request) -> JSONResponse:
        return await report(request, "details", lambda ctx: details_json(details(ctx)))

    async def compacted(request: Request) -> JSONResponse:
        # Refuses an unknown session before any work, and records the call.
        await report(request, "compact", lambda _: {})
        await compact(_session(request))
        return await report(request, None, memory_status)

    app = Starlette(
        routes=[
            Route("/api/sessions/{id}/memory", memory, methods=["GET"]),
            Route("/api/sessions/{id}/memory/details", memory_details, methods=["GET"]),
            Route("/api/sessions/{id}/compact", compacted, methods=["POST"]),
        ],
        exception_handlers={
            HTTPException: _routing_error,
            NotFoundError: _failure(404),
            UsageError: _failure(409),
            ConstructError: _failure(503),
        },
    )
    app.router.redirect_slashes = False
    return _Guarded(app, token, port)


class _Guarded:
    """Refuses requests for another host, from web pages, or without the token."""

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self.app = app
        self.hosts = {f"{name}:{port}" for name in _NAMES}
        if port == _DEFAULT_PORT:
            self.hosts.update(_NAMES)
        self.authorization = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refused = self._refusal(scope)
        await (self.app if refused is None else refused)(scope, receive, send)

    def _refusal(self, scope: Scope) -> JSONResponse | None:
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in self.hosts:
            return _error(400, "The Host header does not name this server.")
        own_origins = {f"http://{host}" for host in self.hosts}
        if not own_origins.issuperset(headers.getlist("origin")):
            return _error(403, "Requests from web pages are refused.")
        authorization = headers.get("authorization", "").encode()
        if not secrets.compare_digest(authorization, self.authorization):
            return _error(401, "Send the token: Authorization: Bearer TOKEN.")
        return None


def _session(request: Request) -> int:
    """Return the id of the conversation that the path names."""
    number = request.path_params["id"]
    if not (number.isascii() and number.isdigit() and len(number) <= _MAX_ID_DIGITS):
        raise NotFoundError("There is no such conversation.")
    return int(number)


def _error(status_code: int, message: str) -> JSONResponse:
    return JSONResponse({"error": message}, status_code)


def _failure(status_code: int) -> Callable[[Request, Exception], JSONResponse]:
    return lambda _, error: _error(status_code, str(error))


def _routing_error(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code, error.headers)

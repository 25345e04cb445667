"""The door for programs on this machine: three endpoints over HTTP, on loopback alone.

A page in a browser can send requests to loopback too. So each request must name us as
its host (a page's own name that was made to resolve to loopback does not), must come
from no page but ours, and must know the token, which pages cannot read.
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
_LONGEST_ID = 18
"""Digits; SQLite has no larger number."""

Opener = Callable[[], AbstractContextManager[Context]]
"""Opens the database for one request."""
Compact = Callable[[int], Awaitable[object]]
"""Does the memory work of a conversation now."""
_Report = Callable[[Context], dict[str, Any]]


def listening(port: int) -> socket.socket:
    """Return a socket on loopback; port 0 is any that is free.

    Raises ConstructError when the port is taken.
    """
    found = socket.socket()
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((HOST, port))
        found.listen()
    except OSError as error:
        found.close()
        raise ConstructError(
            f"Port {port} cannot be used: {error.strerror}.\nPass --port with another number."
        ) from error
    return found


def serve(on: socket.socket, app: ASGIApp) -> None:
    """Answer requests until the process is told to stop."""
    config = uvicorn.Config(
        app, log_level="critical", access_log=False, server_header=False, lifespan="off", ws="none"
    )
    uvicorn.Server(config).run(sockets=[on])


def read_token(file: Path) -> str:
    """Return the token that clients must know, made at the first start. Raises OSError.

    Where two processes start for the first time at once, both use the same one.
    """
    if not _kept_token(file):
        descriptor, new = tempfile.mkstemp(dir=file.parent, prefix=".token-")  # 0600
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
                stream.write(secrets.token_urlsafe(32) + "\n")
            _place(Path(new), file)
        finally:
            Path(new).unlink(missing_ok=True)
    file.chmod(0o600)
    return _kept_token(file)


def _place(new: Path, file: Path) -> None:
    """Put the new file where there is none, or an empty one."""
    try:
        file.hardlink_to(new)
    except OSError:  # it is there already, or the disk knows no links
        if not _kept_token(file):
            new.replace(file)


def _kept_token(file: Path) -> str:
    try:
        return file.read_text("utf-8", "replace").strip()
    except FileNotFoundError:
        return ""


def http_app(opened: Opener, compact: Compact, token: str, port: int) -> ASGIApp:
    """Return the application that answers requests of those who know the token."""

    async def report(request: Request, tool: str, of: _Report) -> JSONResponse:
        session = _session(request)

        def read() -> dict[str, Any]:
            with opened() as ctx:
                conversation(ctx, session)  # raises where there is none
                record_call(ctx, "HTTP", tool, 1)
                return of(replace(ctx, conversation_id=session))

        return JSONResponse(await run_in_threadpool(read))

    async def memory(request: Request) -> JSONResponse:
        return await report(request, "memory", lambda ctx: status_json(status(ctx)))

    async def memory_details(request: Request) -> JSONResponse:
        return await report(request, "details", lambda ctx: details_json(details(ctx)))

    async def compacted(request: Request) -> JSONResponse:
        await report(request, "compact", lambda _: {})
        await compact(_session(request))
        return await memory(request)

    app = Starlette(
        routes=[
            Route("/api/sessions/{id}/memory", memory, methods=["GET"]),
            Route("/api/sessions/{id}/memory/details", memory_details, methods=["GET"]),
            Route("/api/sessions/{id}/compact", compacted, methods=["POST"]),
        ],
        exception_handlers={
            HTTPException: _no_such_path,
            NotFoundError: _failure(404),
            UsageError: _failure(409),
            ConstructError: _failure(503),
        },
    )
    app.router.redirect_slashes = False
    return _Guarded(app, token, port)


class _Guarded:
    """Lets through only what names this host, comes from no foreign page and has the token."""

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self.app = app
        self.hosts = {f"{name}:{port}" for name in (HOST, "localhost")}
        self.authorization = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refused = self._refusal(scope)
        await (self.app if refused is None else refused)(scope, receive, send)

    def _refusal(self, scope: Scope) -> JSONResponse | None:
        given = Headers(scope=scope)
        hosts = given.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in self.hosts:
            return _error(400, "The Host is not this server.")
        if not {f"http://{host}" for host in self.hosts}.issuperset(given.getlist("origin")):
            return _error(403, "Pages of other origins are not served.")
        if not secrets.compare_digest(given.get("authorization", "").encode(), self.authorization):
            return _error(401, "Send the token: Authorization: Bearer TOKEN.")
        return None


def _session(request: Request) -> int:
    given = request.path_params["id"]
    if not (given.isascii() and given.isdigit() and len(given) <= _LONGEST_ID):
        raise NotFoundError("There is no such session.")
    return int(given)


def _error(status_code: int, message: str) -> JSONResponse:
    return JSONResponse({"error": message}, status_code)


def _failure(status_code: int) -> Callable[[Request, Exception], JSONResponse]:
    return lambda _, error: _error(status_code, str(error))


def _no_such_path(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code, error.headers)

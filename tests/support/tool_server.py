"""A real MCP server for tests: over stdio as a program, or over HTTP in a thread.

    python -m tests.support.tool_server FOLDER

Each call is a line of JSON in FOLDER/calls. The tool `page` returns a file of FOLDER.
"""

import json
import os
import sys
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError


def make_server(folder: Path) -> MCPServer:
    """Return a server with tools that read, send, fail, hang and end it."""
    server: MCPServer = MCPServer("tools for tests", log_level="CRITICAL")

    def note(tool: str, **given: object) -> None:
        line = {"tool": tool, "given": given, "environment": sorted(os.environ)}
        with (folder / "calls").open("a") as file:
            file.write(f"{json.dumps(line)}\n")

    @server.tool()
    def page(title: str) -> str:
        """Return a page."""
        note("page", title=title)
        path = folder / title
        return path.read_text("utf-8") if path.exists() else f"The page {title} says hello."

    @server.tool()
    def send(text: str) -> str:
        """Send a text away."""
        note("send", text=text)
        return "Sent."

    @server.tool()
    def fail(text: str) -> str:
        """Fail, and say why: $KEY stands for a value of the environment."""
        note("fail", text=text)
        raise ToolError(text.replace("$KEY", os.environ.get("SECRET_KEY", "")))

    @server.tool()
    def die() -> str:
        """End the server."""
        os._exit(1)

    @server.tool()
    def hang() -> str:
        """Do not answer for a while."""
        time.sleep(5)
        return "At last."

    return server


class HttpToolServer:
    """The server over streamable HTTP on loopback, in a thread. It asks for a bearer token."""

    TOKEN = "token-of-the-tools"

    def __init__(self, folder: Path) -> None:
        import uvicorn

        self.folder = folder
        app = make_server(folder).streamable_http_app()

        async def guarded(scope: Any, receive: Any, send: Any) -> None:
            headers = dict(scope.get("headers", ()))
            expected = f"Bearer {self.TOKEN}".encode()
            if scope["type"] == "http" and headers.get(b"authorization") != expected:
                await send({"type": "http.response.start", "status": 401, "headers": []})
                await send({"type": "http.response.body", "body": b""})
                return
            await app(scope, receive, send)

        config = uvicorn.Config(guarded, port=0, log_level="critical")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        while not self._server.started:
            time.sleep(0.01)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._server.should_exit = self._server.force_exit = True
        self._thread.join(5)

    @property
    def entry(self) -> dict[str, object]:
        """The server's entry in `mcp.json`."""
        port = self._server.servers[0].sockets[0].getsockname()[1]
        return {
            "url": f"http://127.0.0.1:{port}/mcp",
            "headers": {"Authorization": f"Bearer {self.TOKEN}"},
        }

    def calls(self) -> list[tuple[str, dict[str, object]]]:
        """Return the calls so far, each with its arguments."""
        return calls_in(self.folder)


def calls_in(folder: Path) -> list[tuple[str, dict[str, object]]]:
    """Return the calls that a server noted in a folder."""
    path = folder / "calls"
    lines = path.read_text().splitlines() if path.exists() else []
    return [(call["tool"], call["given"]) for call in map(json.loads, lines)]


def stdio_entry(folder: Path, **env: str) -> dict[str, object]:
    """Return the entry in `mcp.json` of a server that is started as a program."""
    return {"command": sys.executable, "args": [__file__, str(folder)], "env": env}


if __name__ == "__main__":
    make_server(Path(sys.argv[1])).run()

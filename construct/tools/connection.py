"""One tool server while it runs: start it, list its tools, call them.

The package `mcp` is imported when the first server starts: it takes more than a second.
Its errors and log lines can hold what stands in `env` and `headers`, so they are never
shown.
"""

import asyncio
import logging
import os
import shutil
import sys
from collections.abc import AsyncGenerator, Awaitable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from construct.errors import ConstructError
from construct.llm.network import is_on_this_machine
from construct.text import shorten
from construct.tools.mcp_json import Server
from construct.tools.permissions import ListedTool, listed_tool
from construct.tools.results import result_text

if TYPE_CHECKING:
    from mcp.client import Client, Transport

T = TypeVar("T")

PATIENCE_SECONDS = 30.0
"""How long a server may take for one call, its start included."""
_CLOSING_SECONDS = 3.0
_MAX_PAGES = 100
_LOCALE = ("LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_MESSAGES", "LC_TIME", "LC_NUMERIC")
_SENT_BY_THE_PACKAGE = ("LOGNAME", "SHELL", "TERM", "USER")
"""What `mcp` hands on from our environment besides PATH and HOME."""
_LONGEST_REASON = 200


class ServerFailedError(ConstructError):
    """A server could not be started, ended, or did not answer."""


@dataclass(frozen=True, slots=True)
class CallResult:
    """What a tool gave back."""

    text: str
    is_error: bool


class Connection:
    """A server that is being started, or runs, in a task of its own."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self._client: Client | None = None
        self._status: int | None = None
        self._closing = asyncio.Event()
        loop = asyncio.get_running_loop()
        self._listed: asyncio.Future[list[ListedTool]] = loop.create_future()
        self._task = loop.create_task(self._run(), name="tool server")

    async def tools(self) -> list[ListedTool]:
        """Wait until the server has started, and return its tools."""
        return await asyncio.shield(self._listed)

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> CallResult:
        """Call a tool. Raises ServerFailedError if the server fails, not if the tool does."""
        from mcp.shared.exceptions import MCPError
        from mcp_types import CONNECTION_CLOSED

        await self.tools()
        assert self._client is not None  # there once the tools are listed
        try:
            result = await self._client.call_tool(tool, dict(arguments))
        except MCPError as error:
            if error.code == CONNECTION_CLOSED or self._task.done():
                raise self._failure(error) from None
            reason = self.server.without_secrets(shorten(error.message, _LONGEST_REASON))
            return CallResult(reason, is_error=True)
        except Exception as error:  # noqa: BLE001 - it declares none; a server's data may be odd
            raise self._failure(error) from None
        content = [block.model_dump(mode="json") for block in result.content]
        text = result_text(content, result.structured_content)
        if result.is_error:
            text = self.server.without_secrets(text)
        return CallResult(text, is_error=bool(result.is_error))

    async def close(self) -> None:
        """Stop the server; one that does not end is left to the end of this process."""
        self.stop()
        await asyncio.wait([self._task], timeout=_CLOSING_SECONDS)

    def stop(self) -> None:
        """Begin to stop the server."""
        if self._client is None:
            self._task.cancel()
        self._closing.set()

    async def _run(self) -> None:
        try:
            await asyncio.to_thread(_import_package)
            async with self._transport() as transport:
                from mcp.client import Client

                async with Client(transport, client_info=_who_we_are()) as client:
                    tools = await _all_tools(client)
                    self._client = client
                    self._listed.set_result(tools)
                    await self._closing.wait()
        except BaseException as error:
            if not self._listed.done():
                self._listed.set_exception(self._failure(error))
                self._listed.exception()  # nobody may be waiting any more
            if not isinstance(error, Exception | BaseExceptionGroup):
                raise

    @asynccontextmanager
    async def _transport(self) -> AsyncGenerator["Transport"]:
        if self.server.command:
            from mcp.client.stdio import StdioServerParameters, stdio_client

            command, *arguments = _command(self.server)
            with Path(os.devnull).open("w") as nowhere:  # noqa: ASYNC230 - it blocks nowhere
                yield stdio_client(
                    StdioServerParameters(
                        command=command,
                        args=arguments,
                        env=_locale() | dict(self.server.env),
                        # Programs such as npx run what they find in the working directory.
                        cwd=Path.home(),
                    ),
                    errlog=nowhere,
                )
            return
        import httpx2
        from mcp.client.streamable_http import streamable_http_client

        async def note_status(response: "httpx2.Response") -> None:
            self._status = response.status_code

        async with httpx2.AsyncClient(
            headers=dict(self.server.headers),
            timeout=httpx2.Timeout(PATIENCE_SECONDS),
            trust_env=not is_on_this_machine(self.server.url),
            event_hooks={"response": [note_status]},
        ) as http_client:
            yield streamable_http_client(self.server.url, http_client=http_client)

    def _failure(self, error: BaseException) -> ServerFailedError:
        """Return an error in our own words."""
        name = shorten(self.server.name, 40)
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        if isinstance(error, ServerFailedError):
            return error
        if self.server.command:
            if isinstance(error, OSError) and self._client is None:
                return ServerFailedError(f"{name} could not be started.")
            when = "it answered" if self._client is None else "this call was answered"
            return ServerFailedError(f"{name} ended before {when}.")
        if self._status is not None and self._status >= 400:
            return ServerFailedError(
                f"{name} answered with the status {self._status}. Check its address and headers."
            )
        return ServerFailedError(f"{name} cannot be reached at {self.server.shown}.")


def _import_package() -> None:
    """Import what talks to servers, and keep it from writing to the terminal."""
    for name in ("mcp", "httpx2", "httpcore2"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    import mcp.client
    import mcp.client.stdio
    import mcp.client.streamable_http  # noqa: F401


def _who_we_are() -> Any:
    from mcp_types import Implementation

    return Implementation(name="construct", version="1")


def _command(server: Server) -> list[str]:
    """Return the program with its whole path, and its arguments.

    `env` takes out what the package would hand on from our environment.
    """
    path = server.env.get("PATH", os.environ.get("PATH"))
    program = shutil.which(server.command[0], path=path)
    if program is None:
        raise ServerFailedError(
            f"{shorten(server.name, 40)} could not be started: "
            f"there is no program {shorten(server.command[0], 60)}."
        )
    command = [program, *server.command[1:]]
    env_program = shutil.which("env")
    if sys.platform == "win32" or env_program is None:
        return command
    unwanted = [name for name in _SENT_BY_THE_PACKAGE if name not in server.env]
    return [env_program, *(part for name in unwanted for part in ("-u", name)), *command]


def _locale() -> dict[str, str]:
    return {name: os.environ[name] for name in _LOCALE if name in os.environ}


async def _all_tools(client: "Client") -> list[ListedTool]:
    tools: list[ListedTool] = []
    cursor: str | None = None
    for _ in range(_MAX_PAGES):
        page = await client.list_tools(cursor=cursor)
        tools += [listed_tool(t.name, t.description, t.input_schema) for t in page.tools]
        cursor = page.next_cursor
        if cursor is None:
            break
    return tools


async def list_tools(server: Server) -> list[ListedTool]:
    """Start a server, list its tools and stop it. Raises ServerFailedError."""
    connection = Connection(server)
    try:
        return await in_time(server, connection.tools())
    finally:
        with suppress(ServerFailedError):
            await connection.close()


async def in_time(server: Server, work: Awaitable[T], seconds: float | None = None) -> T:
    """Wait for a server, but not too long. Raises ServerFailedError."""
    try:
        async with asyncio.timeout(PATIENCE_SECONDS if seconds is None else seconds):
            return await work
    except TimeoutError:
        raise ServerFailedError(
            f"{shorten(server.name, 40)} did not answer within {PATIENCE_SECONDS:g} seconds."
        ) from None

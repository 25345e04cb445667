"""How the calls of tools from outside run: servers start, the guard decides, the user is asked."""

import asyncio
import time
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from construct.errors import ConstructError
from construct.llm.types import Tool, ToolResult, ToolUse
from construct.text import shorten
from construct.tools import MCP_JSON
from construct.tools.call_types import Answer, Surroundings, ToolQuestion, UsedTool, refused
from construct.tools.guard import Decision, Situation, Verdict, decide
from construct.tools.mcp_json import Server, read_mcp_json
from construct.tools.permissions import (
    KnownTool,
    OfferedTool,
    ServerState,
    is_allowed,
    offered_tools,
    read_known,
    relisted,
    state_of,
    with_answer,
    write_known,
)
from construct.tools.results import arguments_text, result_line
from construct.vocabulary import Permission

if TYPE_CHECKING:
    from construct.tools.connection import CallResult, Connection


class ToolCalls:
    """The servers in `mcp.json` that the user has allowed, and those that run.

    A server starts when one of its tools is called for the first time.
    """

    def __init__(self, config_dir: Path) -> None:
        self._config_dir = config_dir
        self._offered: Mapping[str, OfferedTool] | None = None
        self._connections: dict[str, Connection] = {}
        self._failed: dict[str, str] = {}
        """Servers that failed, with what went wrong. They are not tried again by themselves."""

    def offered(self) -> tuple[Tool, ...]:
        """Return the tools that the model is offered; none if the answers cannot be read."""
        try:
            return tuple(tool.for_model for tool in self._tools().values())
        except ConstructError:  # a reply must not fail for it; `notices` says so
            return ()

    def notices(self) -> list[str]:
        """Return what the user should know of their servers, a line each."""
        configured = read_mcp_json(self._config_dir)
        lines = list(configured.problems)
        if not configured.servers:
            return lines
        if find_spec("mcp") is None:
            return [*lines, f"{MCP_JSON} names servers, but tools need the extra `mcp`."]
        try:
            known = read_known(self._config_dir)
        except ConstructError as error:
            return [*lines, str(error)]
        for name, server in configured.servers.items():
            state = state_of(server, known)
            if state in {ServerState.NEW, ServerState.CHANGED}:
                lines.append(_unasked_line(name, server, state))
        return lines

    def reload(self) -> None:
        """Read again what is configured and allowed. Servers that failed are tried again."""
        self._offered = None
        self._failed.clear()

    def _tools(self) -> Mapping[str, OfferedTool]:
        if self._offered is None:
            servers = read_mcp_json(self._config_dir).servers
            self._offered = {}
            if servers and find_spec("mcp") is not None:
                self._offered = offered_tools(servers, read_known(self._config_dir))
        return self._offered

    async def use(self, call: ToolUse, around: Surroundings) -> UsedTool:
        """Run one call, if the guard and the user let it. Errors become a result."""
        try:
            result = await self._run(self._named(call.name), call.input, around)
        except ConstructError as error:
            return refused(call, str(error))
        return UsedTool(
            ToolResult(call.id, result.text, is_error=result.is_error),
            result_line(result.text),
            is_from_outside=True,
        )

    async def close(self) -> None:
        """Stop the servers that run."""
        connections = list(self._connections.values())
        self._connections.clear()
        await asyncio.gather(*(connection.close() for connection in connections))

    def _named(self, name: str) -> OfferedTool:
        offered = self._tools().get(name)
        if offered is None:
            raise ConstructError(f"There is no tool {shorten(name, 60)}.")
        return offered

    async def _run(
        self, offered: OfferedTool, arguments: Mapping[str, Any], around: Surroundings
    ) -> "CallResult":
        """Ask what must be asked, and call the tool. Raises ConstructError if it may not run."""
        from construct.tools.connection import PATIENCE_SECONDS, ServerFailedError, in_time

        server = offered.server
        _, decision = self._decide(offered, around)
        if decision.verdict is Verdict.REFUSE:
            raise ConstructError(decision.reason)
        if server.name in self._failed:
            raise ConstructError(self._failed[server.name])
        began = time.monotonic()
        try:
            connection = await self._connected(offered)
            seconds_left = PATIENCE_SECONDS - (time.monotonic() - began)
            # Its description may have changed, and the user's answer in another program.
            known, decision = self._decide(offered, around)
            await self._ask(offered, known, arguments, decision, around)
            call = connection.call(offered.known.tool.name, arguments)
            return await in_time(server, call, seconds_left)
        except ServerFailedError as error:
            self._failed[server.name] = f"{error} It is not tried again in this chat."
            if failed := self._connections.pop(server.name, None):
                failed.stop()
            raise

    def _decide(self, offered: OfferedTool, around: Surroundings) -> tuple[KnownTool, Decision]:
        """Return what is known of a tool now, and whether it may be called."""
        known = read_known(self._config_dir)
        answered = known.get(offered.server.name)
        tool = KnownTool(offered.known.tool)
        for one in answered.tools if answered else ():
            if one.tool.name == tool.tool.name:
                tool = one
        situation = Situation(
            is_server_allowed=is_allowed(offered.server, known),
            permission=tool.permission,
            is_harmless=tool.is_harmless,
            holds_outside_text=around.holds_outside_text,
            can_ask=around.ask is not None,
            is_private=around.is_private,
            is_allowed_in_private=around.is_allowed_in_private,
        )
        return tool, decide(situation)

    async def _connected(self, offered: OfferedTool) -> "Connection":
        """Return the connection to a tool's server. A new one brings a new list of tools."""
        from construct.tools.connection import Connection, in_time

        server = offered.server
        connection = self._connections.get(server.name)
        if connection is None:
            connection = self._connections[server.name] = Connection(server)
            try:
                listed = await in_time(server, connection.tools())
            except BaseException:  # cancelled too: it must be listed before it is called
                self._connections.pop(server.name).stop()
                raise
            known = dict(read_known(self._config_dir))
            if is_allowed(server, known):
                known[server.name] = relisted(known[server.name], listed)
                write_known(self._config_dir, known)
        return connection

    async def _ask(
        self,
        offered: OfferedTool,
        known: KnownTool,
        arguments: Mapping[str, Any],
        decision: Decision,
        around: Surroundings,
    ) -> None:
        """Ask about a call if the guard says so. Raises ConstructError if it may not run."""
        if decision.verdict is Verdict.RUN:
            return
        if decision.verdict is Verdict.REFUSE or around.ask is None:
            raise ConstructError(decision.reason)
        answer = await around.ask(
            ToolQuestion(
                offered.name,
                known.tool.description,
                arguments_text(arguments),
                is_first=decision.verdict is Verdict.ASK_FIRST,
                holds_outside_text=around.holds_outside_text and not known.is_harmless,
            )
        )
        if answer in {Answer.ALWAYS, Answer.NEVER}:
            self._remember(offered, Permission(answer))
        if answer not in {Answer.ONCE, Answer.ALWAYS}:
            raise ConstructError("The user declined this call.")

    def _remember(self, offered: OfferedTool, permission: Permission) -> None:
        known = dict(read_known(self._config_dir))
        name = offered.server.name
        if name in known:
            tool_names = [offered.known.tool.name]
            known[name] = with_answer(known[name], tool_names, permission, harmless=False)
            write_known(self._config_dir, known)


def _unasked_line(name: str, server: Server, state: ServerState) -> str:
    what = "a new server" if state is ServerState.NEW else "changed"
    return (
        f"{shorten(name, 40)} in {MCP_JSON} is {what}: {shorten(server.shown, 100)}. "
        f"/tools allow {shorten(name, 40)} lets it start."
    )

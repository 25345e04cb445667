"""Render tools from outside: the servers, their tools, and results."""

from collections.abc import Sequence
from typing import Any

from construct.operations.tools import CalledTool, ServerStatus, ToolsStatus, ToolStatus
from construct.program import as_typed
from construct.text import printable, shorten
from construct.tools.permissions import ServerState
from construct.vocabulary import Permission

_DESCRIPTION_WIDTH = 60
_STATES = {
    ServerState.NEW: "not allowed yet",
    ServerState.CHANGED: "changed since you allowed it",
    ServerState.ALLOWED: "allowed",
    ServerState.FORBIDDEN: "forbidden",
}


def tools_text(status: ToolsStatus) -> str:
    """Return the servers with their tools."""
    lines = list(status.problems)
    if status.is_extra_missing:
        lines.append("Tools need the extra `mcp`.")
    if not status.servers and not lines:
        lines.append(f"There are no tools. Name servers in {status.file}, as other programs do.")
    lines += map(server_text, status.servers)
    if any(s.state in {ServerState.NEW, ServerState.CHANGED} for s in status.servers):
        lines.append(f"{as_typed('tools allow NAME')} lets a server start.")
    return "\n".join(lines)


def server_text(server: ServerStatus) -> str:
    """Return one server with its tools, a line each."""
    head = f"{shorten(server.name, 40)}  {_STATES[server.state]}  {shorten(server.shown, 100)}"
    return "\n".join([head, *map(_tool_line, server.tools)])


def _tool_line(tool: ToolStatus) -> str:
    answer = {Permission.ALWAYS: "always", Permission.NEVER: "never", None: "asks"}
    permission = answer[tool.permission] + (", sends nothing out" if tool.is_harmless else "")
    description = shorten(tool.description, _DESCRIPTION_WIDTH)
    return f"  {tool.name}  ({permission})  {description}".rstrip()


def results_text(called: Sequence[CalledTool]) -> str:
    """Return calls of tools with their whole results."""
    return "\n\n".join(
        f"{one.name} {one.arguments}\n{printable(one.result)}".rstrip() for one in called
    )


def tools_json(status: ToolsStatus) -> list[dict[str, Any]]:
    """Return the servers with their tools, as JSON."""
    return [server_json(server) for server in status.servers]


def server_json(server: ServerStatus) -> dict[str, Any]:
    """Return one server with its tools, as JSON. Values of `env` and `headers` are not in it."""
    return {
        "name": server.name,
        "starts": server.shown,
        "state": server.state,
        "tools": [
            {
                "name": tool.name,
                "description": tool.description,
                "permission": tool.permission or "ask",
                "harmless": tool.is_harmless,
            }
            for tool in server.tools
        ],
    }

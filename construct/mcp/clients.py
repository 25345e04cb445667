"""What other programs' settings need so that they start `construct mcp`."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum


class Client(StrEnum):
    """Programs whose settings we know."""

    CLAUDE_CODE = "claude-code"
    CLAUDE_DESKTOP = "claude-desktop"
    CURSOR = "cursor"
    VSCODE = "vscode"
    ZED = "zed"
    CODEX = "codex"


@dataclass(frozen=True, slots=True)
class Setting:
    """What to put where."""

    text: str
    file: str


def setting_for(client: Client, command: Sequence[str]) -> Setting:
    """Return what a client's settings need to start this command."""
    file, write = _CLIENTS[client]
    return Setting(write(command), file)


def _json(key: str) -> Callable[[Sequence[str]], str]:
    def write(command: Sequence[str]) -> str:
        return json.dumps({key: {"construct": _server(command)}}, indent=2)

    return write


def _toml(command: Sequence[str]) -> str:
    # A JSON string in ASCII is a TOML string too.
    lines = (f"{name} = {json.dumps(value)}" for name, value in _server(command).items())
    return "\n".join(["[mcp_servers.construct]", *lines])


def _server(command: Sequence[str]) -> Mapping[str, object]:
    return {"command": command[0], "args": list(command[1:])}


_CLIENTS: Mapping[Client, tuple[str, Callable[[Sequence[str]], str]]] = {
    Client.CLAUDE_CODE: (".mcp.json in a project, or ~/.claude.json for all", _json("mcpServers")),
    Client.CLAUDE_DESKTOP: (
        "claude_desktop_config.json (Settings, Developer, Edit Config)",
        _json("mcpServers"),
    ),
    Client.CURSOR: ("~/.cursor/mcp.json", _json("mcpServers")),
    Client.VSCODE: (".vscode/mcp.json, or your user's mcp.json", _json("servers")),
    Client.ZED: ("~/.config/zed/settings.json", _json("context_servers")),
    Client.CODEX: ("~/.codex/config.toml", _toml),
}

"""The settings with which other programs start `construct mcp`."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Client(StrEnum):
    """Programs whose settings format we know."""

    CLAUDE_CODE = "claude-code"
    CLAUDE_DESKTOP = "claude-desktop"
    CURSOR = "cursor"
    VSCODE = "vscode"
    ZED = "zed"
    CODEX = "codex"


@dataclass(frozen=True, slots=True)
class Setting:
    """A piece of a program's settings."""

    text: str
    file: str
    """The file to put it in, and where to find that file."""


def setting_for(client: Client, command: Sequence[str]) -> Setting:
    """Return what to add to a client's settings so that it starts `command`."""
    server = {"command": command[0], "args": list(command[1:])}
    if client is Client.CODEX:
        lines = [f"{name} = {_toml(value)}" for name, value in server.items()]
        text = "\n".join(["[mcp_servers.construct]", *lines])
    else:
        text = json.dumps({_KEYS.get(client, "mcpServers"): {"construct": server}}, indent=2)
    return Setting(text, _FILES[client])


def _toml(value: object) -> str:
    """Return a string or a list of strings as TOML in ASCII.

    ASCII JSON would be valid TOML, but for the surrogate pairs that stand for an emoji.
    """
    text = json.dumps(value, ensure_ascii=False)
    return re.sub("[^ -~]", lambda match: f"\\U{ord(match[0]):08x}", text)


_KEYS = {Client.VSCODE: "servers", Client.ZED: "context_servers"}
"""The key for servers in a client's JSON settings, if it is not `mcpServers`."""
_FILES = {
    Client.CLAUDE_CODE: ".mcp.json in a project, or ~/.claude.json for all projects",
    Client.CLAUDE_DESKTOP: "claude_desktop_config.json (Settings, Developer, Edit Config)",
    Client.CURSOR: "~/.cursor/mcp.json",
    Client.VSCODE: ".vscode/mcp.json in a project, or mcp.json (MCP: Open User Configuration)",
    Client.ZED: "~/.config/zed/settings.json",
    Client.CODEX: "~/.codex/config.toml",
}

"""Read `mcp.json`, the list of tool servers, in the form that other programs write it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from shlex import join
from typing import Any
from urllib.parse import urlsplit

from construct.setting_values import server_address
from construct.text import one_line
from construct.tools import MCP_JSON


@dataclass(frozen=True, slots=True)
class Server:
    """One server: a program to start, or an address."""

    name: str
    command: tuple[str, ...] = ()
    """The program and its arguments. Empty if the server has an address."""
    url: str = ""
    env: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)

    @property
    def digest(self) -> str:
        """The digest of what the user allows: the command or address, and which names it sets."""
        allowed = [self.command, self.url, sorted(self.env), sorted(self.headers)]
        return sha256(json.dumps(allowed).encode()).hexdigest()

    @property
    def shown(self) -> str:
        """The command, or the address without what may be a password."""
        if self.command:
            return one_line(join(self.command))
        parts = urlsplit(self.url)
        port = f":{parts.port}" if parts.port else ""
        return one_line(f"{parts.scheme}://{parts.hostname}{port}{parts.path}")

    def without_secrets(self, text: str) -> str:
        """Return a text without the values of `env` and `headers`."""
        for secret in (*self.env.values(), *self.headers.values()):
            for part in {secret, secret.rpartition(" ")[2]}:  # "Bearer TOKEN" and the token
                if len(part) >= _SHORTEST_SECRET:
                    text = text.replace(part, "[not shown]")
        return text


_SHORTEST_SECRET = 4


@dataclass(frozen=True, slots=True)
class Configured:
    """The servers in `mcp.json`, by name, and one line for each entry that is wrong."""

    servers: Mapping[str, Server] = field(default_factory=dict, hash=False)
    problems: tuple[str, ...] = ()


def read_mcp_json(config_dir: Path) -> Configured:
    """Return the servers in `mcp.json`; none if there is no file."""
    path = config_dir / MCP_JSON
    try:
        content = json.loads(path.read_bytes().decode("utf-8-sig"))
    except FileNotFoundError:
        return Configured()
    except OSError as error:
        return Configured(problems=(f"{path} cannot be read: {error.strerror or error}.",))
    except (ValueError, RecursionError):  # the text itself may hold a key, so it is not shown
        return Configured(problems=(f"{path} is not JSON. Correct it.",))
    entries = content.get("mcpServers") if isinstance(content, dict) else None
    if not isinstance(entries, dict):
        return Configured(problems=(f'{path} has no "mcpServers" with an object. Correct it.',))
    servers: dict[str, Server] = {}
    problems: list[str] = []
    for name, entry in entries.items():
        try:
            servers[name] = _server(name, entry)
        except ValueError as error:
            problems.append(f"{MCP_JSON}, {one_line(name)[:60]}: {error}.")
    return Configured(servers, tuple(problems))


def _server(name: str, entry: Any) -> Server:
    """Return one entry as a server. The ValueErrors it raises hold no value of the entry."""
    if not name.strip() or not isinstance(entry, dict):
        raise ValueError("a server is an object with a name")
    command, url = entry.get("command"), entry.get("url")
    if isinstance(command, str) and command.strip():
        arguments = entry.get("args") or []
        if not isinstance(arguments, list) or not all(isinstance(a, str) for a in arguments):
            raise ValueError('"args" must be a list of texts')
        if any("\0" in part for part in (command, *arguments)):
            raise ValueError("the command has a NUL byte")
        return Server(name, (command, *arguments), env=_texts(entry, "env"))
    if not isinstance(url, str) or not url.strip():
        raise ValueError('it needs a "command" or a "url"')
    if entry.get("type") == "sse":
        raise ValueError(
            'the transport "sse" is no longer in use; give its streamable HTTP address'
        )
    try:
        server_address(url)
    except ValueError:
        raise ValueError('"url" must be an address such as http://localhost:8080/mcp') from None
    return Server(name, url=url, headers=_texts(entry, "headers"))


def _texts(entry: Mapping[str, Any], key: str) -> Mapping[str, str]:
    values = entry.get(key) or {}
    if not isinstance(values, dict) or not all(
        isinstance(value, str) and "\0" not in value for value in values.values()
    ):
        raise ValueError(f'"{key}" must be an object with texts')
    return values

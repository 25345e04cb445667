"""The user's answers about servers and their tools, with the lists of tools last seen.

They are in `tools.json` in the configuration directory, which only its owner can read.
"""

import json
import os
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from construct.errors import ConstructError
from construct.llm.types import Json, Tool
from construct.text import printable, storable
from construct.tools.mcp_json import Server
from construct.vocabulary import Permission

FILE_NAME = "tools.json"
MAX_OFFERED = 100
"""Tools from outside that a model is offered. Some servers refuse more than 128 in all."""
_LONGEST_NAME = 64
_LONGEST_DESCRIPTION = 2_000
_REFUSED_IN_SCHEMAS = {"oneOf", "anyOf", "allOf"}
"""At the top of a schema; Anthropic's server refuses the whole request for them."""
_UNUSUAL = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True, slots=True)
class ListedTool:
    """A tool as its server describes it."""

    name: str
    description: str
    schema: Json = field(hash=False)


@dataclass(frozen=True, slots=True)
class KnownTool:
    """A tool that was listed, and the user's answer about it."""

    tool: ListedTool
    permission: Permission | None = None
    is_harmless: bool = False
    """Whether the user said that it sends nothing out."""


@dataclass(frozen=True, slots=True)
class KnownServer:
    """A server that the user was asked about, with its tools when they were last listed."""

    digest: str
    """The digest of the command or address that the answer is about."""
    is_allowed: bool
    tools: tuple[KnownTool, ...] = ()


Known = Mapping[str, KnownServer]
"""What is known about servers, by name."""


def offered_name(server: str, tool: str) -> str:
    """Return the name under which the model is offered a tool."""
    return _UNUSUAL.sub("_", f"{server}__{tool}")[:_LONGEST_NAME]


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool of an allowed server, as the model is offered it."""

    name: str
    server: Server
    known: KnownTool

    @property
    def for_model(self) -> Tool:
        """The tool in the form of a request."""
        return Tool(self.name, self.known.tool.description, self.known.tool.schema)


class ServerState(StrEnum):
    """What the user has said about a server."""

    NEW = "new"
    CHANGED = "changed"
    """It was allowed, but its command or address is another one now."""
    ALLOWED = "allowed"
    FORBIDDEN = "forbidden"


def state_of(server: Server, known: Known) -> ServerState:
    """Return what the user has said about a server."""
    answer = known.get(server.name)
    if answer is None:
        return ServerState.NEW
    if not answer.is_allowed:
        return ServerState.FORBIDDEN
    return ServerState.ALLOWED if answer.digest == server.digest else ServerState.CHANGED


def is_allowed(server: Server, known: Known) -> bool:
    """Return whether the user has allowed a server as it is configured now."""
    return state_of(server, known) is ServerState.ALLOWED


def offered_tools(servers: Mapping[str, Server], known: Known) -> dict[str, OfferedTool]:
    """Return the tools of the allowed servers by name, in an order that does not change."""
    offered: dict[str, OfferedTool] = {}
    for name, server in sorted(servers.items()):
        if not is_allowed(server, known):
            continue
        for tool in sorted(known[name].tools, key=lambda tool: tool.tool.name):
            as_offered = offered_name(name, tool.tool.name)
            offered.setdefault(as_offered, OfferedTool(as_offered, server, tool))
    return dict(list(offered.items())[:MAX_OFFERED])


def relisted(before: KnownServer, tools: Iterable[ListedTool]) -> KnownServer:
    """Return a server with a new list of tools.

    An answer stays for a tool that is described as before. Of one that is described in
    another way only "never" stays.
    """
    answers = {known.tool.name: known for known in before.tools}
    known_tools = []
    for tool in tools:
        answer = answers.get(tool.name, KnownTool(tool))
        if answer.tool == tool:
            known_tools.append(answer)
        else:
            kept = Permission.NEVER if answer.permission is Permission.NEVER else None
            known_tools.append(KnownTool(tool, kept))
    return replace(before, tools=tuple(known_tools))


def with_answer(
    server: KnownServer, tool_names: Sequence[str], permission: Permission, *, harmless: bool
) -> KnownServer:
    """Return a server with the user's lasting answer about some of its tools."""
    return replace(
        server,
        tools=tuple(
            replace(known, permission=permission, is_harmless=harmless)
            if known.tool.name in tool_names
            else known
            for known in server.tools
        ),
    )


def listed_tool(name: str, description: str | None, schema: Any) -> ListedTool:
    """Return a tool of a server in a form that can be stored and sent."""
    text = printable(storable(description or ""))[:_LONGEST_DESCRIPTION]
    fields = schema if isinstance(schema, dict) else {}
    taken = {key: value for key, value in fields.items() if key not in _REFUSED_IN_SCHEMAS}
    return ListedTool(name, text, {"properties": {}, **taken, "type": "object"})


def read_known(config_dir: Path) -> Known:
    """Return what is known about servers. Raises ConstructError for a damaged file."""
    path = config_dir / FILE_NAME
    try:
        content = json.loads(path.read_bytes())
        return {name: _server(entry) for name, entry in content["servers"].items()}
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ConstructError(f"{path} cannot be read: {error.strerror or error}.") from error
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ConstructError(
            f"{path} is damaged. Delete it: you will be asked about your tools again."
        ) from error


def write_known(config_dir: Path, known: Known) -> None:
    """Replace the file. Raises ConstructError if it cannot be written."""
    path = config_dir / FILE_NAME
    content = {"servers": {name: _as_json(server) for name, server in sorted(known.items())}}
    try:
        config_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, new = tempfile.mkstemp(dir=config_dir, prefix=".tools-")  # 0600
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
                json.dump(content, stream, indent=1)
            Path(new).replace(path)
        except BaseException:
            Path(new).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise ConstructError(f"{path} cannot be written: {error.strerror or error}.") from error


def _as_json(server: KnownServer) -> dict[str, object]:
    tools = [
        {
            "name": known.tool.name,
            "description": known.tool.description,
            "schema": dict(known.tool.schema),
            "permission": known.permission,
            "harmless": known.is_harmless,
        }
        for known in server.tools
    ]
    return {"digest": server.digest, "allowed": server.is_allowed, "tools": tools}


def _server(entry: Any) -> KnownServer:
    return KnownServer(
        str(entry["digest"]), entry["allowed"] is True, tuple(map(_tool, entry["tools"]))
    )


def _tool(entry: Any) -> KnownTool:
    permission = entry["permission"]
    return KnownTool(
        listed_tool(str(entry["name"]), str(entry["description"]), entry["schema"]),
        None if permission is None else Permission(permission),
        entry["harmless"] is True,
    )

"""Tools from outside: list them, allow and forbid servers and tools, show results."""

from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

from construct.errors import NotConfiguredError, NotFoundError
from construct.installation import this_installation
from construct.llm.types import ToolResult, ToolUse, found_on_the_web, web_query
from construct.memory.shown.tool_rounds import stored_rounds
from construct.memory.tools import MEMORY_TOOLS
from construct.store.records import Message
from construct.text import shorten
from construct.tools.connection import ServerFailedError, list_tools
from construct.tools.mcp_json import Server, read_mcp_json
from construct.tools.permissions import (
    Known,
    KnownServer,
    ServerState,
    offered_name,
    read_known,
    relisted,
    state_of,
    with_answer,
    write_known,
)
from construct.tools.results import arguments_text
from construct.vocabulary import Permission


@dataclass(frozen=True, slots=True)
class ToolStatus:
    """A tool, and the user's answer about it."""

    name: str
    """The name under which the model is offered it."""
    description: str
    permission: Permission | None
    is_harmless: bool


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """A server in `mcp.json`, the user's answer about it, and its tools when last seen."""

    name: str
    shown: str
    """Its command or its address."""
    state: ServerState
    tools: tuple[ToolStatus, ...]


@dataclass(frozen=True, slots=True)
class ToolsStatus:
    """All servers, and what is wrong with the files."""

    servers: tuple[ServerStatus, ...]
    problems: tuple[str, ...]
    file: Path
    is_extra_missing: bool
    """Whether there are servers, but not the package that speaks with them."""


@dataclass(frozen=True, slots=True)
class CalledTool:
    """A call that is stored with a reply, and its whole result."""

    name: str
    arguments: str
    result: str


def tools_status(config_dir: Path) -> ToolsStatus:
    """Return the servers and their tools. Starts none of them."""
    configured, known = read_mcp_json(config_dir), read_known(config_dir)
    servers = tuple(_status(server, known) for server in configured.servers.values())
    is_missing = bool(servers) and find_spec("mcp") is None
    return ToolsStatus(servers, configured.problems, config_dir / "mcp.json", is_missing)


def is_server(config_dir: Path, name: str) -> bool:
    """Return whether a server in `mcp.json` has this name. Else it may be a tool's."""
    return name in read_mcp_json(config_dir).servers


async def allow_server(config_dir: Path, name: str, *, harmless: bool) -> ServerStatus:
    """Let a server start from now on, and list its tools. Starts it once.

    With `harmless` its tools may always be called: the user says that they send nothing
    out. Raises ConstructError if it cannot be started; then it is not allowed either.
    """
    require_mcp()
    server = read_mcp_json(config_dir).servers[name]
    try:
        listed = await list_tools(server)
    except ServerFailedError as error:
        if not server.command:
            raise
        raise ServerFailedError(f"{error}\nStart it by hand to see why: {server.shown}") from None
    known = dict(read_known(config_dir))
    before = known.get(name)
    if before is None or before.digest != server.digest:
        before = KnownServer(server.digest, is_allowed=True)
    after = relisted(KnownServer(server.digest, True, before.tools), listed)
    if harmless:
        names = [tool.name for tool in listed]
        after = with_answer(after, names, Permission.ALWAYS, harmless=True)
    known[name] = after
    write_known(config_dir, known)
    return _status(server, known)


def allow_tool(config_dir: Path, name: str, *, harmless: bool) -> ServerStatus:
    """Let a tool be called without being asked; `harmless`: even beside text from outside."""
    return _answer(config_dir, name, Permission.ALWAYS, harmless=harmless)


def forbid(config_dir: Path, name: str) -> ServerStatus:
    """Forbid a server, or a tool. A server's answers about tools stay."""
    configured = read_mcp_json(config_dir)
    server = configured.servers.get(name)
    if server is None:
        return _answer(config_dir, name, Permission.NEVER, harmless=False)
    known = dict(read_known(config_dir))
    before = known.get(name, KnownServer(server.digest, is_allowed=False))
    known[name] = KnownServer(before.digest, False, before.tools)
    write_known(config_dir, known)
    return _status(server, known)


def called_tools(message: Message) -> list[CalledTool]:
    """Return the calls of tools from outside that are stored with a reply."""
    blocks = [block for part in stored_rounds(message.blocks) for block in part.blocks]
    results = {b.tool_use_id: b.content for b in blocks if isinstance(b, ToolResult)}
    called = []
    for block in blocks:
        if isinstance(block, ToolUse) and block.name not in MEMORY_TOOLS:
            result = results.get(block.id, "")
            called.append(CalledTool(block.name, arguments_text(block.input), result))
        elif query := web_query(block):
            called.append(CalledTool("web_search", query, ""))
        elif called and (pages := found_on_the_web(block)):
            lines = [f"{page.get('title', '')} {page.get('url', '')}" for page in pages]
            called[-1] = replace(called[-1], result="\n".join(lines))
    return called


def require_mcp() -> None:
    """Raise NotConfiguredError if the package that speaks with servers is missing."""
    if find_spec("mcp") is None:
        command = this_installation().with_extra("mcp")
        raise NotConfiguredError(f"Tools need the extra `mcp`.\nAdd it: {command}")


def _answer(config_dir: Path, name: str, permission: Permission, *, harmless: bool) -> ServerStatus:
    """Store the user's lasting answer about a tool. Raises NotFoundError."""
    servers = read_mcp_json(config_dir).servers
    known = dict(read_known(config_dir))
    for server_name, server in servers.items():
        listed = known[server_name].tools if server_name in known else ()
        meant = [t.tool.name for t in listed if offered_name(server_name, t.tool.name) == name]
        if meant:
            answered = with_answer(known[server_name], meant, permission, harmless=harmless)
            known[server_name] = answered
            write_known(config_dir, known)
            status = _status(server, known)
            tools = tuple(tool for tool in status.tools if tool.name == name)
            return replace(status, tools=tools)
    raise NotFoundError(
        f"There is no server and no tool {shorten(name, 60)}.\n"
        "A server's tools are known once the server is allowed."
    )


def _status(server: Server, known: Known) -> ServerStatus:
    answered = known.get(server.name)
    tools = tuple(
        ToolStatus(
            offered_name(server.name, one.tool.name),
            one.tool.description,
            one.permission,
            one.is_harmless,
        )
        for one in (answered.tools if answered else ())
    )
    return ServerStatus(server.name, server.shown, state_of(server, known), tools)

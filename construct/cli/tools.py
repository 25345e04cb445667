"""The commands `construct tools …`."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from construct.cli.options import Json, environment, examples, refuse_json_before
from construct.cli.streams import complain, print_json, say
from construct.errors import UsageError

if TYPE_CHECKING:
    from construct.operations.tools import ServerStatus

tools = typer.Typer(rich_markup_mode=None)

Name = Annotated[
    str, typer.Argument(metavar="NAME", help="A server in mcp.json, or a tool: SERVER__TOOL.")
]


@tools.callback(
    invoke_without_command=True,
    epilog=examples(
        "construct tools", "construct tools allow files", "construct tools list --json"
    ),
)
def bare(context: typer.Context, as_json: Json = False) -> None:
    """Show which tools from outside the model may use (MCP).

    Servers are listed in `mcp.json` in the configuration directory. None is started before
    you have allowed it.
    """
    if context.invoked_subcommand is not None:
        refuse_json_before(context, as_json)
        return
    _list(context, as_json)


@tools.command(name="list")
def list_command(context: typer.Context, as_json: Json = False) -> None:
    """List the servers and their tools, as last seen. Starts none."""
    _list(context, as_json)


@tools.command(
    epilog=examples(
        "construct tools allow files",
        "construct tools allow files__read_file",
        "construct tools allow files__read_file --harmless",
    )
)
def allow(
    context: typer.Context,
    name: Name,
    harmless: Annotated[
        bool,
        typer.Option("--harmless", help="You know that it sends nothing out."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Let a server start, or a tool be called without asking.

    A server can only be allowed on a terminal. It is started once, to list its tools. The
    first use of each tool asks in the chat; without a terminal only tools that you have
    allowed here run.

    While a text that is not your own is before the model, such as a web page or a paste, each
    call asks, unless you said --harmless: such a text can tell the model to send away what it
    knows of you.
    """
    import asyncio

    from construct.operations.tools import allow_server, allow_tool, is_server

    folder = environment(context).settings.config_dir
    if not is_server(folder, name):
        _show(allow_tool(folder, name, harmless=harmless), as_json)
        return
    if not sys.stdin.isatty():
        raise UsageError("A server can only be allowed on a terminal, because it starts a program.")
    _show(asyncio.run(allow_server(folder, name, harmless=harmless)), as_json)


@tools.command(epilog=examples("construct tools forbid files"))
def forbid(context: typer.Context, name: Name, as_json: Json = False) -> None:
    """Forbid a server or a tool.

    A server that is forbidden is not started, and the model is not offered its tools.
    """
    from construct.operations.tools import forbid as operation

    _show(operation(environment(context).settings.config_dir, name), as_json)


def _list(context: typer.Context, as_json: bool) -> None:
    from construct.operations.tools import tools_status
    from construct.views.tools import tools_json, tools_text

    status = tools_status(environment(context).settings.config_dir)
    if as_json:
        for problem in status.problems:
            complain(problem)
        print_json(tools_json(status))
        return
    say(tools_text(status))


def _show(server: "ServerStatus", as_json: bool) -> None:
    from construct.views.tools import server_json, server_text

    print_json(server_json(server)) if as_json else say(server_text(server))

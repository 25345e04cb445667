"""`construct mcp`, `serve` and `doors`: other programs at the memory."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from construct.cli.environment import Environment
from construct.cli.options import Json, conversation_ids, environment, examples, in_range
from construct.cli.streams import complain, print_json, say, show
from construct.errors import ConstructError, ExitStatus, UsageError

if TYPE_CHECKING:
    from construct.operations.context import Context

doors = typer.Typer()

_PORT = 8765


@doors.command(
    name="mcp",
    epilog=examples(
        "construct mcp --print-config claude-code",
        "construct mcp --since 90d --print-config zed",
        "construct mcp --conversation 3          only what was said in that one",
    ),
)
def mcp_command(
    context: typer.Context,
    conversation: Annotated[
        int | None,
        typer.Option(
            "--conversation",
            metavar="ID",
            help="Let clients see only this conversation.",
            callback=in_range,
            autocompletion=conversation_ids,
        ),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            "--since",
            metavar="DATE",
            help="Let clients see only what was said from then on: 2026-03-01, 90d.",
        ),
    ] = None,
    print_config: Annotated[
        str | None,
        typer.Option(
            "--print-config",
            metavar="CLIENT",
            help="Print what a client's settings need: claude-code, claude-desktop, cursor, "
            "vscode, zed or codex.",
        ),
    ] = None,
) -> None:
    """Let another program's model read your memory (MCP).

    That program starts this command and talks to it over standard input and output. It
    can search, read the words behind a note and see what is ahead; it can change
    nothing. `construct doors` shows who asked.
    """
    from construct.operations.doors import access

    env = environment(context)
    if print_config is not None:
        _print_config(env, print_config, conversation, since)
        return
    _need_extra()
    with env.reading() as ctx:
        allowed = access(ctx, conversation, since)
    from construct.mcp.server import mcp_server

    # A thread waits for standard input, and an orderly end would wait for it. Nothing
    # here needs one: each call is over before the next.
    signal.signal(signal.SIGINT, lambda *_: os._exit(ExitStatus.INTERRUPTED))
    if sys.stdin.isatty():
        complain("Waiting for a client. `construct mcp --help` says how to set one up.")
    mcp_server(env.reading, allowed).run("stdio")


def _print_config(
    env: Environment, wanted: str, conversation: int | None, since: str | None
) -> None:
    from construct.mcp.clients import Client, setting_for

    try:
        client = Client(wanted)
    except ValueError as error:
        raise UsageError(
            f"--print-config {wanted}: that client is not known.\nKnown are {', '.join(Client)}."
        ) from error
    narrowed = [] if conversation is None else ["--conversation", str(conversation)]
    narrowed += [] if since is None else ["--since", since]
    command = [*_program(), "--db", str(env.settings.db.absolute()), "mcp", *narrowed]
    setting = setting_for(client, command)
    print(setting.text)
    complain(f"Put this into {setting.file}, beside what is there.")


def _program() -> list[str]:
    """Return how another program starts this one, wherever it looks for programs."""
    script = Path(sys.executable).with_name("construct")
    return [str(script)] if script.exists() else [sys.executable, "-m", "construct"]


@doors.command(epilog=examples("construct serve", "construct serve --port 0"))
def serve(
    context: typer.Context,
    port: Annotated[
        int,
        typer.Option("--port", metavar="N", min=0, max=65535, help="0 picks a free one."),
    ] = _PORT,
) -> None:
    """Show the memory panel over HTTP, on this machine.

    GET /api/sessions/ID/memory and /api/sessions/ID/memory/details, POST
    /api/sessions/ID/compact; ID is a conversation's. Only this machine is answered, and
    only with the token, which stands in the file that the first line names.
    """
    _need_extra()
    from construct.cli.memory_work import fitted
    from construct.companion import Companion
    from construct.llm.providers import choose_models
    from construct.mcp.http import HOST, http_app, listening, read_token
    from construct.mcp.http import serve as answer_requests
    from construct.operations.learning import compact
    from construct.store.database import make_folder

    env = environment(context)
    with env.reading():
        pass  # what keeps the file from being read is said now

    @contextmanager
    def opened() -> Iterator["Context"]:
        with env.reading() as ctx:
            yield fitted(ctx)

    async def work(conversation_id: int) -> None:
        companion = Companion(env.settings, choose_models(env.settings))
        try:
            await compact(companion, conversation_id)
        finally:
            await companion.close()

    file = env.settings.config_dir / "token"
    try:
        make_folder(file.parent)
        token = read_token(file)
    except OSError as error:
        raise ConstructError(
            f"The token cannot be kept in {file}: {error.strerror or error}."
        ) from error
    with listening(port) as on:
        port = on.getsockname()[1]
        say(f"Serving on http://{HOST}:{port}. The token is in {file}.")
        sys.stdout.flush()
        answer_requests(on, http_app(opened, work, token, port))


@doors.command(name="doors")
def doors_command(context: typer.Context, as_json: Json = False) -> None:
    """Show which programs asked your memory, and when.

    Their questions are not kept, only that they asked and how much they were given.
    """
    from construct.operations.doors import door_calls
    from construct.views.doors import doors_json, doors_view

    env = environment(context)
    with env.reading() as ctx:
        found = door_calls(ctx)
    print_json(doors_json(found)) if as_json else show(doors_view(found, env.settings.clock))


def _need_extra() -> None:
    if find_spec("mcp") is None:
        from construct.installation import this_installation

        raise ConstructError(
            f"This needs the extra `mcp`.\nAdd it: {this_installation().with_extra('mcp')}"
        )

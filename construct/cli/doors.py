"""The commands `construct mcp`, `serve` and `doors`: memory for other programs."""

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
from construct.errors import ConstructError, ExitStatus, NotConfiguredError, UsageError
from construct.program import in_shell

if TYPE_CHECKING:
    from construct.operations.context import Context

doors = typer.Typer()

_DEFAULT_PORT = 8765


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
            help="Let clients see only this conversation (of a fork, also its parents).",
            callback=in_range,
            autocompletion=conversation_ids,
        ),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            "--since",
            metavar="DATE",
            help="Let clients see only what was said since DATE, such as 2026-03-01 or 90d.",
        ),
    ] = None,
    proposals: Annotated[
        bool,
        typer.Option(
            "--proposals",
            help="Let clients propose what to remember. `construct review` asks you about it.",
        ),
    ] = False,
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
    can search, read the words behind an observation and see what is ahead; it can change
    nothing. `construct doors` shows who asked. With --proposals it can also propose what to
    remember: that is no memory before you keep it in a review.
    """
    from construct.operations.doors import access

    env = environment(context)
    with env.reading() as ctx:
        allowed = access(ctx, conversation, since)
    if print_config is not None:
        _print_config(env, print_config, conversation, since, proposals)
        return
    _require_mcp_extra()
    from construct.mcp.server import run_server

    # A thread blocks on standard input, and a normal exit would wait for it. Exiting at
    # once is safe: nothing runs between two calls.
    signal.signal(signal.SIGINT, lambda *_: os._exit(ExitStatus.INTERRUPTED))
    if sys.stdin.isatty():
        complain(f"Waiting for a client. {in_shell('mcp --help')} says how to set one up.")
    run_server(env.reading, allowed, env.context if proposals else None)


def _print_config(
    env: Environment,
    client_name: str,
    conversation: int | None,
    since: str | None,
    proposals: bool,
) -> None:
    from construct.mcp.clients import Client, setting_for

    try:
        client = Client(client_name)
    except ValueError as error:
        raise UsageError(
            f"--print-config {client_name}: unknown client.\nUse one of {', '.join(Client)}."
        ) from error
    command = [*_program(), "--db", str(env.settings.db.absolute()), "mcp"]
    if conversation is not None:
        command += ["--conversation", str(conversation)]
    if since is not None:
        command += ["--since", since]
    if proposals:
        command.append("--proposals")
    setting = setting_for(client, command)
    print(setting.text)
    complain(f"Add this to {setting.file}.")
    if find_spec("mcp") is None:
        complain(f"Before you use it: {_missing_extra()}")


def _program() -> list[str]:
    """Return the command, with absolute paths, that starts this program."""
    script = Path(sys.executable).with_name("construct")
    return [str(script)] if script.exists() else [sys.executable, "-m", "construct"]


@doors.command(epilog=examples("construct serve", "construct serve --port 0"))
def serve(
    context: typer.Context,
    port: Annotated[
        int,
        typer.Option("--port", metavar="N", min=0, max=65535, help="The port; 0 picks a free one."),
    ] = _DEFAULT_PORT,
) -> None:
    """Show the memory panel over HTTP, on this machine.

    It answers GET /api/sessions/ID/memory and /api/sessions/ID/memory/details, and POST
    /api/sessions/ID/compact. ID is the number of a conversation. Only requests from this
    machine that carry the token are answered; the first line names the token's file.
    """
    _require_mcp_extra()
    from construct.cli.memory_work import with_model_thresholds
    from construct.llm.providers import choose_models
    from construct.mcp.http import HOST, http_app, listening, read_token
    from construct.mcp.http import serve as answer_requests
    from construct.operations.learning import compact
    from construct.store.database import make_folder
    from construct.talk.companion import Companion

    env = environment(context)
    with env.reading():
        pass  # an unreadable database is reported now, not at the first request

    @contextmanager
    def open_context() -> Iterator["Context"]:
        with env.reading() as ctx:
            yield with_model_thresholds(ctx)

    async def compact_one(conversation_id: int) -> None:
        companion = Companion(env.settings, choose_models(env.settings))
        try:
            await compact(companion, conversation_id)
        finally:
            await companion.close()

    token_file = env.settings.config_dir / "token"
    try:
        make_folder(token_file.parent)
        token = read_token(token_file)
    except OSError as error:
        raise ConstructError(
            f"The token cannot be stored in {token_file}: {error.strerror or error}.\n"
            "Check the folder and its permissions."
        ) from error
    with listening(port) as server_socket:
        port = server_socket.getsockname()[1]
        say(f"Serving on http://{HOST}:{port}. The token is in {token_file}.")
        sys.stdout.flush()
        answer_requests(server_socket, http_app(open_context, compact_one, token, port))


@doors.command(name="doors")
def doors_command(context: typer.Context, as_json: Json = False) -> None:
    """Show which programs read your memory, and when.

    What they asked is not stored.
    """
    from construct.operations.doors import door_calls
    from construct.views.doors import doors_json, doors_view

    env = environment(context)
    with env.reading() as ctx:
        calls = door_calls(ctx)
    print_json(doors_json(calls)) if as_json else show(doors_view(calls, env.settings.clock))


def _require_mcp_extra() -> None:
    if find_spec("mcp") is None:
        raise NotConfiguredError(_missing_extra())


def _missing_extra() -> str:
    from construct.installation import this_installation

    command = this_installation().with_extra("mcp")
    return f"{in_shell('mcp')} and {in_shell('serve')} need the extra `mcp`.\nAdd it: {command}"

"""The command `construct sync`: keep several machines in step."""

import getpass
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from construct.cli.environment import Environment
from construct.cli.options import Json, environment, examples
from construct.cli.streams import print_json, say, standard_input
from construct.errors import UsageError
from construct.program import in_shell

sync = typer.Typer()
_STATUS, _ROTATE, _RETIRE = "status", "rotate", "retire"


@sync.command(
    name="sync",
    epilog=examples(
        "construct sync ~/Dropbox/construct",
        "construct sync ~/Dropbox/construct --key -",
        "construct sync",
        "construct sync status",
        "construct sync retire old-laptop",
    ),
)
def sync_command(
    context: typer.Context,
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="[FOLDER|status|rotate|retire]",
            help="The folder; without it, the one that is remembered.",
            show_default=False,
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="With retire: the machine.", show_default=False),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(
            "--key", metavar="-", help="Join other machines: the key comes on standard input."
        ),
    ] = None,
    persona: Annotated[
        bool, typer.Option("--persona", help="Share the persona too, whichever changed last.")
    ] = False,
    rules: Annotated[
        bool, typer.Option("--rules", help="Share the rules of the memory too.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Exchange memory with your other machines.

    FOLDER is one that something else carries between your machines, such as Syncthing or
    Dropbox. Each machine writes what changed on it there, encrypted, and takes in what the
    others wrote. The first run prints the folder's key, once; another machine joins with
    `--key -`. The folder is remembered: from then on this happens at start and on leaving too.

    `status` shows which machines are in step. `rotate` changes the key. `retire NAME` takes
    over the files of a machine that is gone. A folder with such a name is `./status`.
    """
    files = [word for word, is_wanted in (("persona", persona), ("rules", rules)) if is_wanted]
    body(environment(context), what, name, key, files, as_json=as_json)


def body(
    env: Environment,
    what: str | None,
    name: str | None,
    key: str | None,
    files: Sequence[str],
    *,
    as_json: bool,
) -> None:
    """Do what the arguments say."""
    from construct.operations import sync as operation
    from construct.operations.sync_status import sync_status
    from construct.views.sync import status_json, status_text, synced_json, synced_text

    settings = env.settings
    if name is not None and what != _RETIRE:
        raise UsageError(
            f"Too many arguments: {name}.\nOnly {in_shell('sync retire')} takes a name."
        )
    if what == _STATUS:
        with env.reading() as ctx:
            found = sync_status(ctx)
        print_json(status_json(found)) if as_json else say(status_text(found, settings.clock))
        return
    if what is None or what in (_ROTATE, _RETIRE):
        if settings.sync_folder is None:
            raise UsageError(f"No folder is set.\nName one: {in_shell('sync FOLDER')}")
        place = settings.sync_folder
    else:
        place = Path(what).expanduser().absolute()
    given = _given_key(key)
    with env.context() as ctx:
        if what == _ROTATE:
            done = operation.rotate(ctx, place)
        elif what == _RETIRE:
            if name is None:
                raise UsageError(f"Which machine?\n{in_shell('sync status')} lists them.")
            done = operation.retire(ctx, place, name)
        else:
            done = operation.sync(ctx, place, given, files)
            operation.remember(settings, place)
    print_json(synced_json(done)) if as_json else say(synced_text(done))


def _given_key(key: str | None) -> str | None:
    """Return the key from standard input, if that is where it comes from."""
    if key is None:
        return None
    if key != "-":
        raise UsageError(
            "A key on the command line can be read by others.\nPass --key - and give it on"
            " standard input."
        )
    if sys.stdin.isatty():
        return getpass.getpass("Key of the folder (not shown): ")
    return standard_input() or ""

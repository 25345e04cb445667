"""From arguments to exit status: every expected error is one or two plain lines."""

import os
import sqlite3
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING

from construct.cli.streams import complain, let_go
from construct.errors import ConstructError, ExitStatus, StoppedError

if TYPE_CHECKING:
    from typer import Typer

# What typer says when a command is missing, and when there are too many words.
_TOO_MANY = "Got unexpected extra argument"


def run(arguments: Sequence[str]) -> int:
    """Run the program and return its exit status."""
    _open_streams()
    status = _outcome(arguments)
    if sys.stdout.closed:
        return status
    try:
        sys.stdout.flush()
    except OSError as error:
        if not isinstance(error, BrokenPipeError) and status == ExitStatus.OK:
            complain(
                f"Standard output cannot be written: {error.strerror}.\nMake room, then try again."
            )
        let_go(sys.stdout)
        status = status or ExitStatus.FAILED
    return status


def _open_streams() -> None:
    """Replace closed standard streams, and let no character fail to print."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            stream = open(os.devnull, mode, encoding="utf-8")  # noqa: SIM115, PTH123 - for the whole run
            setattr(sys, name, stream)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")


def _outcome(arguments: Sequence[str]) -> int:
    try:
        return _dispatch(arguments)
    except ConstructError as error:
        return _fail(str(error), error.status)
    except StoppedError as error:
        return error.status
    except KeyboardInterrupt:
        return ExitStatus.INTERRUPTED
    except BrokenPipeError:  # nobody reads our output any more, so there is nothing to say
        let_go(sys.stdout)
        return ExitStatus.FAILED
    except sqlite3.Error as error:
        from construct.store.faults import explain

        explained = explain(error, "")
        return _fail(str(explained), explained.status)
    except OSError as error:
        is_named = isinstance(error.filename, str | bytes)
        what = f"{os.fsdecode(error.filename)} failed" if is_named else "Writing failed"
        return _fail(
            f"{what}: {error.strerror or error}.\nCheck it and the disk, then try again.",
            ExitStatus.FAILED,
        )
    except Exception as error:  # noqa: BLE001 - the last resort: a traceback is a defect whatever the input
        return _unexpected(error)


def _dispatch(arguments: Sequence[str]) -> int:
    # The way people start it every day: without the cost of importing typer. A shell
    # that completes gives no arguments either.
    if not arguments and "_CONSTRUCT_COMPLETE" not in os.environ:
        from construct.cli.chat import chat
        from construct.cli.environment import Environment

        return chat(Environment())
    match [*arguments]:  # in every new shell
        case ["brief"] | ["--db", _, "brief"]:
            from construct.cli.brief import brief

            return brief(Path(arguments[1]) if len(arguments) > 1 else None)
    from construct.cli.app import app

    return _with_typer(app, arguments)


def _with_typer(app: "Typer", arguments: Sequence[str]) -> int:
    from typer import Abort, TyperException

    from construct.text import one_line

    try:
        status = app(args=list(arguments), prog_name="construct", standalone_mode=False)
    except TyperException as error:
        path = _addressed(app, arguments)
        message = error.format_message()
        if message.startswith(_TOO_MANY):
            message += ". Put the text in quotes."
        return _fail(f"{one_line(message)}\n`{path} --help` lists the options.", ExitStatus.USAGE)
    except Abort:
        return ExitStatus.INTERRUPTED
    return int(status or 0)


def _addressed(app: "Typer", arguments: Sequence[str]) -> str:
    """Return the command that these arguments call.

    Not every error of typer's knows.
    """
    from typer.main import get_command

    path, below = "construct", getattr(get_command(app), "commands", {})
    for word in arguments:
        if word in below:
            path, below = f"{path} {word}", getattr(below[word], "commands", {})
    return path


def _fail(message: str, status: ExitStatus) -> int:
    complain(message)
    return status


def _unexpected(error: Exception) -> int:
    import logging
    import traceback

    name = type(error).__name__
    # Without the message, which may hold words of the talk.
    frames = "".join(traceback.format_tb(error.__traceback__))
    logging.getLogger("construct").error("unexpected %s\n%s", name, frames)
    return _fail(
        f"Something in Construct went wrong ({name}: {str(error)[:200]}).\n"
        "Nothing stored is lost. Please report it; `--log-file PATH` before the command "
        "keeps the details.",
        ExitStatus.FAILED,
    )

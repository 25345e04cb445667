"""Run a command, and turn any error into a plain message and an exit status."""

import os
import sys
from collections.abc import Mapping, Sequence
from copy import copy
from io import FileIO, TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any

from construct.cli.streams import complain, discard
from construct.errors import ConstructError, ExitStatus, StoppedError
from construct.pipes import waiting_stream
from construct.program import program_name
from construct.store.driver import errors

if TYPE_CHECKING:
    from typer import Typer

_TOO_MANY_ARGUMENTS = "Got unexpected extra argument"
"""How typer's message begins."""
_TEXT_IN_QUOTES = " Text of several words must be in quotes."
_ADVICE = dict.fromkeys(("TEXT", "TITLE", "NAME"), _TEXT_IN_QUOTES)
"""What is said after "Too many arguments", by an argument that the command takes."""
_NO_SUCH_OPTION = "No such option: "
_NO_SUCH_COMMAND = "No such command "
_BEFORE_THE_COMMAND = {"--db", "--log-file"}
"""Options of `construct` itself."""


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
                f"Cannot write to standard output: {error.strerror}.\n"
                "Free some space, then try again."
            )
        discard(sys.stdout)
        status = status or ExitStatus.FAILED
    return status


def _open_streams() -> None:
    """Replace closed standard streams, and let the others wait for readers and writers.

    Output prints `?` for characters that cannot be encoded.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            stream = open(os.devnull, mode, encoding="utf-8")  # noqa: SIM115, PTH123 - stays open
            setattr(sys, name, stream)
        elif isinstance(getattr(getattr(stream, "buffer", None), "raw", None), FileIO):
            setattr(sys, name, waiting_stream(stream, mode))
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
    except BrokenPipeError:  # nobody reads the output any more
        discard(sys.stdout)
        return ExitStatus.FAILED
    except errors() as error:
        from construct.store.faults import explain

        explained = explain(error, "file")  # which one is not known here
        return _fail(str(explained), explained.status)
    except OSError as error:
        where, what_to_check = "Writing failed", "the disk"
        if isinstance(error.filename, str | bytes):
            where = f"Cannot read or write {os.fsdecode(error.filename)}"
            what_to_check = "the permissions of its folder, and the disk"
        reason = error.strerror or error
        return _fail(
            f"{where}: {reason}.\nCheck {what_to_check}. Then try again.", ExitStatus.FAILED
        )
    except Exception as error:  # noqa: BLE001 - the last resort: users never see a traceback
        return _unexpected(error)


def _dispatch(arguments: Sequence[str]) -> int:
    # The commands that run most often do without typer, whose import is slow. A shell
    # asks typer for completions through a variable, without arguments.
    if not arguments and "_CONSTRUCT_COMPLETE" not in os.environ:
        from construct.cli.chat import chat
        from construct.cli.environment import Environment

        return chat(Environment())
    match [*arguments]:
        case ["brief"] | ["--db", _, "brief"]:
            from construct.cli.brief import brief

            return brief(Path(arguments[1]) if len(arguments) > 1 else None)
        case ["remind"] | ["--db", _, "remind"]:
            from construct.cli.remind import remind

            return remind(Path(arguments[1]) if len(arguments) > 1 else None)
    from construct.cli.app import app

    return _with_typer(app, arguments)


def _with_typer(app: "Typer", arguments: Sequence[str]) -> int:
    from typer import Abort, TyperException

    from construct.text import one_line

    words = arguments[2:] if arguments[:1] == ["--db"] else arguments
    small_app = _with_one_command(app, words)
    try:
        status = small_app(args=list(arguments), prog_name=program_name(), standalone_mode=False)
    except TyperException as error:
        path, command = _called_command(app, arguments)
        message = error.format_message()
        if message.startswith(_TOO_MANY_ARGUMENTS):
            extra = message.removeprefix(_TOO_MANY_ARGUMENTS).removeprefix("(s)").strip()
            message = f"Too many arguments: {extra[1:-1]}."
            names = {p.metavar for p in command.params if p.param_type_name == "argument"}
            message += next((_ADVICE[name] for name in names if name in _ADVICE), "")
        if wrong_order := _option_order(message, path, _options(command)):
            return _fail(one_line(wrong_order), ExitStatus.USAGE)
        listed = "arguments and options"
        if message.startswith(_NO_SUCH_OPTION):
            listed = "options"
        elif message.startswith(_NO_SUCH_COMMAND):
            listed = "commands"
            message = _in_a_group(app, message) or message
        return _fail(f"{one_line(message)}\n`{path} --help` lists the {listed}.", ExitStatus.USAGE)
    except Abort:
        return ExitStatus.INTERRUPTED
    return int(status or 0)


def _with_one_command(app: "Typer", words: Sequence[str]) -> "Typer":
    """Return a copy of the app that has only the command which `words` call.

    It saves typer from building a parser for every command. If the first word names no
    command, or one of a group without a name, return the whole app.
    """
    name, small_app = next(iter(words), ""), copy(app)
    small_app.registered_commands = [
        command
        for command in app.registered_commands
        if name == (command.name or getattr(command.callback, "__name__", ""))
    ]
    small_app.registered_groups = []
    for group in app.registered_groups:
        group_app = group.typer_instance
        if group.name == name and group_app is not None:
            small_group = copy(group)
            small_group.typer_instance = _with_one_command(group_app, words[1:])
            small_app.registered_groups = [small_group]
    has_command = small_app.registered_commands or small_app.registered_groups
    return small_app if has_command else app


def _option_order(message: str, path: str, options: Mapping[str, str]) -> str | None:
    """Return what is wrong if an unknown option is only on the wrong side of the command."""
    name = path.removeprefix(program_name()).strip()
    option = message.removeprefix(_NO_SUCH_OPTION).partition(" ")[0]
    if not name or not message.startswith(_NO_SUCH_OPTION):
        return None
    if option in _BEFORE_THE_COMMAND:
        return f"{option} goes before the command: {program_name()} {option} PATH {name}"
    if option in options:  # the command has it, so it was typed before the command
        return f"{option} goes after the command: {path} {options[option]}"
    return None


def _in_a_group(app: "Typer", message: str) -> str | None:
    """Return the message for a word that is only a command of a group, such as `graph`."""
    from typer.main import get_command

    word = message.removeprefix(_NO_SUCH_COMMAND).split("'")[1]
    for name, group in getattr(get_command(app), "commands", {}).items():
        if word in getattr(group, "commands", {}):
            return f"No such command '{word}'. Did you mean '{program_name()} {name} {word}'?"
    return None


def _called_command(app: "Typer", arguments: Sequence[str]) -> tuple[str, Any]:
    """Return the full name of the command that the arguments call, and typer's command.

    Not all of typer's errors name the command.
    """
    from typer.main import get_command

    path, command = program_name(), get_command(app)
    for word in arguments:
        subcommands = getattr(command, "commands", {})
        if word in subcommands:
            path, command = f"{path} {word}", subcommands[word]
    return path, command


def _options(command: Any) -> dict[str, str]:
    """Return a command's options, each with its usage, such as "--model M"."""
    options: dict[str, str] = {}
    for parameter in command.params:
        value = "" if getattr(parameter, "is_flag", False) else f" {parameter.metavar}"
        options |= {option: option + value for option in parameter.opts}
    return options


def _fail(message: str, status: ExitStatus) -> int:
    complain(message)
    return status


def _unexpected(error: Exception) -> int:
    import traceback

    from construct.log import logger

    name = type(error).__name__
    # Without the error's message, which may quote what the user said.
    frames = "".join(traceback.format_tb(error.__traceback__))
    logger("cli").error("unexpected %s\n%s", name, frames)
    return _fail(
        f"Something in Construct went wrong ({name}: {str(error)[:200]}).\n"
        "Nothing stored is lost. Please report it; `--log-file PATH` before the command "
        "keeps the details.",
        ExitStatus.FAILED,
    )

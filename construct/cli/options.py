"""Options and arguments that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

from construct.cli.completing import conversation_ids
from construct.cli.environment import Environment
from construct.config import model_name
from construct.errors import UsageError

_LARGEST = 2**63 - 1


def in_range(number: int | None) -> int | None:
    """Return a number as SQLite can hold it: what is beyond names nothing anyway."""
    return None if number is None else max(-_LARGEST, min(number, _LARGEST))


def examples(*lines: str) -> str:
    """Return the end of a help text: commands to try, each on a line of its own."""
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])


def _model(name: str | None) -> str | None:
    try:
        return None if name is None else model_name(name)
    except ValueError as error:
        raise UsageError(f"--model {name!r}: {error}.\n`construct doctor` says which one serves.") from error


Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
ConversationOption = Annotated[
    int | None,
    typer.Option(
        "--conversation",
        metavar="ID",
        help="Talk in this conversation; `construct conversations list` shows the ids.",
        callback=in_range,
        autocompletion=conversation_ids,
    ),
]
NewOption = Annotated[bool, typer.Option("--new", help="Begin a new conversation.")]
ModelOption = Annotated[
    str | None,
    typer.Option("--model", metavar="M", help="Have this model answer, in this run only.", callback=_model),
]
Output = Annotated[
    Path | None, typer.Option("-o", "--output", metavar="FILE", help="Where to; `-` is standard output.")
]
Force = Annotated[bool, typer.Option("--force", help="Replace an existing file even if Construct did not write it.")]


def environment(context: typer.Context) -> Environment:
    """Return what the global options said."""
    found = context.find_object(Environment)
    assert found is not None
    return found

"""Options that several commands share, and their shell completion."""

import re
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from construct.cli.environment import Environment
from construct.errors import ConstructError, UsageError
from construct.load_settings import load_settings
from construct.program import in_shell, program_name
from construct.setting_values import model_name
from construct.store.conversations import list_conversations
from construct.store.database import open_database
from construct.store.driver import Connection, errors
from construct.store.observations import unsuperseded
from construct.text import shorten

Completions = list[tuple[str, str]]
"""Ids, each with a description."""

_MAX_OFFERED = 50
_DESCRIPTION_LENGTH = 60
_UNSAFE = re.compile(r"[^\w ,.?’-]+")
_MAX_SQLITE_INTEGER = 2**63 - 1


def in_range(number: int | None) -> int | None:
    """Clamp a number to what SQLite can hold. No id is larger than that."""
    return None if number is None else max(-_MAX_SQLITE_INTEGER, min(number, _MAX_SQLITE_INTEGER))


def examples(*lines: str) -> str:
    """Return the end of a help text: example commands, one per line."""
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])


def _model(name: str | None) -> str | None:
    try:
        return None if name is None else model_name(name)
    except ValueError as error:
        raise UsageError(
            f"--model {name!r}: {error}.\n{in_shell('doctor')} names the model in use."
        ) from error


def conversation_ids(context: typer.Context, incomplete: str) -> Completions:
    """Return the conversations whose id starts with `incomplete`, latest first."""

    def find(db: Connection) -> Completions:
        return [(str(c.conversation.id), c.name) for c in list_conversations(db)]

    return _completions(context, incomplete, find)


def observation_ids(context: typer.Context, incomplete: str) -> Completions:
    """Return the observations whose id starts with `incomplete`, newest first."""

    def find(db: Connection) -> Completions:
        return [(str(o.id), o.content) for o in reversed(unsuperseded(db))]

    return _completions(context, incomplete, find)


def _completions(
    context: typer.Context, incomplete: str, find: Callable[[Connection], Completions]
) -> Completions:
    db_option = context.find_root().params.get("db")
    try:
        path = load_settings(db=Path(db_option) if db_option else None).db
        if not path.exists():
            return []
        with closing(open_database(path)) as db:
            matches = [(id_, text) for id_, text in find(db) if id_.startswith(incomplete)]
    except errors(ConstructError, OSError):
        return []
    return [(id_, _harmless(text)) for id_, text in matches[:_MAX_OFFERED]]


def _harmless(text: str) -> str:
    """Return a text shortened, without characters that the shell would interpret."""
    short = shorten(text, _DESCRIPTION_LENGTH).replace("'", "’")
    return " ".join(_UNSAFE.sub(" ", short).split())


Yes = Annotated[bool, typer.Option("--yes", help="Do not ask first.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
ConversationOption = Annotated[
    int | None,
    typer.Option(
        "--conversation",
        metavar="ID",
        help="Talk in this conversation; `construct conversations list` shows ids.",
        callback=in_range,
        autocompletion=conversation_ids,
    ),
]
NewOption = Annotated[bool, typer.Option("--new", help="Begin a new conversation.")]
ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="M",
        help="Reply with this model, in this run only; memory work keeps its own.",
        callback=_model,
    ),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="The file to write. Without it, or with `-`: standard output.",
    ),
]
Force = Annotated[
    bool,
    typer.Option("--force", help="Replace an existing file even if Construct did not write it."),
]


def refuse_json_before(context: typer.Context, as_json: bool) -> None:
    """Raise UsageError if `--json` stands before the name of a subcommand."""
    if as_json:
        raise UsageError(
            f"--json goes after the command: {program_name()} {context.info_name}"
            f" {context.invoked_subcommand} --json"
        )


def environment(context: typer.Context) -> Environment:
    """Return the environment that the global options describe."""
    env = context.find_object(Environment)
    assert env is not None
    return env

"""Options that several commands share, and what a shell offers for them on TAB."""

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from construct.cli.environment import Environment
from construct.config import load_settings, model_name
from construct.errors import ConstructError, UsageError
from construct.store import observations as rows
from construct.store.conversations import list_conversations
from construct.store.database import open_database
from construct.text import shorten

Offers = list[tuple[str, str]]

_MOST_OFFERED = 50
_WIDTH = 60
_UNSAFE = re.compile(r"[^\w ,.?’-]+")
_LARGEST = 2**63 - 1


def in_range(number: int | None) -> int | None:
    """Return a number that SQLite can hold. Ids beyond that name nothing anyway."""
    return None if number is None else max(-_LARGEST, min(number, _LARGEST))


def examples(*lines: str) -> str:
    """Return the end of a help text: commands to try, one a line."""
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])


def _model(name: str | None) -> str | None:
    try:
        return None if name is None else model_name(name)
    except ValueError as error:
        raise UsageError(
            f"--model {name!r}: {error}.\n`construct doctor` names the model in use."
        ) from error


def conversation_ids(context: typer.Context, incomplete: str) -> Offers:
    """Return the conversations whose number begins so, the one last talked in first."""

    def find(db: sqlite3.Connection) -> Offers:
        return [(str(c.conversation.id), c.name) for c in list_conversations(db)]

    return _offered(context, incomplete, find)


def observation_ids(context: typer.Context, incomplete: str) -> Offers:
    """Return the observations whose number begins so, the newest first."""

    def find(db: sqlite3.Connection) -> Offers:
        return [(str(o.id), o.content) for o in reversed(rows.unsuperseded(db))]

    return _offered(context, incomplete, find)


def _offered(
    context: typer.Context, incomplete: str, find: Callable[[sqlite3.Connection], Offers]
) -> Offers:
    named = context.find_root().params.get("db")
    try:
        path = load_settings(db=Path(named) if named else None).db
        if not path.exists():
            return []
        with closing(open_database(path)) as db:
            found = [(i, _plain(text)) for i, text in find(db) if i.startswith(incomplete)]
    except (ConstructError, sqlite3.Error, OSError):
        return []
    return found[:_MOST_OFFERED]


def _plain(text: str) -> str:
    """Return a text as words that mean nothing to a shell, which evaluates them."""
    return " ".join(_UNSAFE.sub(" ", shorten(text, _WIDTH).replace("'", "’")).split())


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
    typer.Option("--model", metavar="M", help="Use this model, in this run only.", callback=_model),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "-o", "--output", metavar="FILE", help="The file to write; `-` is standard output."
    ),
]
Force = Annotated[
    bool,
    typer.Option("--force", help="Replace an existing file even if Construct did not write it."),
]


def refuse_json_before(context: typer.Context, as_json: bool) -> None:
    """Raise UsageError for a `--json` that stands before the name of a command."""
    if as_json:
        raise UsageError(
            f"--json goes behind the command: construct {context.info_name}"
            f" {context.invoked_subcommand} --json"
        )


def environment(context: typer.Context) -> Environment:
    """Return the environment that the global options describe."""
    found = context.find_object(Environment)
    assert found is not None
    return found

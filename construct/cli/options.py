"""Options and arguments that several commands share."""

from typing import Annotated

import typer

from construct.cli.environment import Environment

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
ConversationOption = Annotated[
    int | None, typer.Option("--conversation", metavar="ID", help="Talk in this conversation.")
]
NewOption = Annotated[bool, typer.Option("--new", help="Begin a new conversation.")]
ModelOption = Annotated[str | None, typer.Option("--model", metavar="M", help="The main model for this run.")]


def environment(context: typer.Context) -> Environment:
    """Return what the global options said."""
    found = context.find_object(Environment)
    assert found is not None
    return found

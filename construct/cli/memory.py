"""`construct memory …`: look into memory and correct it."""

from typing import Annotated

import typer

from construct.cli.options import Json, environment, in_range
from construct.cli.references import parse_reference

memory = typer.Typer(help="Look into memory and correct it.", rich_markup_mode=None)

Id = Annotated[str, typer.Argument(metavar="ID", help="An observation's number, message:N or memory:N.")]
AsOf = Annotated[str | None, typer.Option("--as-of", metavar="DATE", help="What was believed then.")]
All = Annotated[bool, typer.Option("--all", help="Superseded ones too.")]
Limit = Annotated[int, typer.Option("--limit", min=1, metavar="N", help="At most so many.", callback=in_range)]


@memory.command("list")
def list_memory(
    context: typer.Context, as_of: AsOf = None, include_all: All = False, limit: Limit = 1000, as_json: Json = False
) -> None:
    """List what is remembered, by day."""
    from construct.cli import looking

    looking.list_memory(environment(context), as_of, include_all, limit, as_json)


@memory.command(context_settings={"ignore_unknown_options": True})  # a word may begin with a dash
def search(
    context: typer.Context,
    query: Annotated[list[str], typer.Argument(help="Words to look for, in any form.")],
    as_of: AsOf = None,
    include_all: All = False,
    limit: Limit = 20,
    as_json: Json = False,
) -> None:
    """Search messages, observations and memories; best first."""
    from construct.cli import looking

    looking.search_memory(environment(context), " ".join(query), as_of, include_all, limit, as_json)


@memory.command()
def show(context: typer.Context, reference: Id, as_json: Json = False) -> None:
    """Show one observation, message or memory."""
    from construct.cli import looking

    looking.show(environment(context), parse_reference(reference), as_json)


@memory.command()
def why(
    context: typer.Context,
    reference: Annotated[
        str,
        typer.Argument(metavar="ID", help="An observation's number, message:N, memory:N, or `last`: the last reply."),
    ],
    as_json: Json = False,
) -> None:
    """Show where it comes from, down to the exact messages; what of memory the last reply was given."""
    from construct.cli import looking

    if reference == "last":
        looking.why_last(environment(context), as_json)
        return
    looking.why(environment(context), parse_reference(reference), as_json)


@memory.command()
def forget(
    context: typer.Context,
    reference: Id,
    words: Annotated[bool, typer.Option("--words", help="Also the words in the messages it comes from.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: Json = False,
) -> None:
    """Delete it and all that rests on it, for good."""
    from construct.cli import correcting

    correcting.forget(environment(context), parse_reference(reference), words=words, yes=yes, as_json=as_json)


@memory.command()
def edit(
    context: typer.Context,
    reference: Id,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="How it should read.")],
    as_json: Json = False,
) -> None:
    """Say it right; no later cycle may overrule it."""
    from construct.cli import correcting

    correcting.edit(environment(context), parse_reference(reference), text, as_json)


@memory.command()
def pin(
    context: typer.Context,
    reference: Id,
    off: Annotated[bool, typer.Option("--off", help="Take the pin away.")] = False,
    as_json: Json = False,
) -> None:
    """Keep it as it is, and first in the budget."""
    from construct.cli import correcting

    correcting.pin(environment(context), parse_reference(reference), off=off, as_json=as_json)


@memory.command()
def add(
    context: typer.Context,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to keep, in one sentence.")],
    category: Annotated[str | None, typer.Option("--category", metavar="WORD", help="Such as person or plan.")] = None,
    as_json: Json = False,
) -> None:
    """Keep something for good, by itself."""
    from construct.cli import correcting

    correcting.add(environment(context), text, category, as_json)


@memory.command()
def diff(
    context: typer.Context,
    since: Annotated[str, typer.Argument(metavar="[FROM]", help="A date, or 7d, 2w, yesterday.")] = "7d",
    until: Annotated[str | None, typer.Argument(metavar="[TO]", help="A date; now when missing.")] = None,
    as_json: Json = False,
) -> None:
    """Show what was learned, what changed and what is gone."""
    from construct.cli import looking

    looking.diff(environment(context), since, until, as_json)

"""`construct memory …`: look into memory and correct it."""

from typing import Annotated

import typer

from construct.cli.completing import observation_ids
from construct.cli.options import Json, environment, examples, in_range
from construct.references import parse_reference

memory = typer.Typer(help="Look into memory and correct it.", rich_markup_mode=None)

Id = Annotated[
    str,
    typer.Argument(
        metavar="ID", help="An observation's number, message:N or memory:N.", autocompletion=observation_ids
    ),
]
AsOf = Annotated[
    str | None,
    typer.Option("--as-of", metavar="DATE", help="As it was then: a date, a time, 7d, 2w, yesterday."),
]
All = Annotated[bool, typer.Option("--all", help="Also what newer observations have replaced.")]
Limit = Annotated[int, typer.Option("--limit", min=1, metavar="N", help="At most so many.", callback=in_range)]


@memory.command(
    "list",
    epilog=examples("construct memory list --limit 20", "construct memory list --as-of 2026-03-01"),
)
def list_memory(
    context: typer.Context,
    wanted: Annotated[
        list[str] | None, typer.Argument(metavar="[FILTER]", help="Such as: high planned since 2026-03 dentist.")
    ] = None,
    as_of: AsOf = None,
    include_all: All = False,
    limit: Limit = 1000,
    as_json: Json = False,
) -> None:
    """List what is remembered, by day.

    `!` matters much, `-` some, `~` little. The number is what `why`, `edit`, `pin` and `forget` take.

    FILTER: a priority (high, medium, low), a stance (stated, asked, planned, hypothetical, inferred, assistant,
    quoted), pending, pinned, unknown (outcome), reflections, yours, since|until|on DAY, or any other words.
    """
    from construct.cli import looking

    view = looking.View(" ".join(wanted or ()), as_of, include_all, limit)
    looking.list_memory(environment(context), view, as_json)


@memory.command()
def timeline(context: typer.Context, as_json: Json = False) -> None:
    """Show what was learned week by week, and what was superseded."""
    from construct.cli import looking

    looking.timeline(environment(context), as_json)


@memory.command(
    context_settings={"ignore_unknown_options": True},  # a word may begin with a dash
    epilog=examples('construct memory search "dentist"', "construct memory search Porto flat --as-of 2w --by user"),
)
def search(
    context: typer.Context,
    query: Annotated[list[str], typer.Argument(metavar="QUERY", help="Words to look for, in any form.")],
    as_of: AsOf = None,
    include_all: All = False,
    limit: Limit = 20,
    by: Annotated[
        str | None, typer.Option("--by", metavar="user|assistant", help="Only what you said, or only the replies.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Search all that was ever said or noted, best first."""
    from construct.cli import looking

    looking.search_memory(environment(context), " ".join(query), as_of, include_all, limit, by, as_json)


@memory.command(epilog=examples("construct memory show 42", "construct memory show message:7"))
def show(context: typer.Context, reference: Id, as_json: Json = False) -> None:
    """Show one observation, message or memory."""
    from construct.cli import looking

    looking.show(environment(context), parse_reference(reference), as_json)


@memory.command(epilog=examples("construct memory why 42", "construct memory why last"))
def why(
    context: typer.Context,
    reference: Id,
    as_json: Json = False,
) -> None:
    """Show where it comes from, down to the words that were said.

    The tree goes through every generation of condensing; below it stands what became of it. `why last` shows what of
    memory the last reply was given.
    """
    from construct.cli import looking

    if reference == "last":
        looking.why_last(environment(context), as_json)
        return
    looking.why(environment(context), parse_reference(reference), as_json)


@memory.command(epilog=examples("construct memory forget 42", "construct memory forget message:7 --words"))
def forget(
    context: typer.Context,
    reference: Id,
    words: Annotated[bool, typer.Option("--words", help="Also empty the messages, and the replies to them.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask first.")] = False,
    as_json: Json = False,
) -> None:
    """Delete it for good, with all that rests on it.

    A message goes with all that was drawn from it. It says first what goes, and asks. Not a byte of it stays in the
    file, and the same messages are not observed again. Without --words the messages themselves are kept, out of
    recall and out of the context.
    """
    from construct.cli import correcting

    correcting.forget(environment(context), parse_reference(reference), words=words, yes=yes, as_json=as_json)


@memory.command(epilog=examples('construct memory edit 42 "Ana\'s cat is called Mila"'))
def edit(
    context: typer.Context,
    reference: Id,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="How it should read.")],
    as_json: Json = False,
) -> None:
    """Say it right, in your own words.

    Your words take the old ones' place, and no later cycle overrules them. `construct undo` takes an edit back.
    """
    from construct.cli import correcting

    correcting.edit(environment(context), parse_reference(reference), text, as_json)


@memory.command(epilog=examples("construct memory pin 42", "construct memory pin 42 --off"))
def pin(
    context: typer.Context,
    reference: Id,
    off: Annotated[bool, typer.Option("--off", help="Take the pin away.")] = False,
    as_json: Json = False,
) -> None:
    """Keep it word for word, and always in sight of the model."""
    from construct.cli import correcting

    correcting.pin(environment(context), parse_reference(reference), off=off, as_json=as_json)


@memory.command(epilog=examples('construct memory add "The spare key is with Rui" --category place'))
def add(
    context: typer.Context,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to keep, in one sentence.")],
    category: Annotated[
        str | None,
        typer.Option(
            "--category", metavar="WORD", help="person, place, health, work, preference, plan, or a word of yours."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Keep one thing for good, in your own words."""
    from construct.cli import correcting

    correcting.add(environment(context), text, category, as_json)


@memory.command(epilog=examples("construct memory diff", "construct memory diff 2026-03-01 yesterday"))
def diff(
    context: typer.Context,
    since: Annotated[str, typer.Argument(metavar="FROM", help="A date, or 7d, 2w, yesterday.")] = "7d",
    until: Annotated[str | None, typer.Argument(metavar="TO", help="A date; now when missing.")] = None,
    as_json: Json = False,
) -> None:
    """Show what was learned, what changed and what is gone.

    Between FROM, a week ago when missing, and TO, now when missing.
    """
    from construct.cli import looking

    looking.diff(environment(context), since, until, as_json)

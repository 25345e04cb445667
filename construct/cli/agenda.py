"""The commands `construct agenda …`."""

import sys
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from construct.cli.memory import ChangeableId
from construct.cli.options import Json, environment, examples, refuse_json_before
from construct.cli.streams import print_json, show
from construct.errors import UsageError
from construct.references import parse_reference
from construct.vocabulary import Settled

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import date

    from rich.console import RenderableType

    from construct.operations.agenda import Settlement
    from construct.operations.context import Context

agenda = typer.Typer(rich_markup_mode=None)


@agenda.callback(
    invoke_without_command=True,
    epilog=examples(
        "construct agenda",
        "construct agenda --ics > ~/agenda.ics   for your calendar",
        "construct agenda moved 12 friday 18:30",
    ),
)
def bare(
    context: typer.Context,
    as_json: Json = False,
    as_calendar: Annotated[
        bool, typer.Option("--ics", help="Print a calendar file (iCalendar).")
    ] = False,
    everything: Annotated[
        bool,
        typer.Option("--all", help="Include plans without a day, and those long past it."),
    ] = False,
) -> None:
    """Show what is ahead, and plans whose outcome is unknown.

    Today comes first; plans whose day has passed and whose outcome is unknown come last.
    With --json, all are sorted by date.

    `done`, `moved` and `cancelled` take an item's number. Of what comes again they settle
    the next day; with --series all of them. If you
    import the output of --ics again, the calendar updates its events; a calendar that
    subscribes to the file also removes those that are gone.
    """
    if context.invoked_subcommand is not None:
        refuse_json_before(context, as_json)
        if as_calendar:
            raise UsageError(f"--ics cannot be used with {context.invoked_subcommand}.")
        return
    if as_json and as_calendar:
        raise UsageError("Pass --json or --ics, not both.")
    from construct.operations.agenda import agenda as operation
    from construct.operations.agenda import calendar
    from construct.views.agenda import agenda_calendar, agenda_json, agenda_view

    with environment(context).reading() as ctx:
        shown = operation(ctx) if everything else operation(ctx).shortened()
        if as_calendar:
            _write_bytes(agenda_calendar(calendar(ctx, shown.items)))
            return
    if as_json:
        print_json(agenda_json(shown))
        return
    show(agenda_view(shown))


Series = Annotated[
    bool, typer.Option("--series", help="Of what comes again: all of it, not only the next day.")
]


@agenda.command(epilog=examples("construct agenda done 12"))
def done(
    context: typer.Context,
    reference: ChangeableId,
    as_json: Json = False,
    series: Series = False,
) -> None:
    """Mark an item as done. `construct undo` takes it back."""
    _settle(context, reference, Settled.DONE, as_json, series)


@agenda.command(epilog=examples("construct agenda cancelled 12"))
def cancelled(
    context: typer.Context,
    reference: ChangeableId,
    as_json: Json = False,
    series: Series = False,
) -> None:
    """Mark an item as cancelled. `construct undo` takes it back."""
    _settle(context, reference, Settled.CANCELLED, as_json, series)


@agenda.command(
    epilog=examples(
        "construct agenda moved 12 2026-03-05", "construct agenda moved 12 friday 18:30"
    )
)
def moved(
    context: typer.Context,
    reference: ChangeableId,
    day: Annotated[
        list[str],
        typer.Argument(
            metavar="DATE [TIME]", help="A day, a month (2026-03) or a year; a time of day."
        ),
    ],
    as_json: Json = False,
    series: Series = False,
) -> None:
    """Move an item to another day. `construct undo` takes it back."""
    from construct.operations.agenda import move
    from construct.views.memory import moved_view

    def change(ctx: "Context") -> "Settlement":
        return move(ctx, parse_reference(reference), " ".join(day), whole_series=series)

    _change(context, change, moved_view, as_json)


def _settle(
    context: typer.Context, reference: str, outcome: Settled, as_json: bool, series: bool
) -> None:
    from construct.operations.agenda import settle
    from construct.views.memory import settled_view

    def change(ctx: "Context") -> "Settlement":
        return settle(ctx, parse_reference(reference), outcome, whole_series=series)

    _change(context, change, partial(settled_view, outcome), as_json)


def _change(
    context: typer.Context,
    change: "Callable[[Context], Settlement]",
    describe: "Callable[[Settlement, date], RenderableType]",
    as_json: bool,
) -> None:
    from construct.views.shapes import note_json

    with environment(context).context() as ctx:
        settlement = change(ctx)
        clock = ctx.clock
    if as_json:
        print_json(note_json(settlement.observation))
    else:
        show(describe(settlement, clock.today()))


def _write_bytes(content: bytes) -> None:
    sys.stdout.flush()
    binary = getattr(sys.stdout, "buffer", None)
    if binary is None:  # standard output was replaced by a text stream
        sys.stdout.write(content.decode())
    else:
        binary.write(content)

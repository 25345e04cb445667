"""The commands `construct remind …`, except the bare one, which starts without typer."""

from typing import Annotated

import typer

from construct.cli.options import Json, environment, examples, refuse_json_before
from construct.cli.streams import print_json, show

remind = typer.Typer(rich_markup_mode=None)


@remind.callback(
    invoke_without_command=True,
    epilog=examples("construct remind", "construct remind --list", "construct remind install"),
)
def bare(
    context: typer.Context,
    list_all: Annotated[
        bool, typer.Option("--list", help="Show what is due and what is to come; deliver nothing.")
    ] = False,
    as_json: Json = False,
) -> int:
    """Deliver the reminders that are due, each once.

    You are reminded when you asked to be; else an hour before what has a time of day, and in
    the morning of the day of anything else that is important (`!`). What was missed while the
    machine was off comes up to a day late, and says so.

    With `construct remind install` the system runs this every five minutes.
    """
    if context.invoked_subcommand is not None:
        refuse_json_before(context, as_json)
        return 0
    from construct.cli.remind import deliver_due
    from construct.cli.remind import remind as body
    from construct.operations.reminders import listed
    from construct.views.reminders import reminder_json, reminders_json, reminders_view

    settings = environment(context).settings
    if list_all:
        found = listed(settings)
        if as_json:
            print_json(reminders_json(found))
        else:
            show(reminders_view(found, settings.clock))
        return 0
    if not as_json:
        return body(environment(context).db)
    delivered: list[dict[str, object]] = []
    status = deliver_due(settings, lambda r: delivered.append(reminder_json(r, "delivered")))
    print_json(delivered)
    return status


@remind.command(epilog=examples("construct remind install"))
def install(context: typer.Context) -> None:
    """Let the system deliver reminders every five minutes.

    A systemd user timer, a launchd agent or a scheduled task runs `construct remind`. What is
    due goes to a chat at which you typed in the last ten minutes, else to the desktop, or to
    the address in CONSTRUCT_NOTIFY. Put that into `config.env`: the system does not know your
    shell's variables.
    """
    from construct.operations.schedule import install as operation
    from construct.views.reminders import installed_text

    settings = environment(context).settings
    print(installed_text(operation(settings), settings))


@remind.command(epilog=examples("construct remind uninstall"))
def uninstall(context: typer.Context) -> None:
    """Remove what `construct remind install` wrote."""
    from construct.operations.schedule import uninstall as operation
    from construct.views.reminders import uninstalled_text

    print(uninstalled_text(operation(environment(context).settings)))

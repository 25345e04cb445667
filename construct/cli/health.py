"""The commands `construct usage`, `doctor` and `reindex`."""

import sys

import typer

from construct.cli.options import Json, environment
from construct.cli.progress import complete_index, interruptible, progress_bar, working
from construct.cli.streams import print_json, say, show
from construct.errors import ExitStatus
from construct.program import in_shell

health = typer.Typer()


@health.command()
def usage(context: typer.Context, as_json: Json = False) -> None:
    """Show tokens and money, by purpose, model and day.

    Also shows what the same conversations would have cost without a memory: with only
    the last messages, or with the whole history.
    """
    from construct.operations.cost_report import cost_report
    from construct.views.usage import usage_json, usage_view

    with environment(context).reading() as ctx:
        report = cost_report(ctx)
    print_json(usage_json(report)) if as_json else show(usage_view(report))


@health.command()
def doctor(context: typer.Context, as_json: Json = False) -> int:
    """Check for problems, and say what to do about them.

    Checks the settings, the credentials, the database file and its invariants, and the
    search index, and asks the model for one word. Exits 1 when a check fails.
    """
    import asyncio

    from construct.operations.doctor import check_chosen_models, check_files
    from construct.views.doctor import checks_json, checks_text, checks_view

    env = environment(context)
    with env.database_to_read() as db:
        complete_index(db)
        with working("checking, and asking the model…"):
            checks = check_files(db, env.settings)
            checks += asyncio.run(check_chosen_models(env.settings))
    if as_json:
        print_json(checks_json(checks))
    elif sys.stdout.isatty():
        show(checks_view(checks))
    else:
        say(checks_text(checks))
    return ExitStatus.OK if all(check.ok for check in checks) else ExitStatus.FAILED


@health.command()
def reindex(context: typer.Context, as_json: Json = False) -> None:
    """Make everything searchable.

    Adds the messages of an interrupted import to the search index. With the extra
    `semantic` it also makes missing vectors; after an interruption it continues where
    it stopped. An open chat does both in the background. Only this command replaces the
    vectors of another model (CONSTRUCT_SEMANTIC_MODEL).
    """
    from construct.operations.indexing import reindex as make_searchable
    from construct.views.doctor import reindexed_json, reindexed_lines

    with environment(context).context() as ctx, interruptible(_interrupted):
        entered = complete_index(ctx.db)
        with progress_bar() as advance:
            done = make_searchable(ctx, entered, advance)
    if as_json:
        print_json(reindexed_json(done))
        return
    for line in reindexed_lines(done):
        say(line)


def _interrupted() -> str:
    return f"Stopped. The work so far is kept; run {in_shell('reindex')} to continue."

"""The bodies of `construct status`, `compact`, `observe` and `undo`."""

import asyncio
import os
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, TypeVar

from construct.cli.environment import Environment
from construct.cli.progress import interruptible, progress_bar, waiting
from construct.cli.streams import complain, confirmed, print_json, say, show
from construct.errors import ConstructError, NotConfiguredError, UsageError
from construct.llm.providers import Models, choose_models
from construct.operations import forgetting, learning
from construct.operations import status as operation
from construct.operations.context import Context
from construct.operations.learning import CompactResult
from construct.operations.status import Status
from construct.talk.companion import Companion
from construct.views.words import counted

if TYPE_CHECKING:
    from construct.operations.dry_run import DryRun, DryRunPlan
    from construct.operations.read_again import Difference

T = TypeVar("T")

_UPDATE_SECONDS = 0.5
_INTERRUPTED = "Stopped. What was observed is kept; run the same command to continue."


def status(env: Environment, *, as_json: bool) -> None:
    """Print the memory panel."""
    from construct.views.status import status_json, status_view

    with env.reading() as ctx:
        current = _status(ctx)
        imported = 0 if as_json else operation.count_unobserved(ctx)
    view = status_view(current, imported=imported)
    print_json(status_json(current)) if as_json else show(view)


def watch_status(env: Environment) -> None:
    """Show the memory panel, updated twice a second, until Ctrl-C.

    Without a terminal it is shown once.
    """
    from rich.console import Group
    from rich.live import Live
    from rich.text import Text

    from construct.views.console import to_console
    from construct.views.status import status_view
    from construct.views.themes import theme_on

    if not sys.stdout.isatty():
        status(env, as_json=False)
        return
    with env.context() as ctx:  # makes the file, in case the watched chat has not yet
        imported = operation.count_unobserved(ctx)  # too slow to count at every update
        last_line = Text()  # where the terminal shows the ^C

        def panel() -> Group:
            current = _status(ctx.at_current())
            return Group(status_view(current, imported=imported), last_line)

        theme = theme_on(sys.stdout, env.settings.theme, os.environ)
        live = Live(panel(), console=to_console(sys.stdout, theme), auto_refresh=False)
        with suppress(KeyboardInterrupt), live:
            while True:
                time.sleep(_UPDATE_SECONDS)
                live.update(panel(), refresh=True)


def with_model_thresholds(ctx: Context) -> Context:
    """Return the context with thresholds for the main model, if one is configured."""
    with suppress(NotConfiguredError):
        return ctx.with_models(choose_models(ctx.settings))
    return ctx


def _status(ctx: Context) -> Status:
    return operation.status(with_model_thresholds(ctx))


def compact(env: Environment, *, as_json: bool) -> None:
    """Do the memory work of the conversation the user was last in. Print what changed."""
    from construct.views.learning import compact_json, compact_view

    env.settings.require_learning()
    with env.context() as ctx:
        conversation_id = ctx.conversation_id
    if conversation_id is None:
        choose_models(env.settings)  # raises if the configured one is not available
        print_json(compact_json(None)) if as_json else say("Nothing to compact yet.")
        return
    done = compact_conversation(env, conversation_id)
    print_json(compact_json(done)) if as_json else show(compact_view(done))


def compact_conversation(env: Environment, conversation_id: int) -> CompactResult:
    """Observe a conversation, compact it and run the reflector, now."""

    async def work(companion: Companion) -> CompactResult:
        async with waiting("compacting the conversation"):
            return await learning.compact(companion, conversation_id)

    done = with_companion(env, work)
    if done.fallback_reason:
        complain(f"Note: {done.fallback_reason}.")
    return done


def observe(
    env: Environment, since: str | None, budget: float | None, *, yes: bool, as_json: bool
) -> None:
    """Say how much there is to observe and what it may cost, ask, then do it."""
    from construct.views.learning import observe_plan_view, observed_view

    env.settings.require_learning()
    models = choose_models(env.settings)
    with env.context() as ctx:
        plan = learning.plan_observe(ctx, models.worker, since)
    if budget is not None and plan.estimate.usd is None:
        raise UsageError(
            f"The price of {plan.model} is unknown, so --budget cannot be kept.\n"
            "Leave --budget out."
        )
    if plan.backlogs:
        complain(observe_plan_view(plan))
        if not yes and not confirmed("Observe now?"):
            complain("Nothing was observed.")
            return
    with interruptible(lambda: _INTERRUPTED), progress_bar() as advance:
        done = with_companion(
            env, lambda companion: learning.observe(companion, plan, budget, advance), models
        )
    print_json(done) if as_json else show(observed_view(done, since))


def dry_run(env: Environment, last: int | None, since: str | None, *, as_json: bool) -> None:
    """Say what reading the last messages again may cost, then do it. Stores nothing."""
    from construct.operations import dry_run as dry_runs
    from construct.views.dry_run import dry_run_json, dry_run_plan_view, dry_run_view

    models = choose_models(env.settings)
    with env.reading() as ctx:
        messages = dry_runs.messages_to_read(ctx, last, since)
        plan = dry_runs.plan_reading(ctx.with_models(models), models.worker, messages)
    complain(dry_run_plan_view(plan))
    done = _read_again(models, plan)
    print_json(dry_run_json(plan, done)) if as_json else show(dry_run_view(done))


def observe_again(
    env: Environment, last: int | None, since: str | None, *, dry: bool, yes: bool, as_json: bool
) -> None:
    """Read talk again, show the difference, and take over what the user accepts."""
    from construct.operations import read_again
    from construct.views.dry_run import dry_run_json, dry_run_plan_view, dry_run_view, taken_view

    if not dry:
        env.settings.require_learning()
    models = choose_models(env.settings)
    with env.reading() as ctx:
        plan = read_again.plan_again(ctx.with_models(models), models.worker, last, since)
    complain(dry_run_plan_view(plan))
    if not (dry or yes or confirmed("Read it again now?")):
        complain("Nothing was read.")
        return
    done = _read_again(models, plan)
    if dry:
        print_json(dry_run_json(plan, done)) if as_json else show(dry_run_view(done))
        return
    try:
        with env.reading() as ctx:
            offered = read_again.differences(ctx, done)
    except ConstructError:
        with env.context() as ctx:
            read_again.take_over(ctx, plan, done, ())  # it cost something all the same
        raise
    if not as_json:
        show(dry_run_view(done, "Nothing is stored yet."))
    accepted = offered if yes else _accepted(offered)
    with env.context() as ctx:
        taken = read_again.take_over(ctx, plan, done, accepted)
    if as_json:
        print_json(dry_run_json(plan, done) | {"taken": asdict(taken)})
    else:
        show(taken_view(taken))


def _accepted(offered: Sequence["Difference"]) -> Sequence["Difference"]:
    """Ask what to take over: everything, or one difference after the other."""
    from construct.views.dry_run import difference_view

    if not offered:
        return ()
    if confirmed(f"Take over all of it ({counted(len(offered), 'difference')})?"):
        return offered
    if len(offered) == 1 or not confirmed("Decide one by one?"):
        return ()
    accepted = []
    for difference in offered:
        show(difference_view(difference))
        if confirmed("Take this over?"):
            accepted.append(difference)
    return accepted


def _read_again(models: Models, plan: "DryRunPlan") -> "DryRun":
    """Read the messages of a plan, and close the models."""
    from construct.operations import dry_run as dry_runs

    async def work() -> dry_runs.DryRun:
        try:
            async with waiting("reading the messages again"):
                return await dry_runs.dry_run(plan)
        finally:
            await models.close()

    return asyncio.run(work())


def undo(env: Environment, *, yes: bool, as_json: bool) -> None:
    """Take back the last cycle. On a terminal, first show what would change, and ask."""
    from construct.views.forgetting import (
        UNDO_QUESTION,
        undo_plan_view,
        undone_json,
        undone_view,
    )

    with env.context() as ctx:
        plan = forgetting.plan_undo(ctx)
        if sys.stdin.isatty() and not yes:
            show(undo_plan_view(plan, ctx.clock.today()), sys.stderr)
            if not confirmed(UNDO_QUESTION):
                complain("Nothing was taken back.")
                return
        done = forgetting.undo(ctx, plan)
    view = undone_view(done, env.settings.clock.today())
    print_json(undone_json(done)) if as_json else show(view)


def with_companion(
    env: Environment,
    work: Callable[[Companion], Awaitable[T]],
    models: Models | None = None,
) -> T:
    """Run work that needs the models, then close them. Return its result."""

    async def run() -> T:
        companion = Companion(env.settings, models or choose_models(env.settings))
        try:
            return await work(companion)
        finally:
            await companion.close()

    return asyncio.run(run())

"""The commands `construct review` and `construct track`."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from construct.cli.options import Json, environment, examples
from construct.cli.streams import answer_to, complain, print_json, say, show
from construct.errors import ConstructError
from construct.vocabulary import Answer, WaitingKind

if TYPE_CHECKING:
    from construct.operations.context import Context
    from construct.operations.review import Item

review = typer.Typer()


@review.command(name="review", epilog=examples("construct review", "construct review --json"))
def review_command(context: typer.Context, as_json: Json = False) -> None:
    """Decide on what waits for you, one at a time.

    That is: what you asked to forget, notes that may not hold any more, refused lines, plans
    of which nobody knows how they came out, memories from other programs, dates from texts,
    and what other programs propose. After that you can go through what was learned.

    `construct undo` takes back every answer but forget, pin and later. What you leave waits
    for the next time. Without a terminal it lists what waits.
    """
    from construct.operations import review as operations
    from construct.views import review as views

    env = environment(context)
    if as_json or not is_on_terminal():
        with env.reading() as ctx:
            waiting = operations.waiting(ctx)
        print_json(views.list_json(waiting)) if as_json else show(views.list_view(waiting))
        return
    with env.context() as ctx:
        if not operations.waiting(ctx):
            say(views.NOTHING_WAITS)
        if not _go_through(ctx, of_learned=False):
            return
        learned = operations.learned(ctx)
        if learned and _yes(views.learned_question(len(learned))):
            _go_through(ctx, of_learned=True)


@review.command(epilog=examples("construct track weight", "construct track coffee --since 30d"))
def track(
    context: typer.Context,
    name: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]", help="What to show; all by default.")
    ] = None,
    since: Annotated[
        str | None,
        typer.Option("--since", metavar="DATE", help="Only from this day on: 2026-03-01, or 30d."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show amounts that you follow: by week, sum and mean.

    A line such as “track: coffee spending in euros” in your memory rules lets the memory
    worker's model note each amount that you mention. They are added up by the program.
    """
    from construct.operations.track import track as operation
    from construct.views.track import track_json, track_view

    with environment(context).reading() as ctx:
        tracked = operation(ctx, " ".join(name or ()), since)
    print_json(track_json(tracked)) if as_json else show(track_view(tracked))


def is_on_terminal() -> bool:
    """Return whether there is somebody to ask."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def _go_through(ctx: "Context", *, of_learned: bool) -> bool:
    """Ask about one thing after the other. Return False if the user leaves."""
    from construct.operations.review import next_item

    passed: set[tuple[WaitingKind, int]] = set()
    while item := next_item(ctx, passed, of_learned=of_learned):
        passed.add(item.waiting.key)
        if not _ask(ctx, item):
            return False
    return True


def _ask(ctx: "Context", item: "Item") -> bool:
    """Ask about one thing until it is answered. Return False if the user leaves."""
    from construct.views import review as views

    waiting = item.waiting
    say()
    show(views.item_view(item, ctx.clock))
    while (key := _line(f"{views.answers_line(waiting)}:")) not in {"", views.LEAVE}:
        answer = views.KEYS.get(key)
        if answer not in waiting.answers:
            complain("Type one of the letters, or nothing to leave.")
            continue
        try:
            if _carry_out(ctx, item, answer):
                return True
        except ConstructError as error:
            complain(str(error))
    return False


def _carry_out(ctx: "Context", item: "Item", answer: Answer) -> bool:
    """Do what the user answered. Return False if they changed their mind."""
    from construct.operations import review as operations
    from construct.views import review as views

    text = ""
    if answer == Answer.EDIT and not (text := answer_to(views.IN_YOUR_WORDS)):
        return False
    if not _confirms(ctx, item, answer):
        return False
    note = operations.answer(ctx, item, answer, text)
    show(views.done_view(item.waiting, answer, note, ctx.clock.today()))
    return True


def _confirms(ctx: "Context", item: "Item", answer: Answer) -> bool:
    """Ask whether the user means an answer that goes further than this one thing."""
    from construct.operations.review import count_like, forget_plan
    from construct.views import forgetting as forgetting_views
    from construct.views.review import FORGET_FOR_GOOD, keep_all_question

    if answer == Answer.KEEP_ALL:
        return _yes(keep_all_question(count_like(ctx, item)))
    if answer != Answer.FORGET:
        return True
    plan = forget_plan(ctx, item)
    if plan is not None:
        show(forgetting_views.forget_plan_view(plan, ctx.clock.today()))
        return _yes(forgetting_views.forget_question(plan))
    return item.request is None or _yes(FORGET_FOR_GOOD)


def _yes(question: str) -> bool:
    return _line(f"{question} [y/N]") in {"y", "yes"}


def _line(question: str) -> str:
    """Ask, and return the answer in lower case; "" at the end of input."""
    return answer_to(question).lower()

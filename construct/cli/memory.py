"""The commands `construct memory …`: look at memory and correct it."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from construct.cli.options import (
    Json,
    Yes,
    environment,
    examples,
    in_range,
    observation_ids,
    refuse_json_before,
)
from construct.cli.streams import complain, confirmed, print_json, say, show
from construct.clock import Clock
from construct.program import in_shell
from construct.references import parse_reference

if TYPE_CHECKING:
    from construct.store.records import Message, Observation

memory = typer.Typer(rich_markup_mode=None)

Id = Annotated[
    str,
    typer.Argument(
        metavar="ID",
        help="An observation's number, or message:N.",
        autocompletion=observation_ids,
    ),
]
ChangeableId = Annotated[
    str,
    typer.Argument(
        metavar="ID",
        help="An observation's number.",
        autocompletion=observation_ids,
    ),
]
AsOf = Annotated[
    str | None,
    typer.Option(
        "--as-of",
        metavar="DATE",
        help="What was known on a date or at a time, such as 2026-03-01, 7d or yesterday.",
    ),
]
All = Annotated[bool, typer.Option("--all", help="Include what has been superseded.")]
Limit = Annotated[
    int,
    typer.Option("--limit", min=1, metavar="N", help="Show at most this many.", callback=in_range),
]


@memory.callback(invoke_without_command=True)
def bare(context: typer.Context, as_json: Json = False) -> None:
    """Look at memory and correct it. Without a command, list what is remembered."""
    if context.invoked_subcommand is None:
        list_memory(context, as_json=as_json)
    else:
        refuse_json_before(context, as_json)


@memory.command(
    "list",
    epilog=examples("construct memory list --limit 20", "construct memory list --as-of 2026-03-01"),
)
def list_memory(
    context: typer.Context,
    wanted: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILTER", help="For example: high planned since 2026-03 dentist."),
    ] = None,
    as_of: AsOf = None,
    include_all: All = False,
    kept: Annotated[bool, typer.Option("--kept", help="Only what was kept on request.")] = False,
    limit: Limit = 1000,
    as_json: Json = False,
) -> None:
    """List what is remembered, by day.

    `!` marks high priority, `-` medium, `~` low. The number is what `why`, `edit`,
    `pin` and `forget` take.

    FILTER: a priority (high, medium, low); a stance (stated, asked, planned,
    hypothetical, inferred, assistant, quoted); unknown, for plans whose outcome is
    unknown; pending, pinned, reflections, yours, kept; since DAY, until DAY, on DAY. Any
    other words are looked for in the text.
    """
    from construct.operations.memory import list_memory as operation
    from construct.views import memory as views

    env = environment(context)
    with env.reading() as ctx:
        filters = " ".join([*(wanted or ()), *(["kept"] if kept else [])])
        everything = operation(ctx, filters, as_of, include_all=include_all)
    for_people = sys.stdout.isatty() and not as_json
    newest = everything.newest(limit)
    if as_json:
        print_json(views.memory_list_json(newest))
    elif not newest:
        say(views.nothing_listed(everything))
    elif for_people:
        rest = "Pass a larger --limit to see them."
        show(views.memory_list_view(everything, shown=newest, rest=rest))
    else:
        for line in views.memory_list_lines(newest):
            say(line)


@memory.command()
def profile(context: typer.Context, as_json: Json = False) -> None:
    """Show what is known about you, by subject, newest first."""
    from construct.operations.memory import list_in_scope
    from construct.operations.profile import profile as operation
    from construct.views.profile import nothing_known, profile_json, profile_view

    with environment(context).reading() as ctx:
        subjects, everything, clock = operation(ctx), list_in_scope(ctx), ctx.clock
    if as_json:
        print_json(profile_json(subjects))
    elif not subjects:
        say(nothing_known(everything))
    else:
        show(profile_view(subjects, clock.today()))


@memory.command()
def timeline(context: typer.Context, as_json: Json = False) -> None:
    """Show what was learned week by week, and what was superseded."""
    from construct.operations.history import timeline as operation
    from construct.views.history import timeline_json, timeline_view

    with environment(context).reading() as ctx:
        weeks = operation(ctx)
    print_json(timeline_json(weeks)) if as_json else show(timeline_view(weeks))


@memory.command(
    context_settings={"ignore_unknown_options": True},  # a query may begin with a dash
    epilog=examples(
        'construct memory search "dentist"',
        "construct memory search Porto flat --as-of 2w --by user",
    ),
)
def search(
    context: typer.Context,
    query: Annotated[
        list[str],
        typer.Argument(
            metavar="QUERY", help="Words to look for; other forms of them are found too."
        ),
    ],
    as_of: AsOf = None,
    include_all: All = False,
    limit: Limit = 20,
    by: Annotated[
        str | None,
        typer.Option(
            "--by", metavar="user|assistant", help="Only what you said, or only the replies."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Search what was said and what is remembered, best match first."""
    from construct.cli.progress import complete_index_briefly
    from construct.operations.search import search as operation
    from construct.views.search import search_json, search_lines

    for option in ("--since", "--until"):  # options that one might expect here
        if option in query:
            complain(
                f"{option} was searched for as a word: "
                f"{in_shell('memory search')} has no such option."
            )
    with environment(context).reading() as ctx:
        complete_index_briefly(ctx.db)
        result = operation(
            ctx, " ".join(query), limit=limit, as_of=as_of, include_all=include_all, by=by
        )
    if as_json:
        print_json(search_json(result))
    elif sys.stdout.isatty():
        from construct.views.hits import search_view

        show(search_view(result))
    else:
        say("\n".join(search_lines(result)))


@memory.command(
    "show", epilog=examples("construct memory show 42", "construct memory show message:7")
)
def show_one(context: typer.Context, reference: Id, as_json: Json = False) -> None:
    """Show one observation or message."""
    from construct.operations.memory import show as operation

    env = environment(context)
    with env.reading() as ctx:
        item = operation(ctx, parse_reference(reference))
    _print_one(item, env.settings.clock, as_json)


@memory.command(epilog=examples("construct memory why 42", "construct memory why last"))
def why(
    context: typer.Context,
    reference: Annotated[
        str,
        typer.Argument(
            metavar="ID",
            help="An observation's number, message:N, or `last`.",
            autocompletion=observation_ids,
        ),
    ],
    as_json: Json = False,
) -> None:
    """Show where a memory came from, down to the words that were said.

    The tree goes through every generation of reflections; the memory's history follows.
    `why last` shows what the model was given from memory for the last reply.
    """
    from construct.operations import why as operations
    from construct.views import why as views

    env = environment(context)
    clock = env.settings.clock
    with env.reading() as ctx:
        if reference == "last":
            reply = operations.why_last(ctx)
            view = views.why_last_view(reply, clock)
            data = views.why_last_json(reply)
        else:
            trace = operations.why(ctx, parse_reference(reference))
            view, data = views.why_view(trace, clock), views.why_json(trace)
    print_json(data) if as_json else show(view)


@memory.command(
    epilog=examples("construct memory forget 42", "construct memory forget message:7 --words")
)
def forget(
    context: typer.Context,
    reference: Id,
    words: Annotated[
        bool, typer.Option("--words", help="Also empty the messages, and the replies to them.")
    ] = False,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Delete a memory for good, with everything made from it.

    For a reflection, it also deletes the observations that it was made from; for a
    message, every observation drawn from it. It first shows what would be deleted, and
    asks. Not a byte of it stays in the file, and the same messages are not observed
    again. Without --words the messages themselves are kept, but not the files attached
    to them, and they are no longer recalled or sent to the model.
    """
    from construct.cli.progress import complete_index
    from construct.operations import forgetting
    from construct.views import forgetting as views

    target = parse_reference(reference)
    with environment(context).context() as ctx:
        complete_index(ctx.db)
        plan = forgetting.plan_forget(ctx, target, words=words)
        if not yes:
            show(views.forget_plan_view(plan, ctx.clock.today()), sys.stderr)
            if not confirmed(views.forget_question(plan)):
                complain("Nothing was deleted.")
                return
        forgotten = forgetting.forget(ctx, target, words=words, shown=None if yes else plan)
    print_json({"forgotten": forgotten}) if as_json else show(views.forgotten_view(forgotten))


@memory.command(epilog=examples('construct memory edit 42 "Anna\'s cat is called Mila"'))
def edit(
    context: typer.Context,
    reference: ChangeableId,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The corrected text.")],
    as_json: Json = False,
) -> None:
    """Correct a memory in your own words.

    Your words replace it, and no later memory work changes them. `construct undo` takes
    an edit back.
    """
    from construct.operations.memory import edit as operation
    from construct.operations.rules import forbidden_word
    from construct.views.memory import lost_words
    from construct.views.rules import forbidden_view

    env = environment(context)
    with env.context() as ctx:
        word = forbidden_word(ctx, text)  # first: nothing is stored if the rules cannot be read
        edited = operation(ctx, parse_reference(reference), text)
    if edited.lost and not as_json:
        complain(lost_words(edited.lost, in_shell("undo")))
    if word is not None and not as_json:
        complain(forbidden_view(word))
    _print_one(edited.observation, env.settings.clock, as_json, before=f"{edited.observation.id}  ")


@memory.command(epilog=examples("construct memory pin 42", "construct memory pin 42 --off"))
def pin(
    context: typer.Context,
    reference: ChangeableId,
    off: Annotated[bool, typer.Option("--off", help="Remove the pin.")] = False,
    as_json: Json = False,
) -> None:
    """Keep a memory word for word.

    If the model cannot be shown all memories, pinned ones come first.
    """
    from construct.operations.memory import pin as operation

    env = environment(context)
    with env.context() as ctx:
        pinned = operation(ctx, parse_reference(reference), off=off)
    before = f"{'Unpinned' if off else 'Pinned'}: {pinned.id}  "
    if sys.stdout.isatty() and not as_json:
        say(before.rstrip())
    _print_one(pinned, env.settings.clock, as_json, before=before)


@memory.command(
    epilog=examples('construct memory add "The spare key is with Rui" --category place')
)
def add(
    context: typer.Context,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to keep, in one sentence.")],
    category: Annotated[
        str | None,
        typer.Option(
            "--category",
            metavar="WORD",
            help="Person, place, health, work, preference, plan, or a word of your own.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Store a memory in your own words."""
    from construct.operations.memory import remember
    from construct.operations.rules import forbidden_word
    from construct.views.rules import forbidden_view
    from construct.views.shapes import note_json

    with environment(context).context() as ctx:
        word = forbidden_word(ctx, text)  # first: nothing is stored if the rules cannot be read
        kept = remember(ctx, text, category)
    if word is not None and not as_json:
        complain(forbidden_view(word))
    print_json(note_json(kept)) if as_json else say(f"{kept.id}  {kept.content}")


@memory.command(
    epilog=examples("construct memory diff", "construct memory diff 2026-03-01 yesterday")
)
def diff(
    context: typer.Context,
    since: Annotated[
        str, typer.Argument(metavar="FROM", help="A date, such as 2026-03-01, 7d or yesterday.")
    ] = "7d",
    until: Annotated[
        str | None, typer.Argument(metavar="TO", help="A date; now unless given.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show what was learned, what changed and what is gone.

    Unless given, FROM is a week ago and TO is now.
    """
    from construct.operations.history import diff as operation
    from construct.views.history import diff_json, diff_view

    env = environment(context)
    with env.reading() as ctx:
        changes = operation(ctx, since, until)
    print_json(diff_json(changes)) if as_json else show(diff_view(changes, env.settings.clock))


@memory.command(epilog=examples("construct memory graph", "construct memory graph Rosa"))
def graph(
    context: typer.Context,
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="A person, place or thing. Without it, the graph starts from you."
        ),
    ] = "",
    as_json: Json = False,
) -> None:
    """Show people, places and things, and how they are related."""
    from construct.operations.memory import graph as operation
    from construct.views.memory import graph_json, graph_view

    with environment(context).reading() as ctx:
        entity = operation(ctx, name)
    print_json(graph_json(entity)) if as_json else show(graph_view(entity))


@memory.command("context")
def show_context(
    context: typer.Context,
    full: Annotated[bool, typer.Option("--full", help="Show every word.")] = False,
    as_json: Json = False,
) -> None:
    """Show what the next message would send to the model.

    Shows each part and the tokens it takes. Up to each ◄, the server may cache the
    prompt.
    """
    from construct.cli.memory_work import with_companion
    from construct.operations.status import next_request
    from construct.views.context import context_json, context_view

    env = environment(context)
    with env.reading() as ctx:
        conversation_id = ctx.conversation_id
    request = with_companion(env, lambda companion: next_request(companion, conversation_id))
    print_json(context_json(request)) if as_json else show(context_view(request, full=full))


def _print_one(
    item: "Observation | Message", clock: Clock, as_json: bool, before: str = ""
) -> None:
    from construct.store.records import Observation
    from construct.views.memory import observation_line, shown_view
    from construct.views.shapes import item_json

    if as_json:
        print_json(item_json(item))
    elif isinstance(item, Observation) and not sys.stdout.isatty():
        say(before + observation_line(item, clock.today()))
    else:
        show(shown_view(item, clock))

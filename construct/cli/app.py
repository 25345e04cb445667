"""The commands and their options. Each imports its body when it runs."""

from pathlib import Path
from typing import Annotated

import typer

from construct.cli.conversations import conversations
from construct.cli.environment import Environment
from construct.cli.memory import memory
from construct.cli.options import ConversationOption, Force, Json, ModelOption, NewOption, Output, environment, examples
from construct.errors import UsageError

app = typer.Typer(
    name="construct",
    help="A personal companion you talk to in the terminal, that remembers.",
    no_args_is_help=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.add_typer(memory, name="memory")
app.add_typer(conversations, name="conversations")


@app.callback(
    invoke_without_command=True,
    epilog=examples(
        "construct                               go on where you left off",
        'construct ask "when is my dentist?"     one question, one answer',
        "construct COMMAND --help                what a command does, with examples",
    ),
)
def main(
    context: typer.Context,
    db: Annotated[
        Path | None, typer.Option("--db", metavar="PATH", help="Use this database file, instead of CONSTRUCT_DB.")
    ] = None,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
    log_file: Annotated[
        Path | None,
        typer.Option(
            "--log-file", metavar="PATH", help="Write what the program does to this file; none of your words."
        ),
    ] = None,
) -> int:
    """Talk with a companion that remembers. Without a command: `construct chat`.

    Everything is kept in one SQLite file; `construct doctor` says where, and whether all is well.
    """
    from construct.cli.logs import start_log

    context.obj = Environment(db=db, log_file=log_file)
    if version:
        from construct import __version__

        print(f"construct {__version__}")
        raise typer.Exit
    if log_file is not None:
        start_log(log_file, context.obj.settings.db)
    if context.invoked_subcommand is None:
        from construct.cli.chat import chat

        raise typer.Exit(chat(context.obj))
    return 0


@app.command(
    epilog=examples(
        "construct chat --new",
        "construct chat --conversation 3",
        "construct chat --private                nothing of this talk is kept",
        "construct chat < questions.txt",
    )
)
def chat(
    context: typer.Context,
    conversation: ConversationOption = None,
    new: NewOption = False,
    model: ModelOption = None,
    private: Annotated[
        bool, typer.Option("--private", help="Store nothing of this talk, and learn nothing from it.")
    ] = False,
    commands: Annotated[
        bool, typer.Option("--commands", help="Run piped lines that begin with `/` as commands.")
    ] = False,
) -> int:
    """Talk in the terminal, where you left off.

    `/help` lists what can be typed there; Ctrl-D leaves. With piped input it reads one message a line and prints
    the replies plainly. Piped text is data: a line that begins with `/` is a message like any other, unless you pass
    --commands. Commands that ask before they delete still need their --yes.
    """
    from construct.cli.chat import chat as body

    env = environment(context)
    return body(env, conversation=conversation, new=new, model=model, private=private, commands=commands)


@app.command(
    epilog=examples(
        'construct ask "what was the name of Ana\'s cat?"',
        'git diff | construct ask "what did I change here?"',
        'construct ask --new --json "good morning" | jq -r .reply',
    )
)
def ask(
    context: typer.Context,
    text: Annotated[
        str | None, typer.Argument(metavar="TEXT", help="The message; `-` or nothing reads it from standard input.")
    ] = None,
    conversation: ConversationOption = None,
    new: NewOption = False,
    model: ModelOption = None,
    as_json: Json = False,
    no_wait: Annotated[
        bool, typer.Option("--no-wait", help="Exit after the reply; memory work that is due waits for the next start.")
    ] = False,
) -> int:
    """Send one message and print the reply.

    Continues the latest conversation. Piped input beside TEXT is added as pasted material: each of its lines begins
    with `>`, and what is learned from it counts as quoted. After the reply, memory work that has come due is done, for
    a minute at most; Ctrl-C leaves it for later.
    """
    from construct.cli.ask import Question
    from construct.cli.ask import ask as body

    question = Question(text, conversation, new, model, as_json=as_json, wait=not no_wait)
    return body(environment(context), question)


@app.command()
def status(
    context: typer.Context,
    as_json: Json = False,
    watch: Annotated[bool, typer.Option("--watch", help="Keep it up to date until Ctrl-C.")] = False,
) -> None:
    """Show the memory panel: what is remembered, what is due.

    The bars say how far it is to the next observation, compaction and reflection.
    """
    from construct.cli import upkeep

    if watch and as_json:
        raise UsageError("--watch and --json exclude each other: name one of them.")
    upkeep.watch_status(environment(context)) if watch else upkeep.status(environment(context), as_json)


@app.command()
def compact(context: typer.Context, as_json: Json = False) -> int:
    """Do the memory work of the latest talk now.

    Observes what is unobserved, lets observations take the place of messages in the context, condenses observations
    where that makes them shorter, and prints what changed. No message is deleted; `construct undo` takes it back.
    """
    from construct.cli.upkeep import compact as body

    return body(environment(context), as_json)


@app.command()
def observe(
    context: typer.Context,
    since: Annotated[
        str | None, typer.Option("--since", metavar="DATE", help="Only talks that went on after that: 2025-03-01, 90d.")
    ] = None,
    budget: Annotated[
        float | None,
        typer.Option("--budget", metavar="USD", min=0, help="Stop when it has cost this; else at the day's limit."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: Json = False,
) -> int:
    """Learn from imported talk.

    Says first how much there is and what it may cost, then asks. It can be stopped at any time: the same command
    goes on where it was.
    """
    from construct.cli.observing import Wish
    from construct.cli.observing import observe as body

    return body(environment(context), Wish(since, budget, yes=yes, as_json=as_json))


@app.command()
def usage(context: typer.Context, as_json: Json = False) -> None:
    """Show tokens and money, by purpose, model and day.

    And what the same talk would have cost with the last messages alone, or with the whole history.
    """
    from construct.cli.upkeep import usage as body

    body(environment(context), as_json)


@app.command()
def doctor(context: typer.Context, as_json: Json = False) -> int:
    """Check that all is well, and say what to do if not.

    Looks at the settings, the credentials, the database file and its invariants, the search index, and asks the
    model for one word. Exits 1 when something is wrong.
    """
    from construct.cli.doctor import doctor as body

    return body(environment(context), as_json)


@app.command()
def reindex(context: typer.Context, as_json: Json = False) -> None:
    """Make search ready for all that was said.

    Enters the messages of an import that was interrupted into the search index. With the extra `semantic` it makes the
    vectors that are missing, too; begun anew it goes on where it was. Both are made in the background while a chat is
    open. Vectors of another model (CONSTRUCT_SEMANTIC_MODEL) are replaced by this command only.
    """
    from construct.cli.reindex import reindex as body

    body(environment(context), as_json)


@app.command()
def undo(
    context: typer.Context,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask first.")] = False,
    as_json: Json = False,
) -> None:
    """Take back the last memory cycle that changed something.

    A cycle is one run of the observer or the reflector, or one edit of yours. What it made goes, what it replaced
    stands again; graph runs behind it go with it. On a terminal it first shows what would change, and asks.
    Repeat it to go further back; it exits 1 when there is nothing left to undo.
    """
    from construct.cli.upkeep import undo as body

    body(environment(context), yes=yes, as_json=as_json)


@app.command(
    epilog=examples(
        "construct export -o backup.jsonl                 all; `import` reads it back",
        "construct export --format sqlite -o backup.db    a copy of the database",
        "construct export --format markdown | less        to read",
    )
)
def export(
    context: typer.Context,
    file_format: Annotated[
        str, typer.Option("--format", metavar="jsonl|sqlite|markdown", help="In which form.")
    ] = "jsonl",
    output: Output = None,
    force: Force = False,
) -> None:
    """Write everything to a file, or to standard output.

    The file is readable by you alone. The same database gives the same bytes. An existing file is replaced only if it
    is an export, a report or a database of Construct's; any other needs --force.
    """
    from construct.cli.files import export as body

    body(environment(context), file_format, output, force)


@app.command()
def report(context: typer.Context, output: Output = None, force: Force = False) -> None:
    """Write a page to look at memory in a browser.

    It tells what is known, since when, from which words and at what cost; it holds all that by itself and reaches
    nothing outside. An existing file is replaced only if Construct wrote it; any other needs --force.
    """
    from construct.cli.files import report as body

    body(environment(context), output, force)


@app.command(
    "import",
    epilog=examples(
        "construct import backup.jsonl           an export of another machine",
        "construct import conversations.json     ChatGPT's or Claude's export",
        "construct import export.zip             the same, as it was sent",
    ),
)
def import_(
    context: typer.Context,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="An export, hand-made JSONL, ChatGPT's or Claude's export.")
    ],
    as_json: Json = False,
) -> None:
    """Bring in talk from a file.

    All of it or nothing; the same file twice adds nothing, and after an interruption running it again goes on. What
    comes in can be searched at once; it is no part of the context, and nothing is learned from it before you say
    `construct observe`.
    """
    from construct.cli.files import import_file as body

    body(environment(context), file, as_json)

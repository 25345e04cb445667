"""The top-level commands and their options.

Each imports its body when it runs, so that `construct --help` starts fast.
"""

from pathlib import Path
from typing import Annotated

import typer

from construct.cli.agenda import agenda
from construct.cli.conversations import conversations
from construct.cli.doors import doors
from construct.cli.encryption import encryption
from construct.cli.environment import Environment
from construct.cli.health import health
from construct.cli.memory import memory
from construct.cli.options import (
    ConversationOption,
    Json,
    ModelOption,
    NewOption,
    Yes,
    environment,
    examples,
    in_range,
)
from construct.cli.reminders import remind
from construct.cli.review import review
from construct.cli.sync import sync
from construct.cli.tools import tools
from construct.cli.transfer import transfer
from construct.cli.values import convert_without_pydantic, hide_argument_types
from construct.errors import UsageError

convert_without_pydantic()
hide_argument_types()
app = typer.Typer(
    name="construct",
    no_args_is_help=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(
    invoke_without_command=True,
    epilog=examples(
        "construct                               continue where you left off",
        'construct ask "when is my dentist?"     one question, one answer',
        "construct COMMAND --help                what a command does, with examples",
    ),
)
def main(
    context: typer.Context,
    db: Annotated[
        Path | None,
        typer.Option(
            "--db", metavar="PATH", help="Use this database file instead of CONSTRUCT_DB."
        ),
    ] = None,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
    log_file: Annotated[
        Path | None,
        typer.Option(
            "--log-file",
            metavar="PATH",
            help="Write a log to this file; it contains nothing you said.",
        ),
    ] = None,
) -> int:
    """Talk with a companion that remembers. Without a command: `construct chat`.

    Everything is kept in one SQLite file. `construct doctor` says where it is, and
    whether anything is wrong.
    """
    from construct.cli.environment import start_log

    context.obj = Environment(db)
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
        "construct chat --private                nothing you say is kept",
        "construct chat < questions.txt",
    )
)
def chat(
    context: typer.Context,
    conversation: ConversationOption = None,
    new: NewOption = False,
    model: ModelOption = None,
    private: Annotated[
        bool,
        typer.Option(
            "--private",
            help="Store nothing you say and learn nothing from it; only the cost is recorded.",
        ),
    ] = False,
    commands: Annotated[
        bool, typer.Option("--commands", help="Run piped lines that begin with `/` as commands.")
    ] = False,
) -> int:
    """Talk in the terminal; continue where you left off.

    `/help` lists the commands there; Ctrl-D leaves. With piped input it reads one
    message per line and prints the replies plainly. Piped text is data: a line that
    begins with `/` is a message like any other, unless you pass --commands. Commands
    that ask before they delete still need their --yes.
    """
    from construct.cli.chat import chat as body

    return body(
        environment(context),
        conversation=conversation,
        new=new,
        model=model,
        private=private,
        commands=commands,
    )


@app.command(
    epilog=examples(
        "construct setup                         choose from a list",
        "construct setup --use llama3.1:8b       a model on a server on this machine",
        "construct setup --key - < key.txt       a key for Claude",
        "construct setup --server http://192.168.1.5:11434",
        "construct setup --openai --use MODEL --key - < key.txt",
    )
)
def setup(
    context: typer.Context,
    as_json: Json = False,
    use: Annotated[
        str | None,
        typer.Option("--use", metavar="MODEL", help="Choose this model; `notebook` means none."),
    ] = None,
    server: Annotated[
        str | None,
        typer.Option(
            "--server",
            metavar="URL",
            help="The address of the model's server, if setup does not find it.",
        ),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option("--key", metavar="-", help="Read an API key from standard input."),
    ] = None,
    openai: Annotated[
        bool,
        typer.Option(
            "--openai",
            help="The server speaks OpenAI's protocol. Without --server it is OpenAI's own.",
        ),
    ] = False,
) -> int:
    """Choose the model that answers, and try it.

    Looks for credentials, and for model servers on their usual ports on this machine.
    What you choose is written to `config.env` in the configuration directory. Before you
    choose, servers are only asked which models they have.
    """
    from construct.cli.setup import Wanted
    from construct.cli.setup import setup as body

    wanted = Wanted(use, server, key, speaks_openai=openai)
    return body(environment(context), wanted, as_json=as_json)


@app.command(epilog=examples("construct models", "construct models --json | jq -r '.[].name'"))
def models(context: typer.Context, as_json: Json = False) -> None:
    """List the available models."""
    from construct.cli.setup import models as body

    body(environment(context), as_json=as_json)


@app.command(epilog=examples("construct demo"))
def demo(context: typer.Context) -> int:
    """Try Construct with the memories of an invented person.

    You work on a copy, which is deleted when you leave. Your own data is not touched.
    """
    from construct.cli.demo import demo as body

    return body(environment(context))


@app.command(
    epilog=examples(
        'construct ask "what was the name of Anna\'s cat?"',
        'git diff | construct ask "what did I change here?"',
        'construct ask --new --json "good morning" | jq -r .reply',
    )
)
def ask(
    context: typer.Context,
    text: Annotated[
        str | None,
        typer.Argument(
            metavar="TEXT", help="The message; `-` or nothing reads it from standard input."
        ),
    ] = None,
    conversation: ConversationOption = None,
    new: NewOption = False,
    model: ModelOption = None,
    as_json: Json = False,
    no_wait: Annotated[
        bool,
        typer.Option(
            "--no-wait",
            help="Exit after the reply; leave memory work for later.",
        ),
    ] = False,
    attach: Annotated[
        list[Path] | None,
        typer.Option(
            "-a",
            "--attach",
            metavar="FILE",
            help="Attach a picture, PDF or text file; may be given several times.",
        ),
    ] = None,
) -> int:
    """Send one message and print the reply.

    Continues the conversation you were last in. Input piped in along with TEXT is added
    as pasted text: these are not your own words, and what is learned from them counts as
    quoted. After the reply it does the memory work that is due, for at most a minute;
    Ctrl-C leaves it for later.
    """
    from construct.cli.ask import ask as body

    return body(
        environment(context),
        text,
        conversation=conversation,
        new=new,
        model=model,
        as_json=as_json,
        wait=not no_wait,
        files=attach or (),
    )


@app.command()
def status(
    context: typer.Context,
    as_json: Json = False,
    watch: Annotated[bool, typer.Option("--watch", help="Keep updating it until Ctrl-C.")] = False,
) -> None:
    """Show the memory panel: what is remembered, what is due.

    The bars show how near the next observation, compaction and reflection are. Without
    a model, the first two come earlier: from a little over 200 tokens.
    """
    from construct.cli import memory_work

    if watch and as_json:
        raise UsageError("Pass --watch or --json, not both.")
    if watch:
        memory_work.watch_status(environment(context))
    else:
        memory_work.status(environment(context), as_json=as_json)


@app.command()
def compact(context: typer.Context, as_json: Json = False) -> None:
    """Do memory work now, in the conversation you were last in.

    Observes what is unobserved, replaces messages in the context with observations,
    condenses observations where that makes them shorter, and prints what changed. No
    message is deleted. `construct undo` takes the changes back, one cycle at a time.
    """
    from construct.cli.memory_work import compact as body

    body(environment(context), as_json=as_json)


@app.command()
def observe(
    context: typer.Context,
    since: Annotated[
        str | None,
        typer.Option(
            "--since",
            metavar="DATE",
            help="Only conversations with messages since DATE, such as 2025-03-01 or 90d. "
            "With --dry-run or --again: all messages since DATE.",
        ),
    ] = None,
    budget: Annotated[
        float | None,
        typer.Option(
            "--budget",
            metavar="USD",
            min=0,
            help="Stop at this cost; otherwise at the daily limit. "
            "Needs a worker model whose price is known.",
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Compare what would be learned now with what was; store nothing.",
        ),
    ] = False,
    again: Annotated[
        bool,
        typer.Option(
            "--again",
            help="Read talk again that was observed already, and take over what you accept.",
        ),
    ] = False,
    last: Annotated[
        int | None,
        typer.Option(
            "--last",
            metavar="N",
            min=1,
            callback=in_range,
            help="With --dry-run or --again: the last N messages. Without --last or --since, "
            "--dry-run alone reads 40, and --again all.",
        ),
    ] = None,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Learn from imported conversations.

    Shows how much there is and what it may cost, then asks. You can stop it at any
    time; the same command continues where it stopped.

    With --dry-run it reads the last messages of all conversations again, with your
    current memory rules. It says what that may cost, and does not ask.

    With --again it reads what was observed already, with today's model, prompts and
    rules. It says what that may cost and asks, shows the difference, and takes over what
    you accept. What you wrote or pinned stays; `construct undo` takes all of it back.
    """
    if budget is not None and (dry_run or again):
        raise UsageError(f"--budget cannot be used with {'--again' if again else '--dry-run'}.")
    if again:
        from construct.cli.memory_work import observe_again

        observe_again(environment(context), last, since, dry=dry_run, yes=yes, as_json=as_json)
        return
    if dry_run:
        from construct.cli.memory_work import dry_run as trial

        trial(environment(context), last, since, as_json=as_json)
        return
    if last is not None:
        raise UsageError("--last needs --dry-run or --again.")
    from construct.cli.memory_work import observe as body

    body(environment(context), since, budget, yes=yes, as_json=as_json)


@app.command()
def undo(
    context: typer.Context,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Take back the last memory cycle that changed something.

    A cycle is one run of the observer or the reflector, or one edit of yours. What it
    made is removed, what it replaced becomes active again, and what was drawn from it
    in the graph goes with it. On a terminal it first shows what would change, and asks.
    Repeat it to go further back; it exits 1 when there is nothing left to undo.
    """
    from construct.cli.memory_work import undo as body

    body(environment(context), yes=yes, as_json=as_json)


@app.command(
    epilog=examples("construct brief", "echo 'construct brief' >> ~/.bashrc", "construct agenda")
)
def brief(context: typer.Context) -> int:
    """Print what is due, in at most five lines.

    Meant for the start of a shell: prints nothing when nothing is due. It only reads
    the file and never waits.
    """
    from construct.cli.brief import brief as body

    return body(environment(context).db)


app.add_typer(health)
app.add_typer(transfer)
app.add_typer(doors)
app.add_typer(encryption)
app.add_typer(review)
app.add_typer(sync)
app.add_typer(memory, name="memory")
app.add_typer(agenda, name="agenda")
app.add_typer(remind, name="remind")
app.add_typer(tools, name="tools")
app.add_typer(conversations, name="conversations")

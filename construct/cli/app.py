"""The commands and their options. Each imports its body when it runs."""

from pathlib import Path
from typing import Annotated

import typer

from construct.cli.conversations import conversations
from construct.cli.environment import Environment
from construct.cli.memory import memory
from construct.cli.options import ConversationOption, Json, ModelOption, NewOption, environment

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


@app.callback(invoke_without_command=True)
def main(
    context: typer.Context,
    db: Annotated[Path | None, typer.Option("--db", metavar="PATH", help="The database file.")] = None,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
    log_file: Annotated[
        Path | None,
        typer.Option("--log-file", metavar="PATH", help="Write what happens to this file; no words of the talk."),
    ] = None,
) -> int:
    """Talk with a companion that remembers. Without a command: chat."""
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


@app.command()
def chat(
    context: typer.Context,
    conversation: ConversationOption = None,
    new: NewOption = False,
    model: ModelOption = None,
    private: Annotated[bool, typer.Option("--private", help="Store and observe nothing of this talk.")] = False,
) -> int:
    """Talk. Continues the latest conversation unless told otherwise.

    With piped input it reads one message a line and prints the replies plainly.
    """
    from construct.cli.chat import chat as body

    return body(environment(context), conversation=conversation, new=new, model=model, private=private)


@app.command()
def ask(
    context: typer.Context,
    text: Annotated[str | None, typer.Argument(help="The message; `-` or nothing reads standard input.")] = None,
    conversation: ConversationOption = None,
    new: NewOption = False,
    model: ModelOption = None,
    as_json: Json = False,
    no_wait: Annotated[
        bool, typer.Option("--no-wait", help="Leave memory work that has come due to the next start.")
    ] = False,
) -> int:
    """Send one message and print the reply."""
    from construct.cli.ask import Question
    from construct.cli.ask import ask as body

    question = Question(text, conversation, new, model, as_json=as_json, wait=not no_wait)
    return body(environment(context), question)


@app.command()
def status(context: typer.Context, as_json: Json = False) -> None:
    """Show the memory panel: what is observed, what is due, what runs."""
    from construct.cli.upkeep import status as body

    body(environment(context), as_json)


@app.command()
def compact(context: typer.Context, as_json: Json = False) -> int:
    """Observe, compact and reflect now, and print what changed."""
    from construct.cli.upkeep import compact as body

    return body(environment(context), as_json)


@app.command()
def usage(context: typer.Context, as_json: Json = False) -> None:
    """Show tokens and money by purpose and model."""
    from construct.cli.upkeep import usage as body

    body(environment(context), as_json)


@app.command()
def doctor(context: typer.Context, as_json: Json = False) -> int:
    """Check settings, credentials, the database and its invariants, and whether the model can be reached."""
    from construct.cli.doctor import doctor as body

    return body(environment(context), as_json)


@app.command()
def reindex(context: typer.Context, as_json: Json = False) -> None:
    """Make the vectors that are missing, for search by meaning; resumes where it was left off."""
    from construct.cli.reindex import reindex as body

    body(environment(context), as_json)


@app.command()
def undo(context: typer.Context, as_json: Json = False) -> None:
    """Take the last memory cycle back."""
    from construct.cli.upkeep import undo as body

    body(environment(context), as_json)


@app.command()
def export(
    context: typer.Context,
    file_format: Annotated[str, typer.Option("--format", metavar="jsonl|sqlite|markdown", help="The form.")] = "jsonl",
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Where to; `-` is standard output.")
    ] = None,
) -> None:
    """Write everything to a file, or to standard output."""
    from construct.cli.files import export as body

    body(environment(context), file_format, output)


@app.command("import")
def import_(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="An export, hand-made JSONL, ChatGPT's or Claude's.")],
    as_json: Json = False,
) -> None:
    """Bring in talk from a file; the same file twice adds nothing."""
    from construct.cli.files import import_file as body

    body(environment(context), file, as_json)

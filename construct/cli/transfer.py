"""The commands `construct export`, `attachment`, `report` and `import`."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from construct.cli.keys import asked_passphrase, hidden_line
from construct.cli.options import Force, Json, Output, environment, examples, in_range
from construct.cli.progress import interruptible, progress_bar
from construct.cli.streams import complain, print_json, say
from construct.errors import ConstructError, ExitStatus, UsageError

if TYPE_CHECKING:
    from construct.operations.context import Context
    from construct.operations.learning import ObservePlan

transfer = typer.Typer()


_FILES = (
    "ChatGPT            Settings, Data controls, Export data",
    "Claude             Settings, Privacy, Export data",
    "Gemini             takeout.google.com: My Activity, only Gemini Apps",
    "Google AI Studio   its folder in Google Drive; without dates, so pass --date",
    "DeepSeek           Settings, Data, Export all chats",
    "Grok               accounts.x.ai: Data, Download account data",
    "Open WebUI         Settings, Data controls, Export chats",
    "LibreChat          the menu of a conversation, Export, JSON",
    "Claude Code        the folder ~/.claude/projects",
    "llm                the file that `llm logs path` names",
    "SillyTavern        the folder data/default-user/chats",
    "memory lists       a text file with a fact a line; Claude's memories.json",
    "Markdown notes     a folder of them",
    "JSONL of messages  a file that you write: see docs/files.md",
    "Construct          `construct export`",
)
"""Each kind of file, and how a user gets it."""


def _stopped(target: Path | None) -> str:
    return "Stopped. " + ("No file was written." if target else "The output is incomplete.")


def _formats(incomplete: str) -> list[str]:
    from construct.operations.transfer import FORMATS

    return [name for name in FORMATS if name.startswith(incomplete)]


@transfer.command(
    epilog=examples(
        "construct export -o backup.jsonl                 `import` reads it back",
        "construct export --format sqlite -o backup.db    a copy of the database",
        "construct export --format markdown | less        to read",
    )
)
def export(
    context: typer.Context,
    file_format: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="jsonl|sqlite|markdown",
            help="The format.",
            autocompletion=_formats,
        ),
    ] = "jsonl",
    output: Output = None,
    force: Force = False,
    encrypted: Annotated[
        bool,
        typer.Option("--encrypt", help="Write an age file that a passphrase opens."),
    ] = False,
) -> None:
    """Write everything to a file, or to standard output.

    Markdown is only for reading: it leaves things out, and `import` does not read it.
    Only you can read the file. The same database gives the same bytes. An existing file
    is replaced only if it is empty, an export, a report or a Construct database; any
    other needs --force. A text export never replaces a database.
    """
    from construct.operations import transfer as operations

    target = _target(output)
    passphrase = asked_passphrase() if encrypted else None
    with environment(context).reading() as ctx, interruptible(lambda: _stopped(target)):
        if passphrase is None:
            operations.export(ctx, file_format, target, sys.stdout, force=force)
        else:
            operations.export_encrypted(
                ctx, file_format, target, sys.stdout, passphrase, force=force
            )
    if target is not None:
        complain(f"Written: {target}")


@transfer.command(
    epilog=examples(
        "construct attachment 3 -o cat.png       a picture that `memory why` names",
        "construct attachment 4 -o - | less      to standard output",
    )
)
def attachment(
    context: typer.Context,
    attachment_id: Annotated[
        int,
        typer.Argument(
            metavar="ID",
            help="`construct memory why` and `conversations show` list the ids.",
            callback=in_range,
        ),
    ],
    output: Output = None,
    force: Force = False,
) -> None:
    """Write a file that you attached, as it was stored and sent.

    Only you can read the file. An existing file is replaced only if it is empty, an
    export or a report; any other needs --force. A database is never replaced.
    """
    from construct.operations import transfer as operations

    target = _target(output)
    if output is None and sys.stdout.isatty():
        raise UsageError("Name a file with -o (`-o -`: standard output).")
    with environment(context).reading() as ctx:
        attached = operations.attachment(ctx, attachment_id)
        operations.write_attachment(ctx, attached, target, sys.stdout, force=force)
    if target is not None:
        complain(f"Written: {target}")


@transfer.command()
def report(context: typer.Context, output: Output = None, force: Force = False) -> None:
    """Write the memory as one page for your browser.

    It shows what is known, since when, from which words and at what cost. The page
    needs no other file and loads nothing from the network. Only you can read the file.
    An existing file is replaced only if it is empty, an export or a report; any other
    needs --force. A database is never replaced.
    """
    from construct.operations.report import report as read_report
    from construct.operations.transfer import write_page
    from construct.views.report.page import page

    if output is None and sys.stdout.isatty():
        raise UsageError(
            "The report is a page for a browser.\nName a file with -o (`-o -`: standard output)."
        )
    target = _target(output)
    with environment(context).reading() as ctx, interruptible(lambda: _stopped(target)):
        html = page(read_report(ctx), ctx.clock)
        if target is None:
            _print_page(html)
        else:
            write_page(ctx, html, target, force=force)
            complain(f"Written: {target}")


@transfer.command(
    "import",
    epilog=examples(
        "construct import backup.jsonl      an export from another machine",
        "construct import export.zip        ChatGPT's or Claude's, as it came",
        "construct import Notes --own       a folder of your own notes",
    )
    + "\n\n"
    + "\n".join(["\b", "How to get the files:", *(f"  {line}" for line in _FILES)]),
)
def import_(
    context: typer.Context,
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH", help="Files, folders and ZIP archives."),
    ],
    date: Annotated[
        str | None,
        typer.Option("--date", metavar="DATE", help="The date of what has none: 2025-03-01."),
    ] = None,
    own: Annotated[
        bool, typer.Option("--own", help="Pasted text and notes are your own words.")
    ] = False,
    accept: Annotated[
        bool, typer.Option("--accept", help="Take the facts of memory lists as notes.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Bring in conversations, notes and memories from files.

    Every conversation that can be read comes in; the others are named, and what is left
    out is counted. A Construct export comes in completely or not at all, with what was
    learned. Importing the same again adds nothing; after an interruption, run the command
    again. You can search the imported messages at once, and the model is sent those that
    fit what you say; nothing is learned from them until you run `construct observe`.
    """
    from construct.operations import transfer as operations
    from construct.operations.search import count_unsearched
    from construct.views.transfer import (
        found_text,
        import_json,
        imported_notes,
        imported_text,
        left_off_text,
    )

    started: set[str] = set()
    with environment(context).context() as ctx, progress_bar() as advance:

        def progress(step: str, done: int, total: int) -> None:
            started.add(step)
            advance(step, done, total)

        def announce(found: operations.FoundFiles) -> None:
            if not found.is_obvious:
                complain(found_text(found))

        options = operations.import_options(ctx, date, is_own_text=own)
        if sys.stdin.isatty():
            options = replace(options, decrypt=operations.decrypting(hidden_line))
        with interruptible(lambda: left_off_text(count_unsearched(ctx), started)):
            imported = operations.import_files(ctx, paths, options, progress, announce)
        if accept:
            imported = operations.accept_listed(ctx, imported)
        plan = _plan_to_learn(ctx) if imported.is_unobserved and not as_json else None
    if as_json:
        print_json(import_json(imported))
    else:
        say(imported_text(imported))
        for note in imported_notes(imported, plan):
            complain(note)
    if not imported.report.has_added and not imported.report.known:
        raise typer.Exit(ExitStatus.FAILED)


def _plan_to_learn(ctx: "Context") -> "ObservePlan | None":
    """Return what `construct observe` would do; None if no model can be had."""
    from construct.llm.providers import choose_models
    from construct.operations.learning import plan_observe

    try:
        return plan_observe(ctx, choose_models(ctx.settings).worker)
    except ConstructError:
        return None


def _target(output: Path | None) -> Path | None:
    """Return the file to write; None for standard output."""
    return None if output is None or str(output) == "-" else output


def _print_page(html: str) -> None:
    """Print a page. Where the output is not UTF-8, "é" is printed as `&#233;`.

    The page itself says that it is UTF-8.
    """
    encoding = sys.stdout.encoding or "utf-8"
    charset = "utf-8" if encoding.lower().replace("_", "-") in {"utf-8", "utf8"} else "ascii"
    sys.stdout.write(html.encode(charset, "xmlcharrefreplace").decode(charset))

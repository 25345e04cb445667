"""The commands `construct export`, `attachment`, `report` and `import`."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from construct.cli.options import Force, Json, Output, environment, examples, in_range
from construct.cli.progress import interruptible, progress_bar
from construct.cli.streams import complain, print_json, say
from construct.errors import ExitStatus, UsageError

transfer = typer.Typer()


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
) -> None:
    """Write everything to a file, or to standard output.

    Markdown is only for reading: it leaves things out, and `import` does not read it.
    Only you can read the file. The same database gives the same bytes. An existing file
    is replaced only if it is empty, an export, a report or a Construct database; any
    other needs --force. A text export never replaces a database.
    """
    from construct.operations import transfer as operations

    target = _target(output)
    with environment(context).reading() as ctx, interruptible(lambda: _stopped(target)):
        operations.export(ctx, file_format, target, sys.stdout, force=force)
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
    ),
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
    as_json: Json = False,
) -> None:
    """Bring in conversations, notes and memories from files.

    It reads exports and files of Construct, ChatGPT, Claude, DeepSeek, Grok, Gemini
    (Takeout), Google AI Studio, Open WebUI, LibreChat, Claude Code, llm and
    SillyTavern, JSONL of messages, memory lists and Markdown notes. docs/files.md says
    how to get each of them.

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
        with interruptible(lambda: left_off_text(count_unsearched(ctx), started)):
            imported = operations.import_files(ctx, paths, options, progress, announce)
    if as_json:
        print_json(import_json(imported))
    else:
        say(imported_text(imported))
        for note in imported_notes(imported):
            complain(note)
    if not imported.report.has_added and not imported.report.known:
        raise typer.Exit(ExitStatus.FAILED)


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

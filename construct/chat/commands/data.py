"""Commands about all the data: export, import, report, usage, doctor, doors."""

from asyncio import CancelledError
from contextlib import suppress
from functools import partial
from pathlib import Path

from construct.chat.chat import Chat
from construct.chat.commands.registry import CommandGroup
from construct.chat.mentions import pasted_paths, shell_words
from construct.chat.output import Output
from construct.errors import UsageError
from construct.operations import report as reports
from construct.operations import transfer
from construct.operations.context import Context
from construct.operations.cost_report import cost_report
from construct.operations.doctor import check_files, check_models
from construct.operations.doors import door_calls
from construct.operations.search import count_unsearched
from construct.operations.transfer import FORMATS
from construct.text import shorten
from construct.views.doctor import checks_view
from construct.views.doors import doors_view
from construct.views.transfer import imported_notes, imported_text, left_off_text
from construct.views.usage import usage_view

group = CommandGroup("Data")

_FORMAT_OF = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".db": "sqlite",
    ".sqlite": "sqlite",
    ".sqlite3": "sqlite",
}


@group.command(
    "/export FILE [FORMAT]", "write it all to a file", example="/export ~/construct.jsonl"
)
async def export(chat: Chat, out: Output, argument: str) -> None:
    """FORMAT is jsonl, sqlite or markdown.

    Without it, the file's extension decides: markdown for .md, sqlite for .db, else jsonl.
    Markdown is only for reading: it leaves things out, and /import does not read it.
    """
    path, file_format = _export_target(argument)
    if await _may_write(out, path):
        with out.busy("writing"):
            await chat.run_stoppable(transfer.export, file_format, path, force=True)
        out.say(f"Written: {path} ({file_format})")


@group.command("/import FILE", "import conversations", example="/import ~/conversations.json")
async def import_file(chat: Chat, out: Output, argument: str) -> None:
    """Reads an export from Construct, another program's chats, or a folder of notes.

    You can search its messages at once; `construct observe` learns from them.
    `construct import --help` says more.
    """
    path = _path(argument, "/import FILE")
    chat.refuse_in_private()
    started: set[str] = set()
    try:
        with out.busy("reading"):
            imported = await chat.run_stoppable(
                transfer.import_files, [path], progress=lambda step, *_: started.add(step)
            )
    except CancelledError:
        out.notice(left_off_text(await chat.run(count_unsearched), started))
        raise
    out.say("\n".join([imported_text(imported), *imported_notes(imported)]))


@group.command("/report FILE", "memory as a web page", example="/report ~/memory.html")
async def report(chat: Chat, out: Output, argument: str) -> None:
    """The page shows what is known, since when, where it came from, and what it cost."""
    from construct.views.report.page import page

    path = _path(argument, "/report FILE")

    def write(ctx: Context) -> None:
        transfer.write_page(ctx, page(reports.report(ctx), ctx.clock), path, force=True)

    if await _may_write(out, path):
        with out.busy("writing"):
            await chat.run_stoppable(write)
        out.say(f"Written: {path}")


@group.command("/usage", "tokens and money")
async def usage(chat: Chat, out: Output, argument: str) -> None:
    """Shows usage by purpose, model and day.

    Also shows what the same conversations would have cost without a memory.
    """
    out.show(usage_view(await chat.run(cost_report)))


@group.command("/doctor", "check for problems")
async def doctor(chat: Chat, out: Output, argument: str) -> None:
    """Checks the settings, the database and search, and asks this chat's model for one word."""
    with out.busy("checking"):
        of_models = await check_models(chat.settings, chat.companion.models)
        # Last, since a Ctrl-C that comes too late for it is ignored.
        of_files = await chat.store.stoppable_call(partial(check_files, settings=chat.settings))
    out.show(checks_view([*of_files, *of_models]))


async def _may_write(out: Output, path: Path) -> bool:
    """Ask before replacing a file that is not empty. Return whether to write it."""
    if not _holds_something(path):
        return True
    if not out.interactive:
        raise UsageError(f"{path} exists, and there is no terminal to ask on. Name another file.")
    if not await out.ask(f"{path} exists. Replace it?"):
        out.say("Nothing was written.")
        return False
    return True


def _holds_something(path: Path) -> bool:
    return path.is_file() and path.stat().st_size > 0


def _path(argument: str, command: str) -> Path:
    if not argument:
        raise UsageError(f"Usage: {command}")
    return _path_in(argument)


def _path_in(text: str) -> Path:
    """Return the path that a text names: bare, in quotes, or as terminals paste a file."""
    try:
        words = pasted_paths(text) or shell_words(text)
    except ValueError:  # an apostrophe
        words = []
    try:
        path = Path(words[0] if len(words) == 1 else text).expanduser()
        with suppress(FileNotFoundError, NotADirectoryError):
            path.stat()
    except (OSError, RuntimeError, ValueError) as error:  # a long name, an unknown user, a NUL
        why = getattr(error, "strerror", None) or error
        raise UsageError(f"{shorten(text, 60)} cannot be used: {why}") from error
    return path


def _export_target(argument: str) -> tuple[Path, str]:
    name, _, last = argument.rpartition(" ")
    if last in FORMATS and name.strip():
        return _path_in(name.strip()), last
    if not argument or argument in FORMATS:
        raise UsageError("Usage: /export FILE [FORMAT]")
    has_file_ending = Path(name).suffix[1:2].isalpha()
    if has_file_ending and last.isalpha():  # "~/talk.md html", but not "~/v1.2 copy/talk"
        raise UsageError(f"Unknown format: {last}\nUse one of {', '.join(FORMATS)}.")
    path = _path_in(argument)
    return path, _FORMAT_OF.get(path.suffix.lower(), "jsonl")


@group.command("/doors", "who read your memory")
async def doors(chat: Chat, out: Output, argument: str) -> None:
    """Lists the programs that read your memory, how often and when.

    They read it through `construct mcp` or `construct serve`. What they asked is not stored.
    """
    out.show(doors_view(await chat.run(door_calls), chat.settings.clock))

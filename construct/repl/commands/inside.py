"""Commands that show how things stand."""

import sqlite3
from collections.abc import Sequence

from construct.clock import Clock, to_text
from construct.errors import UsageError
from construct.repl.chat import Chat
from construct.repl.commands.registry import Choice, Group, choose
from construct.repl.output import Output
from construct.repl.views.words import title_of
from construct.store import books, talk
from construct.store import observations as rows
from construct.store.books import UsageLine
from construct.store.records import Message

group = Group("How things stand")

_NEWEST_REFLECTIONS = 5


@group.command("/status", "the memory panel: what is there, what runs, what comes next")
async def status(chat: Chat, out: Output, argument: str) -> None:
    """Show the memory panel."""
    from construct.repl.views.status import status_view

    here = await chat.conversation()
    out.show(status_view(await chat.panel(), title_of(here) if here and here.title else None))


@group.command(
    "/context [full]",
    "exactly what the model would be sent, with tokens",
    choices=choose(("full", "every word of it")),
)
async def context(chat: Chat, out: Output, argument: str) -> None:
    """Show the request that the next message would make."""
    from construct.repl.views.context import context_view

    if argument not in {"", "full"}:
        raise UsageError("It is /context, or /context full.")
    request = await chat.next_request()
    main = chat.companion.models.main
    out.show(context_view(request, main.name, main.context_window, full=argument == "full"))


@group.command("/watermarks", "how far this conversation is observed, compacted and out of the window")
async def watermarks(chat: Chat, out: Output, argument: str) -> None:
    """Show the watermarks with the messages they stand at."""
    from construct.repl.views.marks import Mark, marks_view

    if chat.conversation_id is None:
        out.say("Nothing has been said in this conversation yet.")
        return
    found = await chat.store.call(_marks, chat.conversation_id)
    out.show(marks_view([Mark(name, message, above) for name, message, above in found], chat.clock))


@group.command("/generations", "how often observations have been condensed")
async def generations(chat: Chat, out: Output, argument: str) -> None:
    """Show the observations by generation, and the newest reflections."""
    from construct.repl.views import observations as view

    everything = await chat.store.call(rows.all_observations)
    newest = [o for o in everything if o.generation and o.state == "active"][-_NEWEST_REFLECTIONS:]
    sources = await chat.store.call(rows.sources_of, [o.id for o in newest])
    out.show(view.generations_view(view.generations(everything), newest, sources, chat.clock.today()))


@group.command("/usage", "tokens and money, by purpose and model")
async def usage(chat: Chat, out: Output, argument: str) -> None:
    """Show what the models have cost."""
    from construct.repl.views.usage import usage_view

    lines, today = await chat.store.call(_usage, chat.clock)
    out.show(usage_view(lines, today))


async def _command_choices(chat: Chat) -> Sequence[Choice]:
    from construct.repl.commands import all_commands

    return [Choice(c.name, c.help) for g in all_commands().groups for c in g.commands]


@group.command("/help [COMMAND]", "what can be typed", choices=_command_choices)
async def show_help(chat: Chat, out: Output, argument: str) -> None:
    """Show all commands, or one."""
    from construct.repl.commands import all_commands
    from construct.repl.views.help import command_view, help_view

    registry = all_commands()
    if not argument:
        out.show(help_view([(g.title, g.commands) for g in registry.groups]))
        return
    name = argument.removeprefix("/")
    command = registry.find(name)
    if command is None:
        raise UsageError(registry.unknown(name))
    out.show(command_view(command))


def _marks(db: sqlite3.Connection, conversation_id: int) -> list[tuple[str, Message | None, int]]:
    marks = talk.watermarks(db, conversation_id)
    found = []
    for name in ("observed", "compacted", "window"):
        at = getattr(marks, name)
        above = len(talk.live_messages(db, conversation_id, at))
        found.append((name, talk.message(db, at) if at else None, above))
    return found


def _usage(db: sqlite3.Connection, clock: Clock) -> tuple[list[UsageLine], list[UsageLine]]:
    midnight = clock.local(clock.now()).replace(hour=0, minute=0, second=0, microsecond=0)
    return books.usage_lines(db), books.usage_lines(db, to_text(midnight))

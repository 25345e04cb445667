"""Commands that show how things stand."""

import asyncio
import sqlite3
from collections.abc import Sequence
from dataclasses import asdict

from construct.errors import UsageError
from construct.memory.cycles.archive import unread
from construct.memory.inspection.accounts import read_books
from construct.memory.inspection.status import standing
from construct.memory.inspection.status import status as panel
from construct.memory.shown import forks
from construct.repl.chat import Chat
from construct.repl.commands.references import number_in
from construct.repl.commands.registry import Choice, Group, choose
from construct.repl.output import Frame, Output
from construct.repl.views.context import context_view
from construct.repl.views.generations import generations_view
from construct.repl.views.help import HelpView, command_view, keys_view
from construct.repl.views.marks import Mark, marks_view
from construct.repl.views.status import status_view
from construct.repl.views.usage import usage_view
from construct.repl.views.words import title_of
from construct.store import lineage, talk
from construct.store import observations as rows

group = Group("How things stand")

_NEWEST_REFLECTIONS = 5
_SAID = 10
_AT_ONCE = 100
"""Messages: drawing them takes a tenth of a second."""
_NOTHING_SAID = "Nothing has been said in this conversation yet."


@group.command("/status", "the memory panel")
async def status(chat: Chat, out: Output, argument: str) -> None:
    """What is observed and what is pending, what runs and what comes next; live while something runs."""
    imported, terms = await chat.store.call(unread), chat.companion.terms

    async def look() -> Frame:
        talk_id, here = chat.conversation_id, await chat.conversation()
        figures = await chat.store.call(panel, talk_id, chat.settings, terms)
        stands = await chat.store.call(standing, talk_id, terms, chat.companion.models.worker_name)
        view = status_view(figures, stands, title_of(here) if here else None, imported=imported)
        return Frame(view, chat.upkeep.busy or bool(stands.running))

    await out.watch(look)


@group.command(
    "/context [full]", "what the model is sent", like="/context full", choices=choose(("full", "every word of it"))
)
async def context(chat: Chat, out: Output, argument: str) -> None:
    """Where its tokens go, and its exact content; full shows every word of it. ◄ is a mark of the prompt cache."""
    if argument not in {"", "full"}:
        raise UsageError("It is /context, or /context full.")
    request = await chat.next_request()
    main = chat.companion.models.main
    out.show(context_view(request, main.name, main.context_window, full=argument == "full"))


@group.command(
    "/history [N|all]", "what was said here", like="/history 30", choices=choose(("all", "from the beginning"))
)
async def history(chat: Chat, out: Output, argument: str) -> None:
    """The last messages of this conversation, or as many as you say; those from before a fork too."""
    here, number = chat.conversation_id, _how_many(argument)
    found = [] if here is None else await chat.store.call(forks.last_said, here, number)
    for start in range(0, len(found), _AT_ONCE):
        out.replay(found[start : start + _AT_ONCE], chat.clock)
        await asyncio.sleep(0)  # keys have their turn: Ctrl-C ends it
    if not found:
        out.say(_NOTHING_SAID)


def _how_many(argument: str) -> int:
    if argument in {"", "all"}:
        return talk.LAST if argument else _SAID
    number = number_in(argument)
    if not number:
        raise UsageError("It is /history, /history N, or /history all.")
    return number


@group.command("/watermarks", "how far memory has come")
async def watermarks(chat: Chat, out: Output, argument: str) -> None:
    """Up to which message this conversation is observed, compacted and out of the window."""
    if chat.conversation_id is None:
        out.say(_NOTHING_SAID)
        return
    out.show(marks_view(await chat.store.call(_marks, chat.conversation_id), chat.clock))


@group.command("/generations", "how often condensed")
async def generations(chat: Chat, out: Output, argument: str) -> None:
    """How many observations each generation has, how they flow into the next, and the newest reflections."""
    newest = await chat.store.call(rows.newest_reflections, _NEWEST_REFLECTIONS)
    sources = await chat.store.call(rows.sources_of, [o.id for o in newest])
    found = await chat.store.call(lineage.generations)
    kept_back = await chat.store.call(lineage.notes_of_reflections, _NEWEST_REFLECTIONS)
    out.show(generations_view(found, newest, sources, kept_back, chat.clock.today()))


@group.command("/usage", "tokens and money")
async def usage(chat: Chat, out: Output, argument: str) -> None:
    """By purpose and model, by day, and by estimate what the same talk would have cost without a memory."""
    found = await chat.store.call(read_books, chat.settings)
    out.show(usage_view(found, chat.clock))


async def _command_choices(chat: Chat) -> Sequence[Choice]:
    from construct.repl.commands import all_commands

    return [Choice(c.name, c.help) for g in all_commands().groups for c in g.commands] + [Choice("keys", "the keys")]


@group.command("/help [COMMAND|keys]", "this, or one command", like="/help memory", choices=_command_choices)
async def show_help(chat: Chat, out: Output, argument: str) -> None:
    """What can be typed; what one command does, with an example; what the keys do."""
    from construct.repl.commands import all_commands

    registry = all_commands()
    if not argument:
        out.show(HelpView(registry.groups))
        return
    if argument == "keys":
        out.show(keys_view())
        return
    name = argument.removeprefix("/")
    command = registry.find(name)
    if command is None:
        raise UsageError(registry.unknown(name))
    out.show(command_view(command))


def _marks(db: sqlite3.Connection, conversation_id: int) -> list[Mark]:
    at, above = (asdict(marks) for marks in forks.marks(db, conversation_id))
    return [Mark(name, talk.message(db, mark) if mark else None, above[name]) for name, mark in at.items()]

"""Commands that show the state of memory, and earlier messages."""

import asyncio

from construct.chat.chat import Chat
from construct.chat.commands.arguments import number_in
from construct.chat.commands.registry import CommandGroup, choose
from construct.chat.output import LiveView, Output
from construct.errors import UsageError
from construct.operations import history as changes
from construct.operations import status as operations
from construct.operations.conversations import last_messages
from construct.operations.status import NextRequest
from construct.store.messages import LAST
from construct.views.context import context_view
from construct.views.history import generations_view
from construct.views.status import status_view, watermarks_view
from construct.vocabulary import ItemKind

group = CommandGroup("Status")

_SAID = 10
_AT_ONCE = 100
"""How many messages are drawn at once. Drawing them takes a tenth of a second."""
_NOTHING_SAID = "Nothing has been said in this conversation yet."


@group.command("/status", "the memory panel")
async def status(chat: Chat, out: Output, argument: str) -> None:
    """Shows what is observed, pending and running, and what comes next.

    The bars show how near the next observation, compaction and reflection are. Without a
    model, the first two come earlier: from a little over 200 tokens. The bottom line of the
    chat shows these two: observe 40% · compact 15%.

    It updates itself while memory work is running.
    """
    imported = await chat.run(operations.count_unobserved)

    async def look() -> LiveView:
        found = await chat.run(operations.status)
        view = status_view(found, imported=imported)
        return LiveView(view, chat.background.busy or bool(found.work.running))

    await out.watch(look)


@group.command(
    "/context [full]",
    "what the model is sent",
    example="/context full",
    choices=choose(("full", "every word of it")),
)
async def context(chat: Chat, out: Output, argument: str) -> None:
    """Shows the next request and where its tokens go. /context full shows every word of it.

    What is chosen for a message, such as passages, is not in it yet.
    ◄ marks the end of a cached part.
    """
    if argument not in {"", "full"}:
        raise UsageError("Usage: /context [full]")
    main = chat.companion.models.main
    found = NextRequest(await chat.next_request(), main.name, main.context_window)
    out.show(context_view(found, full=argument == "full"))


@group.command(
    "/history [N|all]",
    "what was said here",
    example="/history 30",
    choices=choose(("all", "from the beginning")),
)
async def history(chat: Chat, out: Output, argument: str) -> None:
    """Shows the last 10 messages of this conversation, or as many as you say.

    Messages from before a fork are included.
    """
    here, number = chat.conversation_id, _how_many(argument)
    found = [] if here is None else await chat.run(last_messages, here, number)
    for start in range(0, len(found), _AT_ONCE):
        out.replay(found[start : start + _AT_ONCE], chat.clock)
        await asyncio.sleep(0)  # keys have their turn: Ctrl-C ends it
    if not found:
        out.say(_NOTHING_SAID)


def _how_many(argument: str) -> int:
    if argument in {"", "all"}:
        return LAST if argument else _SAID
    number = number_in(argument)
    if not number:
        raise UsageError("Usage: /history [N|all]")
    return number


@group.command("/watermarks", "progress of memory work")
async def watermarks(chat: Chat, out: Output, argument: str) -> None:
    """Shows how much of this conversation is observed, is compacted, and has left the window."""
    if chat.conversation_id is None:
        out.say(_NOTHING_SAID)
        return
    out.show(watermarks_view(await chat.run(operations.watermarks), chat.clock))


@group.command("/generations", "counts by generation")
async def generations(chat: Chat, out: Output, argument: str) -> None:
    """Counts the observations of each generation and shows how they were condensed.

    The newest reflections follow.
    """
    found = await chat.run(changes.generations)
    if found.newest:
        chat.shown = (ItemKind.OBSERVATION, found.newest[-1].id)
    out.show(generations_view(found, chat.clock.today()))

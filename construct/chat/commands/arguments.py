"""Reading the arguments of slash commands, and completing them."""

import re
from collections.abc import Sequence

from construct.chat.chat import Chat
from construct.chat.commands.registry import Choice
from construct.errors import UsageError
from construct.operations import memory, memory_filter
from construct.references import Reference, parse_reference
from construct.text import shorten

LAST_REPLY = "last"
_MAX_OFFERED = 200
_NUMBER = re.compile(r"[0-9]{1,18}")


def number_in(text: str) -> int | None:
    """Return a text as a number, or None if it is not one."""
    return int(text) if _NUMBER.fullmatch(text) else None


def named(chat: Chat, text: str, usage: str) -> Reference:
    """Return what an id (`12`, `message:12`) refers to.

    Without an id, what `chat.shown` says. Raises UsageError if nothing was shown.
    """
    if text.strip():
        return parse_reference(text)
    if chat.shown is None:
        raise UsageError(f"Which one? Usage: {usage}. /memory shows the ids.")
    return chat.shown


async def observation_choices(chat: Chat) -> Sequence[Choice]:
    """Return the newest observations as choices, newest first."""
    found = await chat.run(memory.observations_in_scope)
    newest = sorted(found, key=lambda o: o.id, reverse=True)[:_MAX_OFFERED]
    return [Choice(str(o.id), shorten(o.content, 60)) for o in newest]


async def why_choices(chat: Chat) -> Sequence[Choice]:
    """Return `last` and the newest observations as choices."""
    return [Choice(LAST_REPLY, "what the last reply was given"), *await observation_choices(chat)]


async def filter_choices(chat: Chat) -> Sequence[Choice]:
    """Return the words that filter `/memory` as choices."""
    month = f"{chat.clock.today():%Y-%m}"
    return [
        *(Choice(name, meaning) for name, meaning in memory_filter.PRIORITIES.items()),
        *(Choice(name, meaning) for name, meaning in memory_filter.STANCES.items()),
        *(Choice(name, meaning) for name, (meaning, _) in memory_filter.MARKS.items()),
        Choice("since 7d", "the last week"),
        Choice(f"since {month}", "from this month on"),
        Choice("until yesterday", "up to a day, a month, a year"),
        Choice(f"on {month}", "of one day, month or year"),
        Choice(memory_filter.EVERYTHING, "with no limit"),
    ]


async def entity_choices(chat: Chat) -> Sequence[Choice]:
    """Return the names in the graph as choices."""
    found = await chat.run(memory.entities)
    return [Choice(e.name, e.type or "") for e in found[:_MAX_OFFERED]]

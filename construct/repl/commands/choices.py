"""Arguments that can be completed from what is stored."""

import sqlite3
from collections.abc import Sequence

from construct.memory.cycles.situation import Terms
from construct.memory.inspection import narrow
from construct.memory.shown.forks import reach
from construct.repl.chat import Chat
from construct.repl.commands.registry import Choice
from construct.store import graph
from construct.store import observations as rows
from construct.store.records import Observation
from construct.text import shorten

LAST = "last"
_MOST_OFFERED = 200


async def observation_choices(chat: Chat) -> Sequence[Choice]:
    """Return the observations that can be named, the newest first."""
    found = await chat.store.call(remembered, chat.conversation_id, chat.companion.terms)
    newest = sorted(found, key=lambda o: o.id, reverse=True)[:_MOST_OFFERED]
    return [Choice(str(o.id), shorten(o.content, 60)) for o in newest]


async def narrowing_choices(chat: Chat) -> Sequence[Choice]:
    """Return the words by which what is remembered can be narrowed."""
    month = f"{chat.clock.today():%Y-%m}"
    return [
        *(Choice(name, meaning) for name, meaning in narrow.PRIORITIES.items()),
        *(Choice(name, meaning) for name, meaning in narrow.STANCES.items()),
        *(Choice(name, meaning) for name, (meaning, _) in narrow.MARKS.items()),
        Choice("since 7d", "the last week"),
        Choice(f"since {month}", "from this month on"),
        Choice("until yesterday", "up to a day, a month, a year"),
        Choice(f"on {month}", "of one day, month or year"),
        Choice(narrow.EVERYTHING, "however many there are"),
    ]


async def why_choices(chat: Chat) -> Sequence[Choice]:
    """Return the same, the last reply first."""
    return [Choice(LAST, "what the last reply was given"), *await observation_choices(chat)]


async def entity_choices(chat: Chat) -> Sequence[Choice]:
    """Return the names that the graph knows."""
    found = await chat.store.call(graph.entities)
    return [Choice(e.name, e.type or "") for e in found[:_MOST_OFFERED]]


def remembered(db: sqlite3.Connection, conversation_id: int | None, terms: Terms) -> list[Observation]:
    """Return what is remembered in scope, and what is pending."""
    if conversation_id is None:
        return rows.unsuperseded(db) if terms.scope == "user" else []
    scope = reach(db, terms.scope, conversation_id)
    if scope is None:
        return rows.unsuperseded(db)
    pending = [o for i, _ in scope for o in rows.pending(db, i)]
    return rows.active_in_scope(db, scope) + pending

"""Commands about what is remembered."""

import sqlite3

from construct.clock import Clock, to_text
from construct.errors import UsageError
from construct.memory import history, memories, trace
from construct.memory.compaction import Compacted
from construct.memory.graph import neighbours
from construct.memory.graph_answers import USER
from construct.memory.guard import Verdict
from construct.memory.recall import Filters, search
from construct.repl.chat import Chat
from construct.repl.commands.choices import entity_choices, observation_choices, remembered
from construct.repl.commands.references import Reference, parse_reference
from construct.repl.commands.registry import Group, choose
from construct.repl.output import Output
from construct.repl.views.words import counted
from construct.store import curated
from construct.store.database import transaction
from construct.store.records import Memory, Observation
from construct.text import shorten

group = Group("Memory")

_MOST_LISTED = 60
_MOST_FOUND = 12
_SINCE = "7d"
_WHY = "/why ID"


@group.command(
    "/memory [WORDS]",
    "what is remembered, by day; words narrow it",
    details="! matters much, - some, ~ little. The number is what /why, /edit, /pin and /forget take.",
)
async def memory(chat: Chat, out: Output, argument: str) -> None:
    """List the observations, those pending too."""
    from construct.repl.views.observations import by_day, memory_view

    found = by_day(await chat.store.call(remembered, chat.conversation_id, chat.companion.terms))
    kept = [m for m in await chat.store.call(curated.memories) if m.observation_id is None]
    if argument and argument != "all":
        found = [o for o in found if _holds(_said(o), argument)]
        kept = [m for m in kept if _holds(m.content, argument)]
        if not found and not kept:
            out.say(f"Nothing remembered holds {shorten(argument, 40)!r}. /recall looks through all that was said.")
            return
    left_out = 0 if argument else max(0, len(found) - _MOST_LISTED)
    out.show(memory_view(found[left_out:], chat.clock.today(), kept=kept, left_out=left_out))


@group.command("/recall WORDS", "search all that was ever said or noted")
async def recall(chat: Chat, out: Output, argument: str) -> None:
    """Search messages, observations and memories."""
    from construct.repl.views.search import hits_view

    if not argument:
        raise UsageError("Say what to look for: /recall WORDS")
    filters = Filters(zone=chat.clock.zone)
    found = await chat.store.call(search, argument, filters, _MOST_FOUND, meaning=chat.companion.terms.meaning)
    out.show(hits_view(found))


@group.command("/remember TEXT", "keep one thing for good, in your own words")
async def remember(chat: Chat, out: Output, argument: str) -> None:
    """Store a memory."""
    if not argument:
        raise UsageError("Say what to keep: /remember TEXT")
    if not chat.companion.learns:
        raise UsageError(f"CONSTRUCT_MEMORY is {chat.settings.memory}: nothing is learned.")
    if chat.aside is not None:
        raise UsageError("Private talk is on: nothing is stored. /private off ends it.")
    kept = await chat.store.call(_remember, argument, to_text(chat.clock.now()))
    out.say(f"Kept as memory:{kept.id}: {kept.content}")


@group.command("/graph [NAME]", "people, places and things, and how they belong together", choices=entity_choices)
async def graph(chat: Chat, out: Output, argument: str) -> None:
    """Show what a name is related to; without one, what the user is."""
    from construct.repl.views.graph import graph_view

    out.show(graph_view(await chat.store.call(neighbours, argument or USER)))


@group.command(_WHY, "where that comes from, down to what was said", choices=observation_choices)
async def why(chat: Chat, out: Output, argument: str) -> None:
    """Show what an observation, a memory or a message is connected with."""
    from construct.repl.views import why as view

    found = await chat.store.call(_trace, parse_reference(argument, _WHY))
    match found:
        case trace.Trace():
            out.show(view.why_view(found, chat.clock))
        case trace.MessageTrace():
            out.show(view.why_message_view(found, chat.clock))
        case trace.MemoryTrace():
            out.show(view.why_memory_view(found, chat.clock))


@group.command(
    "/diff [FROM] [TO]",
    "what was learned, changed and let go of",
    choices=choose(("today", ""), ("yesterday", ""), ("7d", "the last week"), ("4w", "the last four weeks")),
    details="A moment is a date (2026-03-01), a time, 3h, 7d, 2w, today or yesterday; without one, the last 7 days.",
)
async def diff(chat: Chat, out: Output, argument: str) -> None:
    """Show what changed between two moments."""
    from construct.repl.views.diff import diff_view

    words = argument.split()
    if len(words) > 2:
        raise UsageError("It is /diff [FROM] [TO].")
    out.show(diff_view(await chat.store.call(_diff, chat.clock, words[0] if words else _SINCE, words[1:])))


@group.command("/compact", "observe, compact and condense now, whatever is due")
async def compact(chat: Chat, out: Output, argument: str) -> None:
    """Do all memory work of this conversation now."""
    if not chat.companion.learns:
        raise UsageError(f"CONSTRUCT_MEMORY is {chat.settings.memory}: nothing is learned.")
    if chat.conversation_id is None:
        out.say("Nothing has been said in this conversation yet.")
        return
    with out.busy("working through the conversation"):
        made, compacted, verdict = await chat.companion.worker.now(chat.conversation_id)
    out.say(compact_words(made, compacted, verdict))


def compact_words(made: int, compacted: Compacted, verdict: Verdict | None) -> str:
    """Return what compacting changed."""
    parts = [f"{counted(made, 'new observation')}"]
    if compacted.committed or compacted.left_window:
        parts.append(f"{compacted.committed:,} committed, {counted(compacted.left_window, 'message')} left the window")
    if verdict is not None and verdict.shrinks:
        parts.append(f"{counted(len(verdict.gone), 'line')} condensed into {len(verdict.drafts):,}")
    return "; ".join(parts) + "."


def _said(o: Observation) -> str:
    return f"{o.content} {o.stance} {o.priority} {'pinned' if o.pinned else ''} {o.state} {o.observation_date}"


def _holds(text: str, words: str) -> bool:
    return all(word in text.casefold() for word in words.casefold().split())


def _trace(db: sqlite3.Connection, reference: Reference) -> trace.Trace | trace.MessageTrace | trace.MemoryTrace:
    kind, number = reference
    if kind == "message":
        return trace.why_message(db, number)
    return trace.why_memory(db, number) if kind == "memory" else trace.why(db, number)


def _remember(db: sqlite3.Connection, text: str, now: str) -> Memory:
    with transaction(db):
        return memories.remember(db, text, None, "user", now)


def _diff(db: sqlite3.Connection, clock: Clock, since: str, until: list[str]) -> history.Diff:
    start = history.parse_moment(since, clock)
    end = history.parse_moment(until[0], clock, end_of_day=True) if until else clock.now()
    return history.diff(db, to_text(start), to_text(end))

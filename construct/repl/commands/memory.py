"""Commands about what is remembered."""

import sqlite3

from construct.clock import to_text
from construct.errors import UsageError
from construct.memory.curation import memories
from construct.memory.cycles.archive import unread
from construct.memory.cycles.trouble import newest_observer, trouble
from construct.memory.graph.answers import USER
from construct.memory.graph.reading import neighbours
from construct.memory.inspection import history, narrow, trace
from construct.memory.inspection.timeline import weeks
from construct.memory.recall.search import searched
from construct.repl.chat import Chat
from construct.repl.commands.choices import LAST, entity_choices, narrowing_choices, remembered, why_choices
from construct.repl.commands.references import named
from construct.repl.commands.registry import Group, choose
from construct.repl.commands.unsearched import say_unsearched
from construct.repl.output import Output
from construct.repl.views.compacted import compact_words
from construct.repl.views.diff import diff_view
from construct.repl.views.graph import graph_view
from construct.repl.views.observations import by_day, memory_view
from construct.repl.views.search import hits_view
from construct.repl.views.timeline import timeline_view
from construct.repl.views.why import traced_view, why_last_view
from construct.repl.views.words import nothing_yet, period
from construct.store import curated, lineage
from construct.store.database import transaction
from construct.store.records import Memory
from construct.store.search import Filters

group = Group("Memory")

_MOST_LISTED = 60
_MOST_FOUND = 8
_SINCE = "7d"
_MOST_LINES = 16
_WHY = "/why [ID|last]"


@group.command(
    "/memory [FILTER]",
    "what is remembered",
    like="/memory high planned since 2026-03 dentist",
    choices=narrowing_choices,
    each_word=True,
)
async def memory(chat: Chat, out: Output, argument: str) -> None:
    """! matters much, - some, ~ little; the number is what /why, /edit, /pin and /forget take.

    Narrow it by words of the text, and by
      high, medium, low;
      stated, asked, planned, hypothetical, inferred, assistant, quoted;
      pending, pinned, unknown, reflections, yours;
      since, until or on a day: 2026-03-01, 2026-03, 7d, yesterday.

    Two of the first or the second list widen each other, all else narrows; in quotation marks they are words of the
    text. all shows however many there are.
    """
    wanted, today = narrow.parse(argument, chat.clock), chat.clock.today()
    everything = await chat.store.call(remembered, chat.conversation_id, chat.companion.terms)
    found = by_day([o for o in everything if wanted.holds(o, today)])
    kept = [m for m in await chat.store.call(curated.memories) if m.observation_id is None]
    kept = [m for m in kept if wanted.holds_memory(m, chat.clock)]
    parts = list(wanted.parts())
    if not found and not kept:
        like = f"Nothing remembered is like that: {' · '.join(parts)}. /recall looks through all that was said."
        out.say(like if wanted.narrows else nothing_yet(await chat.store.call(unread)))
        return
    chat.shown = ("observation", found[-1].id) if found else ("memory", kept[-1].id)
    most = None if wanted.narrows or wanted.everything else _MOST_LISTED
    out.show(memory_view(found, today, kept=kept, most=most, narrowed=parts))


@group.command("/recall WORDS", "search all ever said", like="/recall the dentist in Porto")
async def recall(chat: Chat, out: Output, argument: str) -> None:
    """Messages, observations and what was kept, best first. The id in front is what /why takes."""
    if not argument:
        raise UsageError("Say what to look for: /recall WORDS")
    filters = Filters(zone=chat.clock.zone)
    today, meaning = chat.clock.today(), chat.companion.terms.meaning
    found = await chat.store.call(searched, argument, filters, _MOST_FOUND, today=today, meaning=meaning)
    if found.hits:
        chat.shown = (found.hits[0].kind, found.hits[0].id)
    out.show(hits_view(found.hits, argument, found.respelt))
    await say_unsearched(chat, out)


@group.command("/remember TEXT", "keep one thing for good", like="/remember Rosa sings alto.")
async def remember(chat: Chat, out: Output, argument: str) -> None:
    """In your own words, at once; no model is asked, and no reflection touches it."""
    if not argument:
        raise UsageError("Say what to keep: /remember TEXT")
    chat.settings.must_learn()
    chat.refuse_in_private()
    kept = await chat.store.call(_remember, argument, to_text(chat.clock.now()))
    chat.shown = ("memory", kept.id)
    out.say(f"Kept as memory:{kept.id}: {kept.content}")


@group.command("/graph [NAME]", "people, places, things", like="/graph Rosa", choices=entity_choices)
async def graph(chat: Chat, out: Output, argument: str) -> None:
    """And how they belong together. Without a name: what belongs to you."""
    out.show(graph_view(await chat.store.call(neighbours, argument or USER)))


@group.command(_WHY, "where that comes from", like="/why 12", choices=why_choices)
async def why(chat: Chat, out: Output, argument: str) -> None:
    """Down to what was said, word for word, and what became of it. An ID is 12, message:12 or memory:12.

    Without one: what was shown last. /why last: what the last reply was given of memory.
    """
    if argument == LAST:
        if chat.aside is not None:
            raise UsageError("Private talk is on: nothing is noted of it. /context shows what would be sent.")
        out.show(why_last_view(await chat.store.call(trace.why_last, chat.conversation_id), chat.clock))
        return
    reference = named(chat, argument, _WHY)
    found = await chat.store.call(trace.traced, reference)
    chat.shown = reference
    out.show(traced_view(found, chat.clock))


@group.command(
    "/diff [FROM] [TO]",
    "what has changed",
    like="/diff 4w",
    choices=choose(("today", ""), ("yesterday", ""), ("7d", "the last week"), ("4w", "the last four weeks")),
)
async def diff(chat: Chat, out: Output, argument: str) -> None:
    """What was learned, changed and let go of between two moments.

    A moment is a date (2026-03-01), a time, 3h, 7d, 2w, today or yesterday; without one, the last 7 days.
    """
    words = argument.split()
    if len(words) > 2:
        raise UsageError("It is /diff [FROM] [TO].")
    start = history.parse_moment(words[0] if words else _SINCE, chat.clock)
    end = history.parse_moment(words[1], chat.clock, end_of_day=True) if words[1:] else None
    found = await chat.store.call(history.diff, to_text(start), to_text(end or chat.clock.now()))
    out.show(diff_view(found, period(start, end, chat.clock)))


@group.command("/timeline [all]", "what was learned when", choices=choose(("all", "week by week")))
async def timeline(chat: Chat, out: Output, argument: str) -> None:
    """Week by week: how many observations were learned, how many were known at its end, what was superseded.

    What does not fit a small screen is bundled by month, quarter or year, unless you say all.
    """
    if argument not in {"", "all"}:
        raise UsageError("It is /timeline, or /timeline all.")
    found = weeks(await chat.store.call(lineage.spans), chat.clock)
    out.show(timeline_view(found, None if argument else _MOST_LINES))


@group.command("/compact", "do memory work now")
async def compact(chat: Chat, out: Output, argument: str) -> None:
    """Observes what is unobserved, puts observations in their messages' place, and condenses, whatever is due."""
    chat.settings.must_learn()
    if chat.conversation_id is None:
        out.say("Nothing has been said in this conversation yet.")
        return
    before = await chat.store.call(newest_observer, chat.conversation_id)
    with out.busy("working through the conversation"):
        made, compacted, reflection = await chat.companion.worker.now(chat.conversation_id)
    out.say(compact_words(made, compacted, reflection))
    if chat.companion.models.worker is None:
        return
    if why := await chat.store.call(trouble, chat.conversation_id, chat.companion.worker.terms, before):
        out.say(f"Note: {why}.")


def _remember(db: sqlite3.Connection, text: str, now: str) -> Memory:
    with transaction(db):
        return memories.remember(db, text, None, "user", now)

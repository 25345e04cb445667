"""Commands that show and search what is remembered, and add to it."""

import asyncio
from dataclasses import replace

from construct.chat.chat import Chat
from construct.chat.commands.arguments import (
    LAST_REPLY,
    entity_choices,
    filter_choices,
    named,
    why_choices,
)
from construct.chat.commands.registry import CommandGroup, choose
from construct.chat.output import Output
from construct.errors import UsageError
from construct.operations import history, learning, memory, search
from construct.operations import rules as operations
from construct.operations import why as reasons
from construct.operations.profile import profile
from construct.views import memory as views
from construct.views.history import diff_view, timeline_view
from construct.views.hits import search_view
from construct.views.learning import compact_view
from construct.views.profile import nothing_known, profile_view
from construct.views.rules import forbidden_view, rules_view
from construct.views.search import unsearched_view
from construct.views.why import why_last_view, why_view
from construct.vocabulary import ItemKind

group = CommandGroup("Memory")

_MAX_LISTED = 60
_MAX_FOUND = 8
_SINCE = "7d"
_MAX_LINES = 16
_WHY = "/why [ID|last]"


@group.command(
    "/memory [FILTER]",
    "what is remembered",
    example="/memory high planned since 2026-03 dentist",
    choices=filter_choices,
    each_word=True,
)
async def list_memory(chat: Chat, out: Output, argument: str) -> None:
    """Lists memories by day. ! is high priority, - medium, ~ low.

    The number is the ID that /why, /edit, /pin and /forget take.

    Filter by words of the text, and by
      high, medium, low;
      stated, asked, planned, hypothetical, inferred, assistant, quoted;
      pending, shelved, pinned, unknown, reflections, yours, kept;
      since, until or on a day: 2026-03-01, 2026-03, 7d, yesterday.

    Several priorities or several stances widen the list; everything else narrows it. Put
    one of these words in quotation marks to search for it in the text. The word all lifts
    the limit on how many are shown.
    """
    found = await chat.run(memory.list_in_scope, argument)
    if not found:
        search = " /recall searches everything that was said."
        out.say(views.nothing_listed(found, search=search))
        return
    chat.shown = (ItemKind.OBSERVATION, found.observations[-1].id)
    shown = found
    if not (found.filter.narrows or found.filter.everything):
        shown = replace(found, observations=found.observations[-_MAX_LISTED:])
    out.show(views.memory_list_view(found, shown=shown))


@group.command("/profile", "what it knows about you")
async def show_profile(chat: Chat, out: Output, argument: str) -> None:
    """Lists what is true now, by subject, newest first. The number is the ID for /why.

    Questions, suppositions, quotations and the assistant's words are left out; /memory
    lists them.
    """
    found = await chat.run(profile)
    if not found:
        out.say(nothing_known(await chat.run(memory.list_in_scope)))
        return
    chat.shown = (ItemKind.OBSERVATION, found[-1].lines[-1].item.id)
    out.show(profile_view(found, chat.clock.today()))


@group.command("/recall WORDS", "search everything said", example="/recall the dentist in Porto")
async def recall(chat: Chat, out: Output, argument: str) -> None:
    """Finds messages and observations, best match first.

    /why takes the ID in front of each.
    """
    if not argument:
        raise UsageError("Usage: /recall WORDS")
    found = await chat.run(search.search, argument, limit=_MAX_FOUND)
    if found.hits:
        chat.shown = (found.hits[0].kind, found.hits[0].id)
    out.show(search_view(found))
    if left := await chat.run(search.count_unsearched):
        out.say(unsearched_view(left))


@group.command("/remember TEXT", "store a memory yourself", example="/remember Rosa sings alto.")
async def remember(chat: Chat, out: Output, argument: str) -> None:
    """Keeps your own words at once. No model is asked, and no reflection changes them."""
    if not argument:
        raise UsageError("Usage: /remember TEXT")
    chat.refuse_in_private()
    word = await chat.run(operations.forbidden_word, argument)
    kept = await chat.run(memory.remember, argument)
    chat.shown = (ItemKind.OBSERVATION, kept.id)
    out.say(f"Kept as {kept.id}: {kept.content}")
    if word:
        out.say(forbidden_view(word))


@group.command(
    "/graph [NAME]", "people, places, things", example="/graph Rosa", choices=entity_choices
)
async def graph(chat: Chat, out: Output, argument: str) -> None:
    """Shows how people, places and things are related. Without a name it starts from you."""
    out.show(views.graph_view(await chat.run(memory.graph, argument)))


@group.command(_WHY, "where a memory came from", example="/why 12", choices=why_choices)
async def why(chat: Chat, out: Output, argument: str) -> None:
    """Shows the messages a memory came from (long ones are cut) and its history since.

    An ID is 12 or message:12. Without one, it explains the memory listed last,
    or the best match of /recall.

    /why last shows the memories that the last reply was given.
    """
    if argument == LAST_REPLY:
        if chat.is_private:
            raise UsageError(
                "Private talk is on: what a reply was given is not recorded."
                " If a model replies, /context shows what would be sent."
            )
        given = await chat.run(reasons.why_last)
        if given.still_shown:
            chat.shown = (ItemKind.OBSERVATION, given.still_shown[-1].id)
        out.show(why_last_view(given, chat.clock))
        return
    reference = named(chat, argument, _WHY)
    found = await chat.run(reasons.why, reference)
    chat.shown = reference
    out.show(why_view(found, chat.clock))


@group.command(
    "/diff [FROM] [TO]",
    "what has changed",
    example="/diff 4w",
    choices=choose(
        ("today", ""), ("yesterday", ""), ("7d", "the last week"), ("4w", "the last four weeks")
    ),
)
async def diff(chat: Chat, out: Output, argument: str) -> None:
    """Shows what was learned, what changed and what was removed between two moments.

    A moment is a date (2026-03-01), a time (2026-03-01T14:30), 3h, 7d, 2w, today or
    yesterday. Without one it shows the last 7 days.
    """
    words = argument.split()
    if len(words) > 2:
        raise UsageError("Usage: /diff [FROM] [TO]")
    since, until = [*words, None, None][:2]
    found = await chat.run(history.diff, since or _SINCE, until)
    changed = {new.id: new for _, new in found.changed}
    if listed := [*found.learned, *changed.values(), *found.gone]:
        chat.shown = (ItemKind.OBSERVATION, listed[-1].id)
    out.show(diff_view(found, chat.clock))


@group.command("/timeline [all]", "what was learned when", choices=choose(("all", "week by week")))
async def timeline(chat: Chat, out: Output, argument: str) -> None:
    """For each week, counts the observations learned, superseded, and known at its end.

    To fit a small screen, weeks are grouped by month, quarter or year. /timeline all shows
    every week.
    """
    if argument not in {"", "all"}:
        raise UsageError("Usage: /timeline [all]")
    found = await chat.run(history.timeline)
    out.show(timeline_view(found, None if argument else _MAX_LINES))


@group.command("/rules", "what to remember or not")
async def rules(chat: Chat, out: Output, argument: str) -> None:
    """Opens memory-rules.md in your editor. Write there what to remember or leave out.

    The memory worker's model reads it. The program itself enforces a line such as "never: salary,
    Dr. Meier": no observation with one of these words is written. What you type yourself with
    /remember or /edit is kept.
    """
    await out.edit_file(await asyncio.to_thread(operations.ensure_rules_file, chat.settings))
    found = await asyncio.to_thread(operations.rules_in_force, chat.settings)
    out.say(rules_view(found, chat.companion.models.worker))


@group.command("/compact", "do memory work now")
async def compact(chat: Chat, out: Output, argument: str) -> None:
    """Observes what is unobserved in this conversation, and condenses observations.

    It does so even if it is not due yet. In the context, observations then replace all but
    the newest messages.
    """
    chat.settings.require_learning()
    if chat.conversation_id is None:
        out.say("Nothing has been said in this conversation yet.")
        return
    with out.busy("working through the conversation"):
        done = await learning.compact(chat.companion, chat.conversation_id)
    out.say(compact_view(done))
    if done.fallback_reason:
        out.say(f"Note: {done.fallback_reason}.")

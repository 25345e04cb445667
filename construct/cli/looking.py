"""Looking into memory: `memory list|search|show|why|diff`."""

import sqlite3
import sys
from dataclasses import dataclass
from datetime import date

from construct.cli import shapes
from construct.cli.environment import Environment, print_json, say, tell
from construct.cli.environment import show as show_view
from construct.cli.progress import searchable_soon
from construct.clock import Clock, to_text
from construct.errors import UsageError
from construct.memory.cycles.archive import unread
from construct.memory.inspection import history, narrow, trace
from construct.memory.inspection.timeline import weeks
from construct.memory.recall.excerpts import excerpt
from construct.memory.recall.meaning import meaning_for
from construct.memory.recall.query import analyse
from construct.memory.recall.search import searched
from construct.memory.shown.lines import shown_line
from construct.references import Reference, written
from construct.repl.views.words import day, nothing_yet, period, when
from construct.store import curated, lineage, talk
from construct.store import observations as rows
from construct.store.records import Memory, Observation
from construct.store.search import Filters
from construct.text import one_line

_EXCERPT = 160
"""Characters of what was found."""


@dataclass(frozen=True, slots=True)
class View:
    """What of the memory is to be listed."""

    wanted: str
    """A filter, as `memory.narrow` reads it."""
    as_of: str | None
    include_all: bool
    limit: int


def list_memory(env: Environment, view: View, as_json: bool) -> None:
    """Print observations and memories by day, the newest of them; on a terminal as the chat shows them."""
    clock, for_people = env.settings.clock, sys.stdout.isatty() and not as_json
    wanted = narrow.parse(view.wanted, clock)
    then = None if view.as_of is None else history.parse_moment(view.as_of, clock, end_of_day=True)
    moment, today = (None, clock.today()) if then is None else (to_text(then), clock.local(then).date())
    with env.looking() as db:
        listed = [o for o in _listed(db, moment, view.include_all) if wanted.holds(o, today)]
        by_hand = [m for m in _kept(db, moment, view.include_all) if wanted.holds_memory(m, clock)]
        if for_people:  # what was promoted stands among the observations
            by_hand = [m for m in by_hand if m.observation_id is None]
        found, memories = _newest(listed, by_hand, view.limit, clock)
        kept = [shapes.memory(m, clock, _conversation(db, m)) for m in memories]
        nothing = "" if found or memories else _nothing(db, wanted, past=then is not None)
    if as_json:
        print_json([shapes.observation(o) for o in found] + kept)
    elif nothing:
        say(nothing)
    elif for_people:
        from construct.repl.views.observations import memory_view

        rest = "a larger --limit"
        show_view(memory_view(listed, today, kept=memories, most=view.limit, narrowed=list(wanted.parts()), rest=rest))
    else:
        _print_lines(found, memories, clock, today)


def _nothing(db: sqlite3.Connection, wanted: narrow.Narrowing, *, past: bool) -> str:
    """Say why nothing is listed, and what would help."""
    if wanted.narrows:
        return "Nothing remembered is like that."
    if past:
        return "Nothing was remembered then."
    return nothing_yet(unread(db), "construct compact")


def _print_lines(found: list[Observation], memories: list[Memory], clock: Clock, today: date) -> None:
    """Print a line for each, for other programs to read, as it was on a day."""
    for o in found:
        say(f"{o.id:>6}  {shown_line(o)}{_marks(o, today)}")
    for m in memories:
        notes = [note for note in (m.category, "superseded" if m.superseded_at else None) if note]
        say(f"memory:{m.id}  {_memory_line(m, clock)}" + (f" ({', '.join(notes)})" if notes else ""))


def _listed(db: sqlite3.Connection, moment: str | None, include_all: bool) -> list[Observation]:
    """Return the observations in force; `include_all` adds the superseded ones, those that were undone apart."""
    if moment is None:
        found = rows.all_observations(db) if include_all else rows.unsuperseded(db)
    elif include_all:
        known = [o for o in rows.all_observations(db) if o.committed_at and o.committed_at <= moment]
        found = [history.as_it_stood(o, moment) for o in known if o.superseded_by != o.cycle_id]
    else:
        found = [history.as_it_stood(o, moment) for o in history.as_of(db, moment)]
    return sorted(found, key=lambda o: (o.observation_date, o.id))


def _kept(db: sqlite3.Connection, moment: str | None, include_all: bool) -> list[Memory]:
    """Return the memories in force; `include_all` adds the superseded ones."""
    if moment is None:
        return curated.memories(db, include_superseded=include_all)
    known = [m for m in curated.memories(db, include_superseded=True) if m.created_at <= moment]
    stood = [history.as_it_stood(m, moment) for m in known]
    return [m for m in stood if include_all or m.superseded_at is None]


def _newest(
    found: list[Observation], memories: list[Memory], limit: int, clock: Clock
) -> tuple[list[Observation], list[Memory]]:
    """Return the newest of both together, as many as the limit allows, in their order."""
    days = [(o.observation_date, o.created_at) for o in found]
    days += [(str(day(m.created_at, clock)), m.created_at) for m in memories]
    kept = set(sorted(range(len(days)), key=lambda i: days[i])[-limit:])
    return (
        [o for i, o in enumerate(found) if i in kept],
        [m for i, m in enumerate(memories, len(found)) if i in kept],
    )


def _conversation(db: sqlite3.Connection, memory: Memory) -> int | None:
    return None if memory.observation_id is None else rows.observation(db, memory.observation_id).conversation_id


def _memory_line(memory: Memory, clock: Clock) -> str:
    return f"[{day(memory.created_at, clock)}] {one_line(memory.content)}"


def _marks(o: Observation, today: date) -> str:
    from construct.repl.views.observations import standing_notes

    found = standing_notes(o, today)
    return f"  [{', '.join(found)}]" if found else ""


def search_memory(
    env: Environment, query: str, as_of: str | None, include_all: bool, limit: int, by: str | None, as_json: bool
) -> None:
    """Print what matches the query, best first; `by`: only the user's words, or only the assistant's."""
    if by not in {None, "user", "assistant"}:
        raise UsageError(f"--by {by}: whose words? It is --by user or --by assistant.")
    if not query.strip():
        raise UsageError("There is nothing to search for: give some words.")
    clock = env.settings.clock
    with env.looking() as db:
        searchable_soon(db)
        moment = None if as_of is None else history.parse_moment(as_of, clock, end_of_day=True)
        filters = Filters(as_of=moment, all=include_all, role=by, zone=clock.zone)
        results = searched(db, query, filters, limit, today=clock.today(), meaning=meaning_for(env.settings))
    found = results.hits
    if as_json:
        print_json([shapes.hit(h) for h in found])
        return
    from construct.repl.views.search import hits_view, match_legend, words_sought

    if sys.stdout.isatty():
        show_view(hits_view(found, query, results.respelt))
        return
    words, pieces = words_sought(query, results.respelt), analyse(query).pieces
    for h in found:
        note = f"  [{h.match}]" if h.match != "direct" else ""
        text = excerpt(h.text, words, _EXCERPT, pieces)
        say(f"{written((h.kind, h.id)):>14}  [{h.date}] {h.role + ': ' if h.role else ''}{text}{note}")
    if not found:
        say("Nothing was found.")
    for line in (*map(str, results.respelt), *match_legend(found)):
        say(line)


def show(env: Environment, reference: Reference, as_json: bool) -> None:
    """Print one observation, message or memory."""
    kind, number = reference
    clock = env.settings.clock
    with env.looking() as db:
        if kind == "message":
            message = talk.message(db, number)
            moment = when(message.created_at, clock)
            shape, text = shapes.message(message), f"[{moment}] {message.role}:\n{message.content}"
        elif kind == "memory":
            memory = curated.memory(db, number)
            shape, text = shapes.memory(memory, clock, _conversation(db, memory)), _memory_line(memory, clock)
        else:
            o = rows.observation(db, number)
            print_observation(o, clock, f"{shown_line(o)}{_marks(o, clock.today())}", as_json)
            return
    print_json(shape) if as_json else say(text)


def print_observation(o: Observation, clock: Clock, plainly: str, as_json: bool) -> None:
    """Print an observation, on a terminal as the chat shows it."""
    from construct.repl.views.observations import observation_view

    print_json(shapes.observation(o)) if as_json else tell(lambda: observation_view(o, clock.today()), plainly)


def why(env: Environment, reference: Reference, as_json: bool) -> None:
    """Print where an observation or a memory comes from, or what rests on a message."""
    with env.looking() as db:
        found = trace.traced(db, reference)
    if as_json:
        print_json(shapes.traced(found))
        return
    from construct.repl.views.why import traced_view

    show_view(traced_view(found, env.settings.clock))


def why_last(env: Environment, as_json: bool) -> None:
    """Print what of memory the last reply of the latest conversation was given."""
    clock = env.settings.clock
    with env.looking() as db:
        found = trace.why_last(db, talk.latest_conversation(db))
    if as_json:
        print_json(shapes.reply(found, clock))
        return
    from construct.repl.views.why import why_last_view

    show_view(why_last_view(found, clock))


def diff(env: Environment, since: str, until: str | None, as_json: bool) -> None:
    """Print what was learned, what changed and what is gone between two moments."""
    clock = env.settings.clock
    start = history.parse_moment(since, clock, end_of_day=False)
    end = None if until is None else history.parse_moment(until, clock, end_of_day=True)
    with env.looking() as db:
        found = history.diff(db, to_text(start), to_text(end or clock.now()))
    if as_json:
        print_json(
            {
                "learned": [shapes.observation(o) for o in found.learned],
                "changed": [
                    {"old": shapes.observation(old), "new": shapes.observation(new)} for old, new in found.changed
                ],
                "gone": [shapes.observation(o) for o in found.gone],
            }
        )
        return
    from construct.repl.views.diff import diff_view

    show_view(diff_view(found, period(start, end, clock)))


def timeline(env: Environment, as_json: bool) -> None:
    """Print what was learned week by week."""
    with env.looking() as db:
        found = weeks(lineage.spans(db), env.settings.clock)
    if as_json:
        print_json([shapes.week(one) for one in found])
        return
    from construct.repl.views.timeline import timeline_view

    show_view(timeline_view(found))

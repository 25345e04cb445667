"""Looking into memory: `memory list|search|show|why|diff`."""

import sqlite3

from construct.cli import shapes
from construct.cli.environment import Environment, print_json, say
from construct.cli.references import Reference
from construct.clock import Clock, to_text
from construct.errors import UsageError
from construct.memory import history, trace
from construct.memory.lines import line
from construct.memory.meaning import meaning_for
from construct.memory.recall import Filters, search
from construct.store import curated, talk
from construct.store import observations as rows
from construct.store.records import Memory, Observation
from construct.text import one_line, shorten


def list_memory(env: Environment, as_of: str | None, include_all: bool, limit: int, as_json: bool) -> None:
    """Print observations and memories by day, the newest `limit` of them."""
    with env.database() as db:
        clock = env.settings.clock
        moment = None if as_of is None else to_text(history.parse_moment(as_of, clock, end_of_day=True))
        found, memories = _newest(_listed(db, moment, include_all), _kept(db, moment, include_all), limit, clock)
        kept = [shapes.memory(m, clock, _conversation(db, m)) for m in memories]
    if as_json:
        print_json([shapes.observation(o) for o in found] + kept)
        return
    for o in found:
        say(f"{o.id:>6}  {line(o)}{_marks(o)}")
    for m in memories:
        notes = [note for note in (m.category, "superseded" if m.superseded_at else None) if note]
        say(f"memory:{m.id}  {_memory_line(m, clock)}" + (f" ({', '.join(notes)})" if notes else ""))
    if not found and not memories:
        say("Nothing is remembered yet.")


def _listed(db: sqlite3.Connection, moment: str | None, include_all: bool) -> list[Observation]:
    """Return the observations in force; `include_all` adds the superseded ones, those that were undone apart."""
    if moment is None:
        found = rows.all_observations(db) if include_all else rows.unsuperseded(db)
    elif include_all:
        known = [o for o in rows.all_observations(db) if o.committed_at and o.committed_at <= moment]
        found = [o for o in known if o.superseded_by != o.cycle_id]
    else:
        found = history.as_of(db, moment)
    return sorted(found, key=lambda o: (o.observation_date, o.id))


def _kept(db: sqlite3.Connection, moment: str | None, include_all: bool) -> list[Memory]:
    """Return the memories in force; `include_all` adds the superseded ones."""
    if moment is None:
        return curated.memories(db, include_superseded=include_all)
    known = [m for m in curated.memories(db, include_superseded=True) if m.created_at <= moment]
    return [m for m in known if include_all or m.superseded_at is None or m.superseded_at > moment]


def _newest(
    found: list[Observation], memories: list[Memory], limit: int, clock: Clock
) -> tuple[list[Observation], list[Memory]]:
    """Return the newest of both together, as many as the limit allows, in their order."""
    days = [(o.observation_date, o.created_at) for o in found]
    days += [(shapes.local_day(m.created_at, clock), m.created_at) for m in memories]
    kept = set(sorted(range(len(days)), key=lambda i: days[i])[-limit:])
    return (
        [o for i, o in enumerate(found) if i in kept],
        [m for i, m in enumerate(memories, len(found)) if i in kept],
    )


def _conversation(db: sqlite3.Connection, memory: Memory) -> int | None:
    return None if memory.observation_id is None else rows.observation(db, memory.observation_id).conversation_id


def _memory_line(memory: Memory, clock: Clock) -> str:
    return f"[{shapes.local_day(memory.created_at, clock)}] {one_line(memory.content)}"


def _marks(o: Observation) -> str:
    marks = [o.state] if o.state != "active" else []
    marks += [f"generation {o.generation}"] if o.generation else []
    marks += ["pinned"] if o.pinned else []
    marks += ["yours"] if o.origin == "user" else []
    return f"  [{', '.join(marks)}]" if marks else ""


def search_memory(
    env: Environment, query: str, as_of: str | None, include_all: bool, limit: int, as_json: bool
) -> None:
    """Print what matches the query, best first."""
    if not query.strip():
        raise UsageError("There is nothing to search for: give some words.")
    clock = env.settings.clock
    with env.database() as db:
        moment = None if as_of is None else history.parse_moment(as_of, clock, end_of_day=True)
        filters = Filters(as_of=moment, all=include_all, zone=clock.zone)
        found = search(db, query, filters, limit, meaning=meaning_for(env.settings))
    if as_json:
        print_json([shapes.hit(h) for h in found])
        return
    for h in found:
        reference = str(h.id) if h.kind == "observation" else f"{h.kind}:{h.id}"
        note = f"  [{h.match}]" if h.match != "direct" else ""
        say(f"{reference:>14}  [{h.date}] {h.role + ': ' if h.role else ''}{shorten(h.text, 160)}{note}")
    if not found:
        say("Nothing was found.")


def show(env: Environment, reference: Reference, as_json: bool) -> None:
    """Print one observation, message or memory."""
    kind, number = reference
    clock = env.settings.clock
    with env.database() as db:
        if kind == "message":
            message = talk.message(db, number)
            when = shapes.local_time(message.created_at, clock)
            shape, text = shapes.message(message), f"[{when}] {message.role}:\n{message.content}"
        elif kind == "memory":
            memory = curated.memory(db, number)
            shape, text = shapes.memory(memory, clock, _conversation(db, memory)), _memory_line(memory, clock)
        else:
            o = rows.observation(db, number)
            shape, text = shapes.observation(o), f"{line(o)}{_marks(o)}"
    print_json(shape) if as_json else say(text)


def why(env: Environment, reference: Reference, as_json: bool) -> None:
    """Print where an observation or a memory comes from."""
    with env.database() as db:
        found = trace.why(db, curated.observation_behind(db, reference))
    if as_json:
        print_json(
            {
                "observation": shapes.observation(found.observation),
                "sources": [shapes.observation(o) for o in found.sources],
                "messages": [shapes.source_message(m) for m in found.messages],
            }
        )
        return
    from construct.repl.views.why import why_text

    say(why_text(found, env.settings.clock))


def diff(env: Environment, since: str, until: str | None, as_json: bool) -> None:
    """Print what was learned, what changed and what is gone between two moments."""
    clock = env.settings.clock
    start = history.parse_moment(since, clock, end_of_day=False)
    end = clock.now() if until is None else history.parse_moment(until, clock, end_of_day=True)
    with env.database() as db:
        found = history.diff(db, to_text(start), to_text(end))
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
    from construct.repl.views.diff import diff_text

    say(diff_text(found))

"""Looking into memory: `memory list|search|show|why|diff`."""

import sqlite3
from datetime import datetime

from construct.cli import shapes
from construct.cli.environment import Environment, print_json, say
from construct.cli.references import Reference
from construct.clock import to_text
from construct.errors import UsageError
from construct.memory import history, trace
from construct.memory.lines import line
from construct.memory.recall import Filters, search
from construct.store import curated, talk
from construct.store import observations as rows
from construct.store.records import Observation
from construct.text import one_line, shorten


def list_memory(env: Environment, as_of: str | None, include_all: bool, limit: int, as_json: bool) -> None:
    """Print observations and memories by day, the newest `limit` of them."""
    with env.database() as db:
        moment = None if as_of is None else history.parse_moment(as_of, env.settings.clock, end_of_day=True)
        found = _listed(db, moment, include_all)[-limit:]
        memories = [] if moment else curated.memories(db, include_superseded=include_all)[-limit:]
    if as_json:
        print_json([shapes.observation(o) for o in found] + [shapes.memory(m) for m in memories])
        return
    for o in found:
        say(f"{o.id:>6}  {line(o)}{_marks(o)}")
    for m in memories:
        say(f"memory:{m.id}  [{m.created_at[:10]}] {one_line(m.content)}" + (f" ({m.category})" if m.category else ""))
    if not found and not memories:
        say("Nothing is remembered yet.")


def _listed(db: sqlite3.Connection, moment: datetime | None, include_all: bool) -> list[Observation]:
    if moment is not None:
        found = history.as_of(db, to_text(moment))
    else:
        found = rows.all_observations(db) if include_all else rows.unsuperseded(db)
    return sorted(found, key=lambda o: (o.observation_date, o.id))


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
        found = search(db, query, Filters(as_of=moment, all=include_all, zone=clock.zone), limit)
    if as_json:
        print_json([shapes.hit(h) for h in found])
        return
    for h in found:
        reference = str(h.id) if h.kind == "observation" else f"{h.kind}:{h.id}"
        say(f"{reference:>14}  [{h.date}] {h.role + ': ' if h.role else ''}{shorten(h.text, 160)}")
    if not found:
        say("Nothing was found.")


def show(env: Environment, reference: Reference, as_json: bool) -> None:
    """Print one observation, message or memory."""
    kind, number = reference
    with env.database() as db:
        if kind == "message":
            message = talk.message(db, number)
            shape, text = shapes.message(message), f"[{message.created_at}] {message.role}:\n{message.content}"
        elif kind == "memory":
            memory = curated.memory(db, number)
            shape, text = shapes.memory(memory), f"[{memory.created_at}] {memory.content}"
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

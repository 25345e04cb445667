"""The life of an observation in order: said, noted, joined, checked, kept back, replaced, edited, undone."""

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from construct.store import lineage
from construct.store.lineage import Successor
from construct.store.records import Cycle, Message, Observation

_MOST_MESSAGES = 12
_BECAME = {"edit": "edited", "same": "repeated", "outdated": "replaced", "source": "joined"}


@dataclass(frozen=True, slots=True)
class LifeEvent:
    """One thing that happened to an observation; `at` is a stored time."""

    at: str
    event: str
    """`said`, `noted`, `joined`, `edited`, `checked`, `replaced`, `repeated`, `kept back`, `withheld`, `dropped` or
    `undone`."""
    text: str


def life_of(db: sqlite3.Connection, o: Observation, cycle: Cycle, messages: Sequence[Message]) -> list[LifeEvent]:
    """Return what happened to an observation, oldest first; `cycle` made it, and it rests on `messages`."""
    events = [
        *_beginnings(db, o, cycle, messages),
        *(event for one in lineage.all_successors(db, o.id) for event in _became(one)),
        *(LifeEvent(at, "kept back", note) for at, note in lineage.notes_on(db, o.content)),
        *(LifeEvent(at, "withheld", "you asked to forget it") for at in lineage.withheld_at(db, o.id)),
    ]
    if o.superseded_at and o.superseded_by is not None:
        ended = lineage.cycle(db, o.superseded_by)
        if o.superseded_by == o.cycle_id:
            events.append(LifeEvent(o.superseded_at, "undone", f"{_run(cycle)} was taken back"))
        elif not any(one.cycle.id == ended.id for one in lineage.all_successors(db, o.id)):
            events.append(LifeEvent(o.superseded_at, "dropped", f"by {_run(ended)}: of passing use"))
    return sorted(events, key=lambda event: event.at)


def _beginnings(
    db: sqlite3.Connection, o: Observation, cycle: Cycle, messages: Sequence[Message]
) -> Iterator[LifeEvent]:
    for message in messages[:_MOST_MESSAGES]:
        yield LifeEvent(message.created_at, "said", f"message:{message.id} {message.role}: {message.content}")
    if o.origin == "user":
        yield LifeEvent(o.created_at, "edited", f"you wrote: {o.content}")
    else:
        joined = [f"{source}" for _, source in lineage.sources(db, [o.id])]
        made = f"from {', '.join(joined)} by {_run(cycle)}" if joined else f"by {_run(cycle)}"
        yield LifeEvent(o.created_at, "joined" if joined else "noted", made)
    for old in lineage.replaced_observations(db, o.id):
        yield LifeEvent(o.committed_at or o.created_at, "replaced", f"took the place of {old.id}: {old.content}")
    if (checker := lineage.checked_by(db, cycle.id)) and (o.generation or lineage.replaced_observations(db, o.id)):
        yield LifeEvent(o.created_at, "checked", f"by {checker}")


def _became(one: Successor) -> Iterator[LifeEvent]:
    """Yield that something took the place of an observation, and that this was undone."""
    at, new = one.cycle.finished_at or one.cycle.started_at, one.observation
    yield LifeEvent(at, _BECAME[one.relation], f"{_PLACE[one.relation]} {new.id}: {new.content}")
    if one.cycle.status == "reverted" and one.cycle.reverted_at:
        yield LifeEvent(one.cycle.reverted_at, "undone", f"{_run(one.cycle)} was taken back")


_PLACE = {"edit": "into", "same": "by", "outdated": "by", "source": "into"}


def _run(cycle: Cycle) -> str:
    """Return a cycle in words: who did the work, and its number."""
    kinds = {"observer": "the observer", "reflector": "the reflector", "edit": "your edit", "graph": "the graph"}
    model = f", {cycle.model}" if cycle.model and cycle.kind != "edit" else ""
    return f"{kinds.get(cycle.kind, cycle.kind)} (cycle {cycle.id}{model})"

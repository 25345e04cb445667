"""Prepare the memory page's data: notes, names, counts, costs.

The page calls observations "notes", and so does this module.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import NamedTuple

from construct.clock import Clock
from construct.memory.graph.names import is_user, key
from construct.operations.report import Report
from construct.store.graph import Entity, Relation
from construct.store.records import Cycle, Message, Observation
from construct.store.usage import Spent
from construct.views.words import day
from construct.vocabulary import Purpose

_MAX_DEPTH = 12
"""Levels of nesting that leave room for text. Deeper notes stay on the last one."""
_HEADINGS = {
    "person": "People",
    "animal": "Animals",
    "place": "Places",
    "organisation": "Organisations",
    "work": "Works",
    "event": "Events",
}
_OTHER = "Other names"


@dataclass(frozen=True, slots=True)
class Node:
    """A note and what it rests on."""

    observation: Observation
    cycle: Cycle
    """The cycle that made it."""
    messages: tuple[Message, ...]
    sources: tuple["Node", ...]
    replaced: tuple["Node", ...]
    """Notes that this one replaced: outdated ones, repetitions, or the one it is an edit of."""
    sources_elsewhere: tuple[Observation, ...]
    """Notes that it rests on, shown elsewhere on the page."""
    replaced_elsewhere: tuple[Observation, ...]
    """Notes that it replaced, shown elsewhere on the page."""


def forest(report: Report) -> list[Node]:
    """Return the root nodes of the trees; every note is in exactly one tree.

    The roots are the notes that are not superseded, then, newest first, each superseded
    note that is in no tree yet. A note that several others rest on or replaced is shown
    below one of them; the others list it as shown elsewhere.
    """
    observations = {o.id: o for o in report.observations}
    replacements = set(report.replaced)
    below: dict[int, list[int]] = defaultdict(list)
    for above, source in sorted((*report.sources, *report.replaced)):
        below[above].append(source)
    places: dict[int, _Place] = {}
    _adopt([o.id for o in report.observations if o.superseded_at is None], below, places)
    for o in reversed(report.observations):
        _adopt([o.id], below, places)
    sources: dict[int | None, list[int]] = defaultdict(list)
    replaced: dict[int | None, list[int]] = defaultdict(list)
    for id_, place in places.items():
        is_replaced = (place.above, id_) in replacements
        (replaced if is_replaced else sources)[place.shown_below].append(id_)
    messages: dict[int, list[Message]] = defaultdict(list)
    for observation_id, message_id in report.message_links:
        messages[observation_id].append(report.messages[message_id])
    nodes: dict[int, Node] = {}
    for id_ in reversed(places):  # a parent comes before its children, and needs their nodes
        elsewhere = [c for c in dict.fromkeys(below[id_]) if places[c].shown_below != id_]
        nodes[id_] = Node(
            observations[id_],
            report.cycles[observations[id_].cycle_id],
            tuple(messages[id_]),
            sources=tuple(nodes[c] for c in sources[id_]),
            replaced=tuple(nodes[c] for c in replaced[id_]),
            sources_elsewhere=tuple(
                observations[c] for c in elsewhere if (id_, c) not in replacements
            ),
            replaced_elsewhere=tuple(
                observations[c] for c in elsewhere if (id_, c) in replacements
            ),
        )
    return [nodes[id_] for id_ in sources[None]]


class _Place(NamedTuple):
    """Where a note is shown."""

    above: int | None
    """The note that rests on it or replaced it, None for a root."""
    shown_below: int | None
    """The same note or, if that is nested too deeply, one above it."""


def _adopt(roots: Sequence[int], below: Mapping[int, list[int]], places: dict[int, _Place]) -> None:
    """Add the roots and all notes below them to `places`, unless already there."""
    waiting = deque((root, _Place(None, None), 0) for root in roots)
    while waiting:
        note, place, depth = waiting.popleft()
        if note not in places:
            places[note] = place
            parent = note if depth < _MAX_DEPTH else place.shown_below
            waiting.extend((c, _Place(note, parent), depth + 1) for c in below.get(note, ()))


def by_month(nodes: Sequence[Node]) -> dict[date, dict[date, list[Node]]]:
    """Return notes by month and day, newest first."""
    months: dict[date, dict[date, list[Node]]] = {}
    for node in sorted(nodes, key=lambda n: n.observation.observation_date, reverse=True):
        day = date.fromisoformat(node.observation.observation_date)
        months.setdefault(day.replace(day=1), {}).setdefault(day, []).append(node)
    return months


@dataclass(frozen=True, slots=True)
class Statement:
    """A relation between two names; `until` is None while it holds."""

    subject: str
    predicate: str
    object: str
    since: str
    until: str | None


@dataclass(slots=True)
class Name:
    """All entities that share a name, with every statement about them."""

    name: str
    type: str | None
    aliases: dict[str, None] = field(default_factory=dict)
    """Keys only: an ordered set."""
    statements: dict[Statement, None] = field(default_factory=dict)
    """Keys only: an ordered set, with the statements that still hold first."""


def names(
    entities: Sequence[Entity], relations: Sequence[Relation], clock: Clock
) -> dict[str, list[Name]]:
    """Return the names by heading: the user, then those with the most statements."""
    by_key: dict[str, Name] = {}
    name_of: dict[int, Name] = {}
    for entity in entities:
        name = by_key.setdefault(key(entity.name), Name(entity.name, entity.type))
        name.aliases |= dict.fromkeys(entity.aliases)
        name_of[entity.id] = name
    for relation in sorted(relations, key=lambda relation: relation.superseded_at is not None):
        subject, object_ = name_of[relation.subject_id], name_of[relation.object_id]
        statement = Statement(
            subject=subject.name,
            predicate=relation.predicate,
            object=object_.name,
            since=relation.since,
            until=relation.until(clock),
        )
        subject.statements[statement] = object_.statements[statement] = None
    by_heading: dict[str, list[Name]] = {heading: [] for heading in (*_HEADINGS.values(), _OTHER)}
    for name in sorted(by_key.values(), key=lambda n: (not is_user(n.name), -len(n.statements))):
        kind = "person" if is_user(name.name) else name.type or ""
        by_heading[_HEADINGS.get(kind, _OTHER)].append(name)
    return {heading: group for heading, group in by_heading.items() if group}


def generations(report: Report) -> dict[int, Counter[str]]:
    """Count the notes of each generation by what became of them, such as "condensed"."""
    condensed = {source for _, source in report.sources}
    replaced = {old for _, old in report.replaced}
    counts: dict[int, Counter[str]] = {}
    for o in sorted(report.observations, key=lambda o: o.generation):
        if o.superseded_at is None:
            fate = "withheld" if o.withheld else o.state
        elif o.id in replaced:
            fate = "replaced"
        else:
            fate = "condensed" if o.id in condensed else "dropped"
        counts.setdefault(o.generation, Counter())[fate] += 1
    return counts


@dataclass(slots=True)
class MonthCost:
    """The model calls of one month, and what they cost."""

    calls: int = 0
    tokens: int = 0
    dollars: dict[str, list[float | None]] = field(default_factory=dict)
    """What each call of "talk" and of "memory" cost; None where the price is unknown."""


def cost_by_month(spent: Sequence[Spent], clock: Clock) -> dict[date, MonthCost]:
    """Return the costs by month in the user's time zone, newest first."""
    months: dict[date, MonthCost] = {}
    for call in sorted(spent, key=lambda s: s.created_at, reverse=True):
        month = months.setdefault(day(call.created_at, clock).replace(day=1), MonthCost())
        month.calls += 1
        month.tokens += call.tokens
        purpose = "talk" if call.purpose == Purpose.CHAT else "memory"
        month.dollars.setdefault(purpose, []).append(call.cost_usd)
    return months

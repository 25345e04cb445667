"""What the memory page's sections are made of: notes, plans, names, counts, costs."""

from collections import Counter, defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

from construct.clock import Clock
from construct.language.periods import parse_when
from construct.memory.graph.answers import is_user, key
from construct.operations.memory_filter import outcome_unknown
from construct.operations.report import Report
from construct.store.graph import Entity, Relation
from construct.store.records import Cycle, Message, Observation
from construct.store.usage import Spent
from construct.views.words import day
from construct.vocabulary import Purpose, Stance

_DEEPEST = 12
"""Levels of nesting that leave room for the text. What lies deeper stands beside."""
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
    """An observation and what it rests on."""

    observation: Observation
    cycle: Cycle
    """The cycle that made it."""
    messages: tuple[Message, ...]
    sources: tuple["Node", ...]
    replaced: tuple["Node", ...]
    """Notes that it made outdated, or that it was edited from."""
    elsewhere: tuple[Observation, ...]
    """Notes below it that are in another tree, because others rest on them too."""


def forest(found: Report) -> list[Node]:
    """Return the root nodes. Every observation is in exactly one tree.

    The roots are the observations that stand, then the superseded ones that nothing
    standing leads to. A note that several rest on is shown under the nearest root.
    """
    known = {o.id: o for o in found.observations}
    replaced = set(found.replaced)
    below: dict[int, list[int]] = defaultdict(list)
    for above, source in sorted((*found.sources, *found.replaced)):
        below[above].append(source)
    parents: dict[int, int | None] = {}
    _adopt([o.id for o in found.observations if o.superseded_at is None], below, parents)
    for o in reversed(found.observations):
        _adopt([o.id], below, parents)
    children: dict[int | None, list[int]] = defaultdict(list)
    for child, parent in parents.items():
        children[parent].append(child)
    messages: dict[int, list[Message]] = defaultdict(list)
    for observation_id, message_id in found.message_links:
        messages[observation_id].append(found.messages[message_id])
    nodes: dict[int, Node] = {}
    for i in reversed(parents):  # children come after their parents, so they are made first
        nodes[i] = Node(
            known[i],
            found.cycles[known[i].cycle_id],
            tuple(messages[i]),
            sources=tuple(nodes[c] for c in children[i] if (i, c) not in replaced),
            replaced=tuple(nodes[c] for c in children[i] if (i, c) in replaced),
            elsewhere=tuple(known[c] for c in dict.fromkeys(below[i]) if parents[c] != i),
        )
    return [nodes[i] for i in children[None]]


def _adopt(
    roots: Sequence[int], below: Mapping[int, list[int]], parents: dict[int, int | None]
) -> None:
    """Give each root (None) and all below it a parent, unless it has one."""
    waiting: deque[tuple[int, int | None, int]] = deque((root, None, 0) for root in roots)
    while waiting:
        note, parent, depth = waiting.popleft()
        if note not in parents:
            parents[note] = parent
            above = note if depth < _DEEPEST else parent
            waiting.extend((child, above, depth + 1) for child in below.get(note, ()))


def by_month(nodes: Sequence[Node]) -> dict[date, dict[date, list[Node]]]:
    """Return notes by month and day, the newest first."""
    months: dict[date, dict[date, list[Node]]] = {}
    for node in sorted(nodes, key=lambda n: n.observation.observation_date, reverse=True):
        day = date.fromisoformat(node.observation.observation_date)
        months.setdefault(day.replace(day=1), {}).setdefault(day, []).append(node)
    return months


def plans(
    observations: Sequence[Observation], today: date
) -> tuple[list[Observation], list[Observation]]:
    """Return the plans ahead, next first, and those of unknown outcome, latest first.

    They are among the notes that stand; what is withheld is none.
    """
    dated = [
        (parse_when(o.referenced_date).last, o)
        for o in observations
        if o.referenced_date and o.superseded_at is None and not o.withheld
    ]
    dated.sort(key=lambda plan: (plan[0], plan[1].id))
    intended = {Stance.STATED, Stance.PLANNED}
    ahead = [o for day, o in dated if day >= today and o.stance in intended]
    return ahead, [o for _, o in reversed(dated) if outcome_unknown(o, today)]


@dataclass(frozen=True, slots=True)
class Statement:
    """A relation in words; `until` is None while it holds."""

    subject: str
    predicate: str
    object: str
    since: str
    until: str | None


@dataclass(slots=True)
class Name:
    """All entities of one name, with every statement that names them."""

    name: str
    type: str | None
    aliases: dict[str, None] = field(default_factory=dict)
    """In order, each once."""
    statements: dict[Statement, None] = field(default_factory=dict)
    """Likewise: those that hold first."""


def names(entities: Sequence[Entity], relations: Sequence[Relation]) -> dict[str, list[Name]]:
    """Return the names by heading: the user, then the most related."""
    by_key: dict[str, Name] = {}
    name_of: dict[int, Name] = {}
    for e in entities:
        name = name_of[e.id] = by_key.setdefault(key(e.name), Name(e.name, e.type))
        name.aliases |= dict.fromkeys(e.aliases)
    for r in sorted(relations, key=lambda r: r.superseded_at is not None):
        subject, object_ = name_of[r.subject_id], name_of[r.object_id]
        until = r.superseded_at and r.superseded_at[:10]
        statement = Statement(subject.name, r.predicate, object_.name, r.since, until)
        subject.statements[statement] = object_.statements[statement] = None
    found: dict[str, list[Name]] = {heading: [] for heading in (*_HEADINGS.values(), _OTHER)}
    for name in sorted(by_key.values(), key=lambda n: (not is_user(n.name), -len(n.statements))):
        kind = "person" if is_user(name.name) else name.type or ""
        found[_HEADINGS.get(kind, _OTHER)].append(name)
    return {heading: listed for heading, listed in found.items() if listed}


def generations(found: Report) -> dict[int, Counter[str]]:
    """Return how many notes of each generation stand, and what became of the others."""
    condensed = {source for _, source in found.sources}
    replaced = {old for _, old in found.replaced}
    counts: dict[int, Counter[str]] = {}
    for o in sorted(found.observations, key=lambda o: o.generation):
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
    """What a month's calls took."""

    calls: int = 0
    tokens: int = 0
    dollars: Counter[str] = field(default_factory=Counter)
    """By "talk" and "memory", of the calls whose price is known."""


def cost_by_month(spent: Sequence[Spent], clock: Clock) -> dict[date, MonthCost]:
    """Return what was spent by month of the user's, newest first."""
    months: dict[date, MonthCost] = {}
    for call in sorted(spent, key=lambda s: s.created_at, reverse=True):
        month = months.setdefault(day(call.created_at, clock).replace(day=1), MonthCost())
        month.calls += 1
        month.tokens += call.tokens
        if call.cost_usd is not None:
            purpose = "talk" if call.purpose == Purpose.CHAT else "memory"
            month.dollars[purpose] += call.cost_usd  # type: ignore[assignment]
    return months

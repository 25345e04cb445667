"""The entity graph as rings around the user: a tree by nearness, drawn the same each time.

Own code: the libraries that lay graphs out need numpy (networkx) or are under the GPL (igraph, grandalf),
and what is asked for here is short: who is near whom, without two names in one place.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import cos, pi, sin

from construct.memory.graph.answers import USER, key
from construct.store.graph import Entity, Relation

MOST = 90
"""Names drawn; the others are listed."""
_RING, _APART, _MARGIN = 150.0, 26.0, 18.0
NAME = 18
"""Characters of a name that are drawn."""
_CHARACTER = 9.5


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody or something: all entities of one name, with the relations that name it."""

    id: int
    name: str
    type: str
    aliases: tuple[str, ...]
    said: tuple["Said", ...]


@dataclass(frozen=True, slots=True)
class Said:
    """One relation as seen from one end."""

    predicate: str
    forward: bool
    other: str
    since: str
    until: str | None


@dataclass(frozen=True, slots=True)
class Dot:
    """A name in its place; `turn` is the way its words run in degrees, `flipped` when they end at the dot."""

    name: str
    type: str
    title: str
    x: float
    y: float
    size: float
    turn: float
    flipped: bool
    centre: bool


@dataclass(frozen=True, slots=True)
class Line:
    """A relation between two dots."""

    path: str
    title: str
    past: bool


@dataclass(frozen=True, slots=True)
class Network:
    """The drawing around (0, 0), and all names with what is said of them, the most connected first."""

    box: tuple[float, float, float, float]
    """Left, top, width and height."""
    dots: tuple[Dot, ...]
    lines: tuple[Line, ...]
    people: tuple[Person, ...]


def network(entities: Sequence[Entity], relations: Sequence[Relation]) -> Network:
    """Return the graph drawn."""
    people = _people(entities, relations)
    drawn = people[:MOST]
    near = _near(drawn, _ids(entities), relations)
    parents = _tree([p.id for p in drawn], near)
    places = _places(parents)
    dots = tuple(_dot(p, places[p.id], n == 0, len(near[p.id])) for n, p in enumerate(drawn))
    return Network(
        _box(dots, [places[p.id] for p in drawn]),
        dots,
        tuple(_lines(near, places, {p.id: p.name for p in drawn})),
        people,
    )


def _ids(entities: Sequence[Entity]) -> dict[int, int]:
    """Return, per entity, the first one of the same name."""
    first: dict[str, int] = {}
    return {e.id: first.setdefault(key(e.name), e.id) for e in entities}


def _people(entities: Sequence[Entity], relations: Sequence[Relation]) -> tuple[Person, ...]:
    """Return everybody, the user first, then who has most to do with others."""
    one = _ids(entities)
    names = {e.id: e.name for e in entities}
    said: dict[int, dict[Said, None]] = defaultdict(dict)
    for r in relations:
        until = r.superseded_at and r.superseded_at[:10]
        said[one[r.subject_id]][Said(r.predicate, True, names[one[r.object_id]], r.since, until)] = None
        said[one[r.object_id]][Said(r.predicate, False, names[one[r.subject_id]], r.since, until)] = None
    aliases: dict[int, dict[str, None]] = defaultdict(dict)
    for e in entities:
        aliases[one[e.id]].update(dict.fromkeys(e.aliases))
    found = [
        Person(e.id, e.name, e.type or "", tuple(aliases[e.id]), tuple(said[e.id]))
        for e in entities
        if one[e.id] == e.id
    ]
    return tuple(sorted(found, key=lambda p: (key(p.name) != key(USER), -len(p.said), p.id)))


Near = Mapping[int, Mapping[int, Sequence[tuple[Relation, bool]]]]


def _near(drawn: Sequence[Person], one: Mapping[int, int], relations: Sequence[Relation]) -> Near:
    """Return, per drawn name, the other names with the relations between them, and whether it is their subject."""
    near: dict[int, dict[int, list[tuple[Relation, bool]]]] = {p.id: defaultdict(list) for p in drawn}
    for r in relations:
        a, b = one[r.subject_id], one[r.object_id]
        if a != b and a in near and b in near:
            near[a][b].append((r, True))
            near[b][a].append((r, False))
    return near


def _tree(ids: Sequence[int], near: Near) -> dict[int, int | None]:
    """Return who hangs on whom, nearest to the first; what nothing connects hangs on the first as well."""
    parents: dict[int, int | None] = {}
    for start in ids:
        if start in parents:
            continue
        parents[start] = ids[0] if parents else None
        level = [start]
        while level:
            reached = {other: here for here in reversed(level) for other in near[here] if other not in parents}
            parents.update({i: reached[i] for i in sorted(reached)})
            level = sorted(reached)
    return parents


Place = tuple[float, float]
"""Angle and radius."""


def _places(parents: Mapping[int, int | None]) -> dict[int, Place]:
    """Give every name a share of the circle by how many ends hang on it."""
    children: dict[int, list[int]] = defaultdict(list)
    depth: dict[int, int] = {}
    for i, parent in parents.items():
        depth[i] = 0 if parent is None else depth[parent] + 1
        if parent is not None:
            children[parent].append(i)
    ends: dict[int, int] = {}
    for i in sorted(parents, key=lambda i: -depth[i]):
        ends[i] = sum(ends[c] for c in children[i]) or 1
    whole = max(1, max((ends[i] for i in parents), default=1))
    ring = max(_RING, whole * _APART / (2 * pi))
    starts: dict[int, float] = {}
    places: dict[int, Place] = {}
    for i in sorted(parents, key=lambda i: depth[i]):
        start = starts.setdefault(i, -0.5)
        places[i] = ((start + ends[i] / 2) / whole * 2 * pi, ring + _RING * (depth[i] - 1) if depth[i] else 0.0)
        for child in children[i]:
            starts[child] = start
            start += ends[child]
    return places


def _box(dots: Iterable["Dot"], places: Iterable[Place]) -> tuple[float, float, float, float]:
    """Return where the drawing lies, its words too."""
    tips = [
        _xy((angle, radius + dot.size + _CHARACTER * min(len(dot.name), NAME)))
        for dot, (angle, radius) in zip(dots, places, strict=True)
    ]
    xs, ys = [0.0, *(x for x, _ in tips)], [0.0, *(y for _, y in tips)]
    left, top = min(xs) - _MARGIN, min(ys) - _MARGIN
    return round(left, 1), round(top, 1), round(max(xs) + _MARGIN - left, 1), round(max(ys) + _MARGIN - top, 1)


def _xy(place: Place) -> tuple[float, float]:
    angle, radius = place
    return round(radius * cos(angle), 1), round(radius * sin(angle), 1)


def _dot(p: Person, place: Place, centre: bool, degree: int) -> Dot:
    x, y = _xy(place)
    turn = place[0] * 180 / pi % 360
    flipped = 90 < turn < 270
    facts = "; ".join(
        f"{s.predicate} {s.other}" if s.forward else f"{s.other} {s.predicate} {p.name}" for s in p.said[:6]
    )
    return Dot(
        p.name, p.type, f"{p.name}: {facts}" if facts else p.name, x, y, min(16.0, 4.5 + degree),
        round(turn - 180 if flipped else turn, 1), flipped, centre,
    )  # fmt: skip


def _lines(near: Near, places: Mapping[int, Place], names: Mapping[int, str]) -> list[Line]:
    found = []
    for a, others in near.items():
        for b, relations in others.items():
            if a < b:
                said = [f"{names[a if forward else b]} {r.predicate} {names[b if forward else a]}"
                        for r, forward in relations]  # fmt: skip
                past = all(r.superseded_at for r, _ in relations)
                found.append(Line(_curve(places[a], places[b]), "; ".join(dict.fromkeys(said)), past))
    return found


def _curve(a: Place, b: Place) -> str:
    """Return a line that bends towards the middle, as far as both ends are away from it."""
    (x1, y1), (x2, y2) = _xy(a), _xy(b)
    bend = 0.5 if a[1] and b[1] else 1.0
    x, y = (x1 + x2) / 2 * bend, (y1 + y2) / 2 * bend
    return f"M{x1},{y1} Q{x:.1f},{y:.1f} {x2},{y2}"

"""How generations flow into each other: messages into observations, those into reflections, and what became of them."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from construct.memory.inspection.survey import Survey
from construct.store.records import Observation

_BAR, _TOP, _TALLEST = 18, 34, 200
_NARROWEST = 150
FATES = ("condensed", "replaced", "dropped", "pending", "active")
"""What became of an observation, as its column has it from the top down."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a column: so many of one fate."""

    fate: str
    y: float
    height: float
    count: int


@dataclass(frozen=True, slots=True)
class Stage:
    """A column: the messages, or one generation."""

    x: float
    name: str
    count: int
    segments: tuple[Segment, ...]


@dataclass(frozen=True, slots=True)
class Ribbon:
    """What of one stage went into a later one."""

    path: str
    title: str


@dataclass(frozen=True, slots=True)
class Flow:
    """The whole drawing."""

    width: float
    height: float
    bar: int
    stages: tuple[Stage, ...]
    ribbons: tuple[Ribbon, ...]


def fates(found: Survey) -> dict[int, str]:
    """Return what became of each observation."""
    condensed = {source for _, source in found.sources}
    replaced = {old for _, old in found.replaced}

    def fate(o: Observation) -> str:
        if o.superseded_at is None:
            return o.state
        return "replaced" if o.id in replaced else "condensed" if o.id in condensed else "dropped"

    return {o.id: fate(o) for o in found.observations}


def by_generation(found: Survey) -> dict[int, Counter[str]]:
    """Return how many of each fate there are, by generation."""
    fate_of = fates(found)
    counts: dict[int, Counter[str]] = defaultdict(Counter)
    for o in found.observations:
        counts[o.generation][fate_of[o.id]] += 1
    return dict(sorted(counts.items()))


def flow(found: Survey) -> Flow:
    """Draw it from left to right."""
    counts = by_generation(found)
    scale = _TALLEST / max([1, len(found.messages), *(c.total() for c in counts.values())])
    apart = max(_NARROWEST, 940 / max(1, len(counts)) - _BAR)
    places = {generation: _NARROWEST * 0.1 + (n + 1) * apart for n, generation in enumerate(counts)}
    said = Stage(_NARROWEST * 0.1, "messages", len(found.messages), _segments({"said": len(found.messages)}, scale))
    stages = [
        Stage(places[g], f"generation {g}", c.total(), _segments({f: c[f] for f in FATES}, scale))
        for g, c in counts.items()
    ]
    links = Counter({(-1, 0): len(found.messages)} if 0 in counts else {})
    generation = {o.id: o.generation for o in found.observations}
    links.update((generation[source], generation[above]) for above, source in set(found.sources))
    return Flow(
        max(places.values(), default=0) + _BAR + 130,
        _TOP + _TALLEST + 16,
        _BAR,
        (said, *stages),
        tuple(_ribbons(links, {-1: said, **dict(zip(counts, stages, strict=True))})),
    )


def _segments(counts: Mapping[str, int], scale: float) -> tuple[Segment, ...]:
    found, y = [], float(_TOP)
    for fate, count in counts.items():
        if count:
            found.append(Segment(fate, round(y, 2), round(count * scale, 2), count))
            y += count * scale
    return tuple(found)


def _ribbons(links: Mapping[tuple[int, int], int], stages: Mapping[int, Stage]) -> Iterable[Ribbon]:
    """Draw what goes from stage to stage: it leaves at the top, where the condensed ones are, and arrives in turn."""
    for source, target in sorted(links):
        leaving = sorted((pair for pair in links if pair[0] == source), key=lambda pair: pair[1])
        arriving = sorted(pair for pair in links if pair[1] == target)
        start = _share(leaving, links, (source, target), _leaving_height(stages[source]))
        end = _share(arriving, links, (source, target), _height(stages[target]))
        title = f"{links[source, target]:,} of {stages[source].name} in {stages[target].name}"
        yield Ribbon(_path(stages[source].x + _BAR, start, stages[target].x, end), title)


def _share(
    pairs: Sequence[tuple[int, int]], links: Mapping[tuple[int, int], int], mine: tuple[int, int], height: float
) -> tuple[float, float]:
    """Return from where to where one of several ribbons lies along a height."""
    whole = sum(links[pair] for pair in pairs)
    before = sum(links[pair] for pair in pairs[: pairs.index(mine)])
    return _TOP + height * before / whole, _TOP + height * (before + links[mine]) / whole


def _leaving_height(stage: Stage) -> float:
    return sum(s.height for s in stage.segments if s.fate in {"said", "condensed"}) or _height(stage)


def _height(stage: Stage) -> float:
    return sum(s.height for s in stage.segments)


def _path(x1: float, start: tuple[float, float], x2: float, end: tuple[float, float]) -> str:
    middle = (x1 + x2) / 2
    (a, b), (c, d) = start, end
    return (
        f"M{x1:.1f},{a:.1f} C{middle:.1f},{a:.1f} {middle:.1f},{c:.1f} {x2:.1f},{c:.1f} "
        f"V{d:.1f} C{middle:.1f},{d:.1f} {middle:.1f},{b:.1f} {x1:.1f},{b:.1f} Z"
    )

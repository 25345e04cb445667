"""What is remembered as trees, each observation drawn once: under what took its place, down to what was said."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from construct.memory.inspection.survey import Survey
from construct.store.records import Cycle, Message, Observation

_DEEPEST = 12
"""Nested deeper, lines would have no width left; what lies below hangs side by side."""
_SHORT = 400
"""Characters up to which a message is quoted wherever it counts; a longer one stands in one place."""


@dataclass(frozen=True, slots=True)
class Quote:
    """A message that an observation comes from; not `whole`: only its beginning, since it stands elsewhere."""

    message: Message
    first: bool
    """The first place on the page where it stands."""

    @property
    def whole(self) -> bool:
        """Tell whether it is to be shown to its end."""
        return self.first or len(self.message.content) <= _SHORT


@dataclass(frozen=True, slots=True)
class Node:
    """An observation with all that it rests on."""

    observation: Observation
    cycle: Cycle
    quotes: tuple[Quote, ...]
    sources: tuple["Node", ...]
    replaced: tuple["Node", ...]
    """What it made outdated, or was edited from."""
    elsewhere: tuple[Observation, ...]
    """Sources that are drawn in another place."""


@dataclass(frozen=True, slots=True)
class Forest:
    """All observations: those that stand, and those that nothing leads to any more."""

    standing: tuple[Node, ...]
    left: tuple[Node, ...]


def forest(found: Survey) -> Forest:
    """Return every observation once, under the nearest that rests on it or took its place."""
    below = _below(found)
    homes: dict[int, int] = {}
    standing = [o.id for o in found.observations if o.superseded_at is None]
    _settle(standing, below, homes)
    settled = len(homes)
    for o in reversed(found.observations):
        _settle([o.id], below, homes)
    nodes = _nodes(found, below, homes)
    roots = [i for i, home in homes.items() if home == 0]
    order = {i: place for place, i in enumerate(homes)}
    return Forest(
        tuple(nodes[i] for i in roots if order[i] < settled), tuple(nodes[i] for i in roots if order[i] >= settled)
    )


def _below(found: Survey) -> dict[int, list[int]]:
    below: dict[int, list[int]] = defaultdict(list)
    for above, source in (*found.sources, *found.replaced):
        below[above].append(source)
    return below


def _settle(roots: Iterable[int], below: Mapping[int, Sequence[int]], homes: dict[int, int]) -> None:
    """Give each root no home (0), and what lies below one a home: the first to reach it, nearest roots first."""
    level = [i for i in roots if i not in homes]
    homes.update(dict.fromkeys(level, 0))
    depth = 0
    while level:
        depth += 1
        reached = {child: here for here in reversed(level) for child in below.get(here, ()) if child not in homes}
        homes.update({i: reached[i] if depth <= _DEEPEST else homes[reached[i]] for i in sorted(reached)})
        level = sorted(reached)


def _nodes(found: Survey, below: Mapping[int, Sequence[int]], homes: Mapping[int, int]) -> dict[int, Node]:
    known = {o.id: o for o in found.observations}
    quotes = _quotes(found, homes)
    replaced = set(found.replaced)
    at_home: dict[int, list[int]] = defaultdict(list)
    for child, home in homes.items():
        at_home[home].append(child)
    nodes: dict[int, Node] = {}
    for i in reversed(homes):  # what lies below comes later, so it is there by now
        mine = at_home[i]
        nodes[i] = Node(
            known[i],
            found.cycles[known[i].cycle_id],
            tuple(quotes[i]),
            sources=tuple(nodes[c] for c in mine if (i, c) not in replaced),
            replaced=tuple(nodes[c] for c in mine if (i, c) in replaced),
            elsewhere=tuple(known[c] for c in dict.fromkeys(below.get(i, ())) if homes[c] != i),
        )
    return nodes


def _quotes(found: Survey, order: Iterable[int]) -> dict[int, list[Quote]]:
    named: dict[int, list[int]] = defaultdict(list)
    for observation_id, message_id in found.words:
        named[observation_id].append(message_id)
    quotes: dict[int, list[Quote]] = defaultdict(list)
    seen: set[int] = set()
    for i in order:
        for message_id in named[i]:
            quotes[i].append(Quote(found.messages[message_id], message_id not in seen))
            seen.add(message_id)
    return quotes
